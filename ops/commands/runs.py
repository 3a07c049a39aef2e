"""`cogitate runs`: list the runs of a data folder."""

from __future__ import annotations

import json

from redis import Redis
from rich.table import Table

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal, visible
from cogitate.ops.command_options import AsJson, DataDir, Verbose, read_settings
from cogitate.ops.formatting.amounts import by_unit, format_cost, real_day_json, real_day_line
from cogitate.ops.formatting.run import ended_jobs
from cogitate.ops.open_state import open_state
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.inspection.vitals import UNREADABLE
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import run_names

OTHERS = 62  # the fewest characters of all columns but the name

EXAMPLE = "Example: cogitate runs --data-dir .cogitate"


def runs(data_dir: DataDir = None, as_json: AsJson = False, verbose: Verbose = 0) -> int:
    """List the runs of a data folder with status, tick, spending and last host."""
    logs.configure(verbose)
    settings = read_settings(data_dir=data_dir)
    with open_state(settings) as client:
        show_runs(client, settings, as_json)
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
    if found:
        longest = max(len(visible(one.run)) for one in found)
        console.width = max(console.width, longest + OTHERS)  # a narrower terminal wraps the lines
        console.print(_table(found, longest))
    elif not damaged:
        console.print("no runs yet; start one with: cogitate run", highlight=False)
    day = RealDay(client, settings).spending()
    if day.limited:
        console.print(real_day_line(day), highlight=False, soft_wrap=True)
    for why in damaged.values():
        console.print(why, highlight=False, soft_wrap=True, style="yellow")
    wrong = redis_problems(client)
    for what in wrong:
        console.print(f"Redis {what}", highlight=False, soft_wrap=True, style="yellow")
    if as_json:
        unreadable = [{"run": name, "status": UNREADABLE, "why": why} for name, why in damaged.items()]
        runs = [_json(one) for one in found] + unreadable
        today = {"real_day": real_day_json(day)} if day.limited else {}
        print(json.dumps({"runs": runs, **today, **({"redis": wrong} if wrong else {})}), flush=True)


def _json(one: RunSummary) -> dict[str, object]:
    facts = {name: getattr(one, name) for name in ("run", "status", "held", "tick", "minute", "agents")}
    return {
        **facts,
        "jobs": ended_jobs(one),
        "spent": by_unit(one.spent),
        "host": one.host,
        "digest": one.digest,
    }


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
