"""The rows of the first page: a row for each run, and one for each limit that refused requests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from redis import Redis

from cogitate.ops.flower.card import amount
from cogitate.ops.flower.cards import LAGS, late_card, worse_of
from cogitate.ops.flower.money_card import money_window, run_day
from cogitate.ops.formatting.budget import denied_requests
from cogitate.scheduler.config.limits import LimitUnit, parse_limit_name
from cogitate.scheduler.inspection.overview import FEW, RunOverview, run_overview
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore


class RunRows:
    """The rows of runs. It reads a run that has ended only once, until a host resumes it."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._ended: dict[str, tuple[str, dict[str, Any]]] = {}  # run -> what shows a change, its row

    def of(self, runs: Iterable[tuple[str, str]], known: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a row for each run and its status.

        Args:
            known: rows that need not be read.
        """
        rows = []
        for run, status in runs:
            try:
                rows.append(known.get(run) or self._row(run, status))
            except (LedgerError, JournalError):  # deleted meanwhile, or damaged, as its own page says
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
    found = []
    for name, count in sorted(denied_requests(run.hour.refused).items(), key=lambda item: -item[1]):
        unit = parse_limit_name(name).unit if name in limits else "jobs"
        found.append(
            {
                "limit": name,
                "value": amount(limits[name], unit) if name in limits else "—",
                "held": amount(run.held_under[name], unit) if name in run.held_under else "—",
                "count": count,
            }
        )
    return found
