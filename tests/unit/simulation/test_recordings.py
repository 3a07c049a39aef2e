"""The recording that ships, and real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.recording.load_profile import job_demand, reflection_times
from bench.recording.record import main, record_town
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recorded.recording import Recording, read_recording
from cogitate.simulation.recordings import SMALL
from tests.unit.simulation.recorded_case import play


def test_the_shipped_recording_equals_the_towns_output(tmp_path: Path) -> None:
    record_town(tmp_path)
    written = {f.relative_to(tmp_path): f.read_bytes() for f in sorted(tmp_path.rglob("*")) if f.is_file()}
    shipped = {f.relative_to(SMALL): f.read_bytes() for f in sorted(SMALL.rglob("*")) if f.is_file()}
    assert written == shipped
    assert sum(map(len, shipped.values())) < 300_000


def test_the_shipped_recording_is_clean_and_every_agent_reflects_in_it() -> None:
    world = RecordedWorld(SMALL)
    assert world.warnings == {}
    assert world.days == 1
    assert all(row["recorded"] for row in json.loads((SMALL / "reflection_times.json").read_text()))
    seen = play(world)
    for owner in world.owners():
        types = [entry.type for o, entry in seen if o == owner]
        assert types.count("observation") >= 20
        assert types.count("message") >= 4


def test_recording_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path / "a"), "--agents", "1", "--town", "2", "--minutes", "400"])
    assert list(RecordedWorld(tmp_path / "a").owners()) == ["agent:isabella-rossi"]
    with pytest.raises(SystemExit) as exited:
        main([str(tmp_path / "b"), "--agents", "9", "--town", "3"])
    assert exited.value.code == 2
    assert "9 agents of a town of 3" in capsys.readouterr().err


@pytest.fixture(params=["july1", "control_0"])
def real(request: pytest.FixtureRequest, recordings: Path) -> Recording:
    return read_recording(recordings / "smallville" / request.param)


def test_recorded_reflections_follow_the_importance_rule(real: Recording) -> None:
    published = json.loads((real.path / "reflection_times.json").read_text())
    keys = ("agent", "trigger_max", "recorded", "final_acc", "final_ele")
    assert [{k: row[k] for k in keys} for row in reflection_times(real, "")] == [
        {k: row[k] for k in keys} for row in sorted(published, key=lambda row: row["agent"])
    ]


def test_the_load_profile_of_a_clean_recording_is_the_published_one(real: Recording) -> None:
    ours, published = demand_at(job_demand(real)), demand_at((real.path / "job_demand.csv").read_text())
    if "empty_text" not in real.warnings:
        assert job_demand(real) == (real.path / "job_demand.csv").read_text()
    # An insight without text is refused, and with it the two calls it cost; nothing else may differ.
    assert {at: row[:3] for at, row in ours.items()} == {at: row[:3] for at, row in published.items()}
    missing = [published[at][3] - row[3] for at, row in ours.items()]
    assert all(calls >= 0 and calls % 2 == 0 for calls in missing)
    assert sum(missing) <= 2 * real.warnings["empty_text"]


def demand_at(table: str) -> dict[str, list[int]]:
    """The counts of a load profile by time: ratings, chats, reflections, calls."""
    return {at: [int(n) for n in counts] for at, *counts in (line.split(",") for line in table.splitlines()[1:])}


def test_real_recordings_play(real: Recording) -> None:
    world = RecordedWorld(real)
    seen = play(world)
    assert {owner for owner, _ in seen} == set(world.owners())
    assert all(1 <= entry.importance <= 10 and entry.text.strip() for _, entry in seen)
    assert world.warnings["blank_text"] > 0
