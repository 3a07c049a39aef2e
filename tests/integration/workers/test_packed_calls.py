"""A run whose workers pack calls has the same results as without packs, in fewer requests, and its accounts agree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, added
from cogitate.workers.jobs.packs.prompt import cases_in
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {f"agent:{n:02}": Profile(name=f"Agent {n:02}") for n in range(20)}


class Lived(NamedTuple):
    """The results of a run."""

    ends: list[Ended]  # the ends of its jobs
    jobs: list[JobRecord]
    requests: int
    packs: int  # requests for several cases, answered or not
    tokens: int  # as the endpoint counted them


def live(data_dir: Path, pack: Literal["auto", "off"], faults: dict[str, float], *, reasons: bool = True) -> Lived:
    """Request every owner's plan, with one worker process that runs all jobs at once."""
    packs: list[int] = []

    def count(request: Mapping[str, Any], in_flight: int) -> None:
        if cases := cases_in(*(message["content"] for message in request["messages"][:2])):
            packs.append(len(cases))

    with FakeEndpoint(faults=faults, rule=count) as endpoint:
        settings = Settings(
            data_dir=data_dir,
            llm="openai",
            workers=1,
            concurrency=24,
            limit_tokens=10_000_000,
            limits={},
            endpoints={"default": Endpoint(base_url=endpoint.url, api_key="any")},
            models={
                "default": ModelSettings(
                    model="m", input_price=1_000_000, output_price=1_000_000, pack=pack, reasons=reasons
                )
            },
        )
        with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=12) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in OWNERS:
                        loop.request("plan", owner)
        served = endpoint.stats()
    with EmbeddedServer(data_dir) as server, server.client() as client:
        assert audit(client, "town") == []
        jobs = [job for job in JobHistory(client, "town").all() if job.kind == "plan"]
        lines = read_journal(RunStore.open(client, "town"), 1, 12)
        ends = [end for line in lines for end in line.core.ended]
    return Lived(ends, jobs, served.requests, len(packs), served.prompt_tokens + served.completion_tokens)


def spent(jobs: list[JobRecord]) -> Cost:
    total = Cost()
    for job in jobs:
        total = added(total, job.spent)
    return total


@pytest.mark.parametrize("reasons", [True, False])
def test_packs_change_only_the_cost_of_a_run(tmp_path: Path, reasons: bool) -> None:
    alone = live(tmp_path / "alone", "off", {}, reasons=reasons)
    packed = live(tmp_path / "packed", "auto", {}, reasons=reasons)
    assert packed.ends == alone.ends
    assert {job.packed for job in alone.jobs} == {0}
    assert max(job.packed for job in packed.jobs) >= 2
    assert packed.requests < alone.requests == len(OWNERS)
    assert (spent(packed.jobs).calls, spent(packed.jobs).tokens) == (packed.requests, packed.tokens)


FAULTS = ("pack_missing", "pack_swapped", "pack_repeated", "pack_bad_item", "length", "filter", "not_json", "429:0")


@pytest.mark.parametrize("part", range(2))
def test_faults_of_packs_cost_attempts_and_every_job_still_ends_once(tmp_path: Path, part: int) -> None:
    lived = live(tmp_path, "auto", dict.fromkeys(FAULTS[part::2], 0.15))
    assert len(lived.jobs) == len(OWNERS)
    assert lived.packs
    assert all(job.ended for job in lived.jobs)
    assert (spent(lived.jobs).calls, spent(lived.jobs).tokens) == (lived.requests, lived.tokens)
    assert all(job.usage.tokens <= job.reserved.tokens for job in lived.jobs)
