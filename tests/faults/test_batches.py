"""Workers and hosts killed while their jobs are in a batch file: others find the batch and charge each answer once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.run_store import RunStore
from tests.faults.attacked import RUN, Attacked, Eventually, settings_of, undisturbed
from tests.faults.ledger_servers import LedgerServers, also_on_a_cluster

PARTS = {"batch_partial": 0.3, "batch_expired": 0.3, "batch_errors": 0.2, "batch_doubled": 0.2}


def settings_with_batches(folder: Path, endpoint: FakeEndpoint) -> Settings:
    return settings_of(folder, endpoint, models={"default": ModelSettings(batch="auto")}, job_deadline=60.0)


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of the same run in one process without batches."""
    with FakeEndpoint() as endpoint:
        return undisturbed(settings_with_batches(tmp_path_factory.mktemp("undisturbed"), endpoint))


@pytest.fixture
def batching(
    endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually, servers: Callable[[Path], LedgerServers]
) -> Iterator[Attacked]:
    """Yield a town whose workers send batch files, with a known batch duration of one second."""
    settings = settings_with_batches(tmp_path, endpoint)
    with Attacked(settings, eventually, servers) as town:
        Batches(town.state, worker="test").took("default", 1)
        town.ready()
        yield town


def until_all_wait(town: Attacked, eventually: Eventually) -> None:
    """Wait until every running attempt is in a sent batch."""

    def all_wait() -> bool:
        if not town.tick():
            return False
        store = RunStore.open(town.state, RUN)
        attempts, batched, unsent = (len(store.fields(name)) for name in ("attempts", "batched", "batch_lines"))
        return attempts == batched > 0 == unsent

    eventually(all_wait, "all attempts to be in batches")


def charged_once(town: Attacked, endpoint: FakeEndpoint) -> None:
    """Check that the jobs' charges equal the endpoint's counts of tokens and answers, and that some came by batch."""
    served, jobs = endpoint.stats(), [*JobHistory(town.state, RUN).all()]
    tokens = served.batch_tokens + served.prompt_tokens + served.completion_tokens
    assert sum(job.spent.tokens for job in jobs) == tokens
    assert sum(job.spent.calls for job in jobs) == served.batch_answers + served.answers
    assert any(job.service_tier == "batch" for job in jobs)


def test_an_open_batch_survives_a_killed_worker_and_later_batches_fail_in_part(
    batching: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.change(batch_latency=100_000.0)
    host = batching.host()
    until_all_wait(batching, eventually)
    for pid in batching.pool.pids():
        os.kill(pid, signal.SIGKILL)
    endpoint.change(batch_latency=0.0, faults=PARTS)
    batching.ends_as(digest, host)
    assert batching.attempts() == 1
    charged_once(batching, endpoint)


@also_on_a_cluster
def test_an_open_batch_survives_its_killed_host_and_workers(
    batching: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.change(batch_latency=100_000.0)
    host = batching.host()
    until_all_wait(batching, eventually)
    host.kill()
    host.wait()
    for pid in batching.pool.pids():
        os.kill(pid, signal.SIGKILL)
    endpoint.change(batch_latency=0.0)
    batching.ends_as(digest, batching.host(resume=True))
    assert batching.attempts() == 1
    charged_once(batching, endpoint)
