"""The report of a load test as one HTML file, over game time and by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from cogitate.memory.clock import DAY
from cogitate.ops.formatting.charts import Axis, Band, Series, bar_chart, figure, line_chart
from cogitate.ops.load.figures import TickFigures
from cogitate.ops.load.profiles import LoadProfile
from cogitate.ops.report.page import Cell, Page, ReportTable, Section

COLUMNS = 30  # approximate number of bars
_SOURCES = ("llm", "cached", "heuristic", "none")
_GLANCE = (
    ("ticks a second", "ticks_per_second"),
    ("jobs a second", "jobs_per_second"),
    ("late", "late_share"),
    ("late plans", "late_plan_share"),
    ("failed", "failed_share"),
    ("host ms a tick, 99%", "host_ms_p99"),
    ("oldest in queue, ticks", "queue_age_most"),
    ("slowest cadence", "cadence_least"),
    ("tokens", "tokens"),
    ("reflections", "reflections"),
    ("reflections lost", "lost_reflections"),
)


def load_page(
    profile: LoadProfile,
    rows: Sequence[TickFigures],
    figures: Mapping[str, Any],
    asserted: Sequence[str],
    limit: int | None,
    partial: str = "",
) -> Page:
    """Return the page.

    Args:
        figures: the figures of the test.
        asserted: a line for each assertion that does not hold.
        limit: the run's limit in tokens, if the user gave one.
        partial: the part that the figures cover, if the user stopped the test.
    """
    page = Page(f"Load test: {profile.name}", f"{profile.about}; {profile.agents:,} agents, {len(rows):,} ticks")
    facts = [(name, "–" if figures[key] is None else figure(float(figures[key]))) for name, key in _GLANCE]
    texts = [partial.capitalize()] if partial else []
    texts += [f"Assertion failed: {line}" for line in asserted]
    page.sections.append(Section("At a glance", texts, facts))
    if rows:
        page.sections.append(Section("Over game time", charts=_charts(profile, rows, limit)))
    page.sections.append(Section("Phases", tables=[_phases(profile), _by_phase(figures)]))
    page.footer = (
        "Real workers, a real server and real HTTP on one machine: times depend on this machine and its other load."
    )
    return page


def _charts(profile: LoadProfile, rows: Sequence[TickFigures], limit: int | None) -> list[Markup]:
    begin, end = profile.start_minute, rows[-1].minute
    step = next((s for s in (10, 30, 60, 120, 240, 360, 720) if (end - begin) / s <= 7), DAY)
    x = Axis.exactly(begin, max(end, begin + 1), step)
    bands = [Band(start, min(start + phase.minutes, end), phase.name) for start, phase in profile.starts()]
    if profile.warm_up:
        bands.insert(0, Band(begin, min(profile.begin, end), "warm-up"))
    groups = _groups(rows)

    def lines(title: str, y: str, *series: Series, top: float = 0.0, at: float | None = None) -> Markup:
        return line_chart(title, series, x=x, y=y, x_label=_clock, top=top, bands=bands, limit=at)

    def over(name: str, value: Callable[[list[TickFigures]], float | None]) -> Series:
        return Series(name, [(group[-1].minute, value(group)) for group in groups])

    queue = [(row.minute, float(row.queue)) for row in rows if row.queue is not None]
    cadence = [(float(begin), 1.0), *((float(row.minute), row.cadence) for row in rows)]
    spent, burn = 0, []
    for row in rows:
        spent += row.tokens
        burn.append((row.minute, float(spent)))
    names = [name for name in _SOURCES if any(row.sources[name] for row in rows)] or ["llm"]
    parts = [(name, [float(sum(row.sources[name] for row in group)) for group in groups]) for name in names]
    near = float(limit) if limit is not None and limit <= 3 * max(1, spent) else None
    return [
        lines("Queue age", "ticks since the oldest waiting job was enqueued", Series("age", queue)),
        lines("Cadence of reflections", "share of the usual", Series("cadence", cadence, step=True), top=1.0),
        lines(
            "Late and failed",
            "share of ended jobs",
            over("late", lambda group: _share(group, "late")),
            over("failed", lambda group: _share(group, "failed")),
            top=1.0,
        ),
        lines("Budget burn", "tokens so far", Series("tokens", burn), at=near),
        lines("Host time per tick", "ms", Series("host", [(row.minute, 1000 * row.host) for row in rows])),
        lines("Throughput", "jobs ended a second", over("jobs", _throughput)),
        bar_chart("Results by source", [_clock(group[0].minute) for group in groups], parts, y="jobs"),
    ]


def _groups(rows: Sequence[TickFigures]) -> list[list[TickFigures]]:
    size = max(1, -(-len(rows) // COLUMNS))
    return [list(rows[n : n + size]) for n in range(0, len(rows), size)]


def _share(group: list[TickFigures], name: str) -> float | None:
    ended = sum(row.ended for row in group)
    return sum(getattr(row, name) for row in group) / ended if ended else None


def _throughput(group: list[TickFigures]) -> float | None:
    seconds = group[-1].at - group[0].at
    return sum(row.ended for row in group[1:]) / seconds if seconds > 0 else None


def _phases(profile: LoadProfile) -> ReportTable:
    rows: list[Sequence[Cell]] = [
        (
            phase.name,
            phase.minutes,
            round(phase.agents * profile.agents),
            "controller" if phase.cadence is None else figure(phase.cadence),
            profile.tick_rate * phase.speed,
            phase.latency,
            phase.requests_per_minute,
            ", ".join(f"{name} {100 * share:g}%" for name, share in phase.faults.items()) or "none",
        )
        for phase in profile.phases
    ]
    head = ("phase", "game minutes", "agents", "cadence", "ticks a second", "latency, s", "requests a minute", "faults")
    return ReportTable(head, rows, "Phases as configured")


def _by_phase(figures: Mapping[str, Any]) -> ReportTable:
    phases: Mapping[str, Mapping[str, Any]] = figures["phases"]
    names = list(next(iter(phases.values())))
    return ReportTable(
        ("figure", *phases), [(name, *(p[name] for p in phases.values())) for name in names], "Phases as measured"
    )


def _clock(minute: float) -> str:
    return f"{int(minute) % DAY // 60:02}:{int(minute) % 60:02}"
