"""Audit of the key space: every key of a run belongs to one of its owners, jobs, windows or other parts."""

from __future__ import annotations

from collections.abc import Callable, Collection

from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.ledger.keys import OF_OWNERS, OF_RUN, incarnation_key, run_base
from cogitate.scheduler.ledger.run_store import RunStore


def stray_keys(store: RunStore, run: str, take: Callable[[], AccountsSnapshot]) -> list[str]:
    """Return the keys under a run's name that belong to none of its incarnations, owners, open jobs, windows or ticks.

    A live run creates and removes keys while they are listed, so keys that look stray are checked again.
    """
    base, prefix = run_base(run), store.prefix
    found = list(store.client.scan_iter(match=_literally(base) + "*", count=1000))
    suspects = sorted({raw.decode(errors="replace") for raw in found} - {incarnation_key(run)})
    for _ in range(2):
        owners = _owners(store)
        ledger = take()
        suspects = [
            key for key in suspects if not key.startswith(prefix) or not _known(key[len(prefix) :], ledger, owners)
        ]
    return [f"key {key[:200]!r} is stray" for key in suspects if store.client.exists(key)]


def _owners(store: RunStore) -> set[str]:
    return {name.decode(errors="replace") for name in (*store.fields("owners"), *store.fields("retired"))}


def _known(key: str, ledger: AccountsSnapshot, owners: Collection[str]) -> bool:
    name, _, of = key.partition(":")
    match name:
        case "job":
            return of in ledger.jobs
        case "window":
            return of in ledger.windows
        case "due":
            return of in {record.get(b"due", b"").decode() for record in ledger.jobs.values()}
        case "ready":
            return of.isdecimal() and int(of) > ledger.tick
        case "journal_checkpoint":
            return of in ledger.checkpoints
        case _ if name in OF_OWNERS:
            return of in owners
        case _:
            return key in OF_RUN


def _literally(text: str) -> str:
    """Return a pattern that matches only this text; run names contain no other special characters."""
    return text.replace("[", "\\[").replace("]", "\\]")
