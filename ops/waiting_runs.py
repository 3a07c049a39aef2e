"""The runs that wait for shared workers, how long they wait, and the runs that were served meanwhile.

A served job is one that a worker claimed; the ledger counts claims by minutes of its server's clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from redis import Redis
from rich.table import Table

from cogitate.scheduler.inspection.stored_run import clock_of
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.presence import HELD, host_of
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.scheduler.tick.figure_history import real_times_at
from cogitate.tasks.job import JobKey

MINUTES = 5  # minutes of claims that are counted, including the present one
MOST_AHEAD = 3  # the most runs listed as those that another one waits for


class WaitingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with an active host, and its use of the workers that it shares with other runs."""

    run: str
    share: int  # weight: turns of its jobs for each turn of another run's
    waiting: int  # jobs that no worker has claimed
    oldest: float | None  # seconds that the oldest of them has waited; None: none waits, or the time is unknown
    served: int  # claims in the last `MINUTES`
    share_served: float | None = None  # its part of all runs' claims; None: there were none
    share_due: float | None = None  # its weight among the waiting runs, as a fraction; None: it does not wait
    waits_for: list[str] = []  # the other runs with the most claims, most first; [] if it does not wait


def waiting_runs(client: Redis, now: float) -> list[WaitingRun]:
    """Return the runs with a host, in descending order of their waits.

    Args:
        now: seconds since 1970.
    """
    hosted = []
    for name in run_names(client):
        try:
            store = RunStore.open(client, name)
            host = host_of(store)
            if host is not None and (store.field("state", "status") or b"").decode() in HELD:
                hosted.append(_read(store, name, host.share, now))
        except (LedgerError, ValueError):  # deleted meanwhile, or unreadable, which other commands report
            continue
    return sorted(_compared(hosted), key=lambda run: (-(run.oldest or 0.0), -run.waiting, run.run))


def _read(store: RunStore, name: str, share: int, now: float) -> WaitingRun:
    waiting = store.members("unclaimed")
    oldest = None
    if waiting:
        tick = min(JobKey.parse(text.decode()).tick for text in waiting)
        at = real_times_at(store, {tick: clock_of(store).minute(tick)}).get(tick)
        oldest = None if at is None else max(0.0, now - at)
    return WaitingRun(run=name, share=share, waiting=len(waiting), oldest=oldest, served=_served(store, now))


def _served(store: RunStore, now: float) -> int:
    first = int(now // 60) - MINUTES + 1
    counts = [re.fullmatch(rb"(\d+) (\d+)", raw) for raw in store.values("served")]
    return sum(int(count[2]) for count in counts if count is not None and int(count[1]) >= first)


def _compared(runs: Sequence[WaitingRun]) -> list[WaitingRun]:
    """Return the runs with the fields that depend on all of them."""
    served, shares = sum(run.served for run in runs), sum(run.share for run in runs if run.waiting)
    by_served = sorted((run for run in runs if run.served), key=lambda run: (-run.served, run.run))
    return [
        msgspec.structs.replace(
            run,
            share_served=run.served / served if served else None,
            share_due=run.share / shares if run.waiting else None,
            waits_for=[other.run for other in by_served if other.run != run.run][:MOST_AHEAD] if run.waiting else [],
        )
        for run in runs
    ]


LONG = 120  # seconds from which a wait is shown in minutes
HEADINGS = ("run", "waiting jobs", "oldest wait", "served", "due", "waits for")


def format_wait(run: WaitingRun) -> str:
    """Format the wait of the oldest waiting job: "4 s", "3 min", or "—" if none waits or the time is unknown."""
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
    """Return a table of the runs that share workers."""
    table = Table(title=f"At shared workers, in the last {MINUTES} minutes", title_justify="left")
    for name in HEADINGS:
        table.add_column(name, overflow="fold", no_wrap=name == "run")
    for run in runs:
        table.add_row(*cells_of(run))
    return table
