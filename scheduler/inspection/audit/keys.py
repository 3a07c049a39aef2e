"""The auditor's look at the key space: every key of a run belongs to something that the run has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from redis import Redis

from scheduler.inspection.snapshot import AccountsSnapshot
from scheduler.ledger.keys import OF_OWNERS, OF_RUN, incarnation_key, run_base


def stray_keys(client: Redis, run: str, prefix: str, take: Callable[[], AccountsSnapshot]) -> list[str]:
    """Keys of this run's name that belong to nothing: no incarnation, owner, open job, window or due tick of its own.

    A run that lives makes and removes keys while they are listed: what looks stray is looked at again.
    """
    base = run_base(run)
    found: Any = list(client.scan_iter(match=_literally(base) + "*", count=1000))
    suspects = sorted({raw.decode(errors="replace") for raw in found} - {incarnation_key(run)})
    for _ in range(2):
        owners = _owners(client, prefix)
        ledger = take()
        suspects = [
            key for key in suspects if not key.startswith(prefix) or not _known(key[len(prefix) :], ledger, owners)
        ]
    return [f"key {key[:200]!r} belongs to nothing" for key in suspects if client.exists(key)]


def _owners(client: Redis, prefix: str) -> set[str]:
    names: Any = [*client.hkeys(prefix + "owners"), *client.hkeys(prefix + "retired")]
    return {name.decode(errors="replace") for name in names}


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
    """A text as a pattern that matches only itself. Run names have no other signs of patterns than these."""
    return text.replace("[", "\\[").replace("]", "\\]")
