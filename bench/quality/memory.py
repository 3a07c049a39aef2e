"""Time the operations of a full stream (streams, success criterion 5: below 10 ms, pruning below 100 ms)."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from bench.table import Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import carry_out, choose, enforce_limits
from cogitate.memory.retrieval.retrieval import DEFAULT, DIALOGUE, SPEC, Query, retrieve
from cogitate.memory.routing.repeats import RepeatIndex
from cogitate.memory.snapshot import dump, load
from cogitate.memory.stream import Stream

ROUNDS = 30
OWNER = "agent:ann"
LIMITS = MemoryLimits()
_PEOPLE = ("Ben", "Cid", "Dora", "Edda", "Finn")
_DEEDS = ("mends a net", "sells apples", "asks for the way", "reads a letter", "looks for a lost dog", "sings")
_PLACES = ("harbour", "market", "mill", "school")


def full_stream(count: int = 200) -> Stream:
    """Return a stream of a number of different observations and messages over two days."""
    stream = Stream(OWNER)
    for i in range(count):
        who, deed, place = _PEOPLE[i % 5], _DEEDS[i % 6], _PLACES[i % 4]
        talk = i % 3 == 0
        stream.append(
            Entry(
                type="message" if talk else "observation",
                text=f"{who} {deed} at the {place}, for the {i}th time.",
                minute=i * 2880 // count,
                location=place,
                subjects=(OWNER, f"agent:{who.lower()}"),
                importance=1 + i * 7 % 9,
                source="dialogue" if talk else "perception",
            ),
            i,
        )
    return stream


def _prune(stream: Stream, minute: int) -> None:
    cut = choose(OWNER, stream.live(), LIMITS, minute)
    carry_out(OWNER, cut, stream.live(), LIMITS, {})


def table() -> Table:
    """Return the median CPU time of each operation in milliseconds, and the design's bound."""
    stream, more, index = full_stream(), full_stream(260), RepeatIndex(full_stream())
    query = Query(minute=2880, text="Who looked for a lost dog at the mill?", limit=10)
    new = Entry(type="observation", text="Ben sings at the mill.", minute=2880, importance=3)
    operations: list[tuple[str, float, Callable[[], object]]] = [
        ("append 1,000", 10.0, lambda: full_stream(1000)),
        ("all live entries", 10.0, stream.live),
        ("entries of an hour", 10.0, lambda: stream.between(1440, 1500)),
        ("entries about one", 10.0, lambda: stream.about("agent:ben")),
        ("the stream as of a tick", 10.0, lambda: stream.as_of(200, 150)),
        ("find a repeat", 10.0, lambda: index.find(new)),
        ("retrieve, spec", 10.0, lambda: retrieve(stream.live(), query, SPEC)),
        ("retrieve, default", 10.0, lambda: retrieve(stream.live(), query, DEFAULT)),
        ("retrieve, dialogue", 10.0, lambda: retrieve(stream.live(), query, DIALOGUE)),
        ("JSON and back", 10.0, lambda: load(dump(stream))),
        ("prune 200", 100.0, lambda: _prune(stream, 2880)),
        ("cut 260 to the limit", 100.0, lambda: enforce_limits(more, LIMITS, 2880)),
    ]
    rows = [Row(name, (_milliseconds(call), bound)) for name, bound, call in operations]
    return Table("Memory: a stream of 200 entries unless it says otherwise", ("ms", "bound"), tuple(rows))


def _milliseconds(call: Callable[[], object]) -> float:
    call()  # warm up the caches of stems and patterns
    spent = []
    for _ in range(ROUNDS):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return median(spent) * 1000
