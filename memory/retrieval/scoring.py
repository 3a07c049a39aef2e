"""The formulas of retrieval, on plain numbers and words. Every result is finite, also for ties and empty input.

`recency`, `normal_importance` and `keyword_relevance` follow tasks 3 and 5 of the streams design to the letter. `bm25`
is Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the idf of Lucene,
which is never negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from cogitate.memory.clock import clock_in_force
from cogitate.memory.entry import EntryType
from cogitate.memory.retrieval.terms import Terms

#: Game minutes after which recency has halved (streams, configuration defaults; summaries and messages are stored as
#: observations there).
HALF_LIFE: Mapping[EntryType, float] = MappingProxyType(
    {"observation": 360, "message": 360, "summary": 360, "reflection": 1440, "plan": 720}
)
_K1, _B = 1.2, 0.6  # of BM25: how much repeats of a word and the length of a text count; memories are short


def recency(minute: int, now: int, half_life: float = 360) -> float:
    """Return 0.5^(age / half_life), in (0, 1]; 1 for a time that is not in the past. All in game minutes.

    Where ticks are longer than an hour, the half-life counts a tick as an hour; otherwise only the newest is not old.
    """
    age = now - minute
    return 1.0 if age <= 0 else math.pow(0.5, age / (half_life * clock_in_force().hours_per_tick))


def log_ages(minutes: Iterable[int], now: int) -> list[float]:
    """Return ln(1 + age in game minutes) of each time; it separates young ones by minutes, old ones only by days."""
    log1p = math.log1p
    return [log1p(now - minute) if minute < now else 0.0 for minute in minutes]


def normal_importance(importance: float) -> float:
    """Return (importance - 1) / 9, clamped to [0, 1]."""
    return max(0.0, min(1.0, (importance - 1) / 9))


def keyword_relevance(keywords: Iterable[str], terms: Iterable[str]) -> float:
    """Return the Jaccard overlap of two sets of words, case-folded, in [0, 1]; 0 when either is empty."""
    memory, query = {k.casefold() for k in keywords}, {t.casefold() for t in terms}
    if not memory or not query:
        return 0.0
    shared = len(memory & query)
    return shared / (len(memory) + len(query) - shared)


def scaled(values: Sequence[float]) -> list[float]:
    """Return the values scaled to [0, 1] by minimum and maximum. Equal values become 0, never NaN."""
    if not values:
        return []
    low, high = min(values), max(values)
    if not high > low:
        return [0.0] * len(values)
    return [(value - low) / (high - low) for value in values]


def bm25(documents: Sequence[Terms], terms: Mapping[str, float]) -> list[float]:
    """Return BM25 of each document for the query's terms and their weights; 0 where none occurs."""
    count = len(documents)
    lengths = [document.length for document in documents]
    mean = sum(lengths) / count if any(lengths) else 1.0
    dampings = [_K1 * (1 - _B + _B * length / mean) for length in lengths]
    scores = [0.0] * count
    for term, term_weight in terms.items():
        holders = [(i, document[term]) for i, document in enumerate(documents) if term in document]
        weight = term_weight * (_K1 + 1) * math.log(1 + (count - len(holders) + 0.5) / (len(holders) + 0.5))
        for i, frequency in holders:
            scores[i] += weight * frequency / (frequency + dampings[i])
    return scores
