"""Signs of life of worker processes, which belong to no run: for people and alerts, and nothing depends on them.

A worker renews its sign while it lives, whether or not it has a job, and removes it when it ends in order. One that was
killed leaves its sign behind, so that whoever looks learns that it is missing; a worker that its supervisor starts
again has the same name and renews the same sign. Nobody misses a worker whose supervisor is gone too.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from redis import Redis

from scheduler.ledger.connect import read_hash
from scheduler.ledger.keys import WORKERS
from scheduler.ledger.presence import HostProcess, exists

EVERY = 2.0  # seconds between two signs
GOOD_FOR = 6.0  # seconds
MISSED_FOR = 3600.0  # seconds after which nobody misses a worker any more
_SECOND = 1_000_000  # microseconds


class _Sign(msgspec.Struct, frozen=True):
    at: int  # microseconds of Redis's clock
    supervisor: HostProcess | None  # which starts it again if it dies
    kinds: tuple[str, ...] = ()  # whose jobs it takes


class MissingWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has neither said that it ends nor given a sign for a while."""

    worker: str
    seconds: float  # since its last sign


class WorkersSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a server."""

    alive: list[str]
    missing: list[MissingWorker]
    kinds: list[str]  # whose jobs at least one of those alive takes

    @property
    def expected(self) -> int:
        """Return how many there would be if none had died."""
        return len(self.alive) + len(self.missing)


def give_sign(client: Redis, worker: str, supervisor: HostProcess | None, kinds: Sequence[str]) -> None:
    """Renew a worker's sign of life, and say whose jobs it takes."""
    client.hset(WORKERS, worker, msgspec.json.encode(_Sign(_now(client), supervisor, tuple(kinds))))


def remove_sign(client: Redis, worker: str) -> None:
    """Remove the sign of a worker that ends in order."""
    client.hdel(WORKERS, worker)


def workers_seen(client: Redis) -> WorkersSeen:
    """Return the workers that are alive, and those that died and were not replaced, by name."""
    alive, missing = [], []
    kinds: set[str] = set()
    signs = read_hash(client, WORKERS)
    now = _now(client)
    for name, raw in sorted(signs.items()):
        try:
            sign = msgspec.json.decode(raw, type=_Sign)
        except msgspec.DecodeError:
            continue  # no version writes it so
        age = max(0.0, (now - sign.at) / _SECOND)
        worker = name.decode(errors="replace")
        if age <= GOOD_FOR:
            alive.append(worker)
            kinds.update(sign.kinds)
        elif age <= MISSED_FOR and (sign.supervisor is None or exists(sign.supervisor)):
            missing.append(MissingWorker(worker=worker, seconds=round(age, 1)))
    return WorkersSeen(alive=alive, missing=missing, kinds=sorted(kinds))


def forget_workers(client: Redis) -> None:
    """Remove the signs of workers that nobody misses."""
    seen = workers_seen(client)
    known = {*seen.alive, *(one.worker for one in seen.missing)}
    gone = [name for name in read_hash(client, WORKERS) if name.decode(errors="replace") not in known]
    if gone:
        client.hdel(WORKERS, *gone)


def _now(client: Redis) -> int:
    seconds, microseconds = client.time()
    return int(seconds) * _SECOND + int(microseconds)
