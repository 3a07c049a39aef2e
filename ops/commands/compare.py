"""`cogitate compare`: the first difference between two runs, its cause, and how it spreads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import day_and_time
from cogitate.ops.capsule.reading import open_runs
from cogitate.ops.command_options import SharedOptions, read_settings
from cogitate.ops.report.comparison_page import write_comparison, write_map
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.compared.first_difference import describe_change
from cogitate.scheduler.inspection.comparison import Comparison, Side, compare_runs
from cogitate.scheduler.inspection.stored_run import clock_of
from cogitate.scheduler.ledger.run_store import RunStore

MOST = 20  # the most owners listed


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A run, or the file of its capsule (.capsule).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another run, or the file of its capsule.")],
    since: Annotated[int, typer.Option(metavar="TICK", min=1, help="Compare from this tick on.")] = 1,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with a map of the owners.", show_default=False),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Write the map alone, as a figure.", show_default=False),
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Compare two runs: the first tick at which they differ, its cause, and how the difference spreads.

    The command verifies both journals. Trimmed ticks come from the files in the data folder; if these are missing, the
    comparison begins with the first tick that both runs have. The exit code is 1 when a journal was changed, but 0 when
    the runs differ.
    """
    settings = options.settings()
    load_kinds(settings)
    with open_runs(settings, a, b) as (one, other):
        comparison = compare_runs(one.client, one.run, other.run, settings.data_dir, since, of_b=other.client)
        clock = clock_of(RunStore.open(one.client, one.run))
    console = Terminal(stderr=options.as_json)
    with clock.in_force():
        for line in comparison_lines(comparison, since):
            console.print(line)
        for path, write in ((html, write_comparison), (svg, write_map)):
            if path is not None:
                write(comparison, path)
                console.print(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB)")
    if options.as_json:
        print(json.dumps(msgspec.to_builtins(comparison)), flush=True)
    return 0


def read_comparison(a: str, b: str, *, settings: Settings | None = None, since: int = 1) -> Comparison:
    """Return the comparison of two runs, from the tick `since` on.

    Args:
        a: a run on the server, or the file of a capsule, such as "town.capsule"; likewise `b`.
        settings: the settings that locate the runs; by default those of the environment and cogitate.toml.

    Raises:
        RunMissing: if a run does not exist.
        JournalError: when a journal was changed.
        InputError: if the runs have no tick in common from `since` on.
    """
    settings = settings or read_settings()
    load_kinds(settings)
    with open_runs(settings, a, b) as (one, other):
        return compare_runs(one.client, one.run, other.run, settings.data_dir, since, of_b=other.client)


def comparison_lines(comparison: Comparison, since: int = 1) -> list[str]:
    """Return a comparison in lines of text."""
    lines = []
    if comparison.first > since:
        lines.append(f"The journals are trimmed: the comparison begins with tick {comparison.first:,}")
    if comparison.differs_before:
        lines.append(f"The runs already differ before tick {comparison.first:,}; this comparison begins there")
    names: dict[Side, str] = {"a": comparison.a, "b": comparison.b}
    for forked, origin in comparison.origins.items():
        lines.append(f"{names[forked]} is a fork of {origin.run} at tick {origin.tick:,}")
        lines += [f"  changed: {describe_change(change)}" for change in origin.changes]
    first = comparison.difference
    if first is None:
        lines.append(
            f"Ticks {comparison.first:,} to {comparison.last:,} of {comparison.a} and {comparison.b} are equal"
        )
    else:
        lines.append(f"First difference at tick {first.tick:,} ({day_and_time(first.minute)}), cause: {first.cause}")
        about = f"{first.owner}: " if first.owner else ""
        lines.append(f"  in {comparison.a}: {about}{first.a or 'nothing'}")
        lines.append(f"  in {comparison.b}: {about}{first.b or 'nothing'}")
        ticks = comparison.last - comparison.first + 1
        lines.append(
            f"{comparison.differing_ticks:,} of {ticks:,} ticks differ, and {len(comparison.spread):,} owners:"
        )
    for one in comparison.spread[:MOST]:
        through = f" through {one.through}" if one.through else ""
        lines.append(f"  tick {one.tick:,} ({day_and_time(one.minute)}): {one.owner} by {one.by}{through}")
    if len(comparison.spread) > MOST:
        lines.append(f"  and {len(comparison.spread) - MOST:,} more; --json and --html have all")
    for kind in sorted({*comparison.figures["a"], *comparison.figures["b"]}):
        cells = []
        for side in (comparison.figures["a"], comparison.figures["b"]):
            figures = side.get(kind)
            cells.append(
                "none"
                if figures is None
                else f"{figures.jobs:,} jobs, {figures.by_model:,} by a model, {figures.late:,} late, "
                f"{figures.denied:,} refused by the budget, {figures.tokens:,} tokens, ${figures.usd_micros / 1e6:.4f}"
            )
        if cells[0] == cells[1]:
            lines.append(f"{kind} in both: {cells[0]}")
        else:
            lines += [f"{kind} in {comparison.a}: {cells[0]}", f"{kind} in {comparison.b}: {cells[1]}"]
    if comparison.ends[0] != comparison.ends[1]:
        lines.append(
            f"{comparison.a} ends at tick {comparison.ends[0]:,}, {comparison.b} at tick {comparison.ends[1]:,}"
        )
    return lines
