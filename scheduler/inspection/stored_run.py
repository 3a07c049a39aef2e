"""Read a run's facts, its limits with their refusals, and the usage that no tick has journalled.

A host journals an attempt's usage at the tick after its report. Usage that is reported after the last tick stays in the
ledger, and readers add it to the journal's charges. While a host may still commit a tick, they add nothing, because the
usage would count twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, cast

import msgspec
from redis.client import Pipeline

from cogitate.memory.clock import DAY, Clock
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.typed_json import decoder
from cogitate.scheduler.budget.budget import amounts
from cogitate.scheduler.budget.budget_lines import Pools
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.facts import Facts, kept_settings
from cogitate.scheduler.config.limits import UNITS, LimitTable, LimitUnit
from cogitate.scheduler.engine.corrections import read_learned, read_retries
from cogitate.scheduler.journal.lines import Correction, EndNote, ReadLine, Retried, reason_of
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import Unreadable, UnreadableLog
from cogitate.scheduler.steering.steering import read_steering
from cogitate.tasks.job import Cost

_FACTS = decoder(Facts)
_GAME_TIME = re.compile(r"day (\d{1,6}),? (\d{1,2}):(\d{2})")


def kept_facts(store: RunStore) -> Facts:
    """Return the newest constants of a run; the defaults if the run has just been deleted."""
    kept = {int(version): raw for version, raw in store.mapping("facts").items()}
    return _FACTS.decode(kept[max(kept)]) if kept else Facts()


def clock_of(store: RunStore) -> Clock:
    """Return the clock of a run."""
    return kept_facts(store).clock


def tick_at(store: RunStore, at: str) -> int:
    """Return the tick that a user names; see `tick_named`."""
    return tick_named(at, kept_facts(store))


def tick_named(at: str, facts: Facts) -> int:
    """Return the tick that a user names: a number such as "720", or a game time such as "day 2 12:00".

    Raises:
        InputError: if it is neither, or before the run's first tick.
    """
    if at.isascii() and at.isdigit() and len(at) < 16:
        return int(at)
    match = _GAME_TIME.fullmatch(at.strip())
    if match is None:
        raise InputError(f"the time is {quoted(at)}: give a tick such as 720, or a game time such as 'day 2 12:00'")
    day, hour, minute = map(int, match.groups())
    tick = facts.clock.ticks_until((day - 1) * DAY + hour * 60 + minute - facts.start_minute)
    if tick < 1:
        raise InputError(f"the time is {quoted(at)}, which is before the first tick of the run")
    return tick


class Unjournalled(NamedTuple):
    """Charges that no tick has journalled, with the field names of a line's notes."""

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
        tuple(Correction(key=job.key, usage=job.usage, saved=job.saved, at=job.at) for job in learned),
        tuple(Retried(attempt.key, attempt.used) for attempt in retried if attempt.key.text().encode() not in jobs),
    )


def _flat(fields: Mapping[bytes, bytes]) -> list[bytes]:
    return [part for pair in fields.items() for part in pair]


def limits_of(store: RunStore) -> LimitHistory:
    """Return the past and present limits of a run."""
    return LimitHistory(_kept_limits(store.state_field("settings")), read_steering(store).limits)


@lru_cache(maxsize=8)  # watchers read a run at every tick, and creating settings takes milliseconds
def _kept_limits(settings: bytes) -> LimitTable:
    """Return the limits of a run at its creation."""
    return kept_settings(settings).limit_table()


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that one limit refused while it had one value."""

    limit: str  # named as in the settings
    value: int | None  # None: unknown, because the lines were trimmed after a change of limits
    for_retries: int  # part of the value
    requests: int
    reserves: int  # the smallest latest reservation of a refused kind's job, in the limit's unit; 0: unknown


class Refusals:
    """Counts the refusals in the lines of a journal.

    Args:
        trimmed: number of requests that each cell refused in trimmed lines.
    """

    def __init__(self, trimmed: Mapping[str, int]) -> None:
        self._trimmed = trimmed
        self._counts: dict[tuple[str, int | None], Counter[str]] = {}  # cell, value -> kind -> requests
        self._reserved: dict[str, Cost] = {}  # kind -> reservation of its newest job that asks a model

    def add(self, line: ReadLine, limits: LimitHistory) -> None:
        """Count the refusals of the next tick."""
        self._reserved |= {job.key.kind: job.reserved for job in line.notes.opened if job.reserved != Cost()}
        for decided in line.core.decided:
            if decided.refused and reason_of(decided.refused) == "denied":
                window, space, rest = decided.refused.partition(" ")
                cell = window.partition(":")[0] + space + rest
                value = _value(limits.at(line.core.tick), cell)
                self._counts.setdefault((cell, value), Counter())[decided.key.kind] += 1

    def by_limit(self, limits: LimitHistory, pools: Pools) -> list[Refusal]:
        """Return the refusals by limit and value."""
        counts: dict[tuple[str, int | None], Counter[str]] = {}
        for cell, count in self._trimmed.items():
            if reason_of(cell) == "denied":
                value = None if limits.changes else _value(limits.now, cell)
                counts.setdefault((limit_name(limits.ever, cell), value), Counter())[""] += count
        for (cell, value), kinds in self._counts.items():
            counts.setdefault((limit_name(limits.ever, cell), value), Counter()).update(kinds)
        refusals = []
        for (name, value), kinds in sorted(counts.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
            unit = cast(LimitUnit, name.rpartition(".")[2])  # no unit if another reason refused
            costs = [amounts(self._reserved.get(kind, Cost())) for kind in kinds]
            reserves = [cost[UNITS.index(unit)] for cost in costs] if unit in UNITS else []
            refusals.append(
                Refusal(
                    limit=name,
                    value=value,
                    for_retries=pools.of(unit, value),
                    requests=kinds.total(),
                    reserves=min(filter(None, reserves), default=0),
                )
            )
        return refusals


def limit_name(limits: LimitTable, cell: str) -> str:
    """Return the limit of a refusing cell such as "day:3 kind:reflect calls": the exact one, or a wildcard.

    Another reason for a refusal, such as a draining run or an unreachable ledger, is returned unchanged.
    """
    if " " not in cell:
        return cell
    window, rest = cell.split(" ", 1)
    scope, unit = rest.rsplit(" ", 1)
    period = window.partition(":")[0]
    names = {name.text() for name, _ in limits}
    exact = f"{period}.{scope}.{unit}"
    return exact if exact in names or ":" not in scope else f"{period}.{scope.partition(':')[0]}:*.{unit}"


def _value(limits: LimitTable, cell: str) -> int | None:
    period, _, rest = cell.partition(" ")
    scope, _, unit = rest.rpartition(" ")
    return limits.limit_of(period, scope, cast(LimitUnit, unit))  # None for other reasons, which name no unit
