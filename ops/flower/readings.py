"""Readings of the ledger and the broker for the pages, as plain values for JSON.

Many owners can have limits of their own: a reading has the fullest of them, and their number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
from redis import Redis

from memory.clock import day_and_time
from ops.flower.cards import FEW, LAGS, amount, cards_of, graded, money_window, run_day
from ops.formatting.budget import denied_requests
from ops.formatting.endpoints import format_breaker
from scheduler.budget.budget import format_limit
from scheduler.budget.budget_lines import limits_in_force, pools_of
from scheduler.config.limits import LimitUnit, parse_limit_name
from scheduler.config.settings import Settings
from scheduler.inspection.endpoint_vitals import endpoint_vitals
from scheduler.inspection.overview import RunOverview, run_overview
from scheduler.inspection.summary import limits_of
from scheduler.inspection.vitals import RunHead, Window, budget_vitals, cadence_vitals, run_heads
from scheduler.journal.lines import JournalError
from scheduler.ledger.connect import connect
from scheduler.ledger.errors import LedgerError
from scheduler.ledger.presence import HELD
from scheduler.ledger.real_day import RealDay
from scheduler.ledger.run_store import RunStore
from scheduler.ledger.worker_signs import workers_seen
from workers.jobs.metrics_server import redis_state

MOST_OWNERS = 20
MOST_RUNS = 30  # with their figures
PATIENCE = 2.0  # seconds for each call: a page that waits longer says nothing meanwhile


class Readings:
    """The readings of one server's runs. They are thread-safe: the clients pool their connections."""

    def __init__(self, settings: Settings, queues: dict[str, str]) -> None:
        """Read with these settings; `queues` maps a kind to the key of its list in the broker."""
        self._settings = settings
        self._queues = queues

    @cached_property
    def _state(self) -> Redis:
        return self._connected(self._settings.state_url())

    @cached_property
    def _messages(self) -> Redis:
        return self._connected(self._settings.messages_url())

    def redis(self) -> str:
        """Return "answers", or why the state does not."""
        return redis_state(self._state)

    def _connected(self, url: str) -> Redis:
        return connect(url, min(PATIENCE, self._settings.socket_timeout), retries=0)

    def overview(self, run: str | None) -> dict[str, Any]:
        """Return the figures of every run, one run's cards, and what refused, failed and spent in its last hour.

        Without a name the run is the first that is running. Without any run the reading has only "runs".

        Raises:
            RunMissing: when there is no such run.
            RedisError: when the state cannot be reached.
        """
        rows: dict[str, dict[str, Any]] = {}

        def read(chosen: str) -> dict[str, Any]:
            of = run_overview(self._state, chosen)
            rows[chosen] = row_of(of)
            day = RealDay(self._state, self._settings).spending()
            cards = cards_of(of, endpoint_vitals(self._state), workers_seen(self._state), day)
            limits = limits_of(RunStore.open(self._state, chosen))
            return {
                "run": chosen,
                "status": of.status,
                "tick": of.tick,
                "minute": of.minute,
                "recent": msgspec.to_builtins(of.hour),
                "cards": msgspec.to_builtins(cards),
                "refused": refusals_of(of, {name.text(): limit for name, limit in limits.now}),
            }

        found = self._of(run, read)
        heads = run_heads(self._state)
        for head in heads[:MOST_RUNS]:
            if head.run not in rows:
                try:
                    rows[head.run] = row_of(run_overview(self._state, head.run))
                except (LedgerError, JournalError):  # deleted meanwhile, or damaged: its own page says so
                    rows[head.run] = {"run": head.run, "state": head.state, "grade": "bad", "cells": []}
        found["rows"] = [rows[head.run] for head in heads[:MOST_RUNS] if head.run in rows]
        found["further"] = max(0, len(heads) - MOST_RUNS)
        return found

    def budgets(self, run: str | None) -> dict[str, Any]:
        """Return one run's budget: "windows" of the run and its kinds, "owners", "limits" in words, "recent",
        and "denied": requests that a limit or the run's mode refused.

        Without a name the run is the first that is running. Without any run the reading has only "runs".

        Raises:
            RunMissing: when there is no such run.
            RedisError: when the state cannot be reached.
        """

        def read(chosen: str) -> dict[str, Any]:
            vitals = budget_vitals(self._state, chosen)
            rest = [window for window in vitals.windows if not _of_owner(window)]
            own = sorted(filter(_of_owner, vitals.windows), key=_share, reverse=True)
            own = [window for window in own if window.forecast is not None]
            found: dict[str, Any] = msgspec.to_builtins(vitals)
            store = RunStore.open(self._state, chosen)
            found["limits"] = {
                one.name: format_limit(one.limit, one.for_retries, _figure(parse_limit_name(one.name).unit))
                for one in limits_in_force(limits_of(store).now, pools_of(store))
            }
            found["denied"] = denied_requests(vitals.recent.refused)
            found["windows"] = [_flat(window) for window in rest]
            found["owners"] = {"all": len(own), "fullest": [_flat(window) for window in own[:MOST_OWNERS]]}
            return found

        return self._of(run, read)

    def cadence(self, run: str | None) -> dict[str, Any]:
        """Return one run's open jobs, queues, workers and failures, and all endpoints; otherwise as `budgets`."""

        def read(chosen: str) -> dict[str, Any]:
            found: dict[str, Any] = msgspec.to_builtins(cadence_vitals(self._state, chosen))
            pipeline = self._messages.pipeline(transaction=False)
            for key in self._queues.values():
                pipeline.llen(key)
            found["queues"] = dict(zip(self._queues, pipeline.execute(), strict=True))
            found["endpoints"] = [
                {**msgspec.to_builtins(one), "words": format_breaker(one)} for one in endpoint_vitals(self._state)
            ]
            return found

        return self._of(run, read)

    def _of(self, run: str | None, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        heads = run_heads(self._state)
        listed: dict[str, Any] = {"runs": msgspec.to_builtins([{"run": h.run, "status": h.state} for h in heads])}
        chosen = run or _first(heads)
        if chosen is None:
            return listed
        found = listed | read(chosen)
        found["status"] = next((head.state for head in heads if head.run == chosen), found["status"])
        found["clock"] = day_and_time(found["minute"])
        return found


def row_of(run: RunOverview) -> dict[str, Any]:
    """Return one run's row: a cell for each column of the table of runs, as [text, grade]."""
    unit: LimitUnit = shown.line.unit if (shown := money_window(run)) is not None else "usd_micros"
    today = [w.line.spent for w in run.windows if w.line.window == run_day(run) and w.line.unit == unit]
    gone = run.status in HELD and not run.held
    late, refused = run.short("late"), sum(denied_requests(run.hour.refused).values())
    thinking = f"{run.thought:,} of {run.wanted:,}" if run.asks_model else "not asked"
    return {
        "run": run.run,
        "state": run.state,
        "grade": "bad" if gone else "",
        "cells": [
            [f"{run.steering.lag:,}", "warn" if run.steering.lag > LAGS else ""],
            [thinking, "bad" if run.asks_model and run.wanted >= FEW and not run.thought else ""],
            [amount(sum(today), unit), ""],
            [f"{refused:,}", "warn" if refused else ""],
            [f"{late:,} of {run.ended:,}", graded(late, run.ended)],
            [f"{100 * run.steering.cadence:.0f}%", "warn" if run.steering.cadence < 1 else ""],
        ],
    }


def refusals_of(run: RunOverview, limits: dict[str, int]) -> list[dict[str, Any]]:
    """Return the limits that refused requests in the last hour, with what is held of those of the whole run."""
    held = {f"{w.line.window.partition(':')[0]}.run.{w.line.unit}": w.line.held for w in run.windows}
    found = []
    for name, count in sorted(denied_requests(run.hour.refused).items(), key=lambda item: -item[1]):
        unit = parse_limit_name(name).unit if name in limits else "jobs"
        found.append(
            {
                "limit": name,
                "value": amount(limits[name], unit) if name in limits else "—",
                "held": amount(held[name], unit) if name in held else "—",
                "count": count,
            }
        )
    return found


def _of_owner(window: Window) -> bool:
    return window.line.scope.startswith("owner:")


def _share(window: Window) -> float:
    return window.forecast.share if window.forecast is not None else 0.0


def _first(heads: list[RunHead]) -> str | None:
    return heads[0].run if heads else None


def _figure(unit: LimitUnit) -> Callable[[int], str]:
    return (lambda amount: f"{amount / 1e6:.4f}") if unit == "usd_micros" else "{:,}".format


def _flat(window: Window) -> dict[str, Any]:
    forecast = window.forecast
    out: dict[str, Any] = msgspec.structs.asdict(window.line)
    if window.line.limit is not None:
        out["limit_words"] = format_limit(window.line.limit, window.line.for_retries, _figure(window.line.unit))
    out["forecast"] = None if forecast is None else msgspec.structs.asdict(forecast)
    if forecast is not None and forecast.out_at is not None:
        out["forecast"]["out_clock"] = day_and_time(forecast.out_at)
    return out
