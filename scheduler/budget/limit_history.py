"""The history of a run's limits, for admission, status and audit."""

from __future__ import annotations

import msgspec

from cogitate.memory.clock import DAY
from cogitate.scheduler.config.limits import LimitTable, LimitUnit


class LimitChange(msgspec.Struct, frozen=True):
    """The complete limits from one tick's admission on."""

    tick: int
    minute: int  # game time, total minutes
    limits: dict[str, int]


class LimitHistory:
    """A run's initial table of limits, and the tables that operators have set since."""

    def __init__(self, first: LimitTable, changes: tuple[LimitChange, ...] = ()) -> None:
        self.first = first
        self.changes = changes
        self._tables = [LimitTable(change.limits) for change in changes]

    @property
    def now(self) -> LimitTable:
        return self._tables[-1] if self._tables else self.first

    def with_limit(self, name: str, value: int | None, *, tick: int, minute: int) -> LimitHistory:
        """Return a history with one limit set, or removed by None, from the admission of `tick` on."""
        limits = {limit.text(): amount for limit, amount in self.now}
        if value is None:
            limits.pop(name, None)
        else:
            limits[name] = value
        earlier = tuple(change for change in self.changes if change.tick != tick)
        return LimitHistory(self.first, (*earlier, LimitChange(tick, minute, limits)))

    def limit_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the highest limit that was ever in force for a window; None if the window was ever unlimited.

        A lower limit does not undo earlier spending and reservations, so a window may hold up to this amount. "day:3"
        counts the tables in force from its first minute on, "tick:7" the table of its tick.
        """
        values = [table.limit_of(window, scope, unit) for table in self._tables_over(window)]
        limits = [value for value in values if value is not None]
        return max(limits) if len(limits) == len(values) else None

    def last_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the limit of a window at its end, or now while it is open; None without a limit."""
        return self._tables_over(window)[-1].limit_of(window, scope, unit)

    def at(self, tick: int) -> LimitTable:
        """Return the limits by which admission decides at a tick."""
        return [self.first, *self._tables][sum(change.tick <= tick for change in self.changes)]

    @property
    def ever(self) -> LimitTable:
        """Return each limit ever set, with its latest value."""
        return LimitTable({name.text(): value for table in (self.first, *self._tables) for name, value in table})

    def _tables_over(self, window: str) -> list[LimitTable]:
        period, _, index = window.partition(":")
        tables, starts = [self.first, *self._tables], [0, *(change.minute for change in self.changes)]
        if period == "tick":
            return [self.at(int(index))]
        if period == "day":
            begins, ends = int(index) * DAY, (int(index) + 1) * DAY
            first = max(i for i, start in enumerate(starts) if start <= begins)
            return [table for table, start in zip(tables, starts, strict=True) if start < ends][first:]
        return tables
