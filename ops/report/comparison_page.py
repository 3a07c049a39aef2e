"""The comparison of two runs as one HTML file that loads nothing and escapes every text.

Its script shows the thoughts behind a cell of the map.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import day_and_time
from cogitate.ops.report.script_page import script_data, script_page, write_page
from cogitate.scheduler.inspection.comparison import Comparison, Thought, Window

MOST = 200  # owners on the map, in the order in which the difference reached them
LEVELS = 5  # colours of a cell: 0 is equal, the last one has nothing in common


def comparison_page(found: Comparison) -> str:
    """Return the page. The clock in force names its times."""
    owners = [one for one in found.spread if one.owner in found.owners][:MOST]
    rows = []
    for one in owners:
        windows = {window.window: window for window in found.owners[one.owner]}
        cells = [_cell(windows.get(number)) for number in range(len(found.minutes))]
        rows.append({"owner": one.owner, "cells": cells})
    shown = {one.owner: {str(window.window): _shown(window) for window in found.owners[one.owner]} for one in owners}
    return script_page(
        "comparison",
        found=found,
        rows=rows,
        more=len(found.owners) - len(rows),
        times=[day_and_time(minute) for minute in found.minutes],
        at=day_and_time,
        kinds=sorted({*found.figures["a"], *found.figures["b"]}),
        levels=LEVELS,
        data=script_data({"runs": [found.a, found.b], "owners": shown}),
    )


def write_comparison(found: Comparison, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: when the file cannot be written.
    """
    write_page(comparison_page(found), path)


def _cell(window: Window | None) -> tuple[int, str]:
    """Return the colour and the text of a cell."""
    if window is None:
        return 0, "equal"
    return max(1, round(window.share * (LEVELS - 1))), f"{round(100 * window.share)}% differ"


def _shown(window: Window) -> dict[str, object]:
    return {
        "counts": [window.shared, window.only_a, window.only_b],
        "thoughts": [[_thought(thought) for thought in side] for side in (window.a, window.b)],
    }


def _thought(thought: Thought) -> dict[str, object]:
    told = {name: visible(text) for name, text in msgspec.structs.asdict(thought).items() if isinstance(text, str)}
    at = day_and_time(thought.minute)
    return told | {"at": f"tick {thought.tick:,}, {at}", "evidence": [visible(text) for text in thought.evidence]}
