"""`cogitate budget`: show and change the limits of a running run."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
import typer

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import EveryOwner, RequestOptions, RunName, SharedOptions, open_state
from cogitate.ops.commands.steer import request_controls
from cogitate.ops.formatting.budget import budget_table, limit_lines
from cogitate.ops.operator_requests import limit_request
from cogitate.scheduler.budget.budget import figure_of, format_limit
from cogitate.scheduler.budget.budget_lines import budget_lines, limits_in_force, pools_of
from cogitate.scheduler.budget.call_value import read_values, value_lines
from cogitate.scheduler.config.limits import MAX_LIMIT, parse_limit_name
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.stored_run import clock_of, limits_of
from cogitate.scheduler.ledger.run_store import RunStore

Action = Literal["show", "set", "unset"]


def budget(
    run: RunName,
    action: Annotated[
        Action, typer.Argument(metavar="[show|set|unset]", help="Show the limits, or set or remove one.")
    ] = "show",
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The limit: period.scope.unit, such as day.tokens.", show_default=False),
    ] = None,
    value: Annotated[
        float | None,
        typer.Argument(
            metavar="[VALUE]", min=0, max=MAX_LIMIT, help="The limit; for `usd`, in dollars.", show_default=False
        ),
    ] = None,
    every_owner: EveryOwner = False,
    *,
    request: RequestOptions,
    options: SharedOptions,
) -> int:
    """Show the limits in force and their spending, or set or lift one. A change takes effect at the next tick.

    A limit may be lower than the amount spent: running jobs continue, and no further ones are admitted.
    """
    if (name is None) != (action == "show") or (value is None) != (action != "set"):
        raise ConfigurationError("give `set NAME VALUE`, `unset NAME`, or `show` alone")
    if name is None:
        return _show(run, options, every_owner=every_owner)
    control = limit_request(name, value)
    limited = parse_limit_name(control.name)
    with open_state(options.settings()) as client:
        store = RunStore.open(client, run)
        if limited.owner and not client.hexists(store.key("owners"), limited.owner):
            warning = f"{limited.owner} is not in run {run}: the limit holds once it joins"
            Terminal(stderr=True).print(warning)
        pools = pools_of(store)
    limit, unit = control.value, limited.unit
    new = "lifted" if limit is None else format_limit(limit, pools.of(unit, limit), figure_of(unit))
    return request_controls(run, [control], [f"limit {control.name} {new}"], request, options)


def _show(run: str, options: SharedOptions, *, every_owner: bool) -> int:
    with open_state(options.settings()) as client:
        store = RunStore.open(client, run)
        limits, clock = limits_of(store), clock_of(store)
        in_force = limits_in_force(limits.now, pools_of(store))
        lines = [line for line in budget_lines(store, limits.last_of) if line.limit is not None]
        values = read_values(store)
    console = Terminal(stderr=options.as_json)
    for line_of_limit in limit_lines(in_force):
        console.print(line_of_limit)
    for change in limits.changes:
        console.print(f"changed at tick {change.tick:,}")
    with clock.in_force():
        table = budget_table(lines, in_force, fold=not every_owner, width=console.width)
    if lines:
        console.print(table)
    for line in value_lines(values):
        console.print(line)
    if options.as_json:
        facts = {
            "run": run,
            "limits": {limit.name: limit.limit for limit in in_force},
            "for_retries": {limit.name: limit.for_retries for limit in in_force if limit.for_retries},
            "changed": [change.tick for change in limits.changes],
            "budget": msgspec.to_builtins(lines),
            "values": {"changes": values.changes, "checked": msgspec.structs.asdict(values.checked)},
        }
        print(json.dumps(facts), flush=True)
    return 0
