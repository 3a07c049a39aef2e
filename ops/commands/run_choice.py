"""The run that `cogitate run` hosts: a new one under a free name, or one to resume."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from redis import Redis

from cogitate.hosting.opening import check_not_cancelled, description_of
from cogitate.ops.command_options import is_capsule
from cogitate.ops.estimate.demand import demand_of
from cogitate.ops.estimate.estimates import KEPT, estimate
from cogitate.ops.fork_changes import TickOf, read_world
from cogitate.ops.world_choice import WorldChoice, default_days
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.overview import RESUME
from cogitate.scheduler.inspection.stored_run import tick_at, tick_named
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.capsule.verifying import open_capsule
from cogitate.scheduler.journal.changes import Change, Fork
from cogitate.scheduler.ledger.errors import RunExists
from cogitate.scheduler.ledger.presence import check_unheld
from cogitate.scheduler.ledger.run_store import RunStore, missing_run, run_exists, run_names
from cogitate.simulation.world import World
from cogitate.tasks.registry import kinds

NUMBERS = (
    "agents",
    "seed",
    "minutes_per_tick",
    "start_minute",
    "unchanged",
    "ticks",
)  # integers in a world's description

REQUIRED = {
    "recorded": ("minutes_per_tick", "ticks"),
    "town": ("agents", "seed", "minutes_per_tick", "ticks"),
    "story": ("seed", "minutes_per_tick", "ticks"),
    "still": ("minutes_per_tick", "start_minute", "ticks"),
}


@dataclass(frozen=True, kw_only=True)
class RunChoice:
    """A run, ready to be opened."""

    name: str
    world: World
    ticks: int  # the whole length
    resume: bool
    take_over: bool = False
    describe: dict[str, str]  # stored with the run
    fork: Fork | None = None  # the source of a new run


def new_run(
    client: Redis,
    choice: WorldChoice,
    world: World,
    settings: Settings,
    name: str | None,
    days: int | None,
    ticks: int | None,
    options: str,
) -> RunChoice:
    """Return a new run; its default name is the first free one of town-1, town-2, …

    The run stores its estimate, which a report compares with its spending, and the command that resumes it.

    Args:
        options: the command-line options that the command to resume must repeat.

    Raises:
        RunExists: when a run of this name exists.
    """
    names = run_names(client)
    if name in names:
        raise RunExists(
            f"run {name!r} exists already: resume it (--resume), choose another name (--run), or remove it first "
            f"(cogitate delete {name})"
        )
    ticks = ticks or (days or default_days(world)) * world.ticks_per_day
    agents = sum(owner.startswith("agent:") for owner in world.owners())
    begun_days = -(-ticks // world.ticks_per_day)
    expected = estimate(settings, kinds(), demand_of(client, settings), agents=max(1, agents), days=begun_days)
    name = name or _free_name(choice.stem, names)
    command = f"cogitate run --run {name} --resume{options}"
    describe = choice.describe() | {"ticks": str(ticks), KEPT: msgspec.json.encode(expected).decode(), RESUME: command}
    return RunChoice(name=name, world=world, ticks=ticks, resume=False, describe=describe)


def resumed_run(client: Redis, name: str, days: int | None, ticks: int | None, take_over: bool) -> RunChoice:
    """Return an existing run with its original world, and its original length unless another is given.

    Raises:
        RunMissing: when no run of this name exists.
        ConfigurationError: when another program created it.
        RunHeld: when a host holds it, and `take_over` is False.
        LedgerError: when it is cancelled.
    """
    if not run_exists(client, name):
        raise missing_run(client, name, " to resume")
    check_not_cancelled(RunStore.open(client, name), name)
    if not take_over:
        check_unheld(RunStore.open(client, name), name, "take it over (--take-over)")
    kept = description_of(client, name)
    world = WorldChoice.of_description(name, kept).open()
    ticks = ticks or (days * world.ticks_per_day if days else int(kept["ticks"]))
    return RunChoice(name=name, world=world, ticks=ticks, resume=True, take_over=take_over, describe=kept)


def forked_run(
    client: Redis,
    source: str,
    at: str,
    name: str,
    changes: tuple[Change, ...],
    changed_world: Path | None,
    days: int | None,
    ticks: int | None,
    options: str,
) -> RunChoice:
    """Return a fork of a run, with the world of its source, and the same length unless another is given.

    Args:
        at: a tick, or a game time such as "day 2 12:00".
        changes: changes to limits, settings and templates, from the next tick on.
        changed_world: a file of changes to the world.
        options: the command-line options that the command to resume must repeat.

    Raises:
        RunMissing: when the source does not exist.
        ConfigurationError: when another program created it, or `at` cannot be read.
    """
    if is_capsule(source):
        run, tick_of, kept = _read_capsule(Path(source))
        fork = Fork(run=run, tick=tick_of(at), changes=changes, capsule=Path(source))
    else:
        tick_of = partial(tick_at, RunStore.open(client, source))
        fork = Fork(run=source, tick=tick_of(at), changes=changes)
        kept = description_of(client, source)
    if changed_world is not None:
        fork = msgspec.structs.replace(fork, changes=(*changes, *read_world(changed_world, tick_of)))
    world = WorldChoice.of_description(fork.run, kept).open()
    ticks = ticks or (days * world.ticks_per_day if days else int(kept["ticks"]))
    command = f"cogitate run --run {name} --resume{options}"
    return RunChoice(
        name=name,
        world=world,
        ticks=ticks,
        resume=False,
        describe=kept | {"ticks": str(ticks), RESUME: command},
        fork=fork,
    )


def _read_capsule(path: Path) -> tuple[str, TickOf, dict[str, str]]:
    """Return the name of a capsule's run, the function that finds its ticks, and its description.

    Raises:
        CapsuleError: when the capsule was altered, or lacks the recording that is its world.
    """
    with open_capsule(path) as capsule:
        manifest, kept = capsule.manifest, dict(capsule.manifest.description)
        facts = capsule.verify().facts
        if kept.get("world") == "recorded":
            _ = capsule.recording
            kept["path"] = str(path.absolute())
    wrong = [name for name, text in kept.items() if name in NUMBERS and not re.fullmatch(r"[0-9]{1,9}", text)]
    wrong += [name for name in REQUIRED.get(kept.get("world", ""), ()) if name not in kept]
    if wrong:
        raise CapsuleError(f"{path} cannot be forked: its description has no number for {wrong[0]!r}")
    return manifest.run, partial(tick_named, facts=facts), kept


def _free_name(stem: str, taken: Sequence[str]) -> str:
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"
