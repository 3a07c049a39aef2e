"""Memories of an earlier tick equal those that the ledger held then, whatever changed since."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.minds import owners_of, read_past
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.scheduler.tick.tick_iterator import Tick
from tests.live_redis import empty_redis

STEP, DAY = 60, 24  # game minutes of a tick, ticks of a day
TICKS = 4 * DAY
GUEST, COMES, GOES = "agent:guest", 3, 30
Streams = dict[str, bytes]


def written(store: RunStore) -> Streams:
    """Read the streams of all owners from the ledger, including owners that have left."""
    owners = [name.decode() for name in (*store.fields("owners"), *store.fields("retired"))]
    return {owner: dump(stream) for owner, stream in load_streams(store, owners).items()}


def lived(folder: Path, keep: int | None) -> tuple[RunStore, dict[int, Streams]]:
    """Host a run with small memories, so that many are cut; return its store, and its streams after each tick."""
    client, world, held = (
        empty_redis(),
        WorldChoice(agents=2, seed=1, minutes_per_tick=STEP).open(),
        dict[int, Streams](),
    )
    settings = Settings.tuned(seconds_per_tick=60 * STEP, data_dir=folder, max_observations=15, journal_keep=keep)

    def on_tick(tick: Tick) -> None:
        if tick.number > 1:
            held[tick.number - 1] = written(loop.ledger.store)
        if tick.number == COMES:
            loop.join(GUEST, Profile(name="Guest"))
            loop.observe(GUEST, {"text": "I have come.", "minute": tick.minute})
        elif tick.number == GOES:
            loop.leave(GUEST)

    with TickLoop(
        run="town",
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=lambda owner: {} if owner == GUEST else world.brief(owner),
        ticks=TICKS,
        inline=True,
        client=client,
    ) as loop:
        drive(loop, world, on_tick=on_tick)
    return loop.ledger.store, held


def test_the_memories_of_every_earlier_tick_are_rebuilt_exactly(tmp_path: Path) -> None:
    store, held = lived(tmp_path, None)
    assert {len(streams) for streams in held.values()} == {len(held[1]), len(held[1]) + 1}
    for tick, streams in held.items():
        assert {owner: dump(stream) for owner, stream in read_past(store, tick).streams.items()} == streams, tick
    for tick, left in ((COMES - 1, None), (COMES, False), (GOES - 1, False), (GOES, True)):
        found = {owner.id: owner.left for owner in owners_of(store, read_past(store, tick))}
        assert found.get(GUEST) is left
    for wrong in (0, TICKS + 1):
        with pytest.raises(InputError, match=f"give a tick from 1 to {TICKS}"):
            read_past(store, wrong)


def test_a_trimmed_journal_rebuilds_only_the_ticks_that_it_still_has(tmp_path: Path) -> None:
    store, held = lived(tmp_path, 1)
    trimmed = int(store.field("state", "trimmed") or 0)
    assert trimmed > GOES
    for tick in (trimmed, TICKS - 1):
        assert {owner: dump(stream) for owner, stream in read_past(store, tick).streams.items()} == held[tick]
    with pytest.raises(InputError, match="the journal was trimmed"):
        read_past(store, trimmed - 1)
