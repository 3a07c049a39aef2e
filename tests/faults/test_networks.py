"""Two worker machines that lose their network in turn, each for longer than a lease, and regain it.

On RabbitMQ the first machine's network stays cut until its worker notices, by heartbeats, after half a minute. A worker
that waits for messages from Redis notices nothing, and continues when they arrive.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr
from redis import Redis
from structlog.testing import capture_logs

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.supervisor import WorkerPool
from tests.cut_network import Network
from tests.faults.attacked import MORNING, TICKS, live, proven, settings_of, undisturbed
from tests.patience import LONGEST, wait_until
from tests.rabbitmq import RabbitMQ
from tests.redis_cluster import Node

CUT = float(os.environ.get("COGITATE_CUT", 0))  # least seconds of each cut; `make chaos` sets a minute
BETWEEN = MORNING + 6  # a tick after plans are applied and before reflections and choices
AFTER = TICKS - 1  # a tick after reflections are applied


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "ledger", cluster=False)
    node.start()
    yield node
    node.kill()


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.system)])
def broker(request: pytest.FixtureRequest, ledger: Node) -> Iterator[str]:
    """Yield the broker's URL, in which each machine replaces host and port by its own."""
    if request.param == "redis":
        yield f"redis://127.0.0.1:{ledger.port}/1"
        return
    with RabbitMQ() as rabbitmq:
        yield rabbitmq.url


def through(network: Network, url: str) -> str:
    """Return the URL at which a machine reaches a server of 127.0.0.1."""
    return re.sub(r"127\.0\.0\.1:(\d+)", lambda found: network.way_to(int(found[1])), url)


class Machine:
    """A machine with one worker that makes one call at a time."""

    def __init__(self, number: int, settings: Settings, resources: ExitStack) -> None:
        self.network = resources.enter_context(Network(f"127.0.0.{number}"))
        broker, ledger = settings.messages_url(), settings.state_url()
        its_own = {
            "data_dir": settings.data_dir / str(number),
            "redis_url": SecretStr(through(self.network, ledger)),
            "broker_url": SecretStr(through(self.network, broker)),
            "base_url": through(self.network, settings.base_url),
        }
        name = ["--hostname", f"machine{number}@%h"]  # both machines are this one, so their host names are equal
        self._pool = resources.enter_context(WorkerPool(settings.model_copy(update=its_own), 1, arguments=name))
        self._cut_at = 0.0

    def lose_network(self) -> None:
        """Cut the network."""
        self.network.cut()
        self._cut_at = time.monotonic()

    def regain_network(self) -> None:
        """Restore the network once the cut has lasted `CUT` seconds."""
        time.sleep(max(0.0, self._cut_at + CUT - time.monotonic()))  # the fault itself, not a wait for a condition
        self.network.mend()

    def noticed(self) -> bool:
        """Return whether the worker has given up its connection to the broker."""
        return "Connection to broker lost" in self._pool.log_file(1).read_text()

    def lost_its_lease(self, logs: list[dict[str, object]]) -> bool:
        """Return whether the host has logged that a lease of this machine's worker expired."""
        (pid,) = self._pool.pids()
        return any(log["event"] == "lease.expired" and f":{pid}:" in str(log["worker"]) for log in logs)


def test_a_run_survives_two_machines_that_lose_their_network_in_turn(
    ledger: Node, broker: str, endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    url = f"redis://127.0.0.1:{ledger.port}/0"
    settings = settings_of(tmp_path, endpoint, workers=0, concurrency=1)
    settings = settings.model_copy(update={"redis_url": SecretStr(url), "broker_url": SecretStr(broker)})
    reached, go_on = ({tick: Event() for tick in (BETWEEN, AFTER)} for _ in range(2))

    def pause(tick: Tick) -> None:
        if tick.number in reached:
            reached[tick.number].set()
            assert go_on[tick.number].wait(LONGEST)

    with ExitStack() as resources, capture_logs() as logs:
        first, second = (Machine(number, settings, resources) for number in (2, 3))
        hosts = resources.enter_context(ThreadPoolExecutor(1))
        endpoint.hold()
        digest = hosts.submit(live, settings, pause)
        endpoint.wait_for_request(2)  # of each machine
        first.lose_network()
        wait_until(lambda: first.lost_its_lease(logs), "the host to release the first machine's job")
        endpoint.release()
        assert reached[BETWEEN].wait(LONGEST)
        if is_amqp_url(broker):
            wait_until(first.noticed, "the first machine's worker to try to connect again")
        first.regain_network()
        endpoint.hold()
        asked = endpoint.stats().requests
        go_on[BETWEEN].set()
        endpoint.wait_for_request(asked + 2)  # so the first machine asks again
        second.lose_network()
        wait_until(lambda: second.lost_its_lease(logs), "the host to release the second machine's job")
        endpoint.release()
        assert reached[AFTER].wait(LONGEST)  # thanks to the first machine, which has its network again
        second.regain_network()
        go_on[AFTER].set()
        found = digest.result()
    with Redis.from_url(url) as state:
        assert found == proven(state) == undisturbed(settings)
