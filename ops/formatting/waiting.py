"""Formatting of runs that share workers: how long their jobs wait, and for which runs."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from cogitate.ops.waiting_runs import MINUTES, WaitingRun

LONG = 120  # seconds from which a wait is told in minutes
HEADINGS = ("run", "waiting jobs", "oldest wait", "served", "due", "waits for")


def format_wait(run: WaitingRun) -> str:
    """Return how long the oldest waiting job has waited: "4 s", "3 min", or "—" if none waits or it is not known."""
    if run.oldest is None:
        return "—"
    return f"{run.oldest:.0f} s" if run.oldest < LONG else f"{run.oldest / 60:.0f} min"


def format_share(share: float | None) -> str:
    """Format a share as a percentage; "—" if it is unknown."""
    return "—" if share is None else f"{100 * share:.0f}%"


def cells_of(run: WaitingRun) -> tuple[str, ...]:
    """Return the cells of a run under `HEADINGS`."""
    return (
        run.run,
        f"{run.waiting:,}",
        format_wait(run),
        format_share(run.share_served),
        format_share(run.share_due),
        ", ".join(run.waits_for) or "—",
    )


def waiting_table(runs: Iterable[WaitingRun]) -> Table:
    """Return a table of runs at shared workers."""
    table = Table(title=f"At shared workers, in the last {MINUTES} minutes", title_justify="left")
    for name in HEADINGS:
        table.add_column(name, overflow="fold", no_wrap=name == "run")
    for one in runs:
        table.add_row(*cells_of(one))
    return table
