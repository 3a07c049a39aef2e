"""The job that a decided request becomes: what it reads, what it may cost, and what its worker is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import Decided, DecidedLine, Grant
from cogitate.scheduler.budget.budget import Cell
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.engine.admitting import first_alike, open_job
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.latency.due_ticks import TOO_SLOW
from cogitate.tasks.job import Correction, Cost, JobKey, Reads, Request
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, seen

KEY, RESERVED = JobKey(7, "think", ANN, 2, 0), Cost(calls=1, tokens=60)
CELLS = (Cell("run:0", "run"),)


def streams() -> dict[str, Stream]:
    made = {ANN: Stream(ANN), BOB: Stream(BOB)}
    for count, stream in ((3, made[ANN]), (5, made[BOB])):
        for number in range(count):
            stream.append(seen(f"Tree {number}."), 1)
    made[ANN].head.summary, made[ANN].head.summary_version = "A summary.", 4
    made[ANN].head.character = None
    return made


def opened(request: Request, *, refused: str = "", retired: tuple[str, ...] = (), **known: Any) -> OpenJob:
    rules = Rules(
        kinds=[Thinker("think", output_cap=12)],
        offers_of=lambda kind, tier: [],
        latency_of=lambda kind: 1,
        brief=lambda owner: {},
    )
    line = DecidedLine(key=KEY, decision="heuristic" if refused else "admitted", due=9, refused=refused)
    grant = None if refused else Grant(key=KEY, reserved=RESERVED, cells=CELLS)
    decided = Decided(line, request, ModelOption("small", 48, RESERVED), grant, 3)
    state = SimpleNamespace(
        run="r",
        rules=rules,
        streams=known.get("streams") or streams(),
        retired=retired,
        facts_version=5,
    )
    return open_job(decided, state, first_alike(decided, state, 70, Correction(900, 1_100)))


def test_a_job_holds_its_request_and_grant() -> None:
    request = Request(kind="think", owner=ANN, priority=4, params={"about": "bees"}, at=30)
    item = opened(request)
    job = item.job
    assert (job.run, job.key, job.minute, job.due) == ("r", KEY, 70, 9)
    assert (job.params, job.priority, job.at) == ({"about": "bees"}, 4, 30)
    assert (job.model, job.prompt_cap, job.output_cap) == ("small", 48, 12)
    assert (job.facts, job.correction, job.correction_others, job.ahead) == (5, 900, 1_100, 3)
    assert (job.summary, job.summary_version, job.character) == ("A summary.", 4, None)
    assert (job.reserved, job.refused) == (RESERVED, "")
    assert (item.admitted, item.cells) == (True, CELLS)


@pytest.mark.parametrize("refused", ["run:0 run calls", TOO_SLOW])
def test_a_refused_job_reserves_nothing_and_has_the_reason(refused: str) -> None:
    item = opened(Request(kind="think", owner=ANN), refused=refused)
    assert (item.admitted, item.cells) == (False, ())
    assert (item.job.reserved, item.job.refused) == (Cost(), refused)


@pytest.mark.parametrize(
    ("asked", "reads"),
    [
        ({}, [Reads(ANN, 3)]),
        ({"numbers": (1, 2)}, [Reads(ANN, 3, (1, 2))]),
        ({"reads": (Reads(BOB, 0), Reads("agent:nobody", 0))}, [Reads(ANN, 3), Reads(BOB, 5)]),
        ({"reads": (Reads(BOB, 2), Reads(BOB, 9, (1,)))}, [Reads(ANN, 3), Reads(BOB, 2), Reads(BOB, 5, (1,))]),
    ],
)
def test_a_job_reads_no_entries_appended_after_it_opened(asked: dict[str, Any], reads: list[Reads]) -> None:
    assert [*opened(Request(kind="think", owner=ANN, **asked)).job.reads] == reads


def test_a_job_reads_no_former_owners() -> None:
    item = opened(Request(kind="think", owner=ANN, reads=(Reads(BOB, 0),)), retired=(BOB,))
    assert [*item.job.reads] == [Reads(ANN, 3)]
