"""The rows of pages: one for each run, each limit that refused a run's requests, and each window of its limits.

A window's row has the rest of its limit, and the time at which it runs out. Since many owners can have limits, a
reading has only the fullest of these, and their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from redis import Redis

from cogitate.memory.clock import clock_in_force, day_and_time
from cogitate.ops.flower.card import amount
from cogitate.ops.flower.cards import LAGS, late_card, worse_of
from cogitate.ops.flower.money_card import money_window, run_day, share_of
from cogitate.ops.formatting.budget import denied_requests, known_limits
from cogitate.scheduler.budget.budget import figure_of, format_limit, format_window, window_of
from cogitate.scheduler.budget.budget_lines import limits_in_force, lines_of, pools_of
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.limits import LimitUnit, Period, parse_limit_name
from cogitate.scheduler.inspection.overview import FEW, HOUR, RunOverview, run_overview
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.inspection.vitals import BudgetVitals, Window, budget_vitals
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore


class RunRows:
    """The rows of runs. It reads an ended run only once, until a host resumes it."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._ended: dict[str, tuple[str, dict[str, Any]]] = {}  # run -> a mark that changes with the run, its row

    def of(self, runs: Iterable[tuple[str, str]], known: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a row for each run and its status.

        Args:
            known: rows that are read already.
        """
        rows = []
        for run, status in runs:
            try:
                rows.append(known.get(run) or self._row(run, status))
            except (LedgerError, JournalError):  # deleted meanwhile, or damaged, which its own page reports
                rows.append({"run": run, "state": status, "grade": "bad", "cells": []})
        return rows

    def _row(self, run: str, status: str) -> dict[str, Any]:
        if status.startswith(HELD):
            return row_of(run_overview(self._client, run))
        store = RunStore.open(self._client, run)
        mark = f"{store.prefix} {status} {store.tick()}"
        kept = self._ended.get(run)
        if kept is None or kept[0] != mark:
            self._ended[run] = kept = (mark, row_of(run_overview(self._client, run)))
        return kept[1]


def row_of(run: RunOverview) -> dict[str, Any]:
    """Return one run's row: a cell for each column of the table of runs, as [text, grade]."""
    unit: LimitUnit = shown.line.unit if (shown := money_window(run)) is not None else "usd_micros"
    today = [w.line.spent for w in run.windows if w.line.window == run_day(run) and w.line.unit == unit]
    gone = run.status in HELD and not run.held
    refused = sum(denied_requests(run.hour.refused).values())
    asked, late = run.over_judged, worse_of(late_card, run)
    thinking = f"{asked.thought:,} of {asked.wanted:,}" if run.asks_model else "not asked"
    return {
        "run": run.run,
        "state": run.state,
        "grade": "bad" if gone else "",
        "cells": [
            [f"{run.steering.lag:,}", "warn" if run.steering.lag > LAGS else ""],
            [thinking, "bad" if run.asks_model and asked.wanted >= FEW and not asked.thought else ""],
            [amount(sum(today), unit), ""],
            [f"{refused:,}", "warn" if refused else ""],
            [late.value, late.grade],
            [f"{100 * run.steering.cadence:.0f}%", "warn" if run.steering.cadence < 1 else ""],
        ],
    }


def refusals_of(run: RunOverview, limits: dict[str, int]) -> list[dict[str, Any]]:
    """Return the limits that refused requests in the last hour, with their present windows."""
    refusals = []
    for name, count in sorted(denied_requests(run.hour.refused).items(), key=lambda item: -item[1]):
        unit = parse_limit_name(name).unit if name in limits else "jobs"
        refusals.append(
            {
                "limit": name,
                "value": amount(limits[name], unit) if name in limits else "—",
                "held": amount(run.held_under[name], unit) if name in run.held_under else "—",
                "count": count,
            }
        )
    return refusals


MOST_OWNERS = 20
LASTING: tuple[Period, ...] = ("day", "run")  # periods whose limits the page shows even before anything is spent


def budget_reading(client: Redis, run: str) -> dict[str, Any]:
    """Return a run's budget, in texts by the clock in force.

    Returns:
        "windows" of the run and its kinds, "unused" limits of the present windows, "owners" with present limits of
        their own, "today" and "limits" in words, "recent", and "denied": requests that a limit or the run's mode
        refused.
    """
    store = RunStore.open(client, run)
    vitals, limits = budget_vitals(client, run), limits_of(store)
    present = {window_of(period, vitals.tick, vitals.minute) for period in LASTING}
    rest = [window for window in vitals.windows if not _of_owner(window)]
    own = [window for window in vitals.windows if _of_owner(window) and window.line.window in present]
    own = sorted((window for window in own if window.forecast is not None), key=share_of, reverse=True)
    reading: dict[str, Any] = msgspec.to_builtins(vitals)
    reading["limits"] = limits_in_words(store, limits)
    reading["today"] = format_window(window_of("day", vitals.tick, vitals.minute))
    reading["denied"] = denied_requests(vitals.recent.refused)
    reading["windows"] = [_flat(window) for window in rest]
    reading["unused"] = [_flat(window) for window in _unused(store, vitals, limits)]
    reading["owners"] = {"all": len(own), "fullest": [_flat(window) for window in own[:MOST_OWNERS]]}
    return reading


def limits_in_words(store: RunStore, limits: LimitHistory) -> dict[str, str]:
    """Return the limits in force in words, by their names in the settings."""
    return known_limits(limits_in_force(limits.now, pools_of(store)))


def _unused(store: RunStore, vitals: BudgetVitals, limits: LimitHistory) -> list[Window]:
    """Return the limits in force that the present day and the run have not used, for which the accounts lack cells."""
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
