"""Runs with RabbitMQ as broker: it dies and restarts, loses its queues, or a worker dies with prefetched hints."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import WorkerPool
from tests.faults.attacked import AGENTS, MORNING, live, proven, settings_of, undisturbed
from tests.patience import wait_until
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[RabbitMQ]:
    with RabbitMQ() as rabbitmq:
        yield rabbitmq


class Served:
    """A town's ledger, its workers, and the broker between them."""

    def __init__(self, settings: Settings, server: EmbeddedServer, pool: WorkerPool) -> None:
        self.settings = settings
        self.server = server
        self.pool = pool

    def ends_as_undisturbed(self, digest: str) -> None:
        """Check that the run finished, passes the audit, and has the digest of the undisturbed run."""
        with self.server.client() as state:
            assert digest == proven(state) == undisturbed(self.settings)


@pytest.fixture
def served(rabbitmq: RabbitMQ, endpoint: FakeEndpoint, tmp_path: Path) -> Iterator[Served]:
    chosen = settings_of(tmp_path, endpoint, workers=0)
    with EmbeddedServer(chosen.data_dir) as server, ExitStack() as resources:
        urls = {"redis_url": SecretStr(server.url), "broker_url": SecretStr(rabbitmq.url)}
        chosen = chosen.model_copy(update=urls)
        pool = resources.enter_context(WorkerPool(chosen, 2))
        wait_until(lambda: consumers(rabbitmq) >= 2, "both workers to consume")
        yield Served(chosen, server, pool)
    for queue in rabbitmq.ask("queues"):
        rabbitmq.ask(f"queues/%2F/{queue['name']}", "DELETE")


def consumers(rabbitmq: RabbitMQ) -> int:
    """Return the number of workers that consume plans."""
    return len([one for one in rabbitmq.ask("consumers") if one["queue"]["name"] == "cogitate.plan.now"])


def test_a_run_over_rabbitmq_reaches_the_undisturbed_digest(served: Served) -> None:
    served.ends_as_undisturbed(live(served.settings))


def test_a_run_survives_a_broker_killed_with_jobs_in_flight(
    served: Served, rabbitmq: RabbitMQ, endpoint: FakeEndpoint
) -> None:
    endpoint.hold()
    with ThreadPoolExecutor(1) as hosts:
        digest = hosts.submit(live, served.settings)
        endpoint.wait_for_request(AGENTS)
        rabbitmq.kill()
        endpoint.release()
        rabbitmq.start()
        served.ends_as_undisturbed(digest.result())


def test_a_run_survives_a_broker_that_is_down_when_plans_are_published(served: Served, rabbitmq: RabbitMQ) -> None:
    def attack(tick: Tick) -> None:
        if tick.number == MORNING:  # plans are published at the end of this tick
            rabbitmq.kill()
        if tick.number == MORNING + 1:
            rabbitmq.start()

    served.ends_as_undisturbed(live(served.settings, attack))


def test_a_run_survives_the_deletion_of_all_queues(served: Served, rabbitmq: RabbitMQ) -> None:
    def attack(tick: Tick) -> None:
        if tick.number == MORNING:
            for queue in rabbitmq.ask("queues"):
                if queue["name"].startswith("cogitate."):
                    rabbitmq.ask(f"queues/%2F/{queue['name']}", "DELETE")

    served.ends_as_undisturbed(live(served.settings, attack))


def test_a_run_survives_a_worker_killed_with_prefetched_hints(served: Served, endpoint: FakeEndpoint) -> None:
    endpoint.hold()
    with ThreadPoolExecutor(1) as hosts:
        digest = hosts.submit(live, served.settings)
        endpoint.wait_for_request(AGENTS)
        os.kill(served.pool.pids()[0], signal.SIGKILL)
        endpoint.release()
        served.ends_as_undisturbed(digest.result())
