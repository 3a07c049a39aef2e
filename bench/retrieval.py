"""Measure memory operations, and the CPU time to retrieve ten memories for a new query, compared with other systems.

The methods take turns in short blocks; figures are medians over the rounds, and ratios are medians of each round's
ratio. Queries are new in every block, so that no method can cache an answer.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from statistics import median
from typing import Annotated

from bench.peers.retrieval import Retrieve, peer_retrievals
from bench.quality import memory
from bench.table import Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.retrieval import DEFAULT, DIALOGUE, Query, RetrievalProfile, retrieve

LIMIT = 10
ROUNDS = 11
SIZES = (200, 10_000)
BLOCK = 0.03  # approximate seconds per block
_PEOPLE = ("Ben", "Cid", "Dora", "Edda", "Finn")
_THINGS = ("net", "apples", "way", "letter", "dog", "song")
_PLACES = ("harbour", "market", "mill", "school")


def fresh_queries() -> Iterator[str]:
    """Yield questions, all different."""
    for number in count():
        who, what, where = _PEOPLE[number % 5], _THINGS[number % 6], _PLACES[number % 4]
        yield f"Did {who} ask about the {what} at the {where}, for the {number}th time?"


def ways(entries: Sequence[Entry], minute: int) -> dict[str, Retrieve]:
    """Return every method of retrieval from these entries by name, the product's first."""

    def ours(profile: RetrievalProfile) -> Retrieve:
        return lambda text: retrieve(entries, Query(minute=minute, text=text, limit=LIMIT), profile)

    return {"ours, default": ours(DEFAULT), "ours, dialogue": ours(DIALOGUE)} | peer_retrievals(entries, LIMIT)


def tables(
    entries: Annotated[Sequence[int], "numbers of entries to search"] = SIZES, rounds: int = ROUNDS
) -> Iterator[Table]:
    """Yield the cost of memory operations, and a table of retrieval for each number of entries."""
    yield memory.table()
    queries = fresh_queries()
    for size in entries:
        stream = memory.full_stream(size)
        found = ways(stream.live(), 2_880)
        taken = measured(found, queries, rounds)
        yield table(size, taken)


def measured(found: dict[str, Retrieve], queries: Iterator[str], rounds: int) -> dict[str, list[float]]:
    """Return each method's milliseconds of CPU per query, by round; the first round warms up and sizes the blocks."""
    taken: defaultdict[str, list[float]] = defaultdict(list)
    asked = {name: max(1, int(BLOCK / _seconds(way, queries, 3))) for name, way in found.items()}
    for _ in range(rounds):
        for name, way in found.items():
            gc.collect()
            taken[name].append(1000 * _seconds(way, queries, asked[name]))
    return taken


def _seconds(way: Retrieve, queries: Iterator[str], number: int) -> float:
    texts = [next(queries) for _ in range(number)]
    ask: Callable[[str], object] = way
    began = time.process_time()
    for text in texts:
        ask(text)
    return (time.process_time() - began) / number


def table(size: int, taken: dict[str, list[float]]) -> Table:
    """Return the figures for one number of entries; the first method is the baseline."""
    ours = next(iter(taken.values()))
    rows = []
    for name, costs in taken.items():
        ratios = [cost / base for cost, base in zip(costs, ours, strict=True)]
        rows.append(Row(name, (median(costs), median(ratios), min(ratios), max(ratios))))
    note = f"CPU milliseconds of a query; times ours, default: median of {len(ours)} rounds' ratios, least and most."
    columns = ("ms", "times ours", "least", "most")
    return Table(f"Retrieve {LIMIT} of {size:,}, fresh queries", columns, tuple(rows), note, decimals=2)
