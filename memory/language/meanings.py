"""Meanings of English words: everyday themes that they share, and how frequent they are.

Retrieval without embeddings misses what is said in other words; a shared theme, as of "lunch" and "breakfast", adds a
little. "Thing" tells less about a question than "trumpet", which a small memory cannot tell. Words of other languages
have no themes and count as rare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import stem


@cache
def themes() -> Mapping[str, tuple[str, ...]]:
    """Return the themes of each stem that has some, each marked with "#"."""
    return themes_in(read_table("english")["themes"])


def themes_in(table: str) -> Mapping[str, tuple[str, ...]]:
    """Return the themes of each stem in a table with one theme a line: its name, then its other members."""
    found: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        members = line.split()
        for member in dict.fromkeys(stem(word) for word in members):
            found.setdefault(member, []).append(f"#{members[0]}")
    return MappingProxyType({word: tuple(names) for word, names in found.items()})


def is_theme(term: str) -> bool:
    """Return whether a term is a theme and not a word."""
    return term.startswith("#")


def rarity(stem: str) -> float:
    """Return how rare a word is in English, from 0.1 for "say" to 1 for words that are not among the frequent."""
    ranks = _ranks()
    return math.log(2 + ranks.get(stem, len(ranks))) / math.log(2 + len(ranks))


@cache
def _ranks() -> Mapping[str, int]:
    return {word: rank for rank, word in enumerate(read_table("english")["frequent"].split())}
