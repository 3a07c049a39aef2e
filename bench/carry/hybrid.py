"""`python -m bench hybrid`: search by words and vectors, combined in several ways, on both halves of each domain.

A half is every second conversation, meeting, episode or agent by name; of chats and catch-ups, the development or the
held-out ones; of town and story, one seed. The extra `local-embeddings` computes the vectors; that of a query leaves
out the names of the memories' subjects. The measure is the share of the evidence among the first ten results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from bench.carry import story_questions, town_questions
from bench.carry.carry import DEPTH, STORY_DAYS, TALKS, TOWN_AGENTS, TOWN_DAYS, asked_of, mean, standard_error
from bench.carry.questions import Asked, Question, halves_of_games, meetings
from bench.quality.recordings import Run, load_conversations, load_runs, read_conversations
from bench.quality.streams import insights
from bench.table import Cell, Row, Table
from cogitate.memory.language.text import normal
from cogitate.memory.retrieval.candidates import Candidates, Query
from cogitate.memory.retrieval.retrieval import DEFAULT
from cogitate.memory.retrieval.scoring import scaled
from cogitate.memory.retrieval.similarity import similarities, without_names
from cogitate.memory.retrieval.vectors import packed
from cogitate.workers.llm.minilm import MiniLM

SEEDS = (11, 12)  # of town and story, one for each half
HALVES = ("looked at", "left out")
RANK_CONSTANT = 60  # of reciprocal rank fusion, as published (Cormack, Clarke and Buettcher 2009)


class Searched(NamedTuple):
    """One query with the scores of its candidates, in the order of their numbers."""

    candidates: Candidates
    words: list[float]  # of the default profile, without vectors
    near: list[float]  # cosine of each candidate and the query

    @property
    def vectors(self) -> list[float]:
        """The cosines as similarities are scaled in the default profile."""
        return scaled(self.near)


def as_words(one: Searched) -> list[float]:
    """Add the standardised similarity to the relevance of words, so that neighbours and scenes count it too."""
    candidates = _Likened(one.candidates.entries, one.candidates.query, DEFAULT.matching)
    candidates.near = one.near
    return _scores(candidates)


def by_rank(one: Searched) -> list[float]:
    """Return the reciprocal rank fusion of words and vectors."""
    return [
        1 / (RANK_CONSTANT + word) + 1 / (RANK_CONSTANT + vector)
        for word, vector in zip(_ranks(one.words), _ranks(one.near), strict=True)
    ]


WAYS: Mapping[str, Callable[[Searched], list[float]]] = {
    "words": lambda one: one.words,
    "vectors": lambda one: one.near,
    "product: similarity 0.8": lambda one: _sums(one.words, [0.8 * value for value in one.vectors]),
    "reciprocal ranks": by_rank,
    "halves, each from 0 to 1": lambda one: _sums(scaled(one.words), one.vectors),
    "halves, standardised": lambda one: _sums(standardised(one.words), standardised(one.near)),
    "vectors as words": as_words,
}


class _Likened(Candidates):
    """Candidates whose relevance is the sum of those of words and of vectors, each scaled to a best of 1."""

    near: Sequence[float] = ()

    @cached_property
    def relevance(self) -> list[float]:
        values = standardised(self.near)
        most = max(values, default=0.0)
        both = _sums(super().relevance, [math.exp(value - most) for value in values])
        best = max(both, default=0.0) or 1.0
        return [value / best for value in both]


def halves(data: Path) -> Iterator[tuple[str, Sequence[Sequence[Asked]]]]:
    """Yield each domain with the memories of its two halves."""
    talks = load_conversations(data)
    yield "conversations", _split(asked_of(talks))
    yield "… adversarial", _split(asked_of(talks, adversarial=True))
    yield "meetings", _split(meetings(data))
    yield "games", _split(halves_of_games(data))
    for name in ("chats", "catch-ups"):
        folder = TALKS / name.replace("-", "_")
        yield name, [asked_of(read_conversations(folder / half)) for half in ("development", "held_out")]
    yield "town", [list(town_questions.memories(TOWN_AGENTS, TOWN_DAYS, seed)) for seed in SEEDS]
    yield "story", [list(story_questions.memories(STORY_DAYS, seed)) for seed in SEEDS]
    for run in load_runs(data):
        agents = sorted(run.agents, key=lambda agent: agent.name)
        yield run.name, [_insights(replace(run, agents=tuple(half))) for half in (agents[::2], agents[1::2])]


def _split(memories: Sequence[Asked]) -> Sequence[Sequence[Asked]]:
    return memories[::2], memories[1::2]


def _insights(run: Run) -> list[Asked]:
    found = []
    for one in insights(run):
        numbers = {entry.text: entry.number for entry in one.candidates if entry.text in one.evidence}
        if numbers:
            question = Question(one.query.text, "insight", frozenset(numbers.values()))
            found.append(Asked(run.name, one.candidates, (question,)))
    return found


def tables(data: Path) -> Iterator[Table]:
    """Yield a table for each half: the recall of each way, and its gain over words alone."""
    vectors: dict[str, bytes | None] = {}
    found = {name: [recalls(memories, vectors) for memories in both] for name, both in halves(data)}
    for at, half in enumerate(HALVES):
        by = {name: both[at] for name, both in found.items()}
        rows: list[Row] = []
        for way in WAYS:
            rows.append(Row(way, tuple(mean(shares[way]) for shares in by.values())))
            if way != "words":
                gains = [_gains(shares[way], shares["words"]) for shares in by.values()]
                rows.append(Row("… gains", tuple(map(mean, gains))))
                rows.append(Row("… standard error", tuple(map(standard_error, gains))))
        counts: tuple[Cell, ...] = tuple(len(shares["words"]) for shares in by.values())
        yield Table(f"Words and vectors: the half {half}", tuple(by), (Row("questions", counts), *rows))


def recalls(memories: Sequence[Asked], vectors: dict[str, bytes | None]) -> dict[str, list[float]]:
    """Return the share of each question's evidence among the first results, by way.

    Args:
        vectors: those known by text; missing ones are computed and added.
    """
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for memory in memories:
        text_of = {entry.number: normal(entry.text) for entry in memory.entries}
        for question in memory.questions:
            wanted = {text_of[number] for number in question.evidence}
            one = searched(memory, question.text, vectors)
            for way, scores in WAYS.items():
                found[way].append(len(wanted & _first(one.candidates, scores(one))) / len(wanted))
    return found


def searched(memory: Asked, text: str, vectors: dict[str, bytes | None]) -> Searched:
    """Return a query with the scores of its candidates."""
    query = Query(minute=memory.now, text=text, limit=len(memory.entries))
    asked = without_names(text, memory.entries)
    needed = {asked, *(entry.text for entry in memory.entries)}
    missing = sorted(one for one in needed if one not in vectors)
    if missing:
        vectors.update(zip(missing, map(packed, _MODEL.embed(missing)), strict=True))
    near = similarities(asked, memory.entries, {one: vectors[one] for one in needed})
    candidates = Candidates(memory.entries, query, DEFAULT.matching)
    return Searched(candidates, _scores(candidates), [near[entry.number] for entry in candidates.entries])


_MODEL = MiniLM()


def _scores(candidates: Candidates) -> list[float]:
    columns = [[part.weight * value for value in part.measure(candidates)] for part in DEFAULT.components]
    return [sum(values) for values in zip(*columns, strict=True)]


def _first(candidates: Candidates, scores: Sequence[float]) -> set[str]:
    """Return the different texts with the highest scores; of equal ones the newest."""
    found: dict[str, None] = {}
    for at in _ranked(scores):
        found.setdefault(candidates.texts[at])
        if len(found) == DEPTH:
            break
    return set(found)


def _ranked(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores) - 1, -1, -1), key=scores.__getitem__, reverse=True)


def _ranks(scores: Sequence[float]) -> list[int]:
    ranks = [0] * len(scores)
    for rank, at in enumerate(_ranked(scores), 1):
        ranks[at] = rank
    return ranks


def standardised(values: Sequence[float]) -> list[float]:
    """Return each value's distance from the mean in standard deviations; 0 if all are equal."""
    middle = mean(values)
    deviation = math.sqrt(mean((value - middle) ** 2 for value in values))
    return [(value - middle) / deviation if deviation else 0.0 for value in values]


def _sums(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [first + second for first, second in zip(one, other, strict=True)]


def _gains(shares: Sequence[float], before: Sequence[float]) -> list[float]:
    return [share - other for share, other in zip(shares, before, strict=True)]
