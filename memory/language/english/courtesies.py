"""Courtesies: sentences that hold nothing but thanks, praise and encouragement, which a summary need not tell."""

from __future__ import annotations

from cogitate.memory.language.tables import english
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.text import FUNCTION_WORDS, words

_EMPTY_WORDS = english("empty")


def is_small_talk(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence is mere courtesy: only names, function words and polite words."""
    return all(w in FUNCTION_WORDS or w in _EMPTY_WORDS or speakers.is_part_of_name(w) for w in words(sentence))
