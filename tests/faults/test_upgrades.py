"""A rolling upgrade from a released version to this one in mid-run: workers, server, Flower and host, one by one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.faults.attacked import Eventually
from tests.live_flower import flower, get
from tests.live_redis import empty_redis
from tests.patience import LONGEST
from tests.released import RELEASED, unpacked

pytestmark = pytest.mark.system  # needs the repository's history, which CI has

RUN, TICKS = "town", 600
NEW = ""  # this version


class Town:
    """The processes of a run, each of a chosen version, on a server that can be restarted."""

    def __init__(self, folder: Path, endpoint: FakeEndpoint, trees: dict[str, Path], resources: ExitStack) -> None:
        self.server = resources.enter_context(EmbeddedServer(folder / "data"))
        self.folder, self._trees, self._resources = folder, trees, resources
        self.settings = {
            "COGITATE_REDIS_URL": self.server.url,
            "COGITATE_BROKER_URL": self.server.url.replace("db=0", "db=1"),
            "COGITATE_DATA_DIR": str(folder / "data"),
            "COGITATE_LLM": "openai",
            "COGITATE_BASE_URL": endpoint.url,
            "COGITATE_API_KEY": "any",
            "COGITATE_LIMIT_TOKENS": "100000000",
            "COGITATE_WAIT": "600",
            "COGITATE_JOB_DEADLINE": "600",
            "COGITATE_OUTAGE_WAIT": "600",
            "COGITATE_CONCURRENCY": "8",
            "COGITATE_REFLECTION_INTERVAL": "60",
        }

    def host(self, version: str, *world: object) -> subprocess.Popen[bytes]:
        return self._start(version, ["-m", "cogitate.ops", "run", "--run", RUN, "--workers", "0", *map(str, world)])

    def worker(self, version: str) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until it takes messages."""
        node = f"of-{version or 'this'}@%h"
        before = self._waiting()
        options = ["--hostname", node, "--without-mingle", "--without-gossip"]
        process = self._start(version, ["-m", "celery", "-A", "cogitate", "worker", *options])
        self.wait_until(
            lambda: self._waiting() - before or process.poll() is not None,
            f"a worker of {version or 'this version'} to be ready",
        )
        assert process.poll() is None, self.logs()
        return process

    def asking(self, version: str, worker: subprocess.Popen[bytes], endpoint: FakeEndpoint) -> subprocess.Popen[bytes]:
        """Wait until a worker calls the model, and return the worker; restart it if it crashes, as a supervisor does.

        Workers of 0.2.0 may crash (SIGSEGV) when two threads decode the first values of a type.
        """
        while True:
            self.wait_until(lambda one=worker: endpoint.stats().requests or one.poll() is not None, "a request")
            if worker.poll() != -signal.SIGSEGV:
                assert worker.poll() is None, self.logs()
                return worker
            worker = self.worker(version)

    def use(self, eventually: Eventually) -> Town:
        self.wait_until = eventually
        return self

    @property
    def state(self) -> Redis:
        return self.server.client()

    def restart_server(self) -> None:
        """Stop the server as an upgrade does, and restart it on its data."""
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGTERM)
        self.wait_until(lambda: not self.server.socket.exists(), "the server to end")
        again = self._resources.enter_context(EmbeddedServer(self.folder / "data"))
        self.server.stop()
        self.server = again

    def _start(self, version: str, command: list[str]) -> subprocess.Popen[bytes]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "PYTHONPATH"))}
        older = {"PYTHONPATH": str(self._trees[version])} if version else {}
        with (self.folder / f"{version or 'this'}-{len(list(self.folder.iterdir()))}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *command], env=clean | self.settings | older, cwd=self.folder, stdout=log, stderr=log
            )
        self._resources.callback(process.wait)
        self._resources.callback(process.kill)
        return process

    def _waiting(self) -> set[str]:
        with self.server.client(1) as broker:
            return {one["addr"] + one["id"] for one in broker.client_list() if one["cmd"] == "brpop"}

    def logs(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log")))


@pytest.fixture(scope="module", params=sorted(RELEASED))
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Path]]:
    version = request.param
    return version, {version: unpacked(version, tmp_path_factory.mktemp("released"))}


@pytest.fixture
def town(
    older: tuple[str, dict[str, Path]], endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually
) -> Iterator[Town]:
    with ExitStack() as resources:
        town = Town(tmp_path, endpoint, older[1], resources).use(eventually)
        yield town
        endpoint.release()


def check(state: Redis) -> None:
    """Check that the run finished, that each job was answered once and in time, and that audit and replay agree."""
    assert (summarise_run(state, RUN).status, summarise_run(state, RUN).tick) == ("finished", TICKS)
    ended = [one for line in read_journal(RunStore.open(state, RUN), 1, TICKS) for one in line.core.ended]
    assert {(one.end, one.reason) for one in ended} == {("applied", "none")}
    assert len({one.key for one in ended}) == len(ended) > 3
    assert audit(state, RUN) == []
    assert replay(state, RUN, empty_redis()).digest == summarise_run(state, RUN).digest


def test_a_run_survives_a_rolling_upgrade_of_workers_server_and_host(
    town: Town, older: tuple[str, dict[str, Path]], endpoint: FakeEndpoint
) -> None:
    before = older[0]
    endpoint.hold()
    worker, host = town.worker(before), town.host(before, "--town", 3, "--ticks", TICKS)
    leaving = town.asking(before, worker, endpoint)
    town.worker(NEW)
    leaving.send_signal(signal.SIGTERM)
    endpoint.release()
    assert leaving.wait(LONGEST) == 0, town.logs()
    asked = endpoint.stats().requests
    endpoint.hold()
    endpoint.wait_for_request(asked + 1, LONGEST)  # a job of the older host, executed by a worker of this version
    town.restart_server()
    with flower(town.folder / "data", **town.settings) as address:
        assert run_heads(town.state)[0].held
        status, page = get(address)
        assert (status, RUN in page) == (200, True)
    host.send_signal(signal.SIGINT)
    endpoint.release()
    host.wait(LONGEST)
    assert summarise_run(town.state, RUN).tick < TICKS, town.logs()
    assert audit(town.state, RUN) == []
    assert town.host(NEW, "--resume").wait(LONGEST) == 0, town.logs()
    check(town.state)


def test_a_host_of_this_version_works_with_workers_of_an_older_one(
    town: Town, older: tuple[str, dict[str, Path]], endpoint: FakeEndpoint
) -> None:
    endpoint.hold()
    leaving, host = town.worker(older[0]), town.host(NEW, "--town", 3, "--ticks", TICKS)
    if older[0] == "0.2.0":  # it cannot read an owner's habits as a list; it logs that, and heuristics take over
        assert host.wait(LONGEST) == 0, town.logs()
        assert "ledger.unreadable" in town.logs()
        assert endpoint.stats().requests == 0
        assert audit(town.state, RUN) == []
        return
    endpoint.wait_for_request(1, LONGEST)
    town.worker(NEW)
    leaving.send_signal(signal.SIGTERM)
    endpoint.release()
    assert leaving.wait(LONGEST) == 0, town.logs()
    assert host.wait(LONGEST) == 0, town.logs()
    check(town.state)
