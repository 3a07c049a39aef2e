"""A short run as its journal tells it, for the tests of what readers say of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fakeredis import FakeRedis

from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.admission import DecidedLine, Grant
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.config.facts import SCHEMA, Facts
from cogitate.scheduler.journal.checkpoint import JournalCheckpoint, write_checkpoint
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    Retried,
    TickNotes,
    write_line,
)
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey

RESERVED, USED, MORE = Cost(calls=1, tokens=30), Cost(calls=1, tokens=7), Cost(calls=1, tokens=5)
CELLS = (Cell("day:0", "run"), Cell("run:0", "run"))
ANN, BOB, CY = "agent:ann", "agent:bob", "agent:cy"
SOON, LATE, GONE = JobKey(1, "think", ANN, 0, 0), JobKey(1, "think", BOB, 0, 0), JobKey(2, "muse", CY, 0, 0)
OPEN = JobKey(4, "think", CY, 0, 0)


def decided(key: JobKey, decision: Any = "admitted", refused: str = "") -> DecidedLine:
    return DecidedLine(
        key=key, decision=decision, model="default" if decision == "admitted" else "", due=key.tick + 2, refused=refused
    )


def opened(*keys: JobKey) -> tuple[Grant, ...]:
    return tuple(Grant(key=key, reserved=RESERVED, cells=CELLS) for key in keys)


#: Six ticks: two jobs and one that was dropped; one ends with an answer, one late; then its cost becomes known, and
#: what an attempt before its newest used.
TICKS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {
            "decided": (decided(SOON), decided(LATE)),
            "joined": tuple((o, Profile(name=o)) for o in (ANN, BOB, CY)),
            "facts": Facts(),
        },
        {"opened": opened(SOON, LATE)},
    ),
    ({"decided": (decided(GONE, "dropped", "run:0 kind:muse calls"),)}, {}),
    (
        {"ended": (Ended(key=SOON, end="applied"), Ended(key=LATE, end="applied", reason="late"))},
        {
            "ended": (
                EndNote(key=SOON, source="llm", usage=USED, attempts=1, model="default"),
                EndNote(key=LATE, source="heuristic", attempts=2, failure="server"),
            )
        },
    ),
    ({"decided": (decided(OPEN),)}, {"opened": opened(OPEN)}),
    ({}, {"retried": (Retried(LATE, MORE),)}),
    ({}, {"corrected": (Correction(key=LATE, usage=USED, at=5),)}),
)


def lines(schema: int = SCHEMA, ticks: Sequence[tuple[dict[str, Any], dict[str, Any]]] = TICKS) -> list[bytes]:
    found, digest, chain = [], "", ""
    for tick, (core, notes) in enumerate(ticks, 1):
        line, digest, chain = write_line(
            Core(tick=tick, minute=tick, **core), TickNotes(epoch=1, **notes), digest, chain, schema
        )
        found.append(line)
    return found


def store_of(journal: list[bytes], client: FakeRedis | None = None, run: str = "town", **state: Any) -> RunStore:
    client = client or FakeRedis()
    client.sadd(RUNS, run)
    client.set(incarnation_key(run), "now")
    store = RunStore.of(client, run, "now")
    values = {"tick": len(journal), "schema": SCHEMA, "status": "running"} | state
    client.hset(store.key("state"), mapping=values)
    if journal:
        client.rpush(store.key("journal"), *journal)
    return store


def with_open_job(store: RunStore) -> RunStore:
    job = Job(run="town", key=OPEN, minute=4, due=6, reads=(), model="default", reserved=RESERVED)
    put(store, OPEN, job=msgspec.json.encode(job), claims=1, token="t")
    attempt = {"job": OPEN.text(), "worker": "w"}
    store.client.hset(store.key("attempts"), "t", msgspec.json.encode(attempt))
    return store


def put(store: RunStore, key: JobKey, **fields: Any) -> None:
    """Put a job among the open ones."""
    cells = msgspec.json.encode([part for cell in CELLS for part in cell])
    values = {"state": "open", "token": "", "claims": 0, "cells": cells} | fields
    store.client.sadd(store.key("jobs"), key.text())
    store.client.hset(store.job_key(key.text()), mapping=values)


def totals(upto: int = 6, schema: int = SCHEMA) -> RunTotals:
    found = RunTotals()
    for line in read_journal(store_of(lines(schema)), 1, upto):
        found.add(line)
    return found


def trimmed_store(upto: int = 2) -> RunStore:
    """The same run, whose first lines were removed."""
    kept, digest, chain = [], "", ""
    for tick, (core, notes) in enumerate(TICKS, 1):
        line, digest, chain = write_line(
            Core(tick=tick, minute=tick, **core), TickNotes(epoch=1, **notes), digest, chain, SCHEMA
        )
        if tick > upto:
            kept.append(line)
        if tick == upto:
            entry, chain = write_checkpoint(
                JournalCheckpoint(
                    v=SCHEMA, tick=tick, digest=digest, after=chain, totals=totals(upto), streams={}, retired={}
                )
            )
    store = with_open_job(store_of(kept, tick=len(TICKS), trimmed=upto, digest=digest, chain=chain))
    store.client.hset(store.key("journal_checkpoints"), str(upto), entry)
    return store
