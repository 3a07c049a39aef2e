"""Budget windows, and admission's view of them.

A window is a period and its index ("tick:420", "day:3", "run:0"). The index is part of every key, so no counter needs a
reset. A cell is (window, scope). Only the host updates the view, at boundaries, from journal facts: an open job counts
its reservation, an applied job the usage of its winning attempt. A job that ended without a result counts its full
reservation until a boundary learns its usage. So admission depends only on the journal, never on crashes or on the
order in which jobs finish. The unit "jobs" counts each admitted job as 1, for good; only the view tracks this unit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, cast

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.scheduler.config.limits import LIMIT_UNITS, PERIODS, UNITS, LimitTable, LimitUnit, Period
from cogitate.tasks.job import Cost, JobKey

NOTHING = Cost()


#: How many of the scopes run, kind and owner, in this order, reports show for each period.
_REPORTED: Mapping[Period, int] = {"tick": 0, "day": 2, "run": 1}


class Cell(NamedTuple):
    """An account to which jobs are charged."""

    window: str  # "tick:420", "day:3", "run:0"
    scope: str  # "run", "kind:plan", "owner:agent:isabella"

    @property
    def period(self) -> Period:
        return self.window.partition(":")[0]  # type: ignore[return-value]  # only window_of makes windows


class Room(NamedTuple):
    """The room for first attempts under one limit of a cell."""

    unit: LimitUnit
    number: int  # of the unit in LIMIT_UNITS
    room: int


class Account(NamedTuple):
    """A cell with its limits and its fields of the view, looked up once for all jobs of a tick."""

    cell: Cell
    fields: tuple[str, ...]  # of the view, in the order of LIMIT_UNITS
    rooms: tuple[Room, ...]  # of its limits, in the order of LIMIT_UNITS
    shared: bool  # whether guarantees divide it: a day of the whole run


def taken(accounts: Iterable[Account], cost: Cost) -> list[tuple[str, int]]:
    """Return the amounts that a job with this reservation adds to the view, by field."""
    wanted = (*amounts(cost), 1)
    return [(field, n) for account in accounts for field, n in zip(account.fields, wanted, strict=True) if n]


class Pool(NamedTuple):
    """The part of one limit reserved for retries."""

    window: str
    scope: str
    unit: int  # index in UNITS, from 1 as Lua counts
    limit: int
    whole: int  # the limit that the pool is a part of


class Guarantee(NamedTuple):
    """A kind's guaranteed share of a daily limit, which ends at the last call."""

    share: float  # of the room for first attempts
    last_call: int  # minute of the day at which the guarantee ends


def amounts(cost: Cost) -> tuple[int, int, int]:
    """Return a cost's amounts in the order of `UNITS`."""
    return cost.calls, cost.tokens, cost.usd_micros


def window_of(period: Period, tick: int, minute: int) -> str:
    """Return the window of a period that contains a tick."""
    index = {"tick": tick, "day": day_of(minute), "run": 0}[period]
    return f"{period}:{index}"


def window_order(window: str) -> tuple[str, int]:
    """Return the sort key of a window: its period, then its numeric index."""
    period, _, index = window.partition(":")
    return period, int(index)


def format_window(window: str) -> str:
    """Return a window such as "day:0" in words: "day 1", "whole run", "tick 5".

    The clock in force names a day: in a run in rounds, "rounds 1 to 1439".
    """
    period, _, index = window.partition(":")
    if period == "run":
        return "whole run"
    if not index.isdecimal():
        return window
    if period == "day":
        return clock_in_force().day_window(int(index))
    return f"{period} {index}"


def format_cell(cell: str) -> str:
    """Return a cell such as "day:0 kind:plan calls" with its window in words."""
    window, space, rest = cell.partition(" ")
    return format_window(window) + space + rest


def format_limited_cell(cell: str) -> str:
    """Return the subject of a limit: "day 1 (kind:plan)" for "day:0 kind:plan", or "the whole run"."""
    window, _, scope = cell.partition(" ")
    named = "the whole run" if window.partition(":")[0] == "run" else format_window(window)
    return named if scope == "run" else f"{named} ({scope})"


def limit_of_cell(cell: str) -> str:
    """Return the limit of a cell: "day.kind:plan.calls" for "day:0 kind:plan calls"."""
    window, _, rest = cell.partition(" ")
    scope, _, unit = rest.rpartition(" ")
    return f"{window.partition(':')[0]}.{scope}.{unit}"


def format_no_room(cell: str) -> str:
    """Explain that a cell such as "day:0 kind:plan calls" refused a job, and when it has room again."""
    window = cell.partition(" ")[0]
    period, _, index = window.partition(":")
    limit = f"limit {limit_of_cell(cell)} has no room"
    if period == "run" or (period == "day" and clock_in_force().ends_before((int(index) + 1) * DAY)):
        return f"{limit}, unless it is raised"
    again = f"at tick {int(index) + 1}"
    if period == "day":
        clock, ends = clock_in_force(), (int(index) + 1) * DAY
        again = f"on {clock.date(ends)} at 00:00" if clock.has_times else f"from {clock.date(ends)}"
    return f"{limit} in {format_window(window)}; free again {again}"


