"""A run's facts and clock, and the usage that no tick has journalled, read from the ledger.

A host journals what an attempt used at the tick after it is reported. What is reported after the last tick stays in the
ledger, and readers add it to the charges in the journal. While a host may still commit a tick nothing is added, since
it would be counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from redis.client import Pipeline

from cogitate.memory.clock import Clock
from cogitate.memory.typed_json import decoder
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.facts import Facts, kept_settings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.engine.corrections import read_learned, read_retries
from cogitate.scheduler.journal.lines import Correction, EndNote, Retried
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Unreadable, UnreadableLog
from cogitate.scheduler.steering.steering import read_steering

_FACTS = decoder(Facts)


def kept_facts(store: RunStore) -> Facts:
    """Return the newest constants of a run; those of a usual run if it is deleted meanwhile."""
    kept = {int(version): raw for version, raw in store.mapping("facts").items()}
    return _FACTS.decode(kept[max(kept)]) if kept else Facts()


def clock_of(store: RunStore) -> Clock:
    """Return the clock of a run."""
    return kept_facts(store).clock


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


def limits_of(store: RunStore) -> LimitHistory:
    """Return the past and present limits of a run."""
    return LimitHistory(_kept_limits(store.state_field("settings")), read_steering(store).limits)


@lru_cache(maxsize=8)  # a watched run is read at every tick, and building settings takes milliseconds
def _kept_limits(settings: bytes) -> LimitTable:
    """Return the limits that a run was created with."""
    return kept_settings(settings).limit_table()
