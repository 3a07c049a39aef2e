"""Signs of life of worker processes, which belong to no run: for people and alerts, and nothing depends on them.

A worker renews its sign while it lives, whether or not it has a job, and removes it when it ends in order. One that was
killed leaves its sign behind, so that whoever looks learns that it is missing; a worker that its supervisor starts
again has the same name and renews the same sign. Nobody misses a worker whose supervisor is gone too.

A sign tells of a worker that fails before it has a job. One that has ended for that reason leaves its last sign behind
as a mark, which is shown for as long as a worker is missed.
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


class WorkerTrouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a worker claims no jobs."""

    failures: int = 0  # messages in turn of which it could not claim the job
    why: str = ""
    ended: bool = False  # it has ended for this reason


NO_TROUBLE = WorkerTrouble()


class _Sign(msgspec.Struct, frozen=True):
    at: int  # microseconds of Redis's clock
    supervisor: HostProcess | None  # which starts it again if it dies
    kinds: tuple[str, ...] = ()  # whose jobs it takes
    trouble: WorkerTrouble = NO_TROUBLE


class MissingWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that has neither said that it ends nor given a sign for a while."""

    worker: str
    seconds: float  # since its last sign


class FailingWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that can claim no job."""

    worker: str
    failures: int  # messages in turn of which it could not claim the job; 0: it ended before the first
    why: str
    ended: bool  # it has ended for this reason; otherwise it is alive and goes on taking messages


class WorkersSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a server."""

    alive: list[str]
    missing: list[MissingWorker]
    kinds: list[str]  # whose jobs at least one of those alive takes
    failing: list[FailingWorker] = []  # alive or ended

    @property
    def expected(self) -> int:
        """Return how many there would be if none had died or given up."""
        return len(self.alive) + len(self.missing) + sum(one.ended for one in self.failing)

    @property
    def able(self) -> int:
        """Return how many are alive and do not fail."""
        return len(self.alive) - sum(not one.ended for one in self.failing)


def give_sign(
    client: Redis,
    worker: str,
    supervisor: HostProcess | None,
    kinds: Sequence[str],
    trouble: WorkerTrouble = NO_TROUBLE,
) -> None:
    """Renew a worker's sign of life, and say whose jobs it takes and whether it can claim any."""
    client.hset(WORKERS, worker, msgspec.json.encode(_Sign(_now(client), supervisor, tuple(kinds), trouble)))


def remove_sign(client: Redis, worker: str) -> None:
    """Remove the sign of a worker that ends in order."""
    client.hdel(WORKERS, worker)


def workers_seen(client: Redis) -> WorkersSeen:
    """Return the workers that are alive, those that died and were not replaced, and those that fail, by name."""
    alive, missing, failing = [], [], []
    kinds: set[str] = set()
    signs = read_hash(client, WORKERS)
    now = _now(client)
    for name, raw in sorted(signs.items()):
        try:
            sign = msgspec.json.decode(raw, type=_Sign)
        except msgspec.DecodeError:
            continue  # no version writes it so
        age = max(0.0, (now - sign.at) / _SECOND)
        worker, trouble = name.decode(errors="replace"), sign.trouble
        told = FailingWorker(worker=worker, failures=trouble.failures, why=trouble.why, ended=trouble.ended)
        missed = age <= MISSED_FOR and (sign.supervisor is None or exists(sign.supervisor))
        if trouble.ended:
            failing += [told] if missed else []
        elif age <= GOOD_FOR:
            alive.append(worker)
            kinds.update(sign.kinds)
            failing += [told] if trouble.failures else []
        elif missed:
            missing.append(MissingWorker(worker=worker, seconds=round(age, 1)))
    return WorkersSeen(alive=alive, missing=missing, kinds=sorted(kinds), failing=failing)


def forget_workers(client: Redis) -> None:
    """Remove the signs of workers that nobody misses."""
    seen = workers_seen(client)
    known = {*seen.alive, *(one.worker for one in seen.missing), *(one.worker for one in seen.failing)}
    gone = [name for name in read_hash(client, WORKERS) if name.decode(errors="replace") not in known]
    if gone:
        client.hdel(WORKERS, *gone)


def _now(client: Redis) -> int:
    seconds, microseconds = client.time()
    return int(seconds) * _SECOND + int(microseconds)
