"""The queues of Celery and its peers on a real server with real workers; a peer that is not installed is skipped."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from bench.peers.celery_queue import CeleryQueue
from bench.peers.queue import PEERS, Queue, queue_environment
from bench.worker.concurrency import running_worker, until
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.repository import ROOT

IDS = ["one", "two", "three"]


def opened(name: str) -> Callable[..., Queue]:
    if name == "Celery":
        return CeleryQueue
    (peer,) = (peer for peer in PEERS if peer.name == name)
    pytest.importorskip(peer.package, reason=f"{name} is not installed: pip install '.[bench]'")
    made: Callable[..., Queue] = import_module(f"bench.peers.{peer.module}").open_queue
    return made


@pytest.mark.parametrize("name", ["Celery", *(peer.name for peer in PEERS)])
def test_a_worker_runs_published_jobs_and_the_host_finds_the_results(
    name: str, valkey: EmbeddedServer, tmp_path: Path
) -> None:
    url, log = valkey.url.replace("db=0", "db=2"), tmp_path / "worker.log"
    with closing(opened(name)(url, results=True)) as queue, valkey.client(2) as client:
        queue.publish(IDS)
        assert queue.results() == 0, "no worker runs yet"
        command, environment = [sys.executable, *queue.worker], queue_environment(url, results=True)
        with running_worker(command, environment, log):
            for ids in (IDS, IDS[:2]):
                queue.publish(ids)
                queue.mark("taken")
                until(lambda: bool(client.delete("taken")), log)
                until(lambda: queue.results() == len(ids), log)  # noqa: B023 - called before the next turn


PAID = """
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.crowd import due_at_once
from cogitate.workers.processes.embedded import EmbeddedServer

folder = Path(sys.argv[1])
with EmbeddedServer(folder / "server") as server, ExitStack() as stack:
    block = due_at_once._ours(folder, server, 3, stack)
    for paid in (block(), block()):
        assert paid.published
        assert paid.taken
        assert paid.together == paid.published + paid.taken
"""


def test_a_host_pays_for_jobs_that_its_worker_has_done(tmp_path: Path) -> None:
    """Run the bench in a separate process, because it registers a kind of job."""
    done = subprocess.run(
        [sys.executable, "-c", PAID, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
