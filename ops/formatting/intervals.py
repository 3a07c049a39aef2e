"""A chart of intervals: a row for each condition, with its mean as a dot and its interval as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from cogitate.ops.formatting.charts import WIDTH, Axis, figure

_ROW, _TOP, _BOTTOM, _RIGHT = 24, 44, 26, 14
_LETTER = 6.6  # approximate width
_MOST_LETTERS = 30


class IntervalRow(NamedTuple):
    """A row: its name, the mean, and the ends of the interval."""

    name: str
    mean: float
    low: float
    high: float


def interval_chart(title: str, quantity: str, rows: Sequence[IntervalRow], *, zero: bool) -> Markup:
    """Draw intervals over a common axis.

    Args:
        quantity: what the axis measures.
        zero: whether 0 belongs to the axis, and is marked.
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
        told = f"{row.name}: {figure(row.mean)}, from {figure(row.low)} to {figure(row.high)}"
        drawn.append(Markup('<text x="0" y="{:.1f}">{}</text>').format(y + 4, escape(name)))
        drawn.append(
            Markup(
                '<g class="s0"><title>{}</title><path class="line" stroke="var(--own)" d="M{:.1f} {y:.1f}H{:.1f}"/>'
                '<circle cx="{:.1f}" cy="{y:.1f}" r="4.5" fill="var(--own)"/></g>'
            ).format(told, at(row.low), at(row.high), at(row.mean), y=y)
        )
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, bottom + _BOTTOM, title, Markup("").join(drawn)
    )
