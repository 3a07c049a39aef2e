"""The demand for workers that an autoscaler reads from Flower."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.flower.worker_demand import WorkerDemand, slots_needed, worker_demand
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.latency.due_ticks import ASSUMED
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_flower import flower, get

AGENTS, RATE = 30, 50.0


@pytest.mark.parametrize(
    ("due", "slots"),
    [
        ({}, 0),
        ({200: 1}, 1),  # one job due in ten seconds
        ({120: 10}, 10),  # ten jobs due within one call's time
        ({140: 10}, 5),  # ten jobs due within two calls' time
        ({110: 10}, 10),  # less time than a call takes: all at once, and late
        ({140: 10, 180: 1_000}, 253),  # 1,010 jobs due in eight seconds
        ({140: 10, 100_000: 1_000}, 5),  # the thousand are due in hours
    ],
)
def test_slots_follow_from_the_time_until_jobs_are_due(due: dict[int, int], slots: int) -> None:
    assert slots_needed(due, 100, 10.0, 2.0) == slots


def test_a_host_that_waits_needs_a_slot_for_each_job_of_its_next_boundary() -> None:
    assert slots_needed({7: 3, 8: 40}, 5, None, 2.0) == 3
    assert slots_needed({7: 3, 8: 40}, 5, None, 0.0) == 1, "jobs that call no model take no time"


def test_flower_reports_the_slots_that_open_jobs_need(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "data") as server, server.client() as client:
        settings = PinnedSettings.tuned(
            data_dir=server.data_dir,
            workers=0,
            wait=0.0,
            llm="openai",
            api_key=SecretStr("any"),
            limits={"run.tokens": 10_000_000},
            tick_rate=RATE,
            spread=0,
        )
        owners = {f"agent:a{number}": Profile(name=f"Ann{number} Smith") for number in range(AGENTS)}
        with flower(server.data_dir) as address:
            assert json.loads(get(f"{address}/demand")[1]) == {"slots": 0, "open_jobs": 0}
            with TickLoop(run="town", owners=owners, settings=settings, start_minute=419) as loop:
                while not loop.state.open:
                    with loop.next_tick():
                        pass
                with loop.next_tick():
                    pass
                dues = sorted(item.job.due for item in loop.state.open.values() if item.admitted)
                expected = max(
                    (at + 1) * ASSUMED / max(ASSUMED, (due - loop.tick) / RATE) for at, due in enumerate(dues)
                )
                assert len(dues) >= AGENTS, "all of them plan"
                found = json.loads(get(f"{address}/demand")[1])
                assert found == {"slots": math.ceil(expected), "open_jobs": len(dues)}
            assert worker_demand(client) == WorkerDemand(slots=0, open_jobs=0), "the run has no host any more"
