"""The sections of a run's report: spending, sources of results, latency, cadence, memory and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from cogitate.memory.clock import DAY, clock_in_force
from cogitate.ops.formatting.budget import COLUMNS as BUDGET_COLUMNS
from cogitate.ops.formatting.budget import budget_cells, budget_rows, named_limit
from cogitate.ops.formatting.charts import SERIES, Axis, Series, bar_chart, figure, line_chart
from cogitate.ops.formatting.run import degraded_lines
from cogitate.ops.formatting.vitals import format_breaker, format_cadence, format_class, format_pace
from cogitate.ops.report.page import Cell, ReportTable, Section
from cogitate.ops.report.run_figures import BOUNDARY, RunFigures
from cogitate.scheduler.budget.budget import format_limit, window_of
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.engine.engine import FIGURES
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.summary import RunSummary
from cogitate.tasks.job import Cost

Key = TypeVar("Key")

SOURCES = ("llm", "cached", "heuristic", "none")
_FACTS = {
    "decision": ("admitted",),
    "end": ("applied", "refused", "stale"),
    "source": ("llm", "cached", "heuristic"),
    "reason": ("denied", "too_slow", "late", "failed", "dead"),
}
MOST_NAMES = 6  # the most times named on an axis
MOST = 6  # the most expensive agents and prompts listed
HASH = 12  # characters of a template's content hash


def budget_section(summary: RunSummary, figures: RunFigures) -> Section:
    """Return the section about spending by day, and about windows with a limit."""
    days, by = _days(figures), "by day" if clock_in_force().counts_days else "over time"
    charts: list[tuple[str, str, Mapping[int, Mapping[str, float]], _Limit | None]] = []
    for name, unit, scale in (("Tokens", "tokens", 1), ("Dollars", "usd_micros", 1e6), ("Calls of models", "calls", 1)):
        amounts = {
            day: {kind: getattr(cost, unit) / scale for kind, cost in kinds.items()}
            for day, kinds in figures.spent.items()
        }
        charts.append((name, "$" if scale > 1 else unit, amounts, _limit(summary.budget, unit, scale)))
    charts.append(("Jobs admitted", "jobs", figures.admitted, _limit(summary.budget, "jobs")))
    kept = {"run:0", window_of("day", 0, _end(figures))}
    limited = [line for line in summary.budget if line.window in kept]
    rows = [budget_cells(row) for row in budget_rows(limited, summary.limits)]
    return Section(
        "Budget",
        [
            "Every attempt is charged to the day that requested it, once its usage is known. The table has the last "
            "day and the run; the charts have every day."
        ],
        charts=[
            _by_day(f"{name} {by}", unit, days, amounts, limit, figures)
            for name, unit, amounts, limit in charts
            if any(amount for kinds in amounts.values() for amount in kinds.values())
        ],
        tables=[ReportTable(BUDGET_COLUMNS, rows, "Limited windows")] if rows else [],
    )


def results_section(summary: RunSummary, figures: RunFigures) -> Section:
    """Return the section about jobs by kind and source."""
    steps = _steps(figures)
    parts = [(name, [figures.sources[s][name] for s in steps]) for name in SOURCES]
    chart = bar_chart(
        "Results by source",
        _labels(figures),
        [part for part in parts if any(part[1])] or parts[:1],
        y="jobs",
    )
    rows: list[Sequence[Cell]] = [
        (kind, *(jobs[fact].get(value, 0) for fact, values in _FACTS.items() for value in values))
        for kind, jobs in summary.jobs.items()
    ]
    facts = [value for values in _FACTS.values() for value in values]
    return Section(
        "Results by source",
        degraded_lines(summary),
        charts=[chart],
        tables=[ReportTable(("kind", *facts), rows, "Jobs"), *_part_tables(summary)],
    )


def _part_tables(summary: RunSummary) -> Iterator[ReportTable]:
    """Yield a table for each part of the engine with counts."""
    for one in FIGURES:
        kinds = summary.figures[one.name]
        ends = sorted({end for counts in kinds.values() for end in counts})
        rows: list[Sequence[Cell]] = [
            (kind, sum(counts.values()), *(counts.get(end, 0) for end in ends)) for kind, counts in kinds.items()
        ]
        if rows:
            yield ReportTable(("kind", one.label, *ends), rows, f"{one.label.capitalize()}, by their end")


def latency_section(summary: RunSummary, figures: RunFigures, endpoints: Sequence[EndpointVitals]) -> Section:
    """Return the section about latency: ticks from the journal, and seconds measured at endpoints."""
    rows: list[Sequence[Cell]] = []
    for kind, ticks in sorted(figures.ticks.items()):
        jobs = figures.ended[kind]
        rows.append(
            (
                kind,
                jobs,
                _percentile(ticks, 50),
                _percentile(ticks, 99),
                max(ticks),
                figures.late[kind],
                round(figures.attempts[kind] / jobs, 2),
            )
        )
    tables = [
        ReportTable(
            ("kind", "jobs", "median", "99th percentile", "longest", "late", "attempts per job"),
            rows,
            "Ticks from request to end",
        )
    ]
    if endpoints:
        seen = [
            (
                one.endpoint,
                format_breaker(one),
                one.calls,
                one.usual,
                one.waits,
                round(one.waited / one.waits, 3) if one.waits else None,
                one.openings,
            )
            for one in endpoints
        ]
        head = ("endpoint", "breaker", "calls", "seconds per call", "waits", "seconds per wait", "breaker openings")
        tables.append(ReportTable(head, seen, "Endpoints, for all runs on this server"))
    pace = format_pace(summary.steering)
    pace_text = f"{pace[0].upper() + pace[1:]}. " if pace else ""
    return Section("Latency", [f"{pace_text}The journal records ticks, not seconds."], tables=tables)


def cadence_section(summary: RunSummary, figures: RunFigures) -> Section:
    """Return the section about the cadence of reflections, and about postponed ones."""
    points: list[tuple[float, float | None]] = [(figures.minute - _span(figures), 1.0)]
    points += [(float(minute), share) for minute, share in figures.cadence]
    points.append((float(figures.minute), points[-1][1]))
    cadence = line_chart(
        "Cadence of reflections",
        [Series("share of the usual", points, step=True)],
        x=_time(figures),
        y="share of the usual",
        x_label=lambda m: _moment(int(m), figures),
        top=1.0,
    )
    charts = [cadence]
    if figures.postponed.total():
        steps = _steps(figures)
        charts.append(
            bar_chart(
                "Reflections postponed",
                _labels(figures),
                [("postponed", [figures.postponed[s] for s in steps])],
                y="times",
            )
        )
    text = format_cadence(summary.steering)
    return Section("Cadence", [text[0].upper() + text[1:] + "."], charts=charts)


def memory_section(summary: RunSummary, figures: RunFigures) -> Section:
    """Return the section about the growth and compaction of memories."""
    steps = _steps(figures)

    def over(values: Mapping[int, int], name: str) -> Series:
        return Series(name, [(min((s + 1) * figures.width, figures.minute), float(v)) for s, v in values.items()])

    growth = line_chart(
        "Memories",
        [over(figures.live, "live"), over(figures.archived, "archived")],
        x=_time(figures),
        y="entries",
        x_label=lambda m: _moment(int(m), figures),
    )
    charts: list[Markup] = [growth]
    kinds = {kind for counts in figures.compacted.values() for kind in counts}
    if kinds:
        parts = [
            (
                f"{kind} (limits)" if kind == BOUNDARY else kind,
                [figures.compacted[s][kind] for s in steps],
            )
            for kind in _in_colours(kinds, figures)
        ]
        charts.append(bar_chart("Archived", _labels(figures), parts, y="entries, by the kind that archived them"))
    rows = [(name, counts["live"], counts["archived"]) for name, counts in summary.memories.items()]
    return Section("Memory", charts=charts, tables=[ReportTable(("type", "live", "archived"), rows, "Now")])


def dearest_section(figures: RunFigures) -> Section:
    """Return the section about the most expensive agents and prompts."""
    if not any(cost.calls for cost in figures.owners.values()):
        return Section("Most expensive", ["Nothing was spent on any agent."])
    agents = [(owner, *_amounts(cost)) for owner, cost in _dearest(figures.owners)]
    prompts = [
        (
            use.kind,
            use.model,
            use.prompt[:HASH],
            *_amounts(cost),
            round(cost.tokens / cost.calls) if cost.calls else None,
        )
        for use, cost in _dearest(figures.prompts)
    ]
    tables = [ReportTable(("agent", "calls", "tokens", "dollars"), agents, "Agents")]
    if prompts:
        head = ("kind", "model", "prompt", "calls", "tokens", "dollars", "tokens per call")
        tables.append(ReportTable(head, prompts, "Prompts, by the content hash of their template"))
    text = "Agents include all attempts, prompts only answered ones."
    return Section("Most expensive", [text], tables=tables)


def warnings_section(summary: RunSummary, figures: RunFigures) -> Section:
    """Return the section about warnings, failures and refusals by limits."""
    rows = []
    for name, count in summary.warnings.items():
        seen = figures.warnings.get(name)
        rows.append((name, count, seen.first if seen else None, seen.last if seen else None))
    tables = []
    if rows:
        tables.append(ReportTable(("warning", "count", "first tick", "last tick"), rows, "Warnings"))
    if figures.failures:
        failed = [(kind, format_class(failure), count) for (kind, failure), count in figures.failures.most_common()]
        tables.append(ReportTable(("kind", "failure", "jobs"), failed, "Failures by class"))
    if summary.refusals:
        refusals = [(named_limit(one), one.requests) for one in summary.refusals]
        tables.append(ReportTable(("limit", "requests refused"), refusals, "Refusals by limits"))
    return Section("Warnings", [] if tables else ["There were none."], tables=tables)


def _in_colours(kinds: Iterable[str], figures: RunFigures) -> list[str]:
    """Return all kinds of a run in the order of their colours, the same in all charts; if too many, only `kinds`."""
    every = set(kinds).union(*figures.admitted.values(), *figures.spent.values())
    ordered = [*sorted(every - {BOUNDARY}), BOUNDARY]
    return ordered if len(ordered) <= SERIES else sorted(kinds)


def _by_day(
    title: str,
    unit: str,
    days: list[int],
    amounts: Mapping[int, Mapping[str, float]],
    limit: _Limit | None,
    figures: RunFigures,
) -> Markup:
    kinds = _in_colours(set[str]().union(*amounts.values()), figures)
    parts = [(kind, [float(amounts.get(day, {}).get(kind, 0)) for day in days]) for kind in kinds]
    most = max((sum(values[n] for _, values in parts) for n in range(len(days))), default=0.0)
    shown = limit if limit is not None and limit.amount <= 3 * most else None
    return bar_chart(
        title,
        [clock_in_force().day_window(day) for day in days],
        parts,
        y=unit,
        limit=shown.amount if shown else None,
        limit_label=shown.text if shown else "",
    )


class _Limit(NamedTuple):
    """A limit for a chart."""

    amount: float
    text: str


def _limit(budget: Sequence[BudgetLine], unit: str, scale: float = 1) -> _Limit | None:
    """Return the run's limit per day."""
    limits = [
        _Limit(line.limit / scale, format_limit(line.limit, line.for_retries, lambda amount: figure(amount / scale)))
        for line in budget
        if line.limit is not None and line.window.startswith("day:") and (line.scope, line.unit) == ("run", unit)
    ]
    return limits[-1] if limits else None


