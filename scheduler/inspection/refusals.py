"""The limits that refused requests of a run, each with the value that it had then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import cast

import msgspec

from cogitate.scheduler.budget.budget import amounts
from cogitate.scheduler.budget.budget_lines import Pools
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.limits import UNITS, LimitTable, LimitUnit
from cogitate.scheduler.journal.lines import ReadLine, reason_of
from cogitate.tasks.job import Cost


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that one limit refused while it had one value."""

    limit: str  # as in the settings
    value: int | None  # None: unknown, since the lines of the refusals were trimmed after a change of limits
    for_retries: int  # part of the value
    requests: int
    reserves: int  # the least that a job of a refused kind has reserved of the limit last; 0: unknown


class Refusals:
    """The refusals in the lines of a journal.

    Args:
        trimmed: the requests that each cell refused in trimmed lines.
    """

    def __init__(self, trimmed: Mapping[str, int]) -> None:
        self._trimmed = trimmed
        self._counts: dict[tuple[str, int | None], Counter[str]] = {}  # cell, value -> kind -> requests
        self._reserved: dict[str, Cost] = {}  # kind -> by its newest job that asks a model

    def add(self, line: ReadLine, limits: LimitHistory) -> None:
        """Count the refusals of the next tick."""
        self._reserved |= {one.key.kind: one.reserved for one in line.notes.opened if one.reserved != Cost()}
        for decided in line.core.decided:
            if decided.refused and reason_of(decided.refused) == "denied":
                window, space, rest = decided.refused.partition(" ")
                cell = window.partition(":")[0] + space + rest
                value = _value(limits.at(line.core.tick), cell)
                self._counts.setdefault((cell, value), Counter())[decided.key.kind] += 1

    def told(self, limits: LimitHistory, pools: Pools) -> list[Refusal]:
        """Return them by limit and value."""
        found: dict[tuple[str, int | None], Counter[str]] = {}
        for cell, count in self._trimmed.items():
            if reason_of(cell) == "denied":
                value = None if limits.changes else _value(limits.now, cell)
                found.setdefault((limit_name(limits.ever, cell), value), Counter())[""] += count
        for (cell, value), kinds in self._counts.items():
            found.setdefault((limit_name(limits.ever, cell), value), Counter()).update(kinds)
        told = []
        for (name, value), kinds in sorted(found.items(), key=lambda one: (one[0][0], one[0][1] or 0)):
            unit = cast(LimitUnit, name.rpartition(".")[2])  # without a value of any unit
            costs = [amounts(self._reserved.get(kind, Cost())) for kind in kinds]
            reserves = [cost[UNITS.index(unit)] for cost in costs] if unit in UNITS else []
            told.append(
                Refusal(
                    limit=name,
                    value=value,
                    for_retries=pools.of(unit, value),
                    requests=kinds.total(),
                    reserves=min(filter(None, reserves), default=0),
                )
            )
        return told


def limit_name(limits: LimitTable, cell: str) -> str:
    """Return the limit behind a refusing cell such as "day:3 kind:reflect calls", or the wildcard limit that applies.

    A refusal for another reason, such as a drained run or an unreachable ledger, is returned unchanged.
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
    return limits.limit_of(period, scope, cast(LimitUnit, unit))  # None for another reason, which names no unit
