"""Deletion of a run: first, in one step, the keys that hosts and workers check before they write; then all others.

A host that continues is fenced, and a worker's claim, heartbeat or result is answered `gone`, so none restores a key.
After a deletion that was interrupted between the two, the name is still listed, and a second deletion removes the rest.

Batch files of the run are listed for the next worker to cancel, whose settings know their endpoint.
"""

from __future__ import annotations

from redis import Redis

from cogitate.scheduler.ledger.connect import ledger_of_run, read_hash, scan_keys
from cogitate.scheduler.ledger.errors import RunHeld
from cogitate.scheduler.ledger.keys import DELETED_BATCHES, RUNS, incarnation_key, run_base, run_prefix, script
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, incarnation_of

_BATCH = 500  # keys a round trip


def delete_run(client: Redis, run: str, *, force: bool = False) -> int:
    """Remove every key of a run, those of earlier incarnations included, and its name; return the number of keys.

    Args:
        force: delete even while a host is active on the run; that host is fenced at its next step.

    Raises:
        RunMissing: when there is no such run, and nothing of an earlier one.
        RunHeld: when a host is active on it and `force` is not set; nothing is removed.
    """
    ledger = ledger_of_run(client, run)  # nothing says any more where the rest is, once the run is gone
    incarnation = incarnation_of(ledger, run)
    if incarnation is None and not ledger.sismember(RUNS, run):
        RunStore.open(client, run)  # says which runs there are
    removed = 0
    if incarnation is not None:
        _end(ledger, run, incarnation, force)
        removed += 2
    removed += _remove_leftovers(client, ledger, run)
    ledger.srem(RUNS, run)
    if ledger.exists(incarnation_key(run)):  # a new run of this name was just created
        ledger.sadd(RUNS, run)
    return removed


def _end(client: Redis, run: str, incarnation: str, force: bool) -> None:
    store = RunStore.of(client, run, incarnation)
    expected = ["", ""]
    if not force:
        expected = [raw.decode() if raw is not None else "" for raw in store.state("epoch", "seq")]
        check_unheld(store, run, "delete it anyway (--force)")
    if not script(client, "delete")(keys=[incarnation_key(run)], args=[store.prefix, incarnation, *expected]):
        raise RunHeld(
            f"run {run!r} is held by a host that has just taken a step: stop it first, or delete it anyway (--force)"
        )


def _remove_leftovers(client: Redis, ledger: Redis, run: str) -> int:
    """Remove the keys of incarnations that are gone. Keys of a run created meanwhile are left alone: they are either
    found before its incarnation is read, and then spared by name, or not found."""
    removed = 0
    for keys in scan_keys(ledger, f"{run_base(run)}*", _BATCH):
        present = incarnation_of(ledger, run)
        kept = run_prefix(run, present).encode() if present is not None else None
        doomed = [
            key for key in keys if key != incarnation_key(run).encode() and (kept is None or not key.startswith(kept))
        ]
        for key in doomed:
            if key.removeprefix(run_base(run).encode()).partition(b":")[2] == b"batches":
                _list_batches(client, ledger, key)
        if doomed:
            removed += ledger.unlink(*doomed)
    return removed


def _list_batches(client: Redis, ledger: Redis, key: bytes) -> None:
    """Keep the batches of a run whose keys no worker can write to any more."""
    for tag, batch in read_hash(ledger, key.decode()).items():
        client.hset(DELETED_BATCHES, tag.decode(), batch)
