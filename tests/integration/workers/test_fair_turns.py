"""Runs that share workers take turns: a small run does not wait for all jobs of a large one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import islice

import pytest
from kombu.utils.json import loads

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.publish import Publisher
from cogitate.workers.transport.hints import QUICK, TICKETS, hints_key, next_hints
from tests.patience import LONGEST

QUEUE = "cogitate:reflect"
MANY, FEW = 500, 6


def jobs(run: str, count: int, kind: str = "reflect") -> list[Job]:
    keys = [JobKey(420, kind, f"agent:a{number}", 0, 0) for number in range(count)]
    return [Job(run=run, key=key, minute=420, due=425, reads=()) for key in keys]


def publish(settings: Settings, run: str, count: int, share: int = 1) -> None:
    publisher = Publisher(settings.changed(worker_share=share))
    assert publisher.publish(jobs(run, count)) == count
    publisher.close()


def taken(server: EmbeddedServer) -> list[str]:
    """Take all hints, one per ticket, and return their job ids in order."""
    with server.client(1) as client:
        ids: list[str] = []
        while client.rpop(QUEUE):
            ((_, hint),) = next_hints(client, [QUEUE], QUICK)
            ids.append(loads(hint)["headers"]["id"])
        return ids


def runs_of(ids: list[str]) -> list[str]:
    return [job_id.partition("/")[0] for job_id in ids]


def test_a_worker_serves_a_small_run_among_the_first_jobs_of_a_large_one(
    valkey: EmbeddedServer, worker_settings: Settings, eventually: Callable[..., None]
) -> None:
    publish(worker_settings, "large", MANY)
    publish(worker_settings, "small", FEW)
    log = worker_settings.data_dir / "fair.log"
    command = [part if part != "warning" else "info" for part in worker_command("fair@%h")]
    with log.open("wb") as out:
        worker = subprocess.Popen(
            command, env=worker_environment(worker_settings), cwd=worker_settings.data_dir, stdout=out, stderr=out
        )
    try:
        eventually(lambda: len(received(log.read_text())) >= MANY + FEW, "all jobs to be taken")
        assert worker.poll() is None
    finally:
        worker.terminate()
        try:
            worker.wait(LONGEST)
        finally:
            worker.kill()
            worker.wait()
    order = received(log.read_text())
    assert len({*order}) == MANY + FEW
    last = max(place for place, job_id in enumerate(order) if job_id.startswith("small/"))
    assert last < 2 * FEW + 2  # they take turns, although the large run came first
    assert runs_of(order).count("small") == FEW


def received(log: str) -> list[str]:
    return re.findall(r"Task reflect\[(\S+)\] received", log)


def test_runs_take_turns_and_each_keeps_its_order(valkey: EmbeddedServer, worker_settings: Settings) -> None:
    publish(worker_settings, "large", 9)
    publish(worker_settings, "small", 3)
    order = taken(valkey)
    assert runs_of(order)[:6].count("small") == 3
    for run, count in (("large", 9), ("small", 3)):
        assert [one for one in order if one.startswith(run)] == [job.id for job in jobs(run, count)]
    with valkey.client(1) as client:
        assert client.keys("cogitate:reflect*") == []


def test_a_run_gets_turns_by_its_share(valkey: EmbeddedServer, worker_settings: Settings) -> None:
    publish(worker_settings, "usual", 40)
    publish(worker_settings, "triple", 40, share=3)
    order = runs_of(taken(valkey))
    assert order[:40].count("triple") == 30
    assert order[:20].count("triple") == 15


def test_a_later_run_gets_no_extra_turns_to_catch_up(valkey: EmbeddedServer, worker_settings: Settings) -> None:
    publish(worker_settings, "first", 40)
    with valkey.client(1) as client:
        for _ in range(20):
            client.rpop(QUEUE)
            next_hints(client, [QUEUE], QUICK)
    publish(worker_settings, "later", 10)
    assert runs_of(taken(valkey))[:10].count("first") == 5


@pytest.mark.parametrize("lost", ["ticket", "hint"])
def test_a_lost_ticket_or_hint_blocks_no_run(valkey: EmbeddedServer, worker_settings: Settings, lost: str) -> None:
    publish(worker_settings, "town", 3)
    with valkey.client(1) as client:
        client.rpop(QUEUE if lost == "ticket" else hints_key(QUEUE, "town", 1))
        hints = []
        for ticket in islice(iter(lambda: client.rpop(QUEUE), None), 10):
            assert ticket == TICKETS[QUICK].encode()
            hints.append([loads(hint)["headers"]["id"] for _, hint in next_hints(client, [QUEUE], QUICK)])
        assert client.keys("cogitate:reflect*") == []
    first, second, third = (job.id for job in jobs("town", 3))
    assert hints == ([[first], [second, third]] if lost == "ticket" else [[second], [third], []])
