"""Importance without a model and with few calls: mean absolute error and rank correlation on recorded ratings.

The entries are those that the original model rated (no idle events, no plan memos, no empty texts), in order of time
over all agents of a run. An entry rated by a call has error 0; a predicted one is compared with the recorded rating.
The learner starts each run from scratch and learns only from the ratings that it called for, unless the row says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bench.quality.recordings import Run, load_runs
from bench.table import Cell, Row, Table
from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.importance import Ratings, rate_by_rule
from cogitate.memory.language.text import normal

_TYPES: dict[str, EntryType] = {"event": "observation", "thought": "reflection", "chat": "message"}
_USUAL: dict[EntryType, int] = {"observation": 3, "reflection": 5, "message": 5}

_PUBLISHED: tuple[tuple[str, tuple[Cell, ...]], ...] = (
    ("the heuristic of streams as written", (1.89, 0.40, 0.0)),
    ("always 3", (1.25, None, 0.0)),
    ("median per type (3, 5, 5)", (1.07, 0.39, 0.0)),
    ("ridge on words learned from another run", (0.95, 0.63, 0.0)),
    ("nearest earlier texts, all earlier ratings known", (0.815, 0.71, 0.0)),
    ("calls where the error estimate says so, 11%", (0.72, None, 0.11)),
    ("calls where the error estimate says so, 21%", (0.58, None, 0.21)),
    ("calls where the error estimate says so, 40%", (0.38, None, 0.40)),
)


#: Raters that use another part of the scale: with habits that the learner knows, and with others.
_HABITS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("as recorded", lambda rating: rating),
    ("one higher", lambda rating: rating + 1),
    ("one lower", lambda rating: rating - 1),
    ("nearer to 1, by 0.7", lambda rating: 1 + 0.7 * (rating - 1)),
    ("further from 1, by 1.4", lambda rating: 1 + 1.4 * (rating - 1)),
    ("not known: nearer to 1, by 0.85", lambda rating: 1 + 0.85 * (rating - 1)),
    ("not known: further from 1, by 1.2", lambda rating: 1 + 1.2 * (rating - 1)),
    ("not known: one higher from 5 on", lambda rating: rating + (rating >= 5)),
    ("not known: one lower up to 4", lambda rating: rating - (rating <= 4)),
)


class RatedSample(NamedTuple):
    """An entry that the original model rated."""

    owner: str
    entry: Entry
    rating: int


class Figure(NamedTuple):
    """Mean absolute error, rank correlation of what was used (called or predicted), and share of calls."""

    error: float
    correlation: float | None
    calls: float


def tables(data: Path) -> list[Table]:
    """Return a table per run and one of the means over runs; no table without runs."""
    runs = load_runs(data)
    if not runs:
        return []
    columns = ("MAE", "rank correlation", "calls")
    labels = [label for label, _ in _METHODS]
    figures = {run.name: [method(rated_entries(run)) for _, method in _METHODS] for run in runs}
    found = [
        Table(
            f"Importance: {name}", columns, tuple(Row(label, tuple(f)) for label, f in zip(labels, rows, strict=True))
        )
        for name, rows in figures.items()
    ]
    means = [Row(label, tuple(_means([rows[at] for rows in figures.values()]))) for at, label in enumerate(labels)]
    published = [Row(label, cells, published=True) for label, cells in _PUBLISHED]
    note = "Mean over runs; published figures are of other runs."
    habits = [
        Row(label, tuple(learned(0.2)(_rerated(rated_entries(run), habit)).error for run in runs))
        for label, habit in _HABITS
    ]
    cache = [Row(run.name, cached(rated_entries(run))) for run in runs]
    return [
        *found,
        Table("Importance: all runs", columns, (*means, *published), note),
        Table("Importance by raters of other habits, 20% of calls: MAE", tuple(figures), tuple(habits)),
        Table(
            "Calls saved by an exact-text cache",
            ("per agent", "across agents", "same agent, same text: ratings differ by"),
            (*cache, Row("published", (0.18, 0.49, 0.55), published=True)),
        ),
    ]


def rated_entries(run: Run) -> list[RatedSample]:
    """Return the entries that the original model rated, in order of time, then agent, then number."""
    found: list[tuple[int, str, int, RatedSample]] = []
    for agent in run.agents:
        for node in agent.nodes:
            text = node.text.strip()
            memo = node.type == "thought" and "'s plan for " in text
            if text and not memo and not (node.type == "event" and node.idle):
                entry = Entry(type=_TYPES[node.type], text=text, minute=node.minute)
                owner = f"agent:{agent.name}"
                found.append((node.created, agent.name, node.number, RatedSample(owner, entry, node.poignancy)))
    return [rated for *_, rated in sorted(found, key=lambda item: item[:3])]


def _rerated(rated: Sequence[RatedSample], habit: Callable[[int], float]) -> list[RatedSample]:
    """Return the entries as a rater of this habit would have rated them."""
    return [one._replace(rating=min(10, max(1, round(habit(one.rating))))) for one in rated]


def by(rule: Callable[[Entry], int]) -> Callable[[Sequence[RatedSample]], Figure]:
    """Return a method that predicts each entry by a fixed rule and never calls."""

    def measure(rated: Sequence[RatedSample]) -> Figure:
        return _figure(rated, [rule(r.entry) for r in rated], 0)

    return measure


def learned(share: float, *, all_known: bool = False) -> Callable[[Sequence[RatedSample]], Figure]:
    """Return the learner with this share of calls; with `all_known` it learns all earlier ratings too."""

    def measure(rated: Sequence[RatedSample]) -> Figure:
        ratings = Ratings()
        used: list[int] = []
        calls = 0
        for owner, entry, rating in rated:
            estimate = ratings.estimate(owner, entry)
            called = ratings.deserves_call(estimate, share)
            calls += called
            used.append(rating if called else estimate.rating)
            if called or all_known:
                ratings.learn(owner, entry, rating)
        return _figure(rated, used, calls)

    return measure


def cached(rated: Sequence[RatedSample]) -> tuple[Cell, ...]:
    """Return the share of entries whose text was rated before, by the same agent or by any, and how ratings differ."""
    own: dict[tuple[str, str], int] = {}
    texts: set[str] = set()
    hits = shared = apart = 0
    for owner, entry, rating in rated:
        key = normal(entry.text)
        if (owner, key) in own:
            hits += 1
            apart += abs(own[owner, key] - rating)
        shared += key in texts
        own[owner, key] = rating
        texts.add(key)
    return hits / len(rated), shared / len(rated), apart / hits if hits else None


def rank_correlation(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return Spearman's rho with mean ranks for ties, or None if one side is constant."""
    a, b = _ranks(first), _ranks(second)
    mean = (len(a) + 1) / 2
    spread = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    if spread == 0:
        return None
    return float(sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / spread**0.5)


