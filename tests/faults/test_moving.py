"""A run that moves from a server to a cluster at midday, by a command that is killed at each step and repeated."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.connect import connect, ledgers_of
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import WorkerPool, worker_environment
from tests.faults.attacked import AGENTS, MORNING, RUN, live, proven, settings_of, undisturbed
from tests.patience import LONGEST
from tests.redis_cluster import Cluster

STEPS = ["_set_mark", "_copy", "_compare", "_arrive", "_remove", "_clear"]
#: `cogitate` in a process that kills itself once a function of the move has returned, so after that step.
DYING = """
import os, signal, sys
from cogitate.ops.cli import main
from cogitate.scheduler.ledger import moving
step = getattr(moving, sys.argv[1])
def last(*given):
    step(*given)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(moving, sys.argv[1], last)
sys.argv[1:] = sys.argv[2:]
main()
"""


class Halfway(Exception):
    """The end of the host at midday."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(replicas=False) as cluster:
        yield cluster


def move(settings: Settings, to: str, dies_at: str = "") -> int:
    """Run the command, and return its exit code, or the negative number of the signal that ended it."""
    command = [sys.executable, "-c", DYING, dies_at] if dies_at else [sys.executable, "-m", "cogitate.ops"]
    done = subprocess.run(
        [*command, "move", RUN, "--to", to],
        env=worker_environment(settings),
        cwd=settings.data_dir,
        timeout=LONGEST,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("dies_at", STEPS)
def test_a_run_that_moves_to_a_cluster_at_midday_has_the_digest_of_one_that_stays(
    cluster: Cluster, endpoint: FakeEndpoint, tmp_path: Path, dies_at: str
) -> None:
    chosen = settings_of(tmp_path, endpoint, workers=0, concurrency=AGENTS)
    for node in cluster.nodes:
        node.client.flushall()
    with EmbeddedServer(chosen.data_dir) as server:
        urls = [server.url, cluster.url]
        settings = chosen.model_copy(
            update={"redis_urls": tuple(map(SecretStr, urls)), "broker_url": SecretStr(f"{server.url[:-1]}1")}
        )
        alone = chosen.model_copy(update={"redis_url": SecretStr(server.url), "broker_url": settings.broker_url})

        def half(tick: Tick) -> None:
            if tick.number == MORNING + 4:
                raise Halfway

        with WorkerPool(settings, 1), connect(settings.state_url(), settings.socket_timeout) as state:
            on_server, on_cluster = ledgers_of(state).values()
            with pytest.raises(Halfway):
                live(alone, half)
            assert on_server.exists(incarnation_key(RUN))
            assert move(settings, cluster.url, dies_at) == -signal.SIGKILL
            assert audit(state, RUN) == []
            assert move(settings, cluster.url) == 0
            assert move(settings, cluster.url) == 0, "moving again is no error"
            assert on_cluster.exists(incarnation_key(RUN))
            assert not on_server.exists(incarnation_key(RUN))
            assert live(settings, exist="resume") == proven(state) == undisturbed(settings)
