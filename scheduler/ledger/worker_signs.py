"""Heartbeats ("signs") of worker processes, for people and alerts. They belong to no run, and no decision uses them.

A worker renews its sign while it lives, with or without a job, and removes it at a clean shutdown. A killed worker
leaves its sign behind, so readers learn that it is missing. A worker that its supervisor restarts keeps its name and
renews the same sign. A worker is not missing if its supervisor is gone too, or if another worker has taken its place. A
restarted container has a new name, and other machines cannot see whether the old supervisor lives. So a worker takes
the place of a dead one if it started after the dead one's last sign and takes all its kinds.

A sign also names endpoints that answer other workers but not this one, and the reason why a worker cannot claim jobs. A
worker that ended for this reason leaves its last sign, which readers show until another worker takes its place, for at
most `MISSED_FOR`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from redis import Redis
from redis.exceptions import RedisError

from cogitate.memory import typed_json
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.connect import read_hash, server_time
from cogitate.scheduler.ledger.keys import WORKERS
from cogitate.scheduler.ledger.presence import HostProcess, exists, is_here

EVERY = 2.0  # seconds between two signs
GOOD_FOR = 6.0  # seconds after its last sign for which a worker counts as alive
MISSED_FOR = 3600.0  # seconds after its last sign for which a dead worker counts as missing
SETTLED = 0  # `began` of a worker that takes no place: it has taken one already, or has an older version
_SECOND = 1_000_000  # microseconds


class WorkerTrouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a worker claims no jobs."""

    failures: int = 0  # consecutive messages whose job it could not claim
    why: str = ""
    ended: bool = False  # whether it has ended for this reason


NO_TROUBLE = WorkerTrouble()


class FailedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's consecutive failed calls of an endpoint that answers other workers."""

    failures: int
    why: str  # class of the last failure


NO_FAILED_CALLS: Mapping[str, FailedCalls] = {}


class _Sign(msgspec.Struct, frozen=True):
    at: int  # microseconds of Redis's clock
    supervisor: HostProcess | None  # the process that restarts it
    kinds: tuple[str, ...] = ()  # whose jobs it takes
    trouble: WorkerTrouble = NO_TROUBLE
    schema: int = 0  # the newest schema that it reads; 0 from older versions
    began: int = 0  # microseconds of its first sign, for taking the place of a worker that died before; or SETTLED
    calls: Mapping[str, FailedCalls] = {}  # by endpoint


class MissingWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that sends no heartbeat and has not shut down cleanly."""

    worker: str
    seconds: float  # since its last sign


class FailingWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that can claim no job."""

    worker: str
    failures: int  # consecutive messages whose job it could not claim; 0: it ended before the first
    why: str
    ended: bool  # True: it has ended for this reason; False: it lives and still takes messages


class UnansweredWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that gets no answers from an endpoint that answers other workers."""

    worker: str
    endpoint: str
    failures: int  # consecutive calls
    why: str  # class of the last failure


class WorkersSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a server."""

    alive: list[str]
    missing: list[MissingWorker]
    kinds: list[str]  # whose jobs at least one living worker takes
    failing: list[FailingWorker] = []  # alive or ended
    older: list[str] = []  # living workers that cannot read runs of this version
    unanswered: list[UnansweredWorker] = []  # alive

    @property
    def expected(self) -> int:
        """Return how many workers there would be if none had died or given up."""
        return len(self.alive) + len(self.missing) + sum(worker.ended for worker in self.failing)

    @property
    def able(self) -> int:
        """Return how many workers live and can claim jobs."""
        return len(self.alive) - sum(not worker.ended for worker in self.failing)


def give_sign(
    client: Redis,
    worker: str,
    supervisor: HostProcess | None,
    kinds: Sequence[str],
    trouble: WorkerTrouble = NO_TROUBLE,
    began: int | None = None,
    calls: Mapping[str, FailedCalls] = NO_FAILED_CALLS,
) -> int:
    """Renew a worker's heartbeat, with its kinds and its trouble, if any.

    Args:
        began: the result of the last call; None in the first one. A known name keeps its earlier beginning.
        calls: the worker's failed calls, by endpoint.

    Returns:
        The time at which the worker began, in microseconds of Redis's clock.
    """
    now = _now(client)
    if began is None:
        known = _signs(client).get(worker)
        began = known.began if known is not None and not known.trouble.ended else now
    sign = _Sign(now, supervisor, tuple(kinds), trouble, SCHEMA, began, calls)
    client.hset(WORKERS, worker, msgspec.json.encode(sign))
    return began


def take_place(client: Redis, worker: str) -> bool:
    """Remove the sign of the dead worker whose place this worker takes; return whether there is one.

    The next sign of this worker must say `SETTLED`, so it takes no second place.
    """
    for gone, successor in _successors(_signs(client), _now(client)).items():
        if successor == worker:
            client.hdel(WORKERS, gone)
            return True
    return False