def _ranks(values: Sequence[int]) -> list[float]:
    ranks = [0.0] * len(values)
    start = 0
    for _, together in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        tied = list(together)
        for at in tied:
            ranks[at] = start + (len(tied) + 1) / 2
        start += len(tied)
    return ranks


def _figure(rated: Sequence[RatedSample], used: Sequence[int], calls: int) -> Figure:
    recorded = [r.rating for r in rated]
    error = sum(abs(u - r) for u, r in zip(used, recorded, strict=True)) / len(rated)
    return Figure(error, rank_correlation(used, recorded), calls / len(rated))


def _means(figures: Sequence[Figure]) -> Figure:
    known = [f.correlation for f in figures if f.correlation is not None]
    return Figure(
        sum(f.error for f in figures) / len(figures),
        sum(known) / len(known) if known else None,
        sum(f.calls for f in figures) / len(figures),
    )


_METHODS: tuple[tuple[str, Callable[[Sequence[RatedSample]], Figure]], ...] = (
    ("the heuristic of streams", by(rate_by_rule)),
    ("always 3", by(lambda _: 3)),
    ("median per type (3, 5, 5)", by(lambda entry: _USUAL[entry.type])),
    ("learner, no call", learned(0)),
    ("learner, 20% of calls", learned(0.2)),
    ("learner, 40% of calls", learned(0.4)),
    ("learner, no call, all earlier ratings known", learned(0, all_known=True)),
    ("learner, 20% of calls, all earlier ratings known", learned(0.2, all_known=True)),
    ("learner, 40% of calls, all earlier ratings known", learned(0.4, all_known=True)),
)
