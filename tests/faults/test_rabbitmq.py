"""Runs with RabbitMQ as broker: it dies and starts again, loses its queues, or a worker dies with hints in hand."""

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
        """Check that the run is over, passes the audit, and has the digest of the run that nobody attacks."""
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
    """Return how many workers consume plans."""
    return len([one for one in rabbitmq.ask("consumers") if one["queue"]["name"] == "cogitate.plan.now"])


def test_a_run_without_faults(served: Served) -> None:
    served.ends_as_undisturbed(live(served.settings))


def test_the_broker_dies_while_jobs_are_in_flight_and_starts_again(
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


def test_the_broker_is_away_when_the_plans_are_asked_for(served: Served, rabbitmq: RabbitMQ) -> None:
    def attack(tick: Tick) -> None:
        if tick.number == MORNING:  # the plans are published when this tick is over
            rabbitmq.kill()
        if tick.number == MORNING + 1:
            rabbitmq.start()

    served.ends_as_undisturbed(live(served.settings, attack))


def test_all_queues_are_deleted_in_mid_run(served: Served, rabbitmq: RabbitMQ) -> None:
    def attack(tick: Tick) -> None:
        if tick.number == MORNING:
            for queue in rabbitmq.ask("queues"):
                if queue["name"].startswith("cogitate."):
                    rabbitmq.ask(f"queues/%2F/{queue['name']}", "DELETE")

    served.ends_as_undisturbed(live(served.settings, attack))


def test_a_worker_dies_with_hints_in_hand(served: Served, endpoint: FakeEndpoint) -> None:
    endpoint.hold()
    with ThreadPoolExecutor(1) as hosts:
        digest = hosts.submit(live, served.settings)
        endpoint.wait_for_request(AGENTS)
        os.kill(served.pool.pids()[0], signal.SIGKILL)
        endpoint.release()
        served.ends_as_undisturbed(digest.result())
