"""The reading of the page Budgets: the windows of a run's limits, what they have left, and when they run out.

Since many owners can have limits, a reading has only the fullest ones and their number.
"""

from __future__ import annotations

from typing import Any

import msgspec
from redis import Redis

from cogitate.memory.clock import clock_in_force, day_and_time
from cogitate.ops.formatting.budget import denied_requests, known_limits
from cogitate.scheduler.budget.budget import figure_of, format_limit, format_window, window_of
from cogitate.scheduler.budget.budget_lines import limits_in_force, lines_of, pools_of
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.limits import Period
from cogitate.scheduler.inspection.overview import HOUR
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.inspection.vitals import BudgetVitals, Window, budget_vitals
from cogitate.scheduler.ledger.run_store import RunStore

MOST_OWNERS = 20
LASTING: tuple[Period, ...] = ("day", "run")  # whose limits the page shows also before anything is spent


def budget_reading(client: Redis, run: str) -> dict[str, Any]:
    """Return a run's budget, in texts by the clock in force.

    Returns:
        "windows" of the run and its kinds, "unused" limits of the present ones, "owners" with present limits of their
        own, "today" and "limits" in words, "recent", and "denied": requests that a limit or the run's mode refused.
    """
    store = RunStore.open(client, run)
    vitals, limits = budget_vitals(client, run), limits_of(store)
    present = {window_of(period, vitals.tick, vitals.minute) for period in LASTING}
    rest = [window for window in vitals.windows if not _of_owner(window)]
    own = [window for window in vitals.windows if _of_owner(window) and window.line.window in present]
    own = sorted((window for window in own if window.forecast is not None), key=_share, reverse=True)
    found: dict[str, Any] = msgspec.to_builtins(vitals)
    found["limits"] = limits_in_words(store, limits)
    found["today"] = format_window(window_of("day", vitals.tick, vitals.minute))
    found["denied"] = denied_requests(vitals.recent.refused)
    found["windows"] = [_flat(window) for window in rest]
    found["unused"] = [_flat(window) for window in _unused(store, vitals, limits)]
    found["owners"] = {"all": len(own), "fullest": [_flat(window) for window in own[:MOST_OWNERS]]}
    return found


def limits_in_words(store: RunStore, limits: LimitHistory) -> dict[str, str]:
    """Return the limits in force in words, by their names in the settings."""
    return known_limits(limits_in_force(limits.now, pools_of(store)))


def _unused(store: RunStore, vitals: BudgetVitals, limits: LimitHistory) -> list[Window]:
    """Return the limits in force that the present day and the run have not used: the accounts have no cell for them."""
    used = {(window.line.window, window.line.scope, window.line.unit) for window in vitals.windows}
    cells = [
        (window_of(name.period, vitals.tick, vitals.minute), name.scope, name.unit)
        for name, _ in limits.now
        if name.period in LASTING and not name.scope.endswith(":*")
    ]
    lines = lines_of({cell: {} for cell in cells if cell not in used}, limits.last_of, pools_of(store))
    return [Window(line=line, forecast=forecast(line, minute=vitals.minute, start=vitals.minute)) for line in lines]


def _of_owner(window: Window) -> bool:
    return window.line.scope.startswith("owner:")


def _share(window: Window) -> float:
    return window.forecast.share if window.forecast is not None else 0.0


def _flat(window: Window) -> dict[str, Any]:
    forecast = window.forecast
    out: dict[str, Any] = msgspec.structs.asdict(window.line) | {"window_words": format_window(window.line.window)}
    if window.line.limit is not None:
        out["limit_words"] = format_limit(window.line.limit, window.line.for_retries, figure_of(window.line.unit))
    out["forecast"] = None if forecast is None else msgspec.structs.asdict(forecast)
    if forecast is not None:
        unit, minutes = clock_in_force().unit
        out["forecast"] |= {"unit": unit, "unit_rate": round(forecast.rate * minutes / HOUR, 2)}
    if forecast is not None and forecast.out_at is not None:
        out["forecast"]["out_clock"] = day_and_time(forecast.out_at)
    return out
