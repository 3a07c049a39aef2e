"""Delete a run: first, in one step, the keys that hosts and workers check before they write; then all others.

From the first step on, the ledger fences a host that continues, and answers a worker's claim, heartbeat or result with
`gone`, so neither restores a key. If a deletion is interrupted between the steps, the name is still listed, and a
second deletion removes the rest.

The run's batch files are listed for the next worker whose settings know their endpoint; it cancels them.
"""

from __future__ import annotations

from redis import Redis

from cogitate.scheduler.ledger.connect import ledger_of_run, read_hash, scan_keys
from cogitate.scheduler.ledger.errors import RunHeld
from cogitate.scheduler.ledger.keys import DELETED_BATCHES, RUNS, incarnation_key, run_base, run_prefix, script
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, incarnation_of

_BATCH = 500  # keys per round trip


def delete_run(client: Redis, run: str, *, force: bool = False) -> int:
    """Remove every key of a run, including those of earlier incarnations, and its name; return the number of keys.

    Args:
        force: delete the run even while a host is active on it; the next step of that host is fenced.

    Raises:
        RunMissing: if neither such a run nor remains of an earlier one exist.
        RunHeld: if a host is active on it and `force` is not set; nothing is removed.
    """
    ledger = ledger_of_run(client, run)  # looked up first, because only the run itself shows which ledger has its keys
    incarnation = incarnation_of(ledger, run)
    if incarnation is None and not ledger.sismember(RUNS, run):
        RunStore.open(client, run)  # raises `RunMissing` with the names of the existing runs
    removed = 0
    if incarnation is not None:
        _end(ledger, run, incarnation, force)
        removed += 2
    removed += _remove_leftovers(client, ledger, run)
    ledger.srem(RUNS, run)
    if ledger.exists(incarnation_key(run)):  # a new run of this name has just been created
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
    """Remove the keys of former incarnations.

    Keys of a run that is created meanwhile stay: each page of keys is listed before the present incarnation is read, so
    its prefix spares them.
    """
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
    """List the batches of a deleted run, so a worker cancels them."""
    for tag, batch in read_hash(ledger, key.decode()).items():
        client.hset(DELETED_BATCHES, tag.decode(), batch)
