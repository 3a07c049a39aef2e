"""Repetition in answers: within a text, between two fields, or among the items of a list."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.text import words as words_of
from cogitate.workers.answer_faults.fields import lists_of
from cogitate.workers.answer_faults.prompt_content import bare

_SENTENCE = re.compile(f"[^{SPACED}{UNSPACED}]+")
_ONE_WORD = 4  # repetitions from which a text of a single word is a fault
_SAID_TWICE = 6  # words from which a repeated sentence is a fault
_LONG = 16  # words from which a text is checked for loops
_VARIED = 0.7  # share of different groups of three words among all: prose is above 0.9
_FEW = 4  # equal items that a day may have: "Work" before lunch, after it, after tea, …
_SAME = 0.75  # share of equal items that a day may have


def repeats_itself(text: str, words: list[str]) -> bool:
    """Return whether a text of these words repeats one word or sentence, or loops."""
    if len(words) > 1 and _times(text) >= _ONE_WORD:
        return True
    parts = (words_of(one) for one in _SENTENCE.findall(text))
    said = [" ".join(part) for part in parts if len(part) >= _SAID_TWICE]
    return len(said) != len(set(said)) or (len(words) >= _LONG and len(runs(words, 3)) / (len(words) - 2) < _VARIED)


def _times(text: str) -> int:
    """Return how many times a text repeats the same letters, if it consists of nothing else."""
    letters = "".join(char for char in text.casefold() if char.isalpha())
    return len(letters) // (letters + letters).find(letters, 1) if letters else 0


def fault_of_fields(value: Any, choices: frozenset[str]) -> str | None:
    """Return a fault if two fields of an answer, or too many items of a list in it, are the same; else None."""
    if (twice := _said_in_two_fields(value, choices)) is not None:
        return f"{twice[0]!r} and {twice[1]!r} say the same"
    for items in lists_of(value, choices):
        most = max(Counter(items).values())
        if most >= _FEW and most > _SAME * len(items):
            return f"{most} of {len(items)} items are the same"
        if 2 * len(set(items)) < len(items):
            return f"only {len(set(items))} of {len(items)} items differ"
    return None


def _said_in_two_fields(value: Any, choices: frozenset[str]) -> tuple[str, str] | None:
    """Return two text fields of one object of which one repeats or begins with the other, or None."""
    if isinstance(value, list):
        return next((found for part in value if (found := _said_in_two_fields(part, choices)) is not None), None)
    if not isinstance(value, dict):
        return None
    texts = {name: bare(text) for name, text in value.items() if isinstance(text, str) and text not in choices}
    for (one, said), (other, again) in combinations(texts.items(), 2):
        short, long = sorted((said, again), key=len)
        if len(words_of(short)) > 1 and long.startswith(short):
            return one, other
    return _said_in_two_fields(list(value.values()), choices)


def runs(words: list[str], length: int) -> set[tuple[str, ...]]:
    """Return all groups of `length` consecutive words."""
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}
