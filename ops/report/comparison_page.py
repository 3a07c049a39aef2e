"""The comparison of two runs as one HTML file that loads nothing and escapes every text.

The map is one SVG: owners by time, coloured by how far the runs differ; a script shows the thoughts behind a cell.
Colours are one hue from light to dark, so that they keep their order in grey and for colour-blind readers. They are
set as attributes, which the page's style overrides in dark mode; so the SVG also works as a figure in a paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from math import ceil
from pathlib import Path

import msgspec
from markupsafe import Markup, escape

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import day_and_time
from cogitate.memory.errors import InputError
from cogitate.ops.report.page import script_data, script_page, write_page
from cogitate.scheduler.inspection.compared.run import ComparedRun
from cogitate.scheduler.inspection.comparison import Comparison, Side, Thought, Window


def comparison_page(comparison: Comparison) -> str:
    """Return the page. The clock in force names its times."""
    owners = mapped_owners(comparison)
    shown = {
        visible(owner): {str(window.window): _shown(window) for window in comparison.owners[owner]} for owner in owners
    }
    return script_page(
        "comparison",
        comparison=comparison,
        map=divergence_map(comparison, caption(comparison)) if owners else "",
        caption=caption(comparison),
        at=day_and_time,
        kinds=sorted({*comparison.figures["a"], *comparison.figures["b"]}),
        data=script_data({"runs": [visible(comparison.a), visible(comparison.b)], "owners": shown}),
    )


def caption(comparison: Comparison) -> str:
    """Return the caption that a reader of the map alone needs: what it shows, and of which runs."""
    mapped = len(mapped_owners(comparison))
    shown = "" if mapped == len(comparison.owners) else f", of which the first {mapped:,} are shown"
    ticks = f"ticks {comparison.first:,} to {comparison.last:,}, {comparison.differing_ticks:,} of which differ"
    a, b = comparison.a, comparison.b
    return (
        f"Divergence of {a} and {b} over {ticks}. A row is an owner, in the order in which the difference reached them "
        f"({len(comparison.owners):,} of {comparison.population:,} differ{shown}). The colour is the share of the "
        "owner's entries and deeds in that time, over both runs, that the other run lacks. "
        f"{a}: {_about(comparison, 'a')}. {b}: {_about(comparison, 'b')}. Cogitate {version('cogitate')}."
    )


def _about(comparison: Comparison, side: Side) -> str:
    run, origin = comparison.runs.get(side, ComparedRun()), comparison.origins.get(side)
    fork = f"fork of {origin.run} at tick {origin.tick:,}" if origin is not None else ""
    world = [f"{name} {text}" for name, text in run.world.items()]
    models = ", ".join(run.models) or "no model"
    return ", ".join(filter(None, (fork, *world, models, f"digest {run.digest}" if run.digest else "")))


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: when the file cannot be written.
    """
    write_page(comparison_page(comparison), path)


def write_map(comparison: Comparison, path: Path) -> None:
    """Write the map as a separate SVG file.

    Raises:
        InputError: when the runs do not differ, so that there is no map.
        OSError: when the file cannot be written.
    """
    if not mapped_owners(comparison):
        raise InputError(f"no memory of {comparison.a} and {comparison.b} differs: there is no map to write")
    write_page(divergence_map(comparison, caption(comparison)), path)


def _shown(window: Window) -> dict[str, object]:
    return {
        "counts": [window.shared, window.only_a, window.only_b],
        "thoughts": [[_thought(thought) for thought in side] for side in (window.a, window.b)],
    }


def _thought(thought: Thought) -> dict[str, object]:
    texts = {name: visible(text) for name, text in msgspec.structs.asdict(thought).items() if isinstance(text, str)}
    at = day_and_time(thought.minute)
    return texts | {"at": f"tick {thought.tick:,}, {at}", "evidence": [visible(text) for text in thought.evidence]}


MOST = 200  # the most owners on the map, in the order in which the difference reached them
COLOURS = ("#eef1f4", "#fde0c5", "#f8b27a", "#e5772f", "#a83c00")  # for no difference, and for each quarter
SHARES = ("equal", "to 25%", "to 50%", "to 75%", "to 100%")
_CELL, _ROW, _TOP, _LABEL = 14, 16, 22, 26  # pixels; _LABEL: characters of a row's name
_LETTER = 6.6  # width of a letter in names, in pixels
_TICKS = 6  # the most times below the map; there are at least half as many
INK, MUTED, PAPER = "#1b1f23", "#57606a", "#ffffff"


def mapped_owners(comparison: Comparison) -> list[str]:
    """Return the owners on the map."""
    return [one.owner for one in comparison.spread if one.owner in comparison.owners][:MOST]


