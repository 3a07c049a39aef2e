"""Every Redis call of a run is a crash point: its caller may die just before it is sent and just after it is executed.

The tests use a real Valkey because they check what its scripts leave behind, and because it is faster than one in
Python. A killed process leaves only what the server holds. So the test of the host saves the database at each crash
point of one run and resumes from each saved state; dying before a call and after the previous one are the same. The
test of a worker raises from the worker's client while the host lives.
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

Database = Mapping[bytes, bytes]  # each key's DUMP, without expiries, since a run sets none
VERBS = {"acquire", "collect", "advance", "finish", "claim", "settle", "beat"}
LEAST_CALLS = 100  # of the undisturbed run; fewer would mean that the watch misses calls


class Killed(BaseException):
    """The death of a worker, as an exception that no error handler catches."""


class Undisturbed(NamedTuple):
    """The result of a run in which no process dies."""

    digest: str
    memories: dict[str, dict[str, int]]


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make heartbeats beat at fixed points."""
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
    """Run the town undisturbed, return its result, and empty the database."""
    found = Undisturbed(Visit(client).live(), summarise_run(client, "town").memories)
    client.flushall()
    return found


def test_a_run_survives_a_host_killed_at_every_call(
    server: EmbeddedServer, client: Redis, undisturbed: Undisturbed
) -> None:
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


def test_a_run_survives_a_worker_killed_at_every_call(
    server: EmbeddedServer, client: Redis, undisturbed: Undisturbed
) -> None:
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
    """One worker at a time; it dies at the crash point `dies_at`, counted from 0, and a new worker takes its place."""

    def __init__(self, server: EmbeddedServer, dies_at: int) -> None:
        self._server = server
        self._left = dies_at
        self._born = 0
        self.died = False
        self._worker = self._new()

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run the jobs; a worker that dies loses the messages of the remaining ones."""
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
    """Run the town with a dropped host, a lost message, a worker that vanishes after its claim, and a freed attempt."""
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
    """Replace the server's data by this database."""
    with client.pipeline(transaction=True) as pipe:
        pipe.flushall()
        for key, value in kept.items():
            pipe.restore(key, 0, value)
        pipe.execute()


def fingerprint(kept: Database) -> bytes:
    """Return a hash of the database's keys and values."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (part for pair in kept.items() for part in pair):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def outcome(client: Redis) -> Undisturbed:
    """Check that the run finished, and return its result."""
    done = summarise_run(client, "town")
    assert (done.status, done.tick) == ("finished", TICKS)
    return Undisturbed(done.digest, done.memories)


def called(client: Redis) -> set[str]:
    """Return the ledger's verbs whose scripts the server knows."""
    names = sorted(VERBS)
    known: Any = client.script_exists(*(script(client, name).sha for name in names))
    return {name for name, there in zip(names, known, strict=True) if there}
