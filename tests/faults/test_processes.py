"""Real processes under real faults: nothing is lost, nothing is doubled, and the digest is that of an undisturbed run.

Every fault strikes on a condition (the endpoint has the request, a worker waits for a message), never after a time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacked import AGENTS, MORNING, RUN, Attacked, Eventually, settings_of, undisturbed

from ops.fake_llm import FakeEndpoint
from scheduler.audit import audit
from scheduler.loop import Tick


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """A model's endpoint."""
    with FakeEndpoint() as endpoint:
        yield endpoint
        endpoint.release()


@pytest.fixture
def town(endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually) -> Iterator[Attacked]:
    """A town with workers that are ready, and no host yet."""
    with Attacked(settings_of(tmp_path, endpoint), eventually) as town:
        town.ready()
        yield town


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """That of the run that nobody attacks."""
    with FakeEndpoint() as endpoint:
        return undisturbed(settings_of(tmp_path_factory.mktemp("undisturbed"), endpoint))


def test_workers_killed_in_mid_call(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(3)
    for pid in town.pool.pids():
        os.kill(pid, signal.SIGKILL)
    endpoint.release()
    town.ends_as(digest, host)
    assert town.attempts() > 1


def test_connections_killed_in_mid_job(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(3)
    for _ in range(2):
        for kind in ("pubsub", "normal"):  # the second also costs a worker its other connections
            eventually(lambda kind=kind: town.kill_connections(kind), f"a {kind} connection to kill")
        town.ready()
    endpoint.release()
    town.ends_as(digest, host)


def test_all_workers_restarted_one_after_the_other_under_load(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    with Attacked(settings_of(tmp_path, endpoint, lease=60.0), eventually) as town:
        town.ready()
        endpoint.hold()
        host = town.host()
        seen = 0
        for at, old in enumerate(town.pool.pids()):
            endpoint.wait_for_request(seen + 1)
            os.kill(host.pid, signal.SIGSTOP)  # what comes now must not be over when the next one is restarted
            os.kill(old, signal.SIGTERM)
            endpoint.release()
            eventually(lambda at=at, old=old: town.pool.pids()[at : at + 1] not in ([], [old]), "another worker")
            town.ready()
            endpoint.hold()
            seen = endpoint.stats().requests
            os.kill(host.pid, signal.SIGCONT)
        endpoint.release()
        town.ends_as(digest, host)
        assert town.attempts() == 1, "who is told to stop ends what it does first"


def test_a_message_that_dies_with_the_worker_that_popped_it(
    endpoint: FakeEndpoint, tmp_path: Path, digest: str, eventually: Eventually
) -> None:
    """A worker that dies with a message in its hands loses it: nobody else notes who took it."""
    with Attacked(settings_of(tmp_path, endpoint, workers=1), eventually) as town:
        town.ready()
        (worker,) = town.pool.pids()
        left: list[int] = []

        def attack(tick: Tick) -> None:
            if tick.number == MORNING:  # the plans are published when this tick is over
                before = town.waiting_workers().items()
                eventually(lambda: town.waiting_workers().items() - before, "the worker to begin to wait anew")
                os.kill(worker, signal.SIGSTOP)
            elif tick.number == MORNING + 1:
                left.extend((town.broker.llen("cogitate:plan"), town.broker.hlen("cogitate:unacked")))
                os.kill(worker, signal.SIGKILL)

        town.live_here(attack)
        assert left == [AGENTS - 1, 0], "one plan's message is neither in its queue nor noted as taken"
        town.is_over(digest)


def test_a_job_that_kills_every_worker_is_given_up(
    endpoint: FakeEndpoint, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    settings = settings_of(tmp_path, endpoint, workers=1, kinds=("deadly_kind",), claim_cap=2, lease=1.0)
    with Attacked(settings, eventually) as town:
        said, code = town.outcome(town.host())
        assert code == 0, said
        ends = [
            (end, note) for line in town.lines() for end, note in zip(line.core.ended, line.notes.ended, strict=True)
        ]
        ((doom, note),) = [(end, note) for end, note in ends if end.key.kind == "doom"]
        assert (doom.end, doom.reason, note.source, note.attempts) == ("applied", "dead", "heuristic", 2)
        assert {end.reason for end, _ in ends if end is not doom} == {"none"}, "no other job was harmed"
        assert "Some thoughts kill." in [entry.text for entry in town.entries(doom.key.owner)]
        assert audit(town.state, RUN) == []


def test_the_server_killed_while_workers_are_busy(
    town: Attacked, endpoint: FakeEndpoint, digest: str, eventually: Eventually
) -> None:
    endpoint.hold()
    host = town.host()
    endpoint.wait_for_request(3)
    town.kill_server()
    eventually(lambda: b"onnection" in town.pool.log_file(1).read_bytes(), "a worker to miss the server")
    town.restart_server()
    endpoint.release()
    said, code = town.outcome(host)
    if code:
        assert "--resume" in said
        assert len(complaints(said)) == 1, said
        said, code = town.outcome(town.host(resume=True))
    assert code == 0, said
    town.is_over(digest)


def test_a_host_that_comes_back_is_fenced(town: Attacked, endpoint: FakeEndpoint, digest: str) -> None:
    endpoint.hold()
    first = town.host()
    endpoint.wait_for_request(3)
    os.kill(first.pid, signal.SIGSTOP)
    second = town.host(resume=True)
    endpoint.release()
    town.ends_as(digest, second)
    os.kill(first.pid, signal.SIGCONT)
    said, code = town.outcome(first)
    assert code == 1
    assert ["another host has taken it" in line for line in complaints(said)] == [True], said
    assert "--resume" not in said, "it would take the run from the host that has it"
    town.is_over(digest)


def complaints(said: str) -> list[str]:
    """What a host complained of; its lines of progress left out."""
    return [line for line in said.splitlines() if not line.lstrip().startswith("day ")]
