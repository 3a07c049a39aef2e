"""The charts of a run over a span of game time, from the figures that its host stored, and the first page's timeline.

Amounts are per tick, or the mean of the ticks that a point covers; none is extrapolated to a longer period. The
timeline has the last minutes of real time, and the events below the cards and in the charts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from cogitate.memory.clock import Clock, day_and_time
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

SOURCES = ("llm", "cached", "heuristic", "none")
CAUSES = ("late", "failed", "budget")

Value = float | None
Counts = Callable[[Figures], dict[str, int]]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """One chart: its lines, each with a value for every point."""

    name: str
    title: str
    axis: str  # the quantity on the vertical axis
    unit: str  # "$", or the suffix of a value
    note: str
    series: dict[str, list[Value]]
    totals: dict[str, int] = {}  # sums over the span, if they are meaningful
    top: float | None = None  # value at which lines are cut off: a budget's pace could flatten all other lines


def window_of_points(points: Sequence[Figures], clock: Clock) -> str:
    """Return a sentence about the points of these charts: each is a tick, or the mean of several."""
    ticks = max((point.ticks for point in points), default=1)
    if ticks == 1:
        return "Each point is one tick."
    return f"Each point is the mean of {ticks:,} ticks ({clock.span(clock.minutes(ticks))}); the newest may have fewer."


def charts_of(points: Sequence[Figures]) -> list[Chart]:
    """Return all charts of these points, the oldest first."""

    def means(counts: Counts, names: Sequence[str], scale: float = 1.0) -> dict[str, list[Value]]:
        return {name: [counts(point).get(name, 0) / scale / point.ticks for point in points] for name in names}

    tokens, money = _total(points, lambda one: one.tokens), _total(points, lambda one: one.usd_micros)
    sources = _total(points, lambda one: one.sources)
    late, failed = sum(point.late for point in points), sum(point.failed for point in points)
    calls, failed_calls = sum(point.calls for point in points), sum(point.failed_calls for point in points)
    ended = sum(sources.values())
    return [
        Chart(
            name="tokens",
            title="Tokens per tick",
            axis="tokens per tick",
            unit="",
            note=f"by kind; {sum(tokens.values()):,} in all",
            series=means(lambda one: one.tokens, sorted(tokens)),
            totals=tokens,
        ),
        Chart(
            name="money",
            title="Money per tick",
            axis="$ per tick",
            unit="$",
            note=f"by kind; ${sum(money.values()) / 1e6:,.4f} in all",
            series=means(lambda one: one.usd_micros, sorted(money), 1e6),
            totals=money,
        ),
        Chart(
            name="sources",
            title="Results per tick",
            axis="results per tick",
            unit="",
            note=f"by source; {ended:,} in all",
            series=means(lambda one: one.sources, [name for name in SOURCES if name in sources]),
            totals=sources,
        ),
        Chart(
            name="late",
            title="Late and failed share",
            axis="% of ended jobs",
            unit="%",
            note=f"of the jobs that ended; {late:,} late and {failed:,} failed of {ended:,} in all",
            series={
                "late": [_percent(point.late, sum(point.sources.values())) for point in points],
                "failed": [_percent(point.failed, sum(point.sources.values())) for point in points],
            },
            totals={"late": late, "failed": failed, "ended": ended},
        ),
        Chart(
            name="latency",
            title="Latency of the model",
            axis="seconds per call",
            unit=" s",
            note="of calls with a result, including the wait for the endpoint, at the end of their jobs",
            series={
                "mean": [_seconds(point, point.call_ms / max(1, _answered(point))) for point in points],
                "longest": [_seconds(point, point.longest_ms) for point in points],
            },
        ),
        Chart(
            name="calls",
            title="Failed calls",
            axis="% of calls",
            unit="%",
            note=f"of the calls for ended jobs, including further attempts; {failed_calls:,} of {calls:,} in all",
            series={"failed": [_percent(point.failed_calls, point.calls) for point in points]},
            totals={"failed": failed_calls, "calls": calls},
        ),
        Chart(
            name="cadence",
            title="Cadence and its pressures",
            axis="%",
            unit="%",
            note="reflections, as a share of the usual; late results, failed jobs and the budget's pace slow them down "
            "(lines end at 100%, the figures below do not)",
            series={"cadence": [None if point.cadence is None else point.cadence / 10 for point in points]}
            | {cause: [_cause(point, cause) for point in points] for cause in CAUSES},
            top=100.0,
        ),
        Chart(
            name="age",
            title="Queue age",
            axis="ticks",
            unit=" ticks",
            note="since the oldest open job was admitted, without jobs requested ahead of time",
            series={"oldest": [point.age for point in points]},
        ),
        Chart(
            name="workers",
            title="Workers alive",
            axis="workers",
            unit="",
            note="workers on the server that can claim jobs",
            series={"alive": [point.workers for point in points]},
        ),
        Chart(
            name="host",
            title="Host's work per tick",
            axis="ms per tick",
            unit=" ms",
            note="without waiting and the world's turn",
            series={"host": [None if one.host_us is None else one.host_us / 1_000 / one.ticks for one in points]},
        ),
    ]


def _total(points: Sequence[Figures], counts: Counts) -> dict[str, int]:
    totals: dict[str, int] = {}
    for point in points:
        for name, amount in counts(point).items():
            totals[name] = totals.get(name, 0) + amount
    return dict(sorted(totals.items()))


def _percent(count: int, total: int) -> Value:
    return 100 * count / total if total else None


def _answered(point: Figures) -> int:
    return point.calls - point.failed_calls


def _seconds(point: Figures, milliseconds: float) -> Value:
    return milliseconds / 1_000 if _answered(point) else None


def _cause(point: Figures, cause: str) -> Value:
    return None if point.cadence is None else point.causes.get(cause, 0)


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
    """Return the newest events since a time in seconds since 1970, newest first, for marks in charts."""
    (kept,) = store.kept_state("settings")
    endpoints = {model.endpoint for model in kept_settings(kept).model_table().values()}
    points = newest_figures(store, since)
    return _events(store, points, endpoints, workers_seen(store.client), time.time(), since)


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
