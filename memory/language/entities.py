"""Names and numbers in a text, found by their looks: capitals inside sentences, digits, number words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.tables import english
from cogitate.memory.language.text import FUNCTION_WORDS, words

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
NUMBER_WORDS = english("numbers")
_TIMES = frozenset(words("today tonight tomorrow yesterday noon midnight morning evening weekend сегодня завтра вчера"))
_NEVER_NAMES = frozenset(
    words("i im ok okay tv pm am oh ah wow woah hey hi yeah yes no yay thanks congrats agreed lol btw")
) | {"i'm", "i've", "i'll", "i'd"}


def name_words(sentences: Iterable[str]) -> frozenset[str]:
    """Return words, as written, that are capitalised inside a sentence, and capitals of more than one letter anywhere.

    Scripts without capitals have none. A sentence in title case or all capitals teaches nothing and is left out.
    """
    found: set[str] = set()
    read = list(sentences)
    lower = {w for sentence in read for w in _TOKEN.findall(sentence) if w.islower()}
    for sentence in read:
        tokens = _TOKEN.findall(sentence.replace("’", "'"))
        listed = _LISTED.match(sentence)
        if listed and listed[1].casefold() not in FUNCTION_WORDS and listed[1].casefold() not in lower:
            found.add(listed[1])
        inner = [t for t in tokens[1:] if t[0].isupper()]
        if len(tokens) > 3 and len(inner) > 0.7 * (len(tokens) - 1):
            continue
        found.update(t for t in tokens[:1] if len(t) > 1 and t.isupper())
        found.update(inner)
    return frozenset(
        base(t)
        for t in found
        if not t.endswith("ly") and t.casefold() not in _NEVER_NAMES and base(t).casefold() not in _NEVER_NAMES
    )


_LISTED = re.compile(r"^([A-Z][^\W\d_]+)(?=(?:,? and |, | & |/)(?:[A-Z][a-z]|(?:I|my|our|his|her|the)\b)|[.!?]?$)")


def base(token: str) -> str:
    """Return a token without a possessive ending."""
    return token[:-2] if token.endswith("'s") else token


def is_number(word: str) -> bool:
    """Return whether a word has a digit or is a number in words."""
    return any(c.isdigit() for c in word) or word.casefold() in NUMBER_WORDS


def is_time(word: str) -> bool:
    """Return whether a word (case-folded) tells when without being a name or a number."""
    return word in _TIMES
