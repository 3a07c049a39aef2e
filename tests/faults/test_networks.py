"""Two worker machines, each of which loses its network for longer than a lease, and finds it again.

On RabbitMQ the first loses it until its worker has noticed, which takes heartbeats half a minute. A worker that waits
for messages of Redis notices nothing, and goes on when they arrive.
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

CUT = float(os.environ.get("COGITATE_CUT", 0))  # seconds, at least, of each cut; `make chaos` has it last a minute
BETWEEN = MORNING + 6  # the plans have been applied; reflections and choices are to come
AFTER = TICKS - 1  # the reflections have been applied


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "ledger", cluster=False)
    node.start()
    yield node
    node.kill()


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.system)])
def broker(request: pytest.FixtureRequest, ledger: Node) -> Iterator[str]:
    """Yield the broker's URL, whose host and port a machine's own take the place of."""
    if request.param == "redis":
        yield f"redis://127.0.0.1:{ledger.port}/1"
        return
    with RabbitMQ() as rabbitmq:
        yield rabbitmq.url


def through(network: Network, url: str) -> str:
    """Return a URL of 127.0.0.1 as a machine reaches it."""
    return re.sub(r"127\.0\.0\.1:(\d+)", lambda found: network.way_to(int(found[1])), url)


class Machine:
    """A machine with one worker, which asks one model at a time."""

    def __init__(self, number: int, settings: Settings, resources: ExitStack) -> None:
        self.network = resources.enter_context(Network(f"127.0.0.{number}"))
        broker, ledger = settings.messages_url(), settings.state_url()
        its_own = {
            "data_dir": settings.data_dir / str(number),
            "redis_url": SecretStr(through(self.network, ledger)),
            "broker_url": SecretStr(through(self.network, broker)),
            "base_url": through(self.network, settings.base_url),
        }
        name = ["--hostname", f"machine{number}@%h"]  # all machines are this one, whose name would be the same
        self._pool = resources.enter_context(WorkerPool(settings.model_copy(update=its_own), 1, arguments=name))
        self._cut_at = 0.0

    def lose_network(self) -> None:
        """Cut the network."""
        self.network.cut()
        self._cut_at = time.monotonic()

    def regain_network(self) -> None:
        """Mend the network, not before it was cut for as long as the fault lasts."""
        time.sleep(max(0.0, self._cut_at + CUT - time.monotonic()))  # the fault itself
        self.network.mend()

    def noticed(self) -> bool:
        """Return whether the worker has given up its connection to the broker."""
        return "Connection to broker lost" in self._pool.log_file(1).read_text()

    def lost_its_lease(self, logs: list[dict[str, object]]) -> bool:
        """Return whether the host has logged that a lease of this machine's worker expired."""
        (pid,) = self._pool.pids()
        return any(log["event"] == "lease.expired" and f":{pid}:" in str(log["worker"]) for log in logs)


def test_two_machines_lose_their_network_one_after_the_other(
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
        wait_until(lambda: first.lost_its_lease(logs), "the host to give the first machine's job away")
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
        wait_until(lambda: second.lost_its_lease(logs), "the host to give the second machine's job away")
        endpoint.release()
        assert reached[AFTER].wait(LONGEST)  # by the first machine, which lost its own network before
        second.regain_network()
        go_on[AFTER].set()
        found = digest.result()
    with Redis.from_url(url) as state:
        assert found == proven(state) == undisturbed(settings)
