"""Move a run without a host to another ledger. A second call completes an interrupted move from any point.

The steps, each of which may be repeated:

1. Mark the run as leaving its ledger (`moving_key`). From here on the ledger refuses each step of a host, worker or
   operator as in an outage, and the caller repeats it. Workers settle their attempts where the run is afterwards.
2. Copy its keys to the other ledger, by type and not as a dump, which another version may not read.
3. Compare each copy with its key.
4. Give the other ledger the nonce of the run's incarnation. With this one step, the run is there.
5. After `KNOWN_FOR`, when every process has looked for the run again, remove its old keys. The mark stays for a process
   that still has a step for the old ledger.

Before step 4 the move can be called off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

import msgspec
import structlog
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.ledger.connect import read_value, scan_keys
from cogitate.scheduler.ledger.errors import LedgerError, RunExists, RunHeld
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key, moving_key, run_base
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, incarnation_of, missing_run
from cogitate.scheduler.ledger.servers.placement import KNOWN_FOR

SAYS_FOR = 3_600  # seconds for which a ledger marks a run as gone
_KEYS, _ITEMS = 500, 1_000  # per round trip

log = structlog.get_logger()


class MoveFailed(LedgerError):
    """A run could not be moved. It is where it was, nothing is lost, and the same command continues the move."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of a ledger on a run that leaves it."""

    to: str  # place of the other ledger
    incarnation: str
    arriving: bool = False  # whether the other ledger may already have the run


def leaving(ledger: Redis, run: str) -> Leaving | None:
    """Return the mark on a run whose move has begun and not ended; None without one."""
    raw = read_value(ledger, moving_key(run))
    if raw is None or ledger.ttl(moving_key(run)) != -1:
        return None
    return typed_json.decode(raw, Leaving)


def move_run(source: Redis, target: Redis, run: str, to: str) -> int:
    """Move a run to another ledger, or complete its move; return the number of its keys, 0 if it is already there.

    Args:
        to: the place of the target, the same in each call.

    Raises:
        RunMissing: if there is no such run.
        RunHeld: if a host is active on it, or it is on its way to another place.
        RunExists: if the target has a run of this name.
        MoveFailed: if a copy differs from its key.
        RedisError: if a ledger cannot be reached; a second call continues the move.
    """
    mark = leaving(source, run)
    if mark is None and incarnation_of(source, run) is None and incarnation_of(target, run) is not None:
        return 0
    mark = mark or _begin(source, target, run, to)
    if mark.to != to:
        raise RunHeld(
            f"run {run!r} is on its way to {mark.to}: complete that first, or call it off by naming the ledger it is on"
        )
    there = incarnation_of(target, run)
    if there not in (None, mark.incarnation):
        raise RunExists(f"{to} has another run {run!r}: delete one of them, or call the move off")
    if there is None:
        _clear(target, run)
        keys = _own_keys(source, run)
        for key in keys:
            _copy(source, target, key)
        log.info("run.copied", run=run, keys=len(keys))
        _compare(source, target, run)
        _set_mark(source, run, msgspec.structs.replace(mark, arriving=True))
        _arrive(target, run, mark.incarnation)
        log.info("run.arrived", run=run, to=to)
    _remove(source, run)
    return len(_own_keys(target, run))


def call_off(source: Redis, run: str) -> None:
    """Call off a move that has begun; the run stays where it is.

    Raises:
        RunHeld: if it may have arrived already.
    """
    mark = leaving(source, run)
    if mark is not None and mark.arriving:
        raise RunHeld(f"run {run!r} may be at {mark.to} already: complete its move")
    source.delete(moving_key(run))


def _begin(source: Redis, target: Redis, run: str, to: str) -> Leaving:
    incarnation = incarnation_of(source, run)
    if incarnation is None:
        raise missing_run(source, run)
    if incarnation_of(target, run) is not None:
        raise RunExists(f"{to} has a run {run!r} already")
    store, mark = RunStore.of(source, run, incarnation), Leaving(to=to, incarnation=incarnation)
    check_unheld(store, run, "let it end")
    _set_mark(source, run, mark)
    try:
        check_unheld(store, run, "let it end")  # a host may have taken the run before the mark
    except RunHeld:
        source.delete(moving_key(run))
        raise
    return mark


def _set_mark(source: Redis, run: str, mark: Leaving) -> None:
    source.set(moving_key(run), msgspec.json.encode(mark))


def _own_keys(ledger: Redis, run: str) -> list[bytes]:
    """Return the keys of a run that a move copies, sorted."""
    other = {incarnation_key(run).encode(), moving_key(run).encode()}
    return sorted({key for keys in scan_keys(ledger, f"{run_base(run)}*", _KEYS) for key in keys} - other)


def _clear(target: Redis, run: str) -> None:
    """Remove the copies of an earlier try."""
    keys = iter(_own_keys(target, run))
    while some := [*islice(keys, _KEYS)]:
        target.unlink(*some)


def _copy(source: Redis, target: Redis, key: bytes) -> None:
    """Copy a key, which may expire meanwhile."""
    kind, left = source.type(key), source.pttl(key)
    for page in _pages(source, kind, key):
        match kind:
            case b"string":
                target.set(key, page)
            case b"hash":
                target.hset(key, mapping=page)
            case b"list":
                target.rpush(key, *page)
            case b"set":
                target.sadd(key, *page)
            case b"zset":
                target.zadd(key, page)
    if isinstance(left, int) and left > 0:
        target.pexpire(key, left)


def _pages(ledger: Redis, kind: object, key: bytes) -> Iterator[Any]:
    """Yield the content of a key, in parts if it is long."""
    match kind:
        case b"string":
            yield ledger.get(key)
        case b"hash":
            yield from _parts(ledger.hgetall(key))
        case b"list":
            first = 0
            while page := ledger.lrange(key, first, first + _ITEMS - 1):
                yield page
                first += _ITEMS
        case b"set":
            yield from _parts(dict.fromkeys(ledger.smembers(key)))
        case b"zset":
            scored: Any = ledger.zrange(key, 0, -1, withscores=True)
            yield from _parts(dict(scored))
        case b"none":
            return
        case _:
            raise MoveFailed(f"key {key!r} is of a type that no run has: {kind!r}")


def _parts(items: Any) -> Iterator[dict[Any, Any]]:
    rest = iter(sorted(items.items()))
    while some := dict(islice(rest, _ITEMS)):
        yield some


def _compare(source: Redis, target: Redis, run: str) -> None:
    for key in sorted({*_own_keys(source, run), *_own_keys(target, run)}):
        kind = source.type(key)
        pairs = zip_longest(_pages(source, kind, key), _pages(target, target.type(key), key))
        if (kind != target.type(key) or any(original != copy for original, copy in pairs)) and source.exists(key):
            raise MoveFailed(f"run {run!r}: the copy of key {key.decode(errors='replace')!r} differs from it")


def _arrive(target: Redis, run: str, incarnation: str) -> None:
    target.sadd(RUNS, run)
    with target.pipeline(transaction=True) as pipe:
        pipe.delete(moving_key(run))  # of an earlier move away from here
        pipe.set(incarnation_key(run), incarnation, nx=True)
        pipe.execute()
    if incarnation_of(target, run) != incarnation:
        raise RunExists(f"the other ledger has a new run {run!r}: delete one of them")


def _remove(source: Redis, run: str) -> None:
    time.sleep(KNOWN_FOR)  # until no process remembers this ledger as the run's: step 5 above
    source.delete(incarnation_key(run))
    _clear(source, run)
    source.srem(RUNS, run)
    source.pexpire(moving_key(run), SAYS_FOR * 1_000)
