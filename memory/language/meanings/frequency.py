"""Frequency of English words: "thing" tells less about a question than "trumpet", which a small memory cannot tell.

`frequent_words.txt` holds the stems of the thousand most frequent words of GloVe (Pennington, Socher and Manning 2014;
6B, in the public domain by PDDL 1.0) without function words, the most frequent first. Words of other languages count as
rare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources


def rarity(stem: str) -> float:
    """Return how rare a word is in English, from 0.1 for "say" to 1 for words that are not among the frequent."""
    ranks = _ranks()
    return math.log(2 + ranks.get(stem, len(ranks))) / math.log(2 + len(ranks))


@cache
def _ranks() -> Mapping[str, int]:
    text = (resources.files(__package__) / "frequent_words.txt").read_text(encoding="ascii")
    return {stem: rank for rank, stem in enumerate(text.split())}
