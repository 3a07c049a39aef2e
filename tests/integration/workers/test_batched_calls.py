"""A run whose workers ask in batch files thinks what it would without them, and its accounts agree, whatever fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory, JobRecord
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, added
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {f"agent:{n:02}": Profile(name=f"Agent {n:02}") for n in range(12)}
TICKS = 12
FIRST = 5_000.0  # seconds that a boundary would wait: longer than a first batch is expected to take
KNOWN = 300.0  # the same where a batch is known to take a second


class Lived(NamedTuple):
    """What came of a run."""

    ends: list[Ended]  # what it thought
    jobs: list[JobRecord]
    served: Stats


def settings_of(data_dir: Path, endpoint: FakeEndpoint, batch: Literal["auto", "off"], **more: Any) -> Settings:
    return Settings(
        data_dir=data_dir,
        llm="openai",
        workers=1,
        concurrency=16,
        limit_tokens=10_000_000,
        limits={},
        endpoints={"default": Endpoint(base_url=endpoint.url, api_key="any")},
        models={"default": ModelSettings(model="m", input_price=1_000_000, output_price=1_000_000, batch=batch)},
        **{"wait": KNOWN, **more},
    )


def live(
    data_dir: Path, faults: dict[str, float], *, batch: Literal["auto", "off"] = "auto", took: int = 1, **more: Any
) -> Lived:
    """Ask for everybody's plan.

    Args:
        took: seconds that an earlier batch took; 0: there was none.
        more: further settings, and `batch_latency` of the endpoint.
    """
    with (
        EmbeddedServer(data_dir) as server,
        server.client() as client,
        FakeEndpoint(faults=faults, batch_latency=more.pop("batch_latency", 0.0)) as endpoint,
    ):
        if took:
            Batches(client, worker="test").took("default", took)
        settings = settings_of(data_dir, endpoint, batch, **more)
        with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=TICKS) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in OWNERS:
                        loop.request("plan", owner)
        served = endpoint.stats()
        assert audit(client, "town") == []
        jobs = [job for job in JobHistory(client, "town").all() if job.kind == "plan"]
        store = RunStore.open(client, "town")
        ends = [end for line in read_journal(store, 1, TICKS) for end in line.core.ended]
    return Lived(ends, jobs, served)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Return the run that asks singly."""
    return live(tmp_path_factory.mktemp("alone"), {}, batch="off")


def spent(jobs: list[JobRecord]) -> Cost:
    total = Cost()
    for job in jobs:
        total = added(total, job.spent)
    return total


def test_a_batch_costs_half_and_changes_nothing_else(tmp_path: Path, alone: Lived) -> None:
    batched = live(tmp_path, {}, took=0, wait=FIRST)
    assert batched.ends == alone.ends
    assert alone.served.requests == batched.served.batch_requests == len(OWNERS)
    assert (alone.served.batches, batched.served.requests) == (0, 0)
    assert spent(batched.jobs).tokens == spent(alone.jobs).tokens == batched.served.batch_tokens
    assert all(job.spent.usd_micros == -(-job.spent.tokens // 2) for job in batched.jobs)


def test_hosts_that_wait_less_long_than_a_batch_takes_ask_singly(tmp_path: Path) -> None:
    asked = live(tmp_path, {}, took=10_000)
    assert (asked.served.batches, asked.served.requests) == (0, len(OWNERS))


@pytest.mark.parametrize(
    ("fault", "in_batch"),
    [("batch_refused", 0), ("batch_failed", 0), ("batch_expired", 6), ("batch_partial", 6), ("batch_errors", 6)],
)
def test_what_a_batch_does_not_answer_is_asked_singly_as_the_first_attempt(
    tmp_path: Path, alone: Lived, fault: str, in_batch: int
) -> None:
    lived = live(tmp_path, {fault: 1.0})
    assert lived.ends == alone.ends
    assert lived.served.batch_answers == in_batch
    assert lived.served.requests == len(OWNERS) - in_batch
    assert {job.attempts for job in lived.jobs} == {1}
    assert spent(lived.jobs).calls == len(OWNERS)


@pytest.mark.parametrize("fault", ["batch_unknown", "batch_doubled", "batch_reordered"])
def test_odd_lines_reach_no_other_job(tmp_path: Path, alone: Lived, fault: str) -> None:
    lived = live(tmp_path, {fault: 1.0})
    assert lived.ends == alone.ends
    assert lived.served.requests == 0
    assert spent(lived.jobs).tokens == lived.served.batch_tokens


def test_a_useless_answer_costs_an_attempt_and_the_next_one_is_made_singly(tmp_path: Path) -> None:
    lived = live(tmp_path, {"not_json": 0.5})
    assert all(job.ended for job in lived.jobs)
    tokens = lived.served.batch_tokens + lived.served.prompt_tokens + lived.served.completion_tokens
    assert spent(lived.jobs).tokens == tokens
    assert spent(lived.jobs).calls == lived.served.batch_answers + lived.served.requests > len(OWNERS)


def test_a_batch_that_takes_too_long_is_cancelled_and_its_jobs_are_asked_singly(tmp_path: Path, alone: Lived) -> None:
    """Half of its lines were answered when it was cancelled: they are charged, and used by no job."""
    lived = live(tmp_path, {}, batch_latency=10_000.0, wait=30.0, job_deadline=25.0)
    assert lived.ends == alone.ends
    assert (lived.served.batches, lived.served.requests) == (1, len(OWNERS))
    assert {job.attempts for job in lived.jobs} == {2}
