"""Open jobs in the ledger: what is written of them, how they are found, counted and reserved, and read back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory import typed_json
from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.engine.open_jobs import (
    OpenJob,
    answered_writes,
    counted,
    job_writes,
    load_open_jobs,
    read_numbers,
    reservation,
)
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey, Reads
from tests.unit.scheduler.scheduler_case import ANN, BOB

DAY, RUN, KIND = Cell("day:0", "run"), Cell("run:0", "run"), Cell("day:0", "kind:plan")
RESERVED = Cost(calls=1, tokens=30)
VIEW = BudgetView(LimitTable({"day.run.calls": 10, "run.run.tokens": 50}), retry_share=0.2, guarantees={})


def job(
    kind: str = "plan",
    owner: str = ANN,
    *,
    tick: int = 1,
    due: int = 5,
    cells: tuple[Cell, ...] | None = (DAY, RUN),
    reserved: Cost = RESERVED,
    reads: tuple[Reads, ...] = (Reads(ANN, 9),),
    **more: Any,
) -> OpenJob:
    key = JobKey(tick, kind, owner, 0, 0)
    made = Job(
        run="r", key=key, minute=tick, due=due, reads=reads, reserved=reserved if cells is not None else Cost(), **more
    )
    return OpenJob(job=made, grant=None if cells is None else Grant(key=key, reserved=reserved, cells=cells))


HELD = job("muse", cells=None)
JOBS = [
    job(),
    job(owner=BOB, tick=2, cells=(DAY, KIND)),
    job("act", tick=2, due=7, reserved=Cost(1, 5, 2)),
    HELD,
    job("prune", reserved=Cost(), cells=(DAY,)),
]


def written(*jobs: OpenJob) -> RunStore:
    store = RunStore.of(FakeRedis(), "r", "now")
    for write in job_writes(jobs, VIEW):
        store.client.execute_command(write.command, store.prefix + write.key, *write.args, *write.shared)
    return store


def numbers(found: dict[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(value) for name, value in found.items()}


def test_open_jobs_survive_a_round_trip() -> None:
    assert load_open_jobs(written(*JOBS)) == {item.job.key: item for item in JOBS}
    assert [*load_open_jobs(written(*JOBS))] == sorted((item.job.key for item in JOBS), key=lambda key: key.text()), (
        "in one order"
    )
    assert load_open_jobs(written()) == {}
    assert job_writes([], VIEW) == []


def test_jobs_are_found_by_their_due_tick_and_those_that_a_worker_may_claim_by_themselves() -> None:
    store = written(*JOBS)
    texts = {item.job.key.text().encode() for item in JOBS}
    held = HELD.job.key.text().encode()
    assert store.members("jobs") == texts
    assert store.members("unclaimed") == texts - {held}
    assert store.client.smembers(store.due_key(7)) == {b"2/act/agent:ann/0/0"}
    assert store.client.smembers(store.due_key(5)) == texts - {b"2/act/agent:ann/0/0"}


def test_open_jobs_are_counted_by_due_and_requested_tick() -> None:
    store = written(*JOBS)
    assert numbers(store.mapping("waiting")) == {"5": 3, "7": 1}
    assert numbers(store.mapping("open")) == {"1": 2, "2": 2}


def test_reservations_are_summed_by_window_and_empty_ones_omitted() -> None:
    store = written(*JOBS)
    assert numbers(store.window("day:0")) == {
        "run|calls|reserved": 3,
        "run|tokens|reserved": 65,
        "run|usd_micros|reserved": 2,
        "kind:plan|calls|reserved": 1,
        "kind:plan|tokens|reserved": 30,
    }
    assert numbers(store.window("run:0")) == {
        "run|calls|reserved": 2,
        "run|tokens|reserved": 35,
        "run|usd_micros|reserved": 2,
    }
    assert store.members("windows") == {b"day:0", b"run:0"}


def test_a_record_has_the_fields_of_the_scripts() -> None:
    item = job("act", tick=2, due=7, reserved=Cost(1, 5, 2), at=9)
    store = written(item, HELD)
    record = store.client.hgetall(store.job_key(item.job.key.text()))
    found = {name.decode(): value.decode() for name, value in record.items()}
    assert typed_json.decode(found.pop("job"), Job) == item.job
    assert found == {
        "state": "open",
        "token": "",
        "latest": "",
        "claims": "0",
        "due": "7",
        "tick": "2",
        "owner": ANN,
        "reads": msgspec.json.encode(item.job.reads).decode(),
        "calls": "1",
        "tokens": "5",
        "usd_micros": "2",
        "last": "[0,0,0]",
        "cells": '["day:0","run","run:0","run"]',
        "pools": '[["day:0","run",1,2,10],["run:0","run",2,10,50]]',
        "schema": str(SCHEMA),
        "at": "9",
    }
    held = store.client.hmget(store.job_key(HELD.job.key.text()), "state", "cells", "pools", "at", "calls")
    assert held == [b"held", b"[]", b"[]", None, b"0"]


def test_an_answered_job_counts_its_calls_usage() -> None:
    store, (first, *_) = written(*JOBS), JOBS
    answered = msgspec.structs.replace(first, answered=Cost(1, 7))
    for write in answered_writes([answered]):
        store.client.execute_command(write.command, store.prefix + write.key, *write.args, *write.shared)
    found = load_open_jobs(store)
    assert found[first.job.key] == answered
    assert {key for key, item in found.items() if item.answered is not None} == {first.job.key}
    assert (counted(first), counted(answered), counted(HELD)) == (RESERVED, Cost(1, 7), Cost())
    assert (reservation(answered), reservation(HELD)) == (RESERVED, Cost())
    assert (first.admitted, HELD.admitted, HELD.cells) == (True, False, ())
    assert counted(msgspec.structs.replace(first, answered=Cost())) == Cost()


@pytest.mark.parametrize(("owner", "found"), [(ANN, (2, 3, 7)), (BOB, (5,)), ("agent:cy", ())])
def test_entries_that_open_jobs_name_are_known_by_their_owner(owner: str, found: tuple[int, ...]) -> None:
    jobs = [
        job(reads=(Reads(ANN, 9, (7, 2)), Reads(BOB, 9, (5,)))),
        job(owner=BOB, reads=(Reads(ANN, 9, (3,)),)),
        job("act", reads=(Reads(ANN, 9, None),)),
    ]
    assert read_numbers(jobs, owner) == found
