"""Charts as static SVG: lines and stacked bars whose series differ even without colours, as in print.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which colour-blind people can tell apart; lines
also differ by dashes and markers, bars by hatching. A chart is legible at a width of 360 to 720 pixels. All text is
escaped. A page includes the styles (`STYLE`) once; `document` returns a chart as a separate file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

Label = Callable[[float], str]


def figure(value: float) -> str:
    """Format a number for an axis or a table: "0.25", "1,200", "3.4M"."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.3g}M"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


@dataclass(frozen=True)
class Axis:
    """A scale that maps values to positions from 0 to 1, with its marks."""

    low: float
    high: float
    marks: tuple[float, ...]

    @classmethod
    def over(cls, low: float, high: float) -> Axis:
        """Return an axis that covers `low` to `high`, with about five marks at round numbers."""
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"an axis cannot reach from {low} to {high}: both ends must be finite")
        if high <= low:
            high = low + 1
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = unit * next(s for s in (1, 2, 2.5, 5, 10) if s * unit >= rough)
        first, last = math.floor(low / step), math.ceil(high / step)
        marks = tuple(round(n * step, 10) for n in range(first, last + 1))
        return cls(marks[0], marks[-1], marks)

    @classmethod
    def exactly(cls, low: float, high: float, step: float) -> Axis:
        """Return an axis from `low` to `high`, marked at multiples of `step`."""
        if high <= low:
            high = low + step
        marks = tuple(n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1))
        return cls(low, high, marks)

    def at(self, value: float) -> float:
        """Return the position of a value; a value beyond the axis gets the position of its end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


WIDTH, HEIGHT = 520, 250
_LEFT, _RIGHT, _BOTTOM = 54, 10, 26
_LETTER = 6.6  # approximate width
_ROW = 17  # height of a row of the legend
_MARKERS = 8  # the most markers on a line
_SHAPES = (
    "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "M-3,-3h6v6h-6z",
    "M0,-4.5l4,7.5h-8z",
    "M0,-4.5l4,4.5l-4,4.5l-4,-4.5z",
    "M0,4.5l4,-7.5h-8z",
    "M-4,-1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z",
)
SERIES = 8  # the most series, since further ones would look like earlier ones

STYLE = Markup("""
.chart { font: 12px system-ui, sans-serif; width: 100%; height: auto; display: block; --ink: #1b1f23; --faint: #d4d8dd;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #cc79a7; --s4: #56b4e9; --s5: #e69f00; --s6: #8a7f00; --s7: #555; }
.chart text { fill: var(--ink); stroke: none; } .chart .grid { stroke: var(--faint); stroke-width: 1; }
.chart .band { fill: var(--ink); opacity: 0.06; } .chart .small { font-size: 10.5px; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .limit { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) { .chart { --ink: #e6e8ea; --faint: #3b4249; --s0: #4aa8e8; --s1: #ff8a4c;
  --s2: #35c79a; --s3: #e6a0c6; --s4: #8fd0f7; --s5: #f2bc45; --s6: #f0e442; --s7: #aaa; } }
@media print { .chart { --ink: #000; --faint: #bbb; --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #cc79a7;
  --s4: #56b4e9; --s5: #e69f00; --s6: #8a7f00; --s7: #555; print-color-adjust: exact; } }
""") + Markup("").join(Markup(".chart .s{0} {{ --own: var(--s{0}); }}\n").format(n) for n in range(SERIES))
#: Patterns that distinguish the parts of a bar without colours; a page includes them once. The first part has none.
HATCHES = Markup('<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{}</defs></svg>').format(
    Markup("").join(
        Markup(
            '<pattern id="hatch{0}" width="{1}" height="{1}" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate({2})"><path d="M0 0V{1}" stroke="#fff" stroke-width="1.6"/></pattern>'
        ).format(index, distance, angle)
        for index, (angle, distance) in enumerate(((45, 5), (135, 5), (0, 4), (90, 4), (30, 7), (60, 4), (120, 8)), 1)
    )
)
_DASHES = ("", "6 3", "2 2", "9 3 2 3", "1 3", "12 4", "4 1", "7 2 1 2")


@dataclass(frozen=True)
class Series:
    """One line: points (x, y) by ascending x. A y of None is a gap."""

    name: str
    points: Sequence[tuple[float, float | None]]
    step: bool = False  # a value holds until the next


@dataclass(frozen=True)
class Band:
    """A named interval of the x-axis, such as a phase."""

    start: float
    end: float
    name: str


@dataclass(frozen=True)
class Mark:
    """A named position on the x-axis, such as the highest load that holds."""

    at: float
    name: str


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x: Axis,
    y: str,
    x_label: Label = figure,
    top: float = 0.0,
    bands: Sequence[Band] = (),
    limit: float | None = None,
    marks: Sequence[Mark] = (),
) -> Markup:
    """Draw lines over a common x-axis. The y-axis begins at 0.

    Args:
        y: the quantity and unit of the y-axis.
        top: a value that the y-axis reaches in any case.
        limit: the position of a dotted horizontal line on the y-axis.
        marks: dotted vertical lines.
    """
    values = [v for one in series for _, v in one.points if v is not None]
    axis = Axis.over(0.0, max([top, limit or 0.0, *values]))
    frame = _Frame(title, y, [one.name for one in series], x, axis)
    parts = [frame.bands(bands), frame.grid(x_label, x.marks)]
    for index, one in enumerate(series[:SERIES]):
        parts.append(_line(frame, index, one))
    if limit is not None:
        at = frame.y(limit)
        parts.append(Markup('<path class="limit" d="M{} {:.1f}H{}"/>').format(_LEFT, at, WIDTH - _RIGHT))
    parts += [frame.mark(mark, n) for n, mark in enumerate(marks)]
    return frame.svg(parts)


def bar_chart(
    title: str,
    columns: Sequence[str],
    parts: Sequence[tuple[str, Sequence[float]]],
    *,
    y: str,
    limit: float | None = None,
    limit_label: str = "",
) -> Markup:
    """Draw a stacked bar for each column; `parts` are (name, a value for each column), from the bottom up.

    A part's index determines its colour. A part without values keeps its index, and the legend omits it.
    """
    totals = [sum(values[n] for _, values in parts) for n in range(len(columns))]
    axis = Axis.over(0.0, max([limit or 0.0, *totals, 0.0]))
    frame = _Frame(
        title,
        y,
        [name if any(values) else "" for name, values in parts],
        Axis(0, max(1, len(columns)), ()),
        axis,
        bars=True,
    )
    drawn = [frame.grid(figure, ())]
    every = -(-len(columns) // max(1, int((WIDTH - _LEFT) / (_LETTER * max([4, *map(len, columns)]) + 8))))
    width = (WIDTH - _LEFT - _RIGHT) / max(1, len(columns))
    thick = min(0.7 * width, 56)
    for n, column in enumerate(columns):
        left, base = frame.x(n) + (width - thick) / 2, 0.0
        for index, (name, values) in enumerate(parts[:SERIES]):
            if not values[n]:
                continue
            upper, lower = frame.y(base + values[n]), frame.y(base)
            box = Markup('x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"').format(
                left, upper, thick, max(0.5, lower - upper)
            )
            drawn.append(
                Markup(
                    '<g class="s{0}"><rect {1} fill="var(--own)"/><rect {1} fill="url(#hatch{0})"/>'
                    "<title>{2}, {3}: {4}</title></g>"
                ).format(index, box, column, name, figure(values[n]))
            )
            base += values[n]
        if n % every == 0:
            drawn.append(_text(frame.x(n) + width / 2, HEIGHT - _BOTTOM + 16, column, "middle"))
    if limit is not None:
        at = frame.y(limit)
        above = at - 3 if at > frame.top + _ROW else at + 12  # not over the legend
        drawn.append(Markup('<path class="limit" d="M{} {:.1f}H{}"/>').format(_LEFT, at, WIDTH - _RIGHT))
        drawn.append(_text(WIDTH - _RIGHT, above, f"limit {limit_label or figure(limit)}", "end", "small"))
    return frame.svg(drawn)


def document(chart: Markup) -> str:
    """Return a chart as a separate SVG file."""
    style = Markup("<style>{}</style>").format(STYLE)
    head, closing, body = chart.partition(Markup(">"))
    return f'{head} xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}"{closing}{style}{HATCHES}{body}\n'


class _Frame:
    """The frame of a chart: title, legend, axes, and the positions of values."""

    def __init__(self, title: str, measure: str, names: Sequence[str], x: Axis, y: Axis, bars: bool = False) -> None:
        self._title, self._measure, self._across, self._up, self._bars = title, measure, x, y, bars
        self._rows = _legend_rows(names) if len(names) > 1 else []
        self.top = 30 + _ROW * len(self._rows)

    def x(self, value: float) -> float:
        return _LEFT + self._across.at(value) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - self._up.at(value) * (HEIGHT - _BOTTOM - self.top)

    def grid(self, x_label: Label, marks: Sequence[float]) -> Markup:
        drawn = []
        for value in self._up.marks:
            at = self.y(value)
            drawn.append(Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(_LEFT, at, WIDTH - _RIGHT))
            drawn.append(_text(_LEFT - 6, at + 4, figure(value), "end"))
        for value in marks:
            at = self.x(value)
            drawn.append(Markup('<path class="grid" d="M{:.1f} {}v4"/>').format(at, HEIGHT - _BOTTOM))
            anchor = "end" if at > WIDTH - 30 else "middle"
            drawn.append(_text(at, HEIGHT - _BOTTOM + 17, x_label(value), anchor))
        return Markup("").join(drawn)

    def bands(self, bands: Sequence[Band]) -> Markup:
        drawn = []
        for n, band in enumerate(bands):
            left, right = self.x(band.start), self.x(band.end)
            if n % 2:
                drawn.append(
                    Markup('<rect class="band" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>').format(
                        left, self.top, right - left, HEIGHT - _BOTTOM - self.top
                    )
                )
            if _LETTER * len(band.name) < right - left + 10:
                drawn.append(_text((left + right) / 2, self.top + 11, band.name, "middle", "small"))
        return Markup("").join(drawn)

    def mark(self, mark: Mark, number: int) -> Markup:
        """Draw a vertical line; the names of several lines are stacked."""
        at, top = self.x(mark.at), self.top + 11 + 12 * number
        line = Markup('<path class="limit" d="M{:.1f} {}V{}"/>').format(at, self.top, HEIGHT - _BOTTOM)
        after = at < WIDTH - _RIGHT - _LETTER * len(mark.name) - 4
        return line + _text(at + (4 if after else -4), top, mark.name, "start" if after else "end", "small")

    def svg(self, parts: Sequence[Markup]) -> Markup:
        legend = []
        for row, names in enumerate(self._rows):
            left = float(_LEFT)
            for index, name in names:
                at = 32 + _ROW * row
                legend.append(_bar_key(index, left, at) if self._bars else _line_key(index, left, at))
                legend.append(_text(left + 28, at + 4, name))
                left += _wide(name)
        title = Markup(
            '<text y="15"><tspan font-weight="600">{}</tspan> <tspan class="small">{}</tspan></text>'
        ).format(self._title, self._measure)
        return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>').format(
            WIDTH, HEIGHT, self._title, title, Markup("").join(legend), Markup("").join(parts)
        )


def _legend_rows(names: Sequence[str]) -> list[list[tuple[int, str]]]:
    rows: list[list[tuple[int, str]]] = [[]]
    left = float(_LEFT)
    for index, name in enumerate(names[:SERIES]):
        if not name:
            continue
        if rows[-1] and left + _wide(name) > WIDTH:
            rows.append([])
            left = float(_LEFT)
        rows[-1].append((index, name))
        left += _wide(name)
    return rows


def _wide(name: str) -> float:
    return 44 + _LETTER * len(name)


def _line(frame: _Frame, index: int, one: Series) -> Markup:
    stretches: list[list[tuple[float, float]]] = [[]]
    for x, y in one.points:
        if y is None:
            stretches.append([])
        else:
            stretches[-1].append((frame.x(x), frame.y(y)))
    drawn = []
    for points in stretches:
        if not points:
            continue
        path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
        for (_, before), (x, y) in pairwise(points):
            path.append(f"H{x:.1f}V{y:.1f}" if one.step and before != y else f"L{x:.1f} {y:.1f}")
        drawn.append(
            Markup('<path class="line" stroke="var(--own)" stroke-dasharray="{}" d="{}"/>').format(
                _DASHES[index], "".join(path)
            )
        )
    shown = [point for points in stretches for point in points]
    every = max(1, -(-len(shown) // _MARKERS))
    for x, y in shown[every // 2 :: every]:
        drawn.append(
            Markup('<path fill="var(--own)" transform="translate({:.1f} {:.1f})" d="{}"/>').format(
                x, y, _SHAPES[index % len(_SHAPES)]
            )
        )
    return Markup('<g class="s{}">{}</g>').format(index, Markup("").join(drawn))


def _line_key(index: int, left: float, at: float) -> Markup:
    return Markup(
        '<g class="s{}"><path class="line" stroke="var(--own)" stroke-dasharray="{}" d="M{:.0f} {}h22"/>'
        '<path fill="var(--own)" transform="translate({:.0f} {})" d="{}"/></g>'
    ).format(index, _DASHES[index], left, at, left + 11, at, _SHAPES[index % len(_SHAPES)])


def _bar_key(index: int, left: float, at: float) -> Markup:
    box = Markup('x="{:.0f}" y="{}" width="20" height="11"').format(left, at - 6)
    return Markup('<g class="s{0}"><rect {1} fill="var(--own)"/><rect {1} fill="url(#hatch{0})"/></g>').format(
        index, box
    )


def _text(x: float, y: float, text: str, anchor: str = "start", style: str = "") -> Markup:
    extra = Markup(' class="{}"').format(style) if style else Markup("")
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>').format(x, y, anchor, extra, escape(text))
