"""Usage that attempts reported after the last tick of a run that its host has left.

A host journals what an attempt used at the tick after it is reported. What is reported after the last tick stays in the
ledger, and readers add it to the charges in the journal. While a host may still commit a tick nothing is added, since
it would be counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from redis.client import Pipeline

from cogitate.scheduler.engine.corrections import read_learned
from cogitate.scheduler.engine.retries import read_retries
from cogitate.scheduler.journal.lines import Correction, EndNote, Retried
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Unreadable, UnreadableLog


class Unjournalled(NamedTuple):
    """Charges that no tick has journalled, shaped like the notes of a line."""

    corrected: tuple[Correction, ...] = ()
    retried: tuple[Retried, ...] = ()
    ended: tuple[EndNote, ...] = ()


def unjournalled(store: RunStore) -> Unjournalled:
    """Return the unjournalled charges of ended jobs; none for a run that a host holds."""

    def queue(pipe: Pipeline) -> None:
        pipe.hmget(store.key("state"), "status", "tick")
        pipe.hgetall(store.key("corrections"))
        pipe.hgetall(store.key("retries"))
        pipe.smembers(store.key("jobs"))

    state, corrections, retries, jobs = store.read_at_once(queue)
    if state[0] is None or state[0].decode() in HELD:
        return Unjournalled()
    unreadable: list[Unreadable] = []
    learned = sorted(read_learned(_flat(corrections), unreadable), key=lambda known: known.key)
    retried = read_retries(_flat(retries), unreadable)
    UnreadableLog().warn(unreadable)
    return Unjournalled(
        tuple(Correction(key=one.key, usage=one.usage, saved=one.saved, at=one.at) for one in learned),
        tuple(Retried(one.key, one.used) for one in retried if one.key.text().encode() not in jobs),
    )


def _flat(found: Mapping[bytes, bytes]) -> list[bytes]:
    return [part for pair in found.items() for part in pair]
