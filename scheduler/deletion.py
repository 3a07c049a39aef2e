"""Deleting a run: first, in one step, whatever hosts and workers look for before they write; then all the rest.

A host that goes on is fenced, a worker's claim, heartbeat or result is answered `gone`: none brings a key back. When a
deletion is interrupted between the two, the name stays known, and deleting it again removes what is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from redis import Redis

from scheduler.keys import RUNS, incarnation_key, run_base, run_prefix
from scheduler.ledger_errors import LedgerError
from scheduler.scripts import script
from scheduler.summary import prefix_of

WATCHED = 3.0  # seconds; a host that waits for results takes a step at least every half socket timeout
_BATCH = 500  # keys a round trip


class RunHeld(LedgerError):
    """A host is at work on this run."""


def delete_run(client: Redis, run: str, *, force: bool = False, watched: float = WATCHED) -> int:
    """Remove every key of a run, those of earlier incarnations included, and its name. Returns how many keys.

    Args:
        force: even while a host holds the run; that host is fenced at its next step.
        watched: seconds without a step of the host after which a run that was never finished counts as left.

    Raises:
        RunMissing: when there is no such run, and nothing of an earlier one.
        RunHeld: when a host holds it and `force` is not given; nothing was removed.
    """
    incarnation: Any = client.get(incarnation_key(run))
    if incarnation is None and not client.sismember(RUNS, run):
        prefix_of(client, run)  # says which runs there are
    removed = 0
    if incarnation is not None:
        _end(client, run, incarnation.decode(), force, watched)
        removed += 2
    removed += _remove_leftovers(client, run)
    client.srem(RUNS, run)
    if client.exists(incarnation_key(run)):  # somebody has just created a new run of this name
        client.sadd(RUNS, run)
    return removed


def _end(client: Redis, run: str, incarnation: str, force: bool, watched: float) -> None:
    prefix = run_prefix(run, incarnation)
    epoch, seq, status = _step(client, prefix)
    if not force and status in ("running", "paused"):
        deadline = time.monotonic() + watched
        while (left := deadline - time.monotonic()) > 0 and _step(client, prefix) == (epoch, seq, status):
            time.sleep(min(0.1, left))  # between two looks: a host at work takes a step
    expected = ("", "") if force else (epoch, seq)
    if not script(client, "delete")(keys=[incarnation_key(run)], args=[prefix, incarnation, *expected]):
        raise RunHeld(
            f"run {run!r} is held by a host that is at work: stop it first, or give --force to delete it all the same"
        )


def _step(client: Redis, prefix: str) -> tuple[str, str, str]:
    """Epoch, sequence number and status of the run's host."""
    found: Any = client.hmget(prefix + "state", "epoch", "seq", "status")
    epoch, seq, status = (raw.decode() if raw is not None else "" for raw in found)
    return epoch, seq, status


def _remove_leftovers(client: Redis, run: str) -> int:
    """Remove the keys of incarnations that are gone. Keys of a run created meanwhile are left alone: they are either
    found before its incarnation is read, and then spared by name, or not found."""
    removed = 0
    for keys in _batches(client, run_base(run)):
        present: Any = client.get(incarnation_key(run))
        kept = run_prefix(run, present.decode()).encode() if present is not None else None
        doomed = [
            key for key in keys if key != incarnation_key(run).encode() and (kept is None or not key.startswith(kept))
        ]
        if doomed:
            unlinked: Any = client.unlink(*doomed)
            removed += int(unlinked)
    return removed


def _batches(client: Redis, base: str) -> Iterator[list[bytes]]:
    cursor = 0
    while True:
        answer: Any = client.scan(cursor, match=f"{base}*", count=_BATCH)
        cursor, keys = answer
        if keys:
            yield keys
        if cursor == 0:
            return
