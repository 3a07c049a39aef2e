"""Workers that are killed or stopped while they have jobs.

As everywhere in this folder, processes are real, and a fault strikes on a condition (the endpoint has the request, a
worker waits for a message), never after a delay. At the end the run is audited and its journal replayed, and where a
fault changes no result the digest equals that of the undisturbed run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.tick.tick_iterator import Tick
from tests.faults.attacked import AGENTS, MORNING, Attacked, Eventually, settings_of
from tests.faults.ledger_servers import also_on_a_cluster


@also_on_a_cluster
def test_jobs_of_workers_killed_in_mid_call_run_again(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(3)
    for pid in town.pool.pids():
        os.kill(pid, signal.SIGKILL)
    endpoint.release()
    town.ends_as(digest, host)
    assert town.attempts() > 1


def test_a_killed_worker_frees_the_only_slot_of_an_endpoint(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    """Kill the worker ten minutes before its call's deadline, which is longer than any wait of a test."""
    limits = {"default": Endpoint(base_url=endpoint.url, api_key="any", concurrency=1)}
    with Attacked(settings_of(tmp_path, endpoint, endpoints=limits, workers=2), eventually) as town:
        town.ready()
        endpoint.hold()
        host = town.host()
        endpoint.wait_for_request(1)
        for pid in town.pool.pids():
            os.kill(pid, signal.SIGKILL)
        endpoint.release()
        town.ends_as(digest, host)


def test_a_killed_workers_job_never_misses_its_due_tick(
    endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually
) -> None:
    """Use a host that does not wait: a job recovered too late is late, and its heuristic applies at its due tick."""
    settings = settings_of(tmp_path, endpoint, wait=0.0, lease=60.0)
    with Attacked(settings, eventually) as town:
        town.ready()
        endpoint.hold()

        def attack(tick: Tick) -> None:
            if tick.number == MORNING + 1:
                endpoint.wait_for_request(AGENTS)
                for pid in town.pool.pids():
                    os.kill(pid, signal.SIGKILL)

        town.live_here(attack)
        due = {line.key: line.due for tick in town.lines() for line in tick.core.decided if line.due}
        plans = [(tick, ended) for tick, ended, _ in town.endings() if ended.key.kind == "plan"]
        assert len(plans) == AGENTS
        assert {(due[ended.key], "applied", "late") for _, ended in plans} == {
            (tick, ended.end, ended.reason) for tick, ended in plans
        }
        town.proven()


def test_a_rolling_restart_of_workers_costs_no_attempt(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    with Attacked(settings_of(tmp_path, endpoint, workers=2, lease=60.0), eventually) as town:
        town.ready()
        endpoint.hold()
        host = town.host()
        seen = 0
        for at, old in enumerate(town.pool.pids()):
            endpoint.wait_for_request(seen + 1)
            os.kill(host.pid, signal.SIGSTOP)  # so that the run does not end before the next worker is restarted
            os.kill(old, signal.SIGTERM)
            endpoint.release()
            eventually(lambda at=at, old=old: town.pool.pids()[at : at + 1] not in ([], [old]), "another worker")
            town.ready()
            endpoint.hold()
            seen = endpoint.stats().requests
            os.kill(host.pid, signal.SIGCONT)
        endpoint.release()
        town.ends_as(digest, host)
        assert town.attempts() == 1, "a worker that is told to stop finishes its jobs first"


def test_a_job_that_kills_every_worker_is_given_up_and_other_jobs_succeed(
    tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    with FakeEndpoint(latency=0.3) as endpoint:
        settings = settings_of(tmp_path, endpoint, kinds=("deadly_kind",), claim_cap=3, lease=1.0)
        with Attacked(settings, eventually) as town:
            said, code = town.outcome(town.host())
            assert code == 0, said
            ((doom, note),) = [(end, note) for _, end, note in town.endings() if end.key.kind == "doom"]
            assert (doom.end, doom.reason, note.source, note.attempts) == ("applied", "dead", "heuristic", 3)
            others = [(end, note) for _, end, note in town.endings() if end is not doom and end.key != doom.key]
            assert {end.reason for end, _ in others} == {"none"}, "no other job was harmed"
            assert max(note.attempts for _, note in others) in (2, 3), "some shared its worker, at most twice"
            assert "Some thoughts kill." in [entry.text for entry in town.entries(doom.key.owner)]
            town.proven()
