"""The history of a run's limits, which status shows, admission reads and the auditor checks."""

from __future__ import annotations

import msgspec

from cogitate.memory.clock import DAY
from cogitate.scheduler.config.limits import LimitName, LimitTable, LimitUnit, parse_limit_name


class LimitChange(msgspec.Struct, frozen=True):
    """All limits from one tick's admission on."""

    tick: int
    minute: int  # game time, total minutes
    limits: dict[str, int]


class LimitHistory:
    """The table that a run began with, and the tables that operators have set since."""

    def __init__(self, first: LimitTable, changes: tuple[LimitChange, ...] = ()) -> None:
        self.first = first
        self.changes = changes
        self._tables = [LimitTable(change.limits) for change in changes]

    @property
    def now(self) -> LimitTable:
        """Return the limits in force."""
        return self._tables[-1] if self._tables else self.first

    def with_limit(self, name: str, value: int | None, *, tick: int, minute: int) -> LimitHistory:
        """Return the history with one limit set, or removed by None, from the admission of `tick` on."""
        limits = {limit.text(): amount for limit, amount in self.now}
        if value is None:
            limits.pop(name, None)
        else:
            limits[name] = value
        earlier = tuple(change for change in self.changes if change.tick != tick)
        return LimitHistory(self.first, (*earlier, LimitChange(tick, minute, limits)))

    def limit_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the highest limit that a window was ever under; None if at some time there was none.

        A lowered limit takes nothing back: earlier spending and reservations stay, so a window can never hold more than
        this. "day:3" was under the tables in force from its first minute on, "tick:7" under that of its own tick.
        """
        values = [table.limit_of(window, scope, unit) for table in self._tables_over(window)]
        limits = [value for value in values if value is not None]
        return max(limits) if len(limits) == len(values) else None

    @property
    def last(self) -> LastLimits:
        """Return the limits that windows were under last: those of a past day are not changed by later tables."""
        return LastLimits(self)

    def last_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the limit that a window was under at its end, or is under now; None if it had none then."""
        return self._tables_over(window)[-1].limit_of(window, scope, unit)

    @property
    def ever(self) -> LimitTable:
        """Return every limit that was ever set, at its latest value."""
        return LimitTable({name.text(): value for table in (self.first, *self._tables) for name, value in table})

    def _tables_over(self, window: str) -> list[LimitTable]:
        period, _, index = window.partition(":")
        tables, starts = [self.first, *self._tables], [0, *(change.minute for change in self.changes)]
        if period == "tick":
            before = sum(change.tick <= int(index) for change in self.changes)
            return [tables[before]]
        if period == "day":
            begins, ends = int(index) * DAY, (int(index) + 1) * DAY
            first = max(i for i, start in enumerate(starts) if start <= begins)
            return [table for table, start in zip(tables, starts, strict=True) if start < ends][first:]
        return tables


class LastLimits:
    """The limits of windows as each was under them last."""

    def __init__(self, history: LimitHistory) -> None:
        self._history = history

    def limit_of(self, window: str, scope: str, unit: LimitUnit) -> int | None:
        """Return the limit of a cell of the accounts; None without one."""
        return self._history.last_of(window, scope, unit)


def normal_name(name: str) -> str:
    """Return a limit's full name: "day.tokens" is "day.run.tokens".

    Raises:
        LimitError: naming the part that is not known.
    """
    return parse_limit_name(name).text()


def kind_of_limit(name: str) -> str | None:
    """Return the kind that a limit is for, if it is for one."""
    limit: LimitName = parse_limit_name(name)
    kind = limit.scope.removeprefix("kind:")
    return kind if limit.scope.startswith("kind:") and kind != "*" else None
