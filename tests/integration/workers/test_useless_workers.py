"""Workers that cannot do any job: they leave messages to other workers and report why."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.worker_signs import FailingWorker, workers_seen
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.processes.worker_process import CANNOT_START, MOST_IN_TURN, USELESS
from cogitate.workers.publish import Publisher
from tests.patience import LONGEST

CLAIMS_NOTHING = """
from cogitate.scheduler.ledger.claims import Claims

def claim(self, job_id):
    raise RuntimeError("no claim today")

Claims.claim = claim
"""


def run_worker(settings: Settings, name: str, *options: str) -> subprocess.Popen[str]:
    environment = worker_environment(settings) | {"PYTHONPATH": f"{settings.data_dir}:{Path.cwd()}"}
    return subprocess.Popen(
        [*worker_command(name), *options],
        env=environment,
        cwd=settings.data_dir,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def ended(worker: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a worker to exit by itself, and return its exit code and output."""
    try:
        said, _ = worker.communicate(timeout=LONGEST)
    finally:
        worker.kill()
        worker.wait()
    return worker.returncode, said


def failing(client: Redis, name: str) -> FailingWorker:
    return next(one for one in workers_seen(client).failing if one.worker == name)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_that_cannot_prepare_exits_before_it_takes_a_message(
    valkey: EmbeddedServer, tmp_path: Path, pool: str
) -> None:
    (tmp_path / "act.j2").write_text("{{ unclosed")
    settings = Settings(data_dir=tmp_path, redis_url=valkey.url, prompts=tmp_path)
    job = Job(run="nowhere", key=JobKey(1, "act", "agent:a", 0, 0), minute=1, due=5, reads=(), reserved=Cost(calls=1))
    publisher = Publisher(settings)
    publisher.publish([job])
    publisher.close()
    name = f"{pool}@here"
    code, said = ended(run_worker(settings, name, "--pool", pool))
    assert code == CANNOT_START
    (line,) = [line for line in said.splitlines() if line.startswith("cogitate: ")]
    assert "act.j2" in line
    with valkey.client() as client, valkey.client(1) as broker:
        mark = failing(client, name)
        assert (mark.failures, mark.ended) == (0, True)
        assert "act.j2" in mark.why
        assert broker.llen("cogitate:act") == 1, "another worker takes it"


def test_a_worker_that_fails_to_claim_stops_taking_messages(
    valkey: EmbeddedServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    (tmp_path / "claims_nothing.py").write_text(CLAIMS_NOTHING)
    settings = Settings(data_dir=tmp_path, redis_url=valkey.url, kinds=["claims_nothing"], concurrency=2)
    keys = [JobKey(tick, "act", "agent:a", 0, 0) for tick in range(1, 3 * MOST_IN_TURN)]
    jobs = [Job(run="nowhere", key=key, minute=1, due=999, reads=(), reserved=Cost(calls=1)) for key in keys]
    publisher = Publisher(settings)
    worker = run_worker(settings, "useless@here")
    try:
        with valkey.client() as client:
            publisher.publish(jobs[:1])
            eventually(lambda: workers_seen(client).failing, "its failure to be reported", timeout=LONGEST)
            told = failing(client, "useless@here")
            assert (told.failures, told.why, told.ended) == (1, "RuntimeError: no claim today", False)
            publisher.publish(jobs[1:])
            code, said = ended(worker)
            assert code == USELESS
            assert "worker.useless" in said
            told = failing(client, "useless@here")
            assert told.ended
            assert told.failures >= MOST_IN_TURN
        with valkey.client(1) as broker:
            assert broker.llen("cogitate:act") > 0, "another worker takes them"
    finally:
        worker.kill()
        worker.wait()
        publisher.close()
