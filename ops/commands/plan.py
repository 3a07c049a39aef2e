"""`cogitate plan`: show an owner's plan of the day and the status of its items."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rich.table import Table

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import clock_time, day_and_time
from cogitate.memory.entry import PlanItem
from cogitate.ops.command_options import AsJson, DataDir, OwnerName, RunName, Verbose, read_settings
from cogitate.ops.open_state import open_state
from cogitate.scheduler.inspection.stored_memory import read_memory

EXAMPLE = "Example: cogitate plan town-1 agent:isabella"


def plan(
    run: RunName,
    owner: OwnerName,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show the plan in force with the present status of each item, and which is next."""
    logs.configure(verbose)
    with open_state(read_settings(data_dir=data_dir)) as client:
        kept = read_memory(client, run, owner)
    plan = kept.view.plan()
    found = kept.stream.entries[plan.number] if plan is not None else None
    console = Terminal(stderr=as_json)
    with kept.view.clock.in_force():
        console.print(f"{owner} of run {run}: {day_and_time(kept.minute)}", highlight=False)
        if plan is None or found is None:
            console.print("no plan in force")
        else:
            until = f"until {day_and_time(found.valid_until)}" if kept.view.clock.has_times else "until the next plan"
            how = "provisionally by a heuristic" if found.provisional else "as requested"
            console.print(
                f"Plan {found.number}, created {how} at tick {found.tick:,}, {until}: {found.text}",
                highlight=False,
                soft_wrap=True,
            )
            console.print(items_table(plan.items))
            for label, present in (("Now", plan.now), ("Next", plan.next)):
                if present is not None:
                    console.print(f"{label}: {present.description}", highlight=False, soft_wrap=True)
    if as_json:
        facts_of_plan: dict[str, object] | None = None
        if plan is not None and found is not None:
            facts_of_plan = {
                "number": found.number,
                "tick": found.tick,
                "text": found.text,
                "provisional": found.provisional,
                "valid_until": found.valid_until,
                "items": [{name: getattr(item, name) for name in item.__struct_fields__} for item in plan.items],
                "now": plan.now.id if plan.now is not None else None,
                "next": plan.next.id if plan.next is not None else None,
            }
        facts = {"run": run, "owner": owner, "tick": kept.tick, "minute": kept.minute, "plan": facts_of_plan}
        print(json.dumps(facts), flush=True)
    return 0


def items_table(items: Iterable[PlanItem]) -> Table:
    table = Table()
    for name in ("item", "time", "what", "where", "prio.", "status"):
        table.add_column(name, overflow="fold")  # a text without spaces, such as Chinese, counts as one long word
    for item in items:
        when = "" if item.minute is None else clock_time(item.minute)
        table.add_row(item.id, when, item.description, item.location or "", str(item.priority), item.status)
    return table