def divergence_map(comparison: Comparison, caption: str = "") -> Markup:
    """Return the map. The clock in force names its times.

    Args:
        caption: the description inside the figure, for use without a page.
    """
    owners, columns = mapped_owners(comparison), len(comparison.minutes)
    left = 8 + _LETTER * max(min(len(owner), _LABEL) for owner in owners)
    width, bottom = max(left + columns * _CELL + 8, 640), _TOP + len(owners) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" id="map" viewBox="0 0 {width:g} {bottom + 64}" '
        f'width="{width:g}" height="{bottom + 64}" font-family="system-ui, sans-serif" font-size="11">',
        f"<title>{escape(visible(f'{comparison.a} and {comparison.b}: owners by time'))}</title>",
        f"<desc>{escape(visible(caption))}</desc>" if caption else "",
        f'<rect class="paper" width="100%" height="100%" fill="{PAPER}"/>',
        '<g role="grid" aria-label="Owners by time">',
        *(_row(comparison, owner, number, left) for number, owner in enumerate(owners)),
        "</g>",
        *(f'<rect aria-hidden="true" id="{name}" width="0" height="0" fill="none"/>' for name in ("cursor", "chosen")),
        *_first_line(comparison, left, bottom),
        *_axis(comparison, left, bottom),
        *_legend(left, bottom + 46),
        "</svg>",
    ]
    return Markup("".join(parts))


def level_of(window: Window | None) -> int:
    """Return the index of a cell's colour: 0 if nothing differs, otherwise the quarter of its share."""
    return 0 if window is None else max(1, ceil(window.share * (len(COLOURS) - 1)))


def _row(comparison: Comparison, owner: str, number: int, left: float) -> str:
    windows = {window.window: window for window in comparison.owners[owner]}
    reached = next((one.tick for one in comparison.spread if one.owner == owner), comparison.first)
    at, name = _TOP + number * _ROW, visible(owner)
    shown = name if len(name) <= _LABEL else name[: _LABEL - 1] + "…"
    cells = [
        _cell(windows.get(column), name, column, day_and_time(minute), left + column * _CELL, at, number + column == 0)
        for column, minute in enumerate(comparison.minutes)
    ]
    dot = left + ((reached - comparison.first) // comparison.width + 0.5) * _CELL
    return (
        f'<g role="row"><text role="rowheader" class="ink" fill="{INK}" x="{left - 6:g}" y="{at + 12}" '
        f'text-anchor="end">{escape(shown)}</text>{"".join(cells)}'
        f'<circle aria-hidden="true" class="reached" cx="{dot:g}" cy="{at + _ROW / 2:g}" r="3" fill="{INK}" '
        f'stroke="{PAPER}"/></g>'
    )


def _cell(window: Window | None, owner: str, column: int, time: str, x: float, y: float, first: bool) -> str:
    level, difference = level_of(window), "equal" if window is None else f"{round(100 * window.share)}% differ"
    return (
        f'<rect role="gridcell" tabindex="{0 if first else -1}" aria-selected="false" class="d{level}" '
        f'data-owner="{escape(owner)}" data-window="{column}" data-time="{escape(time)}" x="{x:g}" y="{y}" '
        f'width="{_CELL - 1}" height="{_ROW - 1}" fill="{COLOURS[level]}">'
        f"<title>{escape(f'{owner}, {time}: {difference}')}</title></rect>"
    )


def _first_line(comparison: Comparison, left: float, bottom: int) -> Iterable[str]:
    """Yield the line at the first difference, which crosses all rows."""
    if comparison.difference is None:
        return
    x = left + (comparison.difference.tick - comparison.first) / comparison.width * _CELL
    end = x > left + len(comparison.minutes) * _CELL / 2
    yield (
        f'<g aria-hidden="true"><line class="line" x1="{x:g}" x2="{x:g}" y1="4" y2="{bottom}" stroke="{INK}" '
        f'stroke-dasharray="3 2"/><text class="ink" fill="{INK}" x="{x + (-5 if end else 5):g}" y="14" '
        f'text-anchor="{"end" if end else "start"}">first difference: tick {comparison.difference.tick:,}</text></g>'
    )


def _axis(comparison: Comparison, left: float, bottom: int) -> Iterable[str]:
    step = ceil(len(comparison.minutes) / _TICKS)
    yield '<g aria-hidden="true">'
    for column in range(0, len(comparison.minutes), step):
        x = left + column * _CELL
        yield f'<line class="line" x1="{x:g}" x2="{x:g}" y1="{bottom}" y2="{bottom + 4}" stroke="{MUTED}"/>'
        yield (
            f'<text class="muted" fill="{MUTED}" x="{x:g}" y="{bottom + 16}">'
            f"{escape(day_and_time(comparison.minutes[column]))}</text>"
        )
    ticks = "1 tick" if comparison.width == 1 else f"{comparison.width:,} ticks"
    yield (
        f'<text class="muted" fill="{MUTED}" x="{left:g}" y="{bottom + 32}">game time; a column is {ticks}</text></g>'
    )


def _legend(left: float, y: int) -> Iterable[str]:
    yield f'<g aria-hidden="true"><text class="muted" fill="{MUTED}" x="{left:g}" y="{y + 10}">differ:</text>'
    for level, (colour, share) in enumerate(zip(COLOURS, SHARES, strict=True)):
        x = left + 42 + level * 68
        yield f'<rect class="d{level}" x="{x:g}" y="{y}" width="{_CELL}" height="12" fill="{colour}"/>'
        yield f'<text class="muted" fill="{MUTED}" x="{x + 18:g}" y="{y + 10}">{share}</text>'
    x = left + 42 + len(COLOURS) * 68
    yield f'<circle class="reached" cx="{x + 6:g}" cy="{y + 6}" r="3" fill="{INK}" stroke="{PAPER}"/>'
    yield f'<text class="muted" fill="{MUTED}" x="{x + 14:g}" y="{y + 10}">reached the owner</text></g>'
