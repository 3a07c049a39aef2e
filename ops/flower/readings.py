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
from ops.formatting.budget import denied_requests
from ops.formatting.endpoints import format_breaker
from scheduler.budget.budget import format_limit
from scheduler.budget.budget_lines import limits_in_force, pools_of
from scheduler.config.limits import LimitUnit, parse_limit_name
from scheduler.config.settings import Settings
from scheduler.inspection.endpoint_vitals import endpoint_vitals
from scheduler.inspection.summary import limits_of
from scheduler.inspection.vitals import RunHead, Window, budget_vitals, cadence_vitals, run_heads
from scheduler.ledger.connect import connect
from scheduler.ledger.run_store import RunStore

MOST_OWNERS = 20


class Readings:
    """The readings of one server's runs. They are thread-safe: the clients pool their connections."""

    def __init__(self, settings: Settings, queues: dict[str, str]) -> None:
        """Read with these settings; `queues` maps a kind to the key of its list in the broker."""
        self._settings = settings
        self._queues = queues

    @cached_property
    def _state(self) -> Redis:
        return connect(self._settings.state_url(), self._settings.socket_timeout)

    @cached_property
    def _messages(self) -> Redis:
        return connect(self._settings.messages_url(), self._settings.socket_timeout)

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
