"""Which runs wait for shared workers, for how long, and which were served meanwhile.

Served jobs are claims of workers, as the ledger counts them by minutes of its server's clock.
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

MINUTES = 5  # of claims that are counted, the present one included
MOST_AHEAD = 3  # runs that a waiting one is said to wait for


class WaitingRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a host is at work on, at the workers that it shares with others."""

    run: str
    share: int  # turns of its jobs for each turn of another run's
    waiting: int  # jobs that no worker has claimed
    oldest: float | None  # seconds that the oldest of them has waited; None: none waits, or it is not known
    served: int  # claims in the last minutes
    share_served: float | None = None  # of all runs' claims; None: there were none
    share_due: float | None = None  # of what the runs that wait may claim together; None: it does not wait
    waits_for: list[str] = []  # the other runs that were served most, the first most; [] if it does not wait


def waiting_runs(client: Redis, now: float) -> list[WaitingRun]:
    """Return the runs with a host, those that have waited longest first.

    Args:
        now: seconds since 1970.
    """
    found = []
    for name in run_names(client):
        try:
            store = RunStore.open(client, name)
            host = host_of(store)
            if host is not None and (store.field("state", "status") or b"").decode() in HELD:
                found.append(_read(store, name, host.share, now))
        except (LedgerError, ValueError):  # deleted meanwhile, or unreadable, as other commands say
            continue
    return sorted(_compared(found), key=lambda one: (-(one.oldest or 0.0), -one.waiting, one.run))


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
    counted = [re.fullmatch(rb"(\d+) (\d+)", raw) for raw in store.values("served")]
    return sum(int(one[2]) for one in counted if one is not None and int(one[1]) >= first)


def _compared(runs: Sequence[WaitingRun]) -> list[WaitingRun]:
    """Return the runs with their parts of what all were served, and of what those that wait may claim."""
    served, shares = sum(one.served for one in runs), sum(one.share for one in runs if one.waiting)
    by_served = sorted((one for one in runs if one.served), key=lambda one: (-one.served, one.run))
    return [
        msgspec.structs.replace(
            one,
            share_served=one.served / served if served else None,
            share_due=one.share / shares if one.waiting else None,
            waits_for=[other.run for other in by_served if other.run != one.run][:MOST_AHEAD] if one.waiting else [],
        )
        for one in runs
    ]


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
