"""The terms of texts with their counts, and the vectors of texts, both cached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cogitate.memory.language.meanings.concepts import themes
from cogitate.memory.language.meanings.word_vectors import Vector, mean_vector
from cogitate.memory.language.text import stems
from cogitate.memory.retrieval.text_cache import TextCache

_MOST_TERMS = 500_000  # in all texts together: some 50 MB
_MOST_NUMBERS = 3_300_000  # of the vectors of 100,000 texts: some 20 MB


def term_counts(text: str) -> Mapping[str, int]:
    """Return how often each stem is in a text."""
    return dict(Counter(stems(text)))


def themed_counts(text: str) -> Mapping[str, int]:
    """Return how often each stem, and each theme of a stem, is in a text."""
    found, known = stems(text), themes()
    return dict(Counter(found + [theme for word in found for theme in known.get(word, ())]))


def text_vector(text: str) -> Vector:
    """Return the mean vector of a text's words."""
    return mean_vector(stems(text))


TERMS = TextCache(term_counts, most=_MOST_TERMS)
THEMED_TERMS = TextCache(themed_counts, most=_MOST_TERMS)
VECTORS = TextCache(text_vector, most=_MOST_NUMBERS)
