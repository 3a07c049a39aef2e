"""The terms of texts with their counts, cached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cogitate.memory.language.meanings.concepts import themes
from cogitate.memory.language.text import stems
from cogitate.memory.retrieval.text_cache import TextCache

_MOST_TERMS = 500_000  # in all texts together: some 50 MB


class Terms(dict[str, int]):
    """The number of occurrences of each term in a text."""

    __slots__ = ("length",)

    def __init__(self, terms: Iterable[str]) -> None:
        super().__init__(Counter(terms))
        self.length = sum(self.values())  # of the text, in terms


def term_counts(text: str) -> Terms:
    """Return how often each stem is in a text."""
    return Terms(stems(text))


def themed_counts(text: str) -> Terms:
    """Return how often each stem, and each theme of a stem, is in a text."""
    found, known = stems(text), themes()
    return Terms(found + [theme for word in found for theme in known.get(word, ())])


TERMS = TextCache(term_counts, most=_MOST_TERMS)
THEMED_TERMS = TextCache(themed_counts, most=_MOST_TERMS)
