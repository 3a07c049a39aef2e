"""`cogitate runs` lists the runs of a data folder, `cogitate status` shows one, `cogitate delete` removes one."""

from __future__ import annotations

import json
import time
from typing import Annotated

import msgspec
import typer
from redis import Redis
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cogitate.hosting.terminal import Terminal, visible
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.command_options import EveryOwner, RunName, SharedOptions, Yes, is_capsule, is_confirmed, open_state
from cogitate.ops.formatting.budget import by_unit, format_cost, real_day_json, real_day_line
from cogitate.ops.formatting.run import degraded, ended_jobs, jobs_table, print_summary, run_budget_table
from cogitate.ops.formatting.vitals import (
    endpoints_table,
    format_failing_worker,
    format_missing_worker,
    format_unanswered_worker,
)
from cogitate.ops.waiting_runs import WaitingRun, waiting_runs, waiting_table
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.inspection.summary import RunReader, RunSummary, summarise_run
from cogitate.scheduler.inspection.vitals import UNREADABLE
from cogitate.scheduler.journal.exported import remove_exported
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.scheduler.ledger.worker_signs import workers_seen

OTHERS = 62  # the fewest characters of all columns but the name


def runs(options: SharedOptions) -> int:
    """List the runs of a data folder with status, tick, spending and last host, and which of them wait for workers."""
    settings = options.settings()
    with open_state(settings) as client:
        show_runs(client, settings, options.as_json)
    return 0


def show_runs(client: Redis, settings: Settings, as_json: bool) -> None:
    """Print the list of runs, and their total spending today if it is limited."""
    found, damaged = [], {}
    for name in run_names(client):
        try:
            found.append(summarise_run(client, name))
        except (LedgerError, JournalError) as error:
            damaged[name] = str(error)
    console = Terminal(stderr=as_json)
    waiting = waiting_runs(client, time.time())
    if found:
        longest = max(len(visible(one.run)) for one in found)
        console.width = max(console.width, longest + OTHERS)  # a narrower terminal wraps the lines
        console.print(_table(found, longest))
    if any(one.waiting for one in waiting):
        console.print(waiting_table(waiting))
    elif not damaged:
        console.print("no runs yet; start one with: cogitate run")
    day = RealDay(client, settings).spending()
    if day.limited:
        console.print(real_day_line(day))
    for why in damaged.values():
        console.print(why, style="yellow")
    wrong = redis_problems(client)
    for what in wrong:
        console.print(f"Redis {what}", style="yellow")
    if as_json:
        unreadable = [{"run": name, "status": UNREADABLE, "why": why} for name, why in damaged.items()]
        at_workers = {one.run: one for one in waiting}
        runs = [_json(one, at_workers.get(one.run)) for one in found] + unreadable
        today = {"real_day": real_day_json(day)} if day.limited else {}
        print(json.dumps({"runs": runs, **today, **({"redis": wrong} if wrong else {})}), flush=True)


def _json(one: RunSummary, at_workers: WaitingRun | None) -> dict[str, object]:
    facts = {name: getattr(one, name) for name in ("run", "status", "held", "tick", "minute", "agents")}
    found = {**facts, "jobs": ended_jobs(one), "spent": by_unit(one.spent), "host": one.host, "digest": one.digest}
    return found if at_workers is None else found | {"workers": msgspec.to_builtins(at_workers)}


def _table(found: list[RunSummary], longest: int) -> Table:
    """Return the list of runs; names never wrap, so that a user can copy them."""
    table = Table()
    table.add_column("run", no_wrap=True, min_width=longest)
    for name in ("status", "tick", "game time", "agents", "jobs", "spent", "last host"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(
            one.run,
            one.state,
            f"{one.tick:,}",
            one.clock.date_and_time(one.minute),
            str(one.agents),
            f"{ended_jobs(one):,}",
            format_cost(one.spent),
            one.host,
        )
    return table


def status(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="The run's name, or the file of its capsule; without it, all are listed."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the run until it ends; outside a terminal, a line per change.")
    ] = False,
    every_owner: EveryOwner = False,
    *,
    options: SharedOptions,
) -> int:
    """Show a run's jobs, budget, memories and warnings."""
    if watch and run is None:
        raise ConfigurationError("--watch needs a run: cogitate status RUN --watch")
    console = Terminal(stderr=options.as_json)
    settings = options.settings()
    if run is not None and is_capsule(run):
        _show_capsule(console, settings, run, every_owner, options.as_json)
        return 0
    with open_state(settings) as client:
        if run is None:
            show_runs(client, settings, options.as_json)
            return 0
        summary = watch_run(client, run, console) if watch else summarise_run(client, run)
        day = RealDay(client, settings).spending()
        endpoints = endpoint_vitals(client)
        workers = workers_seen(client)
        wrong = redis_problems(client)
    print_summary(console, summary, every_owner=every_owner)
    if endpoints:
        console.print(endpoints_table(endpoints))
    if day.limited:
        console.print(real_day_line(day))
    for missing in workers.missing:
        console.print(format_missing_worker(missing), style="yellow")
    for failing in workers.failing:
        console.print(format_failing_worker(failing), style="yellow")
    for lost in workers.unanswered:
        console.print(format_unanswered_worker(lost), style="yellow")
    for what in wrong:
        console.print(f"Redis {what}", style="yellow")
    if options.as_json:
        found = msgspec.to_builtins(summary) | ({"real_day": real_day_json(day)} if day.limited else {})
        if endpoints:
            found["endpoints"] = msgspec.to_builtins(endpoints)
        if workers.expected:
            found["workers"] = msgspec.to_builtins(workers)
        if wrong:
            found["redis"] = wrong
        print(json.dumps(found), flush=True)
    return 0


def _show_capsule(console: Terminal, settings: Settings, file: str, every_owner: bool, as_json: bool) -> None:
    with open_run(settings, file) as (client, run):
        summary = summarise_run(client, run)
    print_summary(console, summary, every_owner=every_owner)
    if as_json:
        print(json.dumps(msgspec.to_builtins(summary)), flush=True)


EVERY = 0.5  # seconds between two reads


def watch_run(client: Redis, run: str, console: Terminal) -> RunSummary:
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
                console.print(line)
                printed = line
            if summary.status not in ("running", "paused"):
                return summary
            time.sleep(EVERY)  # the display is renewed at this rate
            summary = reader.read()
    with Live(_drawn(summary), console=console, auto_refresh=False, transient=True) as live:
        while summary.status in ("running", "paused"):
            time.sleep(EVERY)  # the display is renewed at this rate
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


def delete(
    run: RunName,
    yes: Yes = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remove the run even while a host holds it; that host stops.")
    ] = False,
    *,
    options: SharedOptions,
) -> int:
    """Remove a run: its memories, its jobs, its journal and its name. This cannot be undone.

    The exit code is 1 when you answer no, 2 when a host holds the run.
    """
    console = Terminal(stderr=True)
    if not yes and not is_confirmed("delete", run, f"Remove run {run}, its memories and its journal?"):
        console.print("nothing was removed")
        return 1
    settings = options.settings()
    with open_state(settings) as client:
        keys = delete_run(client, run, force=force)
        files = remove_exported(settings.data_dir, run)
    console.print(f"Run {run} is gone ({keys:,} keys, {files:,} files of its journal)")
    if options.as_json:
        print(json.dumps({"run": run, "keys": keys, "files": files}), flush=True)
    return 0
