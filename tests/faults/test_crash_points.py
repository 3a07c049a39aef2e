"""Every Redis call of a run is a crash point: who makes it may die just before it is sent and just after it is done.

A real Valkey, since what its scripts leave behind is what is tested, and since it is faster than one in Python. Of a
killed process only what the server holds is left. So the host's points are shown on what the server held at each of
them in one run, whose database is kept there and then: dying before a call or after the call before it is the same.
A worker's points are shown by raising out of its client, while the host lives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from redis import Redis

from cogitate.hosting.inline import InlinePublisher
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.scheduler.ledger.keys import script
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.faults.dropped_anywhere import SETTINGS, TICKS, SteadyBeat, Visit, Watch, watched_client

Database = Mapping[bytes, bytes]  # of each key its DUMP: a run sets no expiry
VERBS = {"acquire", "collect", "advance", "finish", "claim", "settle", "beat"}
LEAST_CALLS = 100  # of the undisturbed run; fewer would mean that the watch is blind


class Killed(BaseException):
    """A worker dies here: no handler of errors sees it."""


class Undisturbed(NamedTuple):
    """Return what a run is when nobody dies."""

    digest: str
    memories: dict[str, dict[str, int]]


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats at fixed places."""
    monkeypatch.setattr("cogitate.hosting.inline.Heartbeat", SteadyBeat)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Yield a Valkey that does not wait for the disk, since no test here kills it."""
    with EmbeddedServer(tmp_path_factory.mktemp("points")) as server, server.client() as client:
        client.config_set("appendfsync", "no")
        yield server


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    """Yield an unwatched client of an empty database."""
    with server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def undisturbed(client: Redis) -> Undisturbed:
    """A run in which nobody dies, of which only this is left."""
    found = Undisturbed(Visit(client).live(), summarise_run(client, "town").memories)
    client.flushall()
    return found


def test_the_host_may_die_at_every_call(server: EmbeddedServer, client: Redis, undisturbed: Undisturbed) -> None:
    points: list[Database] = []
    eventful(server, lambda when: points.append(database(client)))
    assert outcome(client) == undisturbed
    assert called(client) == VERBS
    assert len(points) >= 2 * LEAST_CALLS
    states = {fingerprint(point): point for point in points}
    for state in states.values():
        restore(client, state)
        Visit(client).live()
        assert outcome(client) == undisturbed
        assert audit(client, "town") == []
    print(f"{len(points)} crash points of the host, which leave {len(states)} states of the ledger")


def test_a_worker_may_die_at_every_call(server: EmbeddedServer, client: Redis, undisturbed: Undisturbed) -> None:
    total = 0
    while True:
        client.flushall()
        visit = Visit(client)
        workers = MortalWorkers(server, dies_at=total)
        visit.publish_through(workers.publish)
        visit.live()
        assert outcome(client) == undisturbed
        assert audit(client, "town") == []
        if not workers.died:
            break
        total += 1
    assert total >= 2 * 3 * 8, "eight jobs, each claimed, beaten for and settled"
    print(f"{total} crash points of a worker")


class MortalWorkers:
    """One worker at a time; it dies at one of the points counted from 0, and the next is born."""

    def __init__(self, server: EmbeddedServer, dies_at: int) -> None:
        self._server = server
        self._left = dies_at
        self._born = 0
        self.died = False
        self._worker = self._new()

    def publish(self, jobs: Sequence[Job]) -> int:
        """Have jobs run; who dies takes the messages of the others along."""
        try:
            return self._worker.publish(jobs)
        except Killed:
            self._worker = self._new()
            return 0

    def _new(self) -> InlinePublisher:
        self._born += 1
        return InlinePublisher(watched_client(self._server, self._watch), SETTINGS)

    def _watch(self, when: str) -> None:
        self._left -= 1
        if self._left == -1:
            self.died = True
            raise Killed


def eventful(server: EmbeddedServer, watch: Watch) -> None:
    """A run with a host dropped, a message lost, a worker gone after its claim and an attempt given back."""
    first = Visit(watched_client(server, watch))
    first.live(until=4)
    client = watched_client(server, watch)
    second = Visit(client)
    mishaps = iter(("lost", "gone", "freed"))

    def publish(jobs: Sequence[Job]) -> int:
        mishap = next(mishaps, "") if jobs else ""
        if mishap in ("gone", "freed"):
            claims = Claims(client, worker="unlucky")
            claim = claims.claim(jobs[0].id)
            assert isinstance(claim, Claim), claim
            if mishap == "freed":
                assert claims.settle(claim, None, Cost(calls=1)) == "freed"
        return len(jobs) if mishap else second.publish(jobs)

    second.publish_through(publish)
    second.live()
    assert next(mishaps, "") == "", "all mishaps happened"
    lines = list(read_journal(RunStore.open(client, "town"), 1, TICKS))
    assert any(note.attempts > 1 for line in lines for note in line.notes.ended)


def database(client: Redis) -> Database:
    """Return everything that the server holds."""
    keys: Any = sorted(client.keys())
    with client.pipeline(transaction=True) as pipe:
        for key in keys:
            pipe.dump(key)
        return dict(zip(keys, pipe.execute(), strict=True))


def restore(client: Redis, kept: Database) -> None:
    """Have the server hold this and nothing else."""
    with client.pipeline(transaction=True) as pipe:
        pipe.flushall()
        for key, value in kept.items():
            pipe.restore(key, 0, value)
        pipe.execute()


def fingerprint(kept: Database) -> bytes:
    """Return a fingerprint that is equal for two databases with the same bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (part for pair in kept.items() for part in pair):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def outcome(client: Redis) -> Undisturbed:
    """Return what the run that is over came to."""
    done = summarise_run(client, "town")
    assert (done.status, done.tick) == ("finished", TICKS)
    return Undisturbed(done.digest, done.memories)


def called(client: Redis) -> set[str]:
    """Return the ledger's verbs whose scripts the server knows."""
    names = sorted(VERBS)
    known: Any = client.script_exists(*(script(client, name).sha for name in names))
    return {name for name, there in zip(names, known, strict=True) if there}
