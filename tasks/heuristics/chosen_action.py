"""The one of several named actions that fits a text best, such as the present item of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.memory.language.text import normal, stems

PART = 4  # characters: shorter ones are endings


def choose_action(actions: Sequence[str], text: str, *, whole_words: bool = False) -> str:
    """Return the action that shares most words with a text, or else most parts of words, the first of several.

    "" is returned where no action is like the text.

    Args:
        whole_words: parts do not count, as in a long text, where any may stand.
    """
    for parts in (stems,) if whole_words else (stems, _parts):
        wanted = set(parts(text))
        shares = [1.0 if normal(one) == normal(text) else _share(wanted, set(parts(one))) for one in actions]
        if (best := max(shares, default=0.0)) > 0:
            return actions[shares.index(best)]
    return ""


def _parts(text: str) -> list[str]:
    """Return every run of four characters in the words of a text, which compounds and inflected words share."""
    return [word[at : at + PART] for word in stems(text) for at in range(len(word) - PART + 1)]


def _share(wanted: set[str], named: set[str]) -> float:
    """Return how alike two sets are, from 0 to 1."""
    return len(wanted & named) / len(wanted | named) if named else 0.0
