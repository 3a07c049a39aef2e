"""English words that are near in meaning, so that a question about a storm finds what is said about the flood.

`near_words.txt` holds the most frequent words of GloVe's vectors (Pennington, Socher and Manning 2014; 6B, 50
dimensions, in the public domain by PDDL 1.0). Two words are near when each is among the nearest of the other; words for
groups of people are left out, which news ties to war and crime. `python -m bench near-words` makes the table. Unlike
vectors it gives the same result on every machine and needs no library. In other languages it is silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

_NONE: frozenset[str] = frozenset()


def near_words(stem: str) -> frozenset[str]:
    """Return the stems of the words that are near in meaning to a word, given by its stem; none for unknown words."""
    return _table().get(stem, _NONE)


@cache
def _table() -> Mapping[str, frozenset[str]]:
    text = (resources.files(__package__) / "near_words.txt").read_text(encoding="ascii")
    return read(text)


def read(text: str) -> dict[str, frozenset[str]]:
    """Return the words near to each. A line holds a word and those near to it that no earlier line begins with."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        word, *others = line.split()
        for other in others:
            found.setdefault(word, set()).add(other)
            found.setdefault(other, set()).add(word)
    return {word: frozenset(others) for word, others in found.items()}
