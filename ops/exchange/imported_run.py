"""Creates a run from an imported file, through the tick loop as any host does."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from redis import Redis

from cogitate.hosting.opening import description_of
from cogitate.hosting.tick_loop import PATIENT, TickLoop
from cogitate.memory.policies.compaction import TARGET
from cogitate.ops.exchange.incoming import Incoming
from cogitate.ops.world_choice import WorldChoice, minutes_per_tick
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.world import StillWorld

IMPORTED = "imported"  # key in a run's description that marks an import


class ImportedRun(NamedTuple):
    """A run that an import created."""

    run: str
    ticks: int
    minute: int  # game time of its last tick
    remembered: dict[str, int]  # owner -> live entries
    raised: dict[str, int]  # limits of memory that were raised to hold everything
    archived: int  # entries archived at once by the run's memory policy


def settings_of(found: Incoming, settings: Settings) -> tuple[Settings, dict[str, int]]:
    """Return the settings of the run, with sufficient limits of memory, and the limits that were raised."""
    most = found.most
    needed = {
        # Above this share of the limit, pruning would remove imported memories at once.
        "max_observations": ceil((most["observation"] + most["message"] + most["summary"]) / TARGET),
        "max_reflections": most["reflection"],
        "max_plans": most["plan"],
    }
    raised = {name: count for name, count in needed.items() if count > getattr(settings.memory_limits(), name)}
    # Without workers, due jobs wait for the host that resumes the run.
    return settings.changed(**{"workers": 0, "wait": PATIENT, "tick_rate": None} | raised), raised


def is_unfinished_import(client: Redis, run: str) -> bool:
    """Return whether an interrupted import left the run, with no committed tick.

    Raises:
        RunMissing: if the run does not exist.
    """
    (tick,) = RunStore.open(client, run).state("tick")
    return int(tick or 0) == 0 and IMPORTED in description_of(client, run)


def import_run(found: Incoming, run: str, settings: Settings, *, replace: bool = False, form: str = "") -> ImportedRun:
    """Create a run with the memories of a file, and leave it resumable.

    It starts at the game time of the last memory; its first tick appends all memories.

    Raises:
        RunExists: when the run exists and `replace` is not set.
        RunHeld: when a host is active on the run to replace.
        LedgerError: as a loop raises it.
    """
    chosen, raised = settings_of(found, settings)
    world = StillWorld(
        found.profiles, found.locations, minutes_per_tick=minutes_per_tick(chosen), start_minute=found.last_minute
    )
    choice = WorldChoice(still=True, minutes_per_tick=world.minutes_per_tick, start_minute=world.start_minute)
    described = choice.describe() | {"ticks": str(world.ticks_per_day), IMPORTED: form}
    with TickLoop(
        run=run,
        owners=found.profiles,
        settings=chosen,
        locations=world.locations,
        start_minute=world.start_minute,
        exist="replace" if replace else "create",
        describe=described,
        log_warnings=False,
    ) as loop:
        with loop.next_tick() as tick:  # one tick only: at a second, jobs could be due and change memories
            for effect in found.effects():
                loop.apply(effect)
            loop.checkpoint(world.dump())  # with a checkpoint, so that the host that resumes does not repeat this tick
        remembered = {owner: len(loop.state.streams[owner].live()) for owner in sorted(found.profiles)}
        archived = found.count - sum(remembered.values())
        return ImportedRun(run, tick.number, tick.minute, remembered, raised, archived)