def remove_sign(client: Redis, worker: str) -> None:
    """Remove the sign of a worker that shuts down cleanly."""
    client.hdel(WORKERS, worker)


def workers_seen(client: Redis) -> WorkersSeen:
    """Return the workers that live, that died without a replacement, and that cannot claim jobs, by name."""
    signs, now = _signs(client), _now(client)
    alive = [worker for worker, sign in signs.items() if _is_alive(sign, now)]
    replaced = _successors(signs, now)
    gone = [worker for worker, sign in signs.items() if _is_missed(sign, now) and worker not in replaced]
    return WorkersSeen(
        alive=alive,
        missing=[
            MissingWorker(worker=worker, seconds=round(_age(signs[worker], now), 1))
            for worker in gone
            if not signs[worker].trouble.ended
        ],
        kinds=sorted({kind for worker in alive for kind in signs[worker].kinds}),
        failing=[
            FailingWorker(worker=worker, failures=trouble.failures, why=trouble.why, ended=trouble.ended)
            for worker in sorted([*alive, *gone])
            if (trouble := signs[worker].trouble).ended or (worker in alive and trouble.failures)
        ],
        older=[worker for worker in alive if signs[worker].schema < SCHEMA],
        unanswered=[
            UnansweredWorker(worker=worker, endpoint=endpoint, **msgspec.structs.asdict(calls))
            for worker in alive
            for endpoint, calls in sorted(signs[worker].calls.items())
        ],
    )


class WorkerCount:
    """Counts the workers that can claim jobs, at most once in `EVERY` seconds.

    After an outage the number is unknown until the workers have had time to renew their signs.

    Args:
        lost: returns the total seconds for which the server has been away.
    """

    def __init__(
        self, client: Redis, lost: Callable[[], float] = lambda: 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._lost, self._lost_before = lost, lost()
        self._clock = clock
        self._read: float | None = None  # time of the last reading
        self.seen: WorkersSeen | None = None  # as last read; None: unknown

    def alive(self) -> int | None:
        """Return the number of workers; None if it is unknown."""
        now, lost = self._clock(), self._lost()
        away, self._lost_before = lost > self._lost_before, lost
        if not away and (self._read is None or now - self._read >= EVERY):
            self._read = now
            try:
                self.seen = workers_seen(self._client)
            except (RedisError, OSError):  # the next commit reports the error; here only a chart lacks the number
                away = True
        if away:
            self._read, self.seen = now + GOOD_FOR - EVERY, None
        return None if self.seen is None else self.seen.able


def _signs(client: Redis) -> dict[str, _Sign]:
    """Return the signs by worker, sorted, without unreadable ones."""
    signs = {}
    for name, raw in sorted(read_hash(client, WORKERS).items()):
        with contextlib.suppress(msgspec.DecodeError):
            signs[name.decode(errors="replace")] = typed_json.decode(raw, _Sign)
    return signs


def _age(sign: _Sign, now: int) -> float:
    """Return the seconds since a sign."""
    return max(0.0, (now - sign.at) / _SECOND)


def _is_alive(sign: _Sign, now: int) -> bool:
    return _age(sign, now) <= GOOD_FOR and not sign.trouble.ended


def _is_missed(sign: _Sign, now: int) -> bool:
    supervised = sign.supervisor is None or exists(sign.supervisor)
    return not _is_alive(sign, now) and _age(sign, now) <= MISSED_FOR and supervised


def _successors(signs: Mapping[str, _Sign], now: int) -> dict[str, str]:
    """Return the dead workers whose places are taken, each with the worker that took it; a worker takes one place."""
    supervisors = {sign.supervisor for sign in signs.values() if _is_alive(sign, now)}
    free = sorted((sign.began, worker) for worker, sign in signs.items() if _is_alive(sign, now))
    dead = sorted((worker for worker, sign in signs.items() if _is_missed(sign, now)), key=lambda name: signs[name].at)
    successors: dict[str, str] = {}
    for gone in dead:
        sign = signs[gone]
        if sign.supervisor is not None and (sign.supervisor in supervisors or is_here(sign.supervisor)):
            continue  # the supervisor lives, and restarts its worker
        for began, worker in free:
            if began > sign.at and set(sign.kinds) <= set(signs[worker].kinds):
                free.remove((began, worker))
                successors[gone] = worker
                break
    return successors


def forget_workers(client: Redis) -> None:
    """Remove the signs of workers that no longer count as missing."""
    seen = workers_seen(client)
    known = {*seen.alive, *(dead.worker for dead in seen.missing), *(failing.worker for failing in seen.failing)}
    gone = [name for name in read_hash(client, WORKERS) if name.decode(errors="replace") not in known]
    if gone:
        client.hdel(WORKERS, *gone)


def _now(client: Redis) -> int:
    seconds, microseconds = server_time(client, WORKERS)
    return seconds * _SECOND + microseconds