def _amounts(cost: Cost) -> tuple[int, int, float]:
    return cost.calls, cost.tokens, round(cost.usd_micros / 1e6, 6)


def _dearest(costs: Mapping[Key, Cost]) -> list[tuple[Key, Cost]]:
    return sorted(costs.items(), key=lambda item: (-item[1].usd_micros, -item[1].tokens, -item[1].calls))[:MOST]


def _percentile(counts: Mapping[int, int], percent: int) -> int:
    left = -(-sum(counts.values()) * percent // 100)
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return 0


def _span(figures: RunFigures) -> int:
    return figures.clock.minutes(figures.last - figures.first + 1) if figures.last else 0


def _days(figures: RunFigures) -> list[int]:
    """Return the days (from 0) that contain a tick."""
    if not figures.last:
        return []
    if clock_in_force().minutes_per_tick <= DAY:
        return list(range(max(0, figures.minute - _span(figures)) // DAY, _end(figures) // DAY + 1))
    return [clock_in_force().minute(tick) // DAY for tick in range(figures.first, figures.last + 1)]


def _end(figures: RunFigures) -> int:
    """Return the last game minute of the last tick."""
    return max(0, figures.minute - 1)


def _steps(figures: RunFigures) -> list[int]:
    if not figures.last:
        return []
    return list(range(max(0, figures.minute - _span(figures)) // figures.width, _end(figures) // figures.width + 1))


def _labels(figures: RunFigures) -> list[str]:
    """Return the name of each step."""
    return [_moment(step * figures.width, figures) for step in _steps(figures)]


def _time(figures: RunFigures) -> Axis:
    begin, end, clock = max(0, figures.minute - _span(figures)), max(1, figures.minute), clock_in_force()
    if not clock.has_times:
        return Axis.exactly(begin, end, clock.minutes(-(-max(1, figures.last - figures.first) // MOST_NAMES)))
    step = next(
        (s for s in (60, 120, 240, 360, 720, DAY, 2 * DAY, 5 * DAY, 10 * DAY) if (end - begin) / s <= 6), 50 * DAY
    )
    return Axis.exactly(begin, end, step)


def _moment(minute: int, figures: RunFigures) -> str:
    """Format game time for an axis: hours for a single day, otherwise days; rounds or months if there are no hours."""
    clock = clock_in_force()
    if not clock.has_times:
        return clock.date(max(minute, clock.minute(1))).partition(" of ")[0]
    day, hour = minute // DAY + 1, f"{minute % DAY // 60:02}:{minute % 60:02}"
    if figures.minute <= DAY:
        return hour if minute < DAY else "24:00"
    return f"d{day}" if minute % DAY == 0 or figures.width >= DAY else f"d{day} {hour[:2]}h"
