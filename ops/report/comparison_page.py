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


def comparison_page(found: Comparison) -> str:
    """Return the page. The clock in force names its times."""
    owners = mapped_owners(found)
    shown = {visible(owner): {str(window.window): _shown(window) for window in found.owners[owner]} for owner in owners}
    return script_page(
        "comparison",
        found=found,
        map=divergence_map(found, caption(found)) if owners else "",
        caption=caption(found),
        at=day_and_time,
        kinds=sorted({*found.figures["a"], *found.figures["b"]}),
        data=script_data({"runs": [visible(found.a), visible(found.b)], "owners": shown}),
    )


def caption(found: Comparison) -> str:
    """Return the caption that a reader of the map alone needs: what it shows, and of which runs."""
    mapped = len(mapped_owners(found))
    shown = "" if mapped == len(found.owners) else f", of which the first {mapped:,} are shown"
    ticks = f"ticks {found.first:,} to {found.last:,}, {found.differing_ticks:,} of which differ"
    return (
        f"Divergence of {found.a} and {found.b} over {ticks}. A row is an owner, in the order in which the difference "
        f"reached them ({len(found.owners):,} of {found.population:,} differ{shown}). The colour is the share of the "
        "owner's entries and deeds in that time, over both runs, that the other run lacks. "
        f"{found.a}: {_about(found, 'a')}. {found.b}: {_about(found, 'b')}. Cogitate {version('cogitate')}."
    )


def _about(found: Comparison, side: Side) -> str:
    run, origin = found.runs.get(side, ComparedRun()), found.origins.get(side)
    fork = f"fork of {origin.run} at tick {origin.tick:,}" if origin is not None else ""
    world = [f"{name} {text}" for name, text in run.world.items()]
    models = ", ".join(run.models) or "no model"
    return ", ".join(filter(None, (fork, *world, models, f"digest {run.digest}" if run.digest else "")))


def write_comparison(found: Comparison, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: when the file cannot be written.
    """
    write_page(comparison_page(found), path)


def write_map(found: Comparison, path: Path) -> None:
    """Write the map as a separate SVG file.

    Raises:
        InputError: when the runs do not differ, so that there is no map.
        OSError: when the file cannot be written.
    """
    if not mapped_owners(found):
        raise InputError(f"no memory of {found.a} and {found.b} differs: there is no map to write")
    write_page(divergence_map(found, caption(found)), path)


def _shown(window: Window) -> dict[str, object]:
    return {
        "counts": [window.shared, window.only_a, window.only_b],
        "thoughts": [[_thought(thought) for thought in side] for side in (window.a, window.b)],
    }


def _thought(thought: Thought) -> dict[str, object]:
    texts = {name: visible(text) for name, text in msgspec.structs.asdict(thought).items() if isinstance(text, str)}
    at = day_and_time(thought.minute)
    return texts | {"at": f"tick {thought.tick:,}, {at}", "evidence": [visible(text) for text in thought.evidence]}
