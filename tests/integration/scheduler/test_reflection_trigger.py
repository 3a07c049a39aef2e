"""A run that reflects by accumulated importance does so at the recorded minutes, although it coalesces repeats."""

from __future__ import annotations

import json
from pathlib import Path

from bench.quality.recordings import seconds
from bench.recording.record import record_town
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.naming import slug
from cogitate.simulation.recorded.player import RecordedWorld
from tests.live_redis import empty_redis

DAYS = 2


def test_a_run_reflects_at_the_minutes_of_its_recording(tmp_path: Path) -> None:
    record_town(tmp_path / "town", minutes=DAYS * DAY)
    recorded = json.loads((tmp_path / "town" / "reflection_times.json").read_text())
    world, client = RecordedWorld(tmp_path / "town"), empty_redis()
    (trigger,) = {record["trigger_max"] for record in recorded}
    settings = Settings(data_dir=tmp_path / "data", reflection_trigger="importance", reflection_trigger_max=trigger)
    loop = TickLoop(
        run="recorded",
        owners=world.owners(),
        settings=settings,
        locations=world.locations,
        brief=world.brief,
        ticks=DAYS * world.ticks_per_day,
        start_minute=world.start_minute,
        inline=True,
        client=client,
    )
    drive(loop, world)
    asked: dict[str, list[int]] = {owner: [] for owner in world.owners()}
    for line in read_journal(RunStore.open(client, "recorded"), 1, loop.tick):
        for decided in line.core.decided:
            if decided.key.kind == "reflect":
                asked[decided.key.owner].append(line.core.minute)
    midnight = seconds(recorded[0]["recorded"][0][:10] + " 00:00:00")
    expected = {
        f"agent:{slug(record['agent'])}": [(seconds(time) - midnight) // 60 for time in record["recorded"]]
        for record in recorded
    }
    assert min(map(len, expected.values())) >= 3, "each agent must have reflected several times"
    assert asked == expected
