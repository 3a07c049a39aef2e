"""The first page's last minutes of real time, and the line of events below the cards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from cogitate.memory.clock import day_and_time
from cogitate.ops.operator_requests import format_control
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.events import SPAN, real_windows, recent_events
from cogitate.scheduler.inspection.overview import RunOverview
from cogitate.scheduler.inspection.vitals import steering_history
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.scheduler.tick.figure_history import newest_figures


def timeline(
    store: RunStore, run: RunOverview, endpoints: Sequence[EndpointVitals], workers: WorkersSeen
) -> dict[str, Any]:
    """Return the sums of the last minutes, and the events of the last hour, with game times by the clock in force.

    Args:
        endpoints: those of the run.
    """
    now = time.time()
    points = newest_figures(store, now - SPAN)
    requests = [(one, format_control(one.control)) for one in steering_history(store, run.tick, run.minute)]
    events = recent_events(points, requests, endpoints, workers, now)
    return {
        "real_windows": msgspec.to_builtins(real_windows(points, now)),
        "events": [msgspec.to_builtins(one) | {"clock": day_and_time(one.minute)} for one in events],
    }