def format_empty_pool(cell: str) -> str:
    """Explain that a cell such as "tick:5 run calls" refused an attempt of an admitted job."""
    return f"attempt refused: the retry pool of {limit_of_cell(cell)} is empty, or overruns used up the limit"


def retry_pool(unit: LimitUnit, limit: int, share: float) -> int:
    """Return the part of a limit reserved for retries; 0 for the unit "jobs", because a retry is no new job."""
    return 0 if unit == "jobs" or limit < 2 else int(limit * share)


def figure_of(unit: LimitUnit) -> Callable[[int], str]:
    """Return the formatter of a unit: dollars such as "$0.0044" for money, plain numbers otherwise."""
    return _dollars if unit == "usd_micros" else "{:,}".format


def _dollars(micros: int) -> str:
    return f"${micros / 1e6:,.{6 if micros < 100 else 4}f}" if micros else "$0"


def format_limit(limit: int, for_retries: int, figure: Callable[[int], str] = "{:,}".format) -> str:
    """Return a limit in words: "10", or "8 + 2 for retries" if a part is reserved for retries."""
    return f"{figure(limit - for_retries)} + {figure(for_retries)} for retries" if for_retries else figure(limit)


def format_refusal(
    cell: str,
    limit_of: Callable[[str, str, LimitUnit], int | None],
    pool_of: Callable[[LimitUnit, int], int],
) -> str:
    """Return a cell that refused a job, such as "day:0 run tokens", in words and with its limit."""
    window, _, rest = cell.partition(" ")
    scope, _, unit = rest.rpartition(" ")
    unit_name = cast(LimitUnit, unit)  # limit_of returns None for an unknown unit
    limit = limit_of(window, scope, unit_name)
    return (
        format_cell(cell)
        if limit is None
        else f"{format_cell(cell)} = {format_limit(limit, pool_of(unit_name, limit), figure_of(unit_name))}"
    )


