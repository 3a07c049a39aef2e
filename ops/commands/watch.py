"""The display of `cogitate status --watch`: redrawn on a terminal, elsewhere a line per change."""

from __future__ import annotations

import time

from redis import Redis
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from cogitate.ops.formatting.amounts import format_cost
from cogitate.ops.formatting.run import degraded, ended_jobs, jobs_table, run_budget_table
from cogitate.scheduler.inspection.summary import RunReader, RunSummary

EVERY = 0.5  # seconds between two reads


def watch_run(client: Redis, run: str, console: Console) -> RunSummary:
    """Show a run until its host leaves it, and return its last summary.

    Without a host the display says so, and waits until a host resumes the run or the user presses Ctrl-C.

    Raises:
        RunMissing: when the run does not exist, or is deleted meanwhile.
    """
    reader = RunReader(client, run)
    summary = reader.read()
    if not console.is_terminal:
        printed = ""
        while True:
            line = one_line(summary)
            if line != printed:
                console.print(line, highlight=False, soft_wrap=True)
                printed = line
            if summary.status not in ("running", "paused"):
                return summary
            time.sleep(EVERY)  # pause between two reads
            summary = reader.read()
    with Live(_drawn(summary), console=console, auto_refresh=False, transient=True) as live:
        while summary.status in ("running", "paused"):
            time.sleep(EVERY)  # pause between two reads
            summary = reader.read()
            live.update(_drawn(summary), refresh=True)
    return summary


def one_line(summary: RunSummary) -> str:
    """Return the progress of a run on one line."""
    reasons, _ = degraded(summary)
    return (
        f"{summary.run}  {state_of(summary)}  tick {summary.tick:,}  {summary.clock.date_and_time(summary.minute)}  "
        f"jobs {ended_jobs(summary):,}, {reasons.total():,} degraded  spent {format_cost(summary.spent)}"
    )


def state_of(summary: RunSummary) -> str:
    """Return the mode that operators set for a running run, otherwise its status."""
    return summary.steering.mode if summary.status == "running" and summary.held else summary.state


def _drawn(summary: RunSummary) -> RenderableType:
    parts: list[RenderableType] = [Text(one_line(summary)), jobs_table(summary)]
    budget = run_budget_table(summary)
    return Group(*parts, budget) if budget.row_count else Group(*parts)
