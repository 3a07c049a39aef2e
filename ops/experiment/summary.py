"""The summary of an experiment: lines for a terminal, a page, and a plot.

The plot has a row for each condition, with its mean as a dot and its interval as a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from cogitate.ops.experiment.results import FIGURES, Results
from cogitate.ops.experiment.runner import Progress
from cogitate.ops.experiment.statistics import RESAMPLES, SHARE, Comparison, Interval, sentences
from cogitate.ops.formatting.charts import WIDTH, Axis, document, figure
from cogitate.ops.report.page import Cell, Page, ReportTable, Section
from cogitate.scheduler.ledger.real_day import DaySpending

_ROW, _TOP, _BOTTOM, _RIGHT = 24, 44, 26, 14
_LETTER = 6.6  # approximate width
_MOST_LETTERS = 30


class IntervalRow(NamedTuple):
    """A row of the plot: its name, the mean, and the ends of the interval."""

    name: str
    mean: float
    low: float
    high: float


def interval_chart(title: str, quantity: str, rows: Sequence[IntervalRow], *, zero: bool) -> Markup:
    """Draw intervals over a common axis.

    Args:
        quantity: the quantity on the axis.
        zero: whether the axis includes 0, with a mark.
    """
    ends = [end for row in rows for end in (row.low, row.high)] + ([0.0] if zero else [])
    axis = Axis.over(min(ends), max(ends))
    left = 16 + _LETTER * min(_MOST_LETTERS, max(len(row.name) for row in rows))
    bottom = _TOP + _ROW * len(rows)

    def at(value: float) -> float:
        return left + axis.at(value) * (WIDTH - _RIGHT - left)

    drawn = [
        Markup('<text y="15"><tspan font-weight="600">{}</tspan></text><text y="31" class="small">{}</text>').format(
            title, quantity
        )
    ]
    for mark in axis.marks:
        x = at(mark)
        style = "limit" if zero and mark == 0 else "grid"
        drawn.append(Markup('<path class="{}" d="M{:.1f} {}V{}"/>').format(style, x, _TOP, bottom))
        drawn.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="middle" class="small">{}</text>').format(
                x, bottom + 16, figure(mark)
            )
        )
    for number, row in enumerate(rows):
        y = _TOP + _ROW * (number + 0.5)
        name = row.name if len(row.name) <= _MOST_LETTERS else row.name[: _MOST_LETTERS - 1] + "…"
        tooltip = f"{row.name}: {figure(row.mean)}, from {figure(row.low)} to {figure(row.high)}"
        drawn.append(Markup('<text x="0" y="{:.1f}">{}</text>').format(y + 4, escape(name)))
        drawn.append(
            Markup(
                '<g class="s0"><title>{}</title><path class="line" stroke="var(--own)" d="M{:.1f} {y:.1f}H{:.1f}"/>'
                '<circle cx="{:.1f}" cy="{y:.1f}" r="4.5" fill="var(--own)"/></g>'
            ).format(tooltip, at(row.low), at(row.high), at(row.mean), y=y)
        )
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, bottom + _BOTTOM, title, Markup("").join(drawn)
    )


HEAD = ("measure", "condition", "runs", "mean", "interval", "difference", "its interval")


def progress_line(progress: Progress) -> str:
    """Return the runs that are done, the amount spent, and estimates of the time left and the total amount."""
    parts = [f"{progress.done:,} of {progress.runs:,} runs", *money_lines(progress.spent)]
    if progress.seconds_left is not None and progress.done < progress.runs:
        parts.append(f"about {_duration(progress.seconds_left)} left")
        if progress.spent.limited and (spent := progress.spent.spent.tokens):
            whole = progress.runs / progress.done
            in_money = progress.spent.limit_usd_micros is not None
            usd = progress.spent.spent.usd_micros / 1e6
            amount = f"${usd * whole:,.2f}" if in_money else f"{figure(spent * whole)} tokens"
            parts.append(f"about {amount} in all")
    return " · ".join(parts)


def money_lines(spent: DaySpending) -> list[str]:
    """Return the amount spent of each limit."""
    lines = []
    if spent.limit_usd_micros is not None:
        lines.append(f"${spent.spent.usd_micros / 1e6:,.4f} of ${spent.limit_usd_micros / 1e6:,.2f} spent")
    if spent.limit_tokens is not None:
        lines.append(f"{spent.spent.tokens:,} of {spent.limit_tokens:,} tokens spent")
    return lines


def table_rows(comparisons: Sequence[Comparison]) -> list[list[Cell]]:
    """Return a row for each measure and condition, in the order of `HEAD`."""
    rows: list[list[Cell]] = []
    for one in own_first(comparisons):
        difference: list[Cell] = [None, "–"]
        if one.difference is not None:
            difference = [one.difference.mean, ends(one.difference)]
        condition = f"{one.condition} (base)" if one.base else one.condition
        rows.append([one.measure, condition, one.value.n, one.value.mean, ends(one.value), *difference])
    return rows


def own_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with the experiment's own measures first, then the figures that every run has."""
    return sorted(comparisons, key=lambda one: one.measure in FIGURES)


def page_of(title: str, progress: Progress, results: Results, comparisons: Sequence[Comparison]) -> Page:
    """Return the page of an experiment."""
    page = Page(title, f"{progress.done:,} of {progress.runs:,} runs; {thoughts_line(results)}")
    page.sections.append(
        Section("At a glance", [*money_lines(progress.spent), *sentences(comparisons)], charts=charts(comparisons))
    )
    page.sections.append(Section("Measures", tables=[ReportTable(HEAD, table_rows(comparisons))]))
    if results.runs:
        head = list(results.runs[0])
        cells: list[list[Cell]] = [[_cell(row[name]) for name in head] for row in results.runs]
        page.sections.append(Section("Runs", tables=[ReportTable(head, cells)]))
    page.footer = (
        f"An interval contains {SHARE:.0%} of the means of {RESAMPLES:,} resamples. A difference is the mean over "
        "pairs of a run and the base's run of the same replicate."
    )
    return page


def thoughts_line(results: Results) -> str:
    """Return the numbers of thoughts by models and by heuristics."""
    model, heuristic = (sum(row[name] for row in results.runs) for name in ("by_model", "by_heuristic"))
    return f"{model:,} thoughts by a model, {heuristic:,} by heuristics"


def charts(comparisons: Sequence[Comparison]) -> list[Markup]:
    """Return a chart for each measure with differences, the experiment's own measures first."""
    drawn = []
    for measure in dict.fromkeys(one.measure for one in own_first(comparisons)):
        rows = [
            IntervalRow(one.condition, one.difference.mean, one.difference.low, one.difference.high)
            for one in comparisons
            if one.measure == measure and one.difference is not None
        ]
        if rows and any(row.low or row.high for row in rows):
            base = next((one.condition for one in comparisons if one.base), "the base")
            quantity = f"mean difference from {base}, with its interval"
            drawn.append(interval_chart(measure, quantity, rows, zero=True))
    return drawn


def write_plot(path: Path, comparisons: Sequence[Comparison]) -> bool:
    """Write the first chart as an SVG file, and return whether there is one."""
    drawn = charts(comparisons)
    if drawn:
        path.write_text(document(drawn[0]), encoding="utf-8")
    return bool(drawn)


def ends(interval: Interval) -> str:
    """Return the ends of an interval."""
    return f"{figure(interval.low)} to {figure(interval.high)}"


def _cell(value: object) -> Cell:
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"
