"""`cogitate report`: write one self-contained HTML file of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from redis import Redis

from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import day_and_time
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.command_options import RunOrFile, SharedOptions
from cogitate.ops.formatting.budget import by_unit, format_cost
from cogitate.ops.formatting.run import degraded, ended_jobs
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.ops.report.estimate_section import Compared, compare, estimate_of, estimate_section
from cogitate.ops.report.page import Page, Section
from cogitate.ops.report.run_figures import RunFigures, run_figures
from cogitate.ops.report.run_section import run_section
from cogitate.ops.report.sections import (
    budget_section,
    cadence_section,
    dearest_section,
    latency_section,
    memory_section,
    results_section,
    warnings_section,
)
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.engine.engine import FIGURES
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.unreadable_entries import unreadable_entries_of


def report(
    run: RunOrFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The file to write (default RUN.html).", show_default=False),
    ] = None,
    *,
    options: SharedOptions,
) -> int:
    """Write one HTML file of a run: budget, results, latency, cadence, memory, costs, warnings and estimate.

    The file loads nothing and runs no script, so that you can mail, keep and print it. It contains no prompt and no
    memory. The command verifies the journal; the exit code is 1 when the journal was changed.
    """
    settings = options.settings()
    load_kinds(settings)
    with open_run(settings, run) as (client, run):
        path = out or Path(f"{run}.html")
        page, figures, compared = run_page(client, run, settings.data_dir)
        left_out = unreadable_entries_of(client, run)
    print_left_out(left_out)
    page.write(path)
    console = Terminal(stderr=options.as_json)
    console.print(f"wrote {path} ({path.stat().st_size / 1000:.0f} kB)")
    if options.as_json:
        print(json.dumps(_facts(run, path, figures, compared)), flush=True)
    return 0


def run_page(client: Redis, run: str, data_dir: Path) -> tuple[Page, RunFigures, list[Compared]]:
    """Return a run's report with its figures.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
    """
    summary = summarise_run(client, run)
    figures = run_figures(client, run, data_dir)
    with summary.clock.in_force():
        return _page(client, summary, figures)


def _page(client: Redis, summary: RunSummary, figures: RunFigures) -> tuple[Page, RunFigures, list[Compared]]:
    endpoints = endpoint_vitals(client)
    estimated, kept = estimate_of(client, summary.run, summary.agents)
    page = Page(f"Run {summary.run}", f"{summary.state} at tick {summary.tick:,}, {day_and_time(summary.minute)}")
    page.sections = [
        _overview(summary, figures),
        run_section(client, summary.run, figures),
        budget_section(summary, figures),
        results_section(summary, figures),
        latency_section(summary, figures, endpoints),
        cadence_section(summary, figures),
        memory_section(summary, figures),
        dearest_section(figures),
        warnings_section(summary, figures),
        *([estimate_section(estimated, kept, figures)] if summary.clock.has_times else []),  # estimates are per day
    ]
    page.footer = f"Digest {summary.digest}. Chain {summary.chain}."
    return page, figures, compare(estimated, figures)


def _overview(summary: RunSummary, figures: RunFigures) -> Section:
    reasons, jobs = degraded(summary)
    facts = [
        ("agents", f"{summary.agents:,}"),
        ("ticks", f"{summary.tick:,}"),
        ("jobs ended", f"{ended_jobs(summary):,}"),
        ("degraded", f"{100 * reasons.total() / jobs:.1f}%" if jobs else "none"),
        *(
            (figure.label, f"{sum(sum(ends.values()) for ends in summary.figures[figure.name].values()):,}")
            for figure in FIGURES
        ),
        ("spent", format_cost(summary.spent)),
        ("warnings", f"{sum(summary.warnings.values()):,}"),
    ]
    texts = []
    if figures.first > 1:
        texts.append(f"The journal and the charts begin with tick {figures.first:,}; the tables count every tick.")
    return Section("At a glance", texts, facts)


def _facts(run: str, path: Path, figures: RunFigures, compared: list[Compared]) -> dict[str, object]:
    return {
        "run": run,
        "out": str(path),
        "bytes": path.stat().st_size,
        "days": {
            str(day): {kind: by_unit(cost) for kind, cost in sorted(kinds.items())}
            for day, kinds in sorted(figures.spent.items())
        },
        "estimate": [msgspec.to_builtins(one) | {"within": one.within} for one in compared],
    }
