"""The first page's last minutes of real time, and the events below its cards and in the charts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from cogitate.memory.clock import day_and_time
from cogitate.ops.formatting.vitals import format_class
from cogitate.ops.operator_requests import format_control
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_changes
from cogitate.scheduler.inspection.events import real_windows, recent_events
from cogitate.scheduler.inspection.overview import RunOverview
from cogitate.scheduler.inspection.vitals import steering_history
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import WorkersSeen, workers_seen
from cogitate.scheduler.tick.figure_history import Figures, newest_figures

LAST_HOUR = 3600.0  # seconds whose events the first page shows


def timeline(store: RunStore, run: RunOverview, workers: WorkersSeen) -> dict[str, Any]:
    """Return the sums of the last minutes, and the events of the last hour, with game times by the clock in force."""
    now = time.time()
    points = newest_figures(store, now - LAST_HOUR)
    return {
        "real_windows": msgspec.to_builtins(real_windows(points, now)),
        "events": _events(store, points, run.endpoints, workers, now, now - LAST_HOUR),
    }


def events_since(store: RunStore, since: float) -> list[dict[str, Any]]:
    """Return the newest events since an instant, in seconds since 1970, the newest first; for marks in charts."""
    (kept,) = store.kept_state("settings")
    asked = {model.endpoint for model in kept_settings(kept).model_table().values()}
    points = newest_figures(store, since)
    return _events(store, points, asked, workers_seen(store.client), time.time(), since)


def _events(
    store: RunStore,
    points: Sequence[Figures],
    endpoints: Iterable[str],
    workers: WorkersSeen,
    now: float,
    since: float,
) -> list[dict[str, Any]]:
    if not points:
        return []
    steps = steering_history(store, points[-1].tick, points[-1].minute)
    changes = [one._replace(why=format_class(one.why)) for one in endpoint_changes(store.client, endpoints)]
    events = recent_events(points, [(one, format_control(one.control)) for one in steps], changes, workers, now, since)
    return [msgspec.to_builtins(one) | {"clock": day_and_time(one.minute)} for one in events]
