"""The choice of the named action that fits a text best, such as the current item of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, function_words_of, languages_of
from cogitate.memory.language.text import is_unspaced, normal, stem, stems, words

PART = 4  # characters: shorter ones are endings
SHORT = 2  # characters: most prepositions and articles are no longer


def choose_action(actions: Sequence[str], text: str, *, whole_words: bool = False) -> str:
    """Return the action that shares the most words, or else the most parts of words, with a text; the first of equals.

    Return "" if no action resembles the text. Function words do not count.

    Args:
        whole_words: ignore parts of words, which match by chance in a long text.
    """
    wanted, named = _content(text), [_content(action) for action in actions]
    shares = [
        1.0 if normal(one) == normal(text) else _share({*wanted}, {*said})
        for one, said in zip(actions, named, strict=True)
    ]
    if not whole_words and not any(shares):
        shares = [_share_of_parts(wanted, said) for said in named]
    best = max(shares, default=0)
    return actions[shares.index(best)] if best > 0 else ""


def _content(text: str) -> list[str]:
    """Return the stems of a text without function words or, if these are unknown, without the shortest words."""
    languages = languages_of(text)
    if languages[0] in (ENGLISH, UNDETERMINED):
        return stems(text)
    without = frozenset[str]().union(*map(function_words_of, languages))
    return [
        stem(word)
        for word in words(text)
        if word not in without and (without or len(word) > SHORT or is_unspaced(word[0]) or not word.isalpha())
    ]


def _share_of_parts(wanted: Iterable[str], named: Iterable[str]) -> float:
    """Return the share of common parts that begin a word somewhere: common endings tell nothing."""
    begin = {word[:PART] for word in (*wanted, *named) if len(word) >= PART}
    ours, theirs = _parts(wanted), _parts(named)
    return len(ours & theirs & begin) / len(ours | theirs) if theirs else 0.0


def _parts(found: Iterable[str]) -> set[str]:
    """Return every run of four characters in words, which compounds and inflected words share."""
    return {word[at : at + PART] for word in found for at in range(len(word) - PART + 1)}


def _share(wanted: set[str], named: set[str]) -> float:
    """Return how alike two sets are, from 0 to 1."""
    return len(wanted & named) / len(wanted | named) if named else 0.0
