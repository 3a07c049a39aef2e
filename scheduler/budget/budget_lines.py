"""A run's budget for reports: one line for each cell of the accounts, and the current limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, cast

import msgspec
from redis.exceptions import RedisError

from cogitate.scheduler.budget.budget import BudgetView, retry_pool, window_of, window_order
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.limits import LIMIT_UNITS, PERIODS, UNITS, LimitTable, LimitUnit
from cogitate.scheduler.ledger.errors import LedgerUnavailable
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost

WHOLE_RUN = window_of("run", 0, 0)

Accounts = dict[tuple[str, str, str], dict[str, int]]  # window, scope, unit -> reserved, spent, overrun, pool
LimitOf = Callable[[str, str, LimitUnit], int | None]  # by window, scope and unit; None: no limit


class BudgetLine(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the accounts."""

    window: str
    scope: str
    unit: LimitUnit
    limit: int | None
    reserved: int  # in flight: open jobs, and attempts without reported usage
    spent: int
    overrun: int
    for_retries: int = 0  # part of the limit reserved for retries
    retried: int = 0  # part of reserved and spent: attempts before a job's newest one, charged to the retry pool
    held: int = 0  # counted by admission, but neither reserved nor spent: see `budget_lines`

    @property
    def counted(self) -> int:
        """Return the amount that admission counts against `room`."""
        return self.reserved + self.spent - self.retried + self.held

    @property
    def room(self) -> int:
        """Return the room for first attempts: the limit minus its retry pool."""
        return (self.limit or 0) - self.for_retries


class LimitInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One current limit, by its name in the settings."""

    name: str
    limit: int
    for_retries: int  # part of the limit reserved for retries


class Pools(NamedTuple):
    """A run's retry pools."""

    share: float

    def of(self, unit: LimitUnit, limit: int | None) -> int:
        """Return the part of a limit reserved for retries."""
        return 0 if limit is None else retry_pool(unit, limit, self.share)


NO_POOLS = Pools(0.0)


def pools_of(store: RunStore) -> Pools:
    return Pools(_kept_share(store.state_field("settings")))


@lru_cache(maxsize=8)  # watchers call this each tick, and creating settings takes milliseconds
def _kept_share(settings: bytes) -> float:
    return kept_settings(settings).tuning.retry_share


def spent_of(lines: Iterable[BudgetLine]) -> Cost:
    """Return the total cost of a run's jobs."""
    total_lines = [line for line in lines if (line.window, line.scope) == (WHOLE_RUN, "run") and line.unit in UNITS]
    return Cost(**{line.unit: line.spent for line in total_lines})


class Spending(NamedTuple):
    """The spending of a run, and the state of its limits."""

    calls: int
    tokens: int
    usd_micros: int
    limits: tuple[BudgetLine, ...]  # of the whole run, the current day and the last committed tick

    @property
    def usd(self) -> float:
        """Return the money spent, in dollars."""
        return self.usd_micros / 1e6


def spending(store: RunStore, view: BudgetView, tick: int, minute: int) -> Spending:
    """Return a run's spending so far, and the state of each limit in the windows of a tick.

    Raises:
        LedgerUnavailable: if Redis does not answer.
    """
    windows = {period: window_of(period, tick, minute) for period in PERIODS}
    accounts: Accounts = {
        (windows[name.period], name.scope, name.unit): {} for name, _ in view.table if not name.scope.endswith(":*")
    }
    held = {field: value for field, value in view.held.items() if field.partition("|")[0] in windows.values()}
    try:
        accounts |= accounts_of({window: store.window(window) for window in windows.values()}) | jobs_of(held)
    except RedisError as error:
        raise LedgerUnavailable(f"Redis does not answer: {error}") from error
    lines = lines_of(accounts, view.table.limit_of, Pools(view.retry_share), held)
    total = spent_of(lines)
    limited = tuple(line for line in lines if line.limit is not None)
    return Spending(total.calls, total.tokens, total.usd_micros, limited)


def limits_in_force(table: LimitTable, pools: Pools) -> list[LimitInForce]:
    return [
        LimitInForce(name=name.text(), limit=limit, for_retries=pools.of(name.unit, limit)) for name, limit in table
    ]


def budget_lines(store: RunStore, limit_of: LimitOf) -> list[BudgetLine]:
    """Return the accounts of every stored window, with the number of jobs admitted in it.

    `held` includes the reservations of jobs whose results wait for their due ticks or whose usage no boundary has
    learnt yet, and the cost of calls that shared the answer of an identical call.
    """
    windows = sorted(raw.decode() for raw in store.members("windows"))
    view = {field.decode(): int(value) for field, value in store.mapping("view").items()}
    accounts = accounts_of({window: store.window(window) for window in windows})
    return lines_of(accounts | jobs_of(view), limit_of, pools_of(store), view)


def jobs_of(view: Mapping[str, int]) -> Accounts:
    """Return the numbers of admitted jobs in admission's view, as accounts."""
    accounts: Accounts = {}
    for field, count in view.items():
        window, scope, unit = field.split("|", 1)[0], *field.split("|", 1)[1].rsplit("|", 1)
        if unit == "jobs":
            accounts[window, scope, unit] = {"spent": count}
    return accounts


def accounts_of(windows: Mapping[str, Mapping[bytes, bytes]]) -> Accounts:
    """Parse accounts from the hashes of their windows."""
    accounts: Accounts = {}
    for window, fields in windows.items():
        for field, value in fields.items():
            scope, unit, account = field.decode().rsplit("|", 2)
            accounts.setdefault((window, scope, unit), {})[account] = int(value)
    return accounts


def lines_of(
    accounts: Accounts, limit_of: LimitOf, pools: Pools = NO_POOLS, view: Mapping[str, int] | None = None
) -> list[BudgetLine]:
    """Return accounts as lines, sorted by window, scope and unit.

    Args:
        view: the amounts in admission's view, by field; without it, `held` is 0.
    """
    order: dict[str, int] = {unit: index for index, unit in enumerate(LIMIT_UNITS)}
    lines: list[BudgetLine] = []
    for (window, scope, unit), account in sorted(
        accounts.items(), key=lambda one: (window_order(one[0][0]), one[0][1], order[one[0][2]])
    ):
        unit_name = cast(LimitUnit, unit)
        limit = limit_of(window, scope, unit_name)
        reserved, spent, retried = (account.get(name, 0) for name in ("reserved", "spent", "pool"))
        counted = (view or {}).get(f"{window}|{scope}|{unit}", 0)
        lines.append(
            BudgetLine(
                window=window,
                scope=scope,
                unit=unit_name,
                limit=limit,
                for_retries=pools.of(unit_name, limit),
                reserved=reserved,
                spent=spent,
                overrun=account.get("overrun", 0),
                retried=retried,
                held=max(0, counted - (reserved + spent - retried)),
            )
        )
    return lines
