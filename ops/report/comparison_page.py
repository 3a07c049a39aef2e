"""The comparison of two runs as one HTML file that loads nothing and escapes every text.

The page's script shows the thoughts behind a cell of the map.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import msgspec

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import day_and_time
from cogitate.memory.errors import InputError
from cogitate.ops.report.divergence_map import divergence_map, mapped_owners
from cogitate.ops.report.html_page import script_data, script_page, write_page
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
