"""A recorded day is lived: plans in the morning, reflections, limits after every tick."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import summary
from fakeredis import FakeRedis

from ops.drive import drive
from ops.host import TickLoop
from scheduler.audit import audit, audit_budget
from scheduler.loop import Tick
from scheduler.replay import replay
from scheduler.settings import Settings
from scheduler.summary import prefix_of
from simulation.recorded import RecordedWorld
from simulation.recordings import SMALL


def live(folder: Path, data_dir: Path) -> TickLoop:
    """Play a recording inline, checking limits and budgets after every tick."""
    world = RecordedWorld(folder)
    client = FakeRedis()
    loop = TickLoop(
        run="day", owners=world.owners(), settings=Settings(data_dir=data_dir), locations=world.locations,
        brief=world.brief, ticks=world.ticks_per_day, start_minute=world.start_minute, inline=True, client=client,
    )  # fmt: skip

    def check(tick: Tick) -> None:
        for owner, stream in loop.mind.streams.items():
            counts = stream.observed(), stream.count("reflection"), stream.count("plan")
            within = all(count <= limit for count, limit in zip(counts, (200, 50, 7), strict=True))
            assert within, f"{owner} after tick {tick.number - 1}: {counts}"
        if tick.number > 1:
            assert audit_budget(client, prefix_of(client, "day")) == []

    drive(loop, world, on_tick=check)
    return loop


def check_day(loop: TickLoop, morning: int = 360) -> None:
    """Every agent planned its day in the morning, with 5 to 8 items, and reflected."""
    for owner, stream in loop.mind.streams.items():
        plans = [entry for entry in stream.entries.values() if entry.type == "plan"]
        assert plans, f"{owner} has no plan"
        assert morning <= plans[0].minute <= morning + 30
        assert all(5 <= len(plan.items) <= 8 for plan in plans)
        times = [item.minute or 0 for item in plans[0].items]
        assert times == sorted(times)
        assert any(entry.type == "reflection" for entry in stream.entries.values()), f"{owner} never reflected"


def test_the_shipped_recording_is_lived_within_its_limits(tmp_path: Path) -> None:
    loop = live(SMALL, tmp_path)
    check_day(loop)
    assert audit(loop.ledger.client, "day") == []
    assert replay(loop.ledger.client, "day", FakeRedis()).digest == loop.digest


@pytest.mark.recordings
@pytest.mark.parametrize("name", ["july1", "control_0"])
def test_a_real_recorded_day_is_lived_within_its_limits(name: str, recordings: Path, tmp_path: Path) -> None:
    loop = live(recordings / "smallville" / name, tmp_path)
    check_day(loop)
    assert audit(loop.ledger.client, "day") == []


@pytest.mark.recordings
def test_the_command_plays_a_real_recorded_day(recordings: Path, tmp_path: Path) -> None:
    done = summary("run", "--recorded", recordings / "smallville" / "july1", data_dir=tmp_path / "data")
    assert (done["agents"], done["ticks"]) == (3, 1440)
    assert done["jobs"]["plan"]["end"] == {"applied": 3}
    assert done["jobs"]["reflect"]["end"]["applied"] >= 3
    assert all(
        line["limit"] is None or line["reserved"] + line["spent"] <= line["limit"] + line["overrun"]
        for line in done["budget"]
    )
