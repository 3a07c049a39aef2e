"""`cogitate import`: create a run from another program's memories, through the tick loop like any host."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer
from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.hosting.terminal import Terminal
from cogitate.hosting.tick_loop import PATIENT, TickLoop
from cogitate.memory.errors import InputError
from cogitate.memory.policies.compaction import TARGET
from cogitate.ops.command_options import (
    LimitTokens,
    LimitUsd,
    Llm,
    SharedOptions,
    check_limited,
    data_dir_option,
    open_state,
    program_name,
)
from cogitate.ops.exchange.ai_town import read_ai_town
from cogitate.ops.exchange.concordia import read_concordia
from cogitate.ops.exchange.dialogue import read_dialogue
from cogitate.ops.exchange.generative_agents import read_save
from cogitate.ops.exchange.incoming import Incoming
from cogitate.ops.exchange.jsonl import read_jsonl
from cogitate.ops.exchange.letta import read_letta
from cogitate.ops.world_choice import WorldChoice, minutes_per_tick
from cogitate.scheduler.budget.settings_checks import check_prices
from cogitate.scheduler.config.settings import Settings, check_run_name
from cogitate.scheduler.ledger.errors import RunExists
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.simulation.world import StillWorld

IMPORTED = "imported"  # key in a run's description that marks an import


class ImportedRun(NamedTuple):
    """A run that an import created."""

    run: str
    ticks: int
    minute: int  # game time of its last tick
    remembered: dict[str, int]  # owner -> live entries
    raised: dict[str, int]  # memory limits raised to hold all entries
    archived: int  # entries that the run's memory policy archived at once


def settings_of(content: Incoming, settings: Settings) -> tuple[Settings, dict[str, int]]:
    """Return the settings of the run, with sufficient memory limits, and the limits that were raised."""
    most = content.most
    needed = {
        # Above this share of the limit, pruning would archive imported memories at once.
        "max_observations": ceil((most["observation"] + most["message"] + most["summary"]) / TARGET),
        "max_reflections": most["reflection"],
        "max_plans": most["plan"],
    }
    raised = {name: count for name, count in needed.items() if count > getattr(settings.memory_limits(), name)}
    # No workers: due jobs wait for the host that resumes the run.
    return settings.changed(**{"workers": 0, "wait": PATIENT, "tick_rate": None} | raised), raised


def is_unfinished_import(client: Redis, run: str) -> bool:
    """Return whether an interrupted import left the run without a committed tick.

    Raises:
        RunMissing: if the run does not exist.
    """
    (tick,) = RunStore.open(client, run).state("tick")
    return int(tick or 0) == 0 and IMPORTED in description_of(client, run)


def import_run(
    content: Incoming, run: str, settings: Settings, *, replace: bool = False, form: str = ""
) -> ImportedRun:
    """Create a run with the memories of a file, and leave it resumable.

    It starts at the game time of the last memory; its first tick appends all memories.

    Raises:
        RunExists: when the run exists and `replace` is not set.
        RunHeld: when a host is active on the run to replace.
        LedgerError: as a loop raises it.
    """
    chosen, raised = settings_of(content, settings)
    world = StillWorld(
        content.profiles, content.locations, minutes_per_tick=minutes_per_tick(chosen), start_minute=content.last_minute
    )
    choice = WorldChoice(still=True, minutes_per_tick=world.minutes_per_tick, start_minute=world.start_minute)
    described = choice.describe() | {"ticks": str(world.ticks_per_day), IMPORTED: form}
    with TickLoop(
        run=run,
        owners=content.profiles,
        settings=chosen,
        locations=world.locations,
        start_minute=world.start_minute,
        exist="replace" if replace else "create",
        describe=described,
        log_warnings=False,
    ) as loop:
        with loop.next_tick() as tick:  # only one tick: at a second one, due jobs could change memories
            for effect in content.effects():
                loop.apply(effect)
            loop.checkpoint(world.dump())  # so that the host that resumes the run does not repeat this tick
        remembered = {owner: len(loop.state.streams[owner].live()) for owner in sorted(content.profiles)}
        archived = content.count - sum(remembered.values())
        return ImportedRun(run, tick.number, tick.minute, remembered, raised, archived)


Form = Literal["jsonl", "dialogue", "generative-agents", "ai-town", "letta", "concordia"]
_SUFFIXES: dict[str, Form] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    "_checkpoint.json": "concordia",  # as Concordia names it
    ".json": "dialogue",
    ".af": "letta",
    ".zip": "ai-town",
}
_READERS: dict[Form, Callable[[Path], Incoming]] = {
    "jsonl": read_jsonl,
    "generative-agents": read_save,
    "ai-town": read_ai_town,
    "letta": read_letta,
    "concordia": read_concordia,
}


def import_memories(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file or the folder to read.", show_default=False)],
    name: Annotated[str, typer.Option("--run", metavar="NAME", help="The run to create.", show_default=False)],
    form: Annotated[
        Form | None, typer.Option("--format", help="The format of PATH (default: by its name).", show_default=False)
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="ID", help="dialogue: which of a file's conversations to read.", show_default=False),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Create no run if any item is invalid.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete a run of this name with all its memories first.")
    ] = False,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    *,
    options: SharedOptions,
) -> int:
    """Create a run with the memories in PATH, for a host to resume.

    This calls no model and starts no worker. It counts skipped items and names them on stderr.
    """
    settings = options.settings(llm=llm, limit_usd=limit_usd, limit_tokens=limit_tokens)
    check_limited(settings)
    check_prices(settings)
    check_run_name(name)
    chosen = form or _form_of(path)
    if sample is not None and chosen != "dialogue":
        raise InputError(f"--sample {sample} names a conversation of a dialogue: give it with --format dialogue only")
    content = read_dialogue(path, sample) if chosen == "dialogue" else _READERS[chosen](path)
    err = Terminal(stderr=True)
    for line in _left_out_lines(content):
        err.print(line)
    if strict and (invalid := content.left_out.total() - content.valid):
        raise InputError(f"{path}: {invalid:,} invalid items: --strict creates no run")
    with open_state(settings, create=True) as client:
        exists = name in run_names(client)
        unfinished = exists and is_unfinished_import(client, name)
        if exists and not (replace or unfinished):
            raise RunExists(f"run {name!r} exists already: choose another name (--run), or replace it (--replace)")
        if unfinished:
            err.print(f"run {name}: an interrupted import has left it empty; creating it again")
            replace = True
        made = import_run(content, name, settings, replace=replace, form=chosen)
    for line in _lines(made, content, settings):
        Terminal(stderr=options.as_json).print(line)
    if options.as_json:
        print(json.dumps(_as_json(made, content, chosen)), flush=True)
    return 0


def _form_of(path: Path) -> Form:
    if path.is_dir():
        tables = (*path.glob("playerDescriptions*"), *path.glob("*/playerDescriptions*"))
        return "ai-town" if tables else "generative-agents"
    form = next((form for end, form in _SUFFIXES.items() if path.name.lower().endswith(end)), None)
    if form is None:
        raise InputError(f"{path}: its name does not show its format: give --format")
    return form


def _left_out_lines(content: Incoming) -> list[str]:
    """Return lines about skipped items: the first ones in full, then the number of each kind."""
    total = content.left_out.total()
    lines = [f"left out: {fault}" for fault in content.faults]
    if total:
        lines.append(f"left out in all: {total:,} ({content.counted_out})")
    if content.repaired:
        counts = ", ".join(f"{name}: {count:,}" for name, count in sorted(content.repaired.items()))
        lines.append(f"repaired: {counts}")
    return lines


def _lines(made: ImportedRun, content: Incoming, settings: Settings) -> list[str]:
    owners = len(made.remembered)
    lines = [
        f"run {made.run}: {content.count:,} memories of {owners:,} {'owner' if owners == 1 else 'owners'}, up to "
        f"minute {content.last_minute:,}; its last tick is {made.ticks}, at minute {made.minute:,}"
    ]
    lines += [f"{limit} is {value:,} in this run, so that all of them fit" for limit, value in made.raised.items()]
    if made.archived:
        lines.append(f"{made.archived:,} of them were archived: the run's memory policy keeps no more")
    first = min(made.remembered)
    lines.append(f"see them: {program_name()} memory {made.run} {first}{data_dir_option(settings)}")
    lines.append(f"let them think for a day: {program_name()} run --run {made.run} --resume{data_dir_option(settings)}")
    lines.append(f'or continue it in your host: TickLoop(run="{made.run}", owners={{}}, exist="resume")')
    return lines


def _as_json(made: ImportedRun, content: Incoming, form: Form) -> dict[str, object]:
    return {
        "run": made.run,
        "format": form,
        "memories": content.count,
        "owners": made.remembered,
        "tick": made.ticks,
        "minute": made.minute,
        "left_out": dict(sorted(content.left_out.items())),
        "repaired": dict(sorted(content.repaired.items())),
        "raised": made.raised,
        "archived": made.archived,
    }