class BudgetView:
    """Admission's view of the amount held in each cell."""

    def __init__(
        self,
        table: LimitTable,
        *,
        retry_share: float,
        guarantees: Mapping[str, Guarantee],
    ) -> None:
        self.table = table
        self.retry_share = retry_share
        self._guarantees = dict(guarantees)
        self.held: dict[str, int] = {}
        self._changed: set[str] = set()

    def cells(self, key: JobKey, minute: int) -> list[Cell]:
        """Return the cells to charge for a job of `key.tick`: the cells with a limit, and those that reports show."""
        cells, limited = [], self.table.limited
        scopes = ("run", f"kind:{key.kind}", f"owner:{key.owner}")
        for period in PERIODS:
            reported = _REPORTED[period]
            for number, scope in enumerate(scopes):
                if number < reported or limited(period, scope):
                    cells.append(Cell(window_of(period, key.tick, minute), scope))
        return cells

    def account(self, cell: Cell) -> Account:
        """Return a cell with its limits in force."""
        rooms = tuple(
            Room(unit, number, room)
            for number, unit in enumerate(LIMIT_UNITS)
            if (room := self.room(cell.period, cell.scope, unit)) is not None
        )
        fields = tuple(f"{cell.window}|{cell.scope}|{unit}" for unit in LIMIT_UNITS)
        shared = bool(self._guarantees) and cell.scope == "run" and cell.period == "day"
        return Account(cell, fields, rooms, shared)

    def pools(self, cells: Iterable[Cell]) -> list[Pool]:
        """Return the retry pools of the cells that have limits."""
        return [
            Pool(cell.window, cell.scope, index, self._pool(unit, limit), limit)
            for cell in cells
            if self.table.limited(cell.period, cell.scope)
            for index, unit in enumerate(UNITS, 1)
            if (limit := self.table.of(cell.period, cell.scope, unit)) is not None
        ]

    def room(self, period: Period, scope: str, unit: LimitUnit) -> int | None:
        """Return the room for first attempts, the limit minus its retry pool; None without a limit."""
        limit = self.table.of(period, scope, unit)
        return None if limit is None else limit - self._pool(unit, limit)

    def _pool(self, unit: LimitUnit, limit: int) -> int:
        return retry_pool(unit, limit, self.retry_share)

    def fitting(self, key: JobKey, minute: int, cost: Cost, accounts: Iterable[Account], count: int) -> tuple[int, str]:
        """Return how many of `count` first attempts of this cost fit, and, if none fits, the cell that refuses them.

        Args:
            key: of the first job; all jobs charge the same accounts.
        """

        def is_refused(jobs: int) -> bool:
            return self.refusal(key, minute, cost, accounts, jobs) is not None

        refused = self.refusal(key, minute, cost, accounts)
        if refused is not None:
            return 0, refused
        return 1 + bisect_left(range(2, count + 1), True, key=is_refused), ""

    def refusal(
        self, key: JobKey, minute: int, cost: Cost, accounts: Iterable[Account] | None = None, jobs: int = 1
    ) -> str | None:
        """Return the first cell without room for first attempts of this cost, as "window scope unit", or None.

        Args:
            accounts: of the job's cells; None: look them up.
            jobs: number of attempts.
        """
        wanted, held = [jobs * amount for amount in (*amounts(cost), 1)], self.held
        for cell, fields, rooms, shared in map(self.account, self.cells(key, minute)) if accounts is None else accounts:
            for unit, number, room in rooms:
                amount = wanted[number]
                if not amount:
                    continue
                if shared:
                    demand = self._demand(cell, unit, key.kind, minute, amount, room)
                else:
                    demand = held.get(fields[number], 0) + amount
                if demand > room:
                    return f"{cell.window} {cell.scope} {unit}"
        return None

    def spare(self, cell: Cell, unit: LimitUnit, kind: str, minute: int) -> int | None:
        """Return the rest of a limit for a kind, minus the guarantees of other kinds; None without a limit."""
        room = self.room(cell.period, cell.scope, unit)
        return None if room is None else room - self._demand(cell, unit, kind, minute, 0, room)

    def is_guaranteed(self, kind: str, minute: int, cost: Cost) -> bool:
        """Return whether a first attempt stays within the kind's guaranteed share of each of the run's daily limits."""
        guarantee, window, limited = self._guarantees.get(kind), window_of("day", 0, minute), False
        if guarantee is None or minute % DAY >= guarantee.last_call:
            return False
        for unit, amount in zip(LIMIT_UNITS, (*amounts(cost), 1), strict=True):
            room = self.room("day", "run", unit) if amount else None
            if room is not None:
                limited = True
                if self.get(Cell(window, f"kind:{kind}"), unit) + amount > int(guarantee.share * room):
                    return False
        return limited

    def describe_limit(self, cell: str) -> str:
        return format_refusal(cell, self.table.limit_of, self._pool)

    def _demand(self, cell: Cell, unit: LimitUnit, kind: str, minute: int, amount: int, room: int) -> int:
        """Return how much of a limit would be held or guaranteed after adding `amount` for `kind`.

        In a day window of the whole run this is the sum over kinds of max(held, guarantee), so a kind can borrow only
        guarantees that have ended; elsewhere it is the amount held.
        """
        held = self.get(cell, unit)
        if cell.scope != "run" or cell.period != "day":
            return held + amount
        total, named = 0, 0
        for name, guarantee in self._guarantees.items():
            by_kind = self.get(Cell(cell.window, f"kind:{name}"), unit)
            named += by_kind
            promised = int(guarantee.share * room) if minute % DAY < guarantee.last_call else 0
            total += max(by_kind + (amount if name == kind else 0), promised)
        return total + held - named + (0 if kind in self._guarantees else amount)

    def get(self, cell: Cell, unit: LimitUnit) -> int:
        return self.held.get(f"{cell.window}|{cell.scope}|{unit}", 0)

    def hold(self, taken: Iterable[tuple[str, int]], jobs: int = 1) -> None:
        """Count admitted jobs, and hold their reservations.

        Args:
            taken: amounts of one job by field, as the function `taken` returns them.
        """
        held, changed = self.held, self._changed
        for field, amount in taken:
            held[field] = held.get(field, 0) + jobs * amount
            changed.add(field)

    def move(self, cells: Iterable[Cell], before: Cost, after: Cost) -> None:
        """Replace a job's cost `before` with `after`."""
        for cell in cells:
            for unit, old, new in zip(UNITS, amounts(before), amounts(after), strict=True):
                if new != old:
                    field = f"{cell.window}|{cell.scope}|{unit}"
                    self.held[field] = self.held.get(field, 0) + new - old
                    self._changed.add(field)

    def correct(self, cells: Iterable[Cell], before: Cost, after: Cost) -> None:
        """Replace an ended job's cost `before` with `after`, in cells that the view still has."""
        kept = [c for c in cells if any(f"{c.window}|{c.scope}|{unit}" in self.held for unit in UNITS)]
        self.move(kept, before, after)

    def forget(self, window: str) -> list[str]:
        """Drop a closed window, and return its fields."""
        fields = sorted(field for field in self.held if field.startswith(window + "|"))
        for field in fields:
            del self.held[field]
            self._changed.discard(field)
        return fields

    def take_changes(self) -> list[tuple[str, int]]:
        """Return the fields changed since the last call, with their values, sorted."""
        changed = [(field, self.held[field]) for field in sorted(self._changed)]
        self._changed.clear()
        return changed
