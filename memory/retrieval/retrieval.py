"""Retrieval (streams design, task 6): the entries that matter most for a query, with an exact account of why.

A profile is a list of components: a name, a weight and a measure. An entry's score is the sum of weight × value over
the components, in their order. `SPEC` is the streams design's formula; `DEFAULT` is for every kind of memory: recorded
streams, talk of two or of many, and worlds that mix them (`python -m bench quality`, `carry`). Raw values of relevance
are tiny and recency drowns them, so `DEFAULT` scales relevance. Components for talk apply only to lines of talk.

Pure: retrieval marks no entry as accessed; an effect does. The order is total (score, then the newer number), so it
does not depend on the order of the given entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cogitate.memory.entry import Entry
from cogitate.memory.language.text import normal, stems
from cogitate.memory.retrieval import measures
from cogitate.memory.retrieval.candidates import Candidates, Matching, Query

__all__ = ["DEFAULT", "DIALOGUE", "SPEC", "Component", "Query", "RetrievalProfile", "ScorePart", "Scored", "retrieve"]


@dataclass(frozen=True)
class Component:
    """One part of a score: its name, its weight and the measure that gives a finite value per candidate."""

    name: str
    weight: float
    measure: Callable[[Candidates], list[float]]


@dataclass(frozen=True, kw_only=True)
class RetrievalProfile:
    """A rule for scoring and choosing entries.

    `distinct` keeps only the best of entries with the same text. `diversity` in [0, 1] is the share of maximal
    marginal relevance (Carbonell and Goldstein 1998): at 0 only the score counts; above 0, the more an entry's words
    overlap with a chosen one, the later it is chosen.
    """

    name: str
    components: tuple[Component, ...]
    matching: Matching = Matching()
    distinct: bool = True
    diversity: float = 0.0

    @property
    def weighs_similarity(self) -> bool:
        """Return whether similarities change a score."""
        return any(part.name == "similarity" and part.weight for part in self.components)


@dataclass(frozen=True)
class ScorePart:
    """One component of a score: `weight` × `value` is its contribution."""

    name: str
    weight: float
    value: float


@dataclass(frozen=True)
class Scored:
    """A chosen entry. `score` equals the sum of weight × value over `parts`, added in their order."""

    entry: Entry
    score: float
    parts: tuple[ScorePart, ...]

    @property
    def why(self) -> str:
        """The parts that contribute, as "relevance 1×0.401 + recency 0.05×0.083"."""
        return " + ".join(f"{part.name} {part.weight:g}×{part.value:.3f}" for part in self.parts if part.value)


#: The formula of the streams design (tasks 3 to 6), with its default weights.
SPEC = RetrievalProfile(
    name="spec",
    components=(
        Component("recency", 0.5, measures.half_life_recency),
        Component("importance", 0.3, measures.plain_importance),
        Component("relevance", 0.2, measures.keyword_overlap),
    ),
    distinct=False,
)

#: Most of these weights make no difference between half and one and a half times their value.
DEFAULT = RetrievalProfile(
    name="default",
    components=(
        Component("relevance", 1.0, measures.relevance),
        Component("neighbours", 1.0, measures.neighbours),
        Component("scene", 0.8, measures.scene),
        Component("speaker", 0.7, measures.speaker),
        Component("statement", 0.1, measures.statement),
        Component("information", 0.45, measures.information),
        Component("importance", 0.5, measures.scaled_importance),
        Component("support", 0.3, measures.support),
        Component("recency", 0.05, measures.scaled_recency),
        Component("similarity", 0.8, measures.similarity),
    ),
    matching=Matching(fields=("text", "speaker", "keywords", "tags"), themes=0.25, rarity=True),
)

#: The same with repeats of a text, for a host that wants to see what was said twice.
DIALOGUE = replace(DEFAULT, name="dialogue", distinct=False)


def retrieve(entries: Sequence[Entry], query: Query, profile: RetrievalProfile = DEFAULT) -> list[Scored]:
    """Return the `query.limit` best entries, best first: exactly that many, or all that pass the filters if fewer do.

    With a `distinct` profile "all" means all different texts.
    """
    candidates = Candidates(entries, query, profile.matching)
    columns = [component.measure(candidates) for component in profile.components]
    scores = [0.0] * len(candidates.entries)
    for component, column in zip(profile.components, columns, strict=True):
        if any(column):
            weight = component.weight
            scores = [score + weight * value for score, value in zip(scores, column, strict=True)]
    # Newest first: the sort is stable, so equal scores stay in that order.
    ranked = sorted(range(len(scores) - 1, -1, -1), key=scores.__getitem__, reverse=True)
    if profile.distinct:
        ranked = _first_of_each(ranked, candidates, None if profile.diversity else query.limit)
    if profile.diversity:
        ranked = _diverse(ranked, scores, candidates, profile.diversity)
    return [
        Scored(
            candidates.entries[i],
            scores[i],
            tuple(
                ScorePart(c.name, c.weight, column[i]) for c, column in zip(profile.components, columns, strict=True)
            ),
        )
        for i in ranked[: max(0, query.limit)]
    ]


def _diverse(ranked: list[int], scores: list[float], candidates: Candidates, diversity: float) -> list[int]:
    """Return the ranking by maximal marginal relevance: (1 - d) × scaled score - d × overlap with a chosen entry."""
    if not ranked:
        return ranked
    best, worst = scores[ranked[0]], scores[ranked[-1]]
    span = best - worst or 1.0
    terms = {i: frozenset(stems(candidates.entries[i].text)) for i in ranked}
    overlap = dict.fromkeys(ranked, 0.0)
    left = list(ranked)
    chosen: list[int] = []
    while left and len(chosen) < candidates.query.limit:
        # max() keeps the first of equals: the one with the better score.
        pick = max(left, key=lambda i: (1 - diversity) * (scores[i] - worst) / span - diversity * overlap[i])
        left.remove(pick)
        chosen.append(pick)
        for i in left:
            union = len(terms[pick] | terms[i])
            overlap[i] = max(overlap[i], len(terms[pick] & terms[i]) / union if union else 0.0)
    return chosen


def _first_of_each(ranked: list[int], candidates: Candidates, limit: int | None) -> list[int]:
    """Return the best ranked entry of each text, at most `limit` of them."""
    best: dict[str, int] = {}
    for index in ranked:
        if limit is not None and len(best) >= limit:
            break
        best.setdefault(normal(candidates.entries[index].text), index)
    return list(best.values())
