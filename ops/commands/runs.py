"""`cogitate runs` lists the runs of a data folder; `status` shows one, `move` moves one, and `delete` removes one."""

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
from cogitate.ops.formatting.vitals import endpoints_table, worker_lines
from cogitate.ops.waiting_runs import WaitingRun, waiting_runs, waiting_table
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.urls import check_redis_url, place_of, redact_url
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.inspection.summary import RunReader, RunSummary, summarise_run
from cogitate.scheduler.inspection.vitals import UNREADABLE
from cogitate.scheduler.journal.exported import remove_exported
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.connect import check, check_keeps_runs, connect_to_read, ledger_of_run, ledgers_of
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.moving import call_off, leaving, move_run
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import missing_run, run_exists, run_names
from cogitate.scheduler.ledger.worker_signs import workers_seen

OTHERS = 62  # the minimum width of all columns except the name, in characters


def runs(options: SharedOptions) -> int:
    """List the runs of a data folder with status, tick, spending and last host, and which of them wait for workers."""
    settings = options.settings()
    with open_state(settings) as client:
        show_runs(client, settings, options.as_json)
    return 0


def show_runs(client: Redis, settings: Settings, as_json: bool) -> None:
    """Print the list of runs, and their total spending today if it is limited."""
    readable, damaged = [], {}
    for name in run_names(client):
        try:
            readable.append(summarise_run(client, name))
        except (LedgerError, JournalError) as error:
            damaged[name] = str(error)
    console = Terminal(stderr=as_json)
    waiting = waiting_runs(client, time.time())
    if readable:
        longest = max(len(visible(summary.run)) for summary in readable)
        console.width = max(console.width, longest + OTHERS)  # a narrower terminal wraps the lines
        console.print(_table(readable, longest))
    elif not damaged:
        console.print("no runs yet; start one with: cogitate run")
    if any(run.waiting for run in waiting):
        console.print(waiting_table(waiting))
    day = RealDay(client, settings).spending()
    if day.limited:
        console.print(real_day_line(day))
    for why in damaged.values():
        console.print(why, style="yellow")
    problems = redis_problems(client)
    for problem in problems:
        console.print(f"Redis {problem}", style="yellow")
    if as_json:
        unreadable = [{"run": name, "status": UNREADABLE, "why": why} for name, why in damaged.items()]
        at_workers = {run.run: run for run in waiting}
        runs = [_json(summary, at_workers.get(summary.run)) for summary in readable] + unreadable
        today = {"real_day": real_day_json(day)} if day.limited else {}
        print(json.dumps({"runs": runs, **today, **({"redis": problems} if problems else {})}), flush=True)


def _json(summary: RunSummary, at_workers: WaitingRun | None) -> dict[str, object]:
    facts = {name: getattr(summary, name) for name in ("run", "status", "held", "tick", "minute", "agents")}
    facts |= {"jobs": ended_jobs(summary), "spent": by_unit(summary.spent)}
    facts |= {"host": summary.host, "digest": summary.digest}
    return facts if at_workers is None else facts | {"workers": msgspec.to_builtins(at_workers)}


def _table(summaries: list[RunSummary], longest: int) -> Table:
    """Return the list of runs; names never wrap, so that a user can copy them."""
    table = Table()
    table.add_column("run", no_wrap=True, min_width=longest)
    for name in ("status", "tick", "game time", "agents", "jobs", "spent", "last host"):
        table.add_column(name, overflow="fold")
    for summary in summaries:
        table.add_row(
            summary.run,
            summary.state,
            f"{summary.tick:,}",
            summary.clock.date_and_time(summary.minute),
            str(summary.agents),
            f"{ended_jobs(summary):,}",
            format_cost(summary.spent),
            summary.host,
        )
    return table


def status(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="The run's name, or the file of its capsule; without it, list all runs."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the run until it ends; outside a terminal, print a line per change.")
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
        problems = redis_problems(client)
    has_host = summary.held and summary.status in HELD
    for line in worker_lines(workers, sum(summary.open.values()) if has_host else 0):
        console.print(line, style="yellow")
    for problem in problems:
        console.print(f"Redis {problem}", style="yellow")
    print_summary(console, summary, every_owner=every_owner)
    if endpoints:
        console.print(endpoints_table(endpoints))
    if day.limited:
        console.print(real_day_line(day))
    if options.as_json:
        facts = msgspec.to_builtins(summary) | ({"real_day": real_day_json(day)} if day.limited else {})
        if endpoints:
            facts["endpoints"] = msgspec.to_builtins(endpoints)
        if workers.expected:
            facts["workers"] = msgspec.to_builtins(workers)
        if problems:
            facts["redis"] = problems
        print(json.dumps(facts), flush=True)
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

    If the run has no host, the display says so, until a host resumes the run or the user presses Ctrl-C.

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


def move(
    run: RunName,
    to: Annotated[str, typer.Option(metavar="URL", help="The other ledger; one of redis_urls needs no password here.")],
    options: SharedOptions,
) -> int:
    """Move a run without a host to another ledger. If the command is interrupted, the same command completes it.

    To cancel an interrupted move, give the ledger that the run is on; this is refused once the run may have arrived.
    """
    settings = options.settings()
    try:
        check_redis_url(to)
    except ValueError as error:
        raise ConfigurationError(f"--to: {error}") from None
    place = place_of(to)
    with open_state(settings) as client:
        ledgers = {name or place_of(settings.state_url()): one for name, one in ledgers_of(client).items()}
        here = next((name for name, one in ledgers.items() if leaving(one, run)), "")
        if not here:
            found = ledger_of_run(client, run)
            here = next(name for name, one in ledgers.items() if one is found)
        if here == place:
            _stay(ledgers[here], run)
            keys = 0
        elif place in ledgers:
            keys = move_run(ledgers[here], ledgers[place], run, place)
        else:
            with connect_to_read(to, settings.socket_timeout) as target:
                check(target, to)
                check_keeps_runs(target, redact_url(to))
                keys = move_run(ledgers[here], target, run, place)
    moved = f"({keys:,} keys)" if keys else "and stays there"
    Terminal(stderr=True).print(f"Run {run} is on {place} {moved}")
    if options.as_json:
        print(json.dumps({"run": run, "ledger": place, "keys": keys}), flush=True)
    return 0


def _stay(ledger: Redis, run: str) -> None:
    if not run_exists(ledger, run):
        raise missing_run(ledger, run)
    call_off(ledger, run)
