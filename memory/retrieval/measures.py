"""Measures of single entries for a query, each a list in the order of the candidates. See `retrieval`."""

from __future__ import annotations

import math
from functools import lru_cache

from cogitate.memory.language.text import extract_keywords
from cogitate.memory.retrieval.candidates import Candidates
from cogitate.memory.retrieval.scoring import (
    HALF_LIFE,
    ORDINARY,
    keyword_relevance,
    log_ages,
    normal_importance,
    rating,
    recency,
    scaled,
)


def half_life_recency(candidates: Candidates) -> list[float]:
    """Return exponential decay with the half-life of the entry's type (streams design, task 3)."""
    now = candidates.query.minute
    return [recency(e.minute, now, HALF_LIFE[e.type]) for e in candidates.entries]


def plain_importance(candidates: Candidates) -> list[float]:
    """Return importance 1 to 10 as 0 to 1 (streams design, task 3)."""
    return [normal_importance(rating(e)) for e in candidates.entries]


def keyword_overlap(candidates: Candidates) -> list[float]:
    """Return the Jaccard overlap of keywords, which default to those of the entry's text (streams design, task 5)."""
    terms = candidates.keywords
    return [keyword_relevance(e.keywords or _keywords(e.text), terms) for e in candidates.entries]


@lru_cache(maxsize=8192)
def _keywords(text: str) -> tuple[str, ...]:
    return tuple(extract_keywords(text))


def scaled_recency(candidates: Candidates) -> list[float]:
    """Return how recent each entry is among the candidates, by the logarithm of its age: newest 1, oldest 0."""
    now = candidates.query.minute
    return scaled([-age for age in log_ages([e.minute for e in candidates.entries], now)])


def scaled_importance(candidates: Candidates) -> list[float]:
    """Return importance among the candidates: highest 1, lowest 0. Raters use different parts of the scale."""
    return scaled([e.importance or ORDINARY for e in candidates.entries])


def relevance(candidates: Candidates) -> list[float]:
    """Return how well the words match, by BM25 with stemming; the best match is 1 (see `Candidates.relevance`)."""
    return candidates.relevance


def support(candidates: Candidates) -> list[float]:
    """Return how strongly each entry supports relevant ones: the scaled relevance of the entries that cite it.

    What a reflection was drawn from matters for whatever that reflection matters for. Repeats of a text share it.
    """
    citing = [
        (e, value) for e, value in zip(candidates.entries, candidates.relevance, strict=True) if e.evidence and value
    ]
    if not citing:
        return [0.0] * len(candidates.entries)
    text_of = {e.number: text for e, text in zip(candidates.entries, candidates.texts, strict=True)}
    shares: dict[str, float] = {}
    for entry, value in citing:
        for number in entry.evidence:
            if number in text_of:
                shares[text_of[number]] = shares.get(text_of[number], 0.0) + value
    return scaled([shares.get(text, 0.0) for text in candidates.texts])


def similarity(candidates: Candidates) -> list[float]:
    """Return the host's similarities, scaled; a missing or non-finite one counts as the least."""
    given = candidates.query.similarity
    known = {n: value for n, value in given.items() if math.isfinite(value)}
    if not known:
        return [0.0] * len(candidates.entries)
    least = min((known[e.number] for e in candidates.entries if e.number in known), default=0.0)
    return scaled([known.get(e.number, least) for e in candidates.entries])
