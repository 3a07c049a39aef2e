"""A recorded day, played by the command; `tests/simulation/test_days_of_thinking.py` checks each tick of such days."""

from __future__ import annotations

from pathlib import Path

from tests.integration.command import summary


def test_the_command_plays_a_real_recorded_day(recordings: Path, tmp_path: Path) -> None:
    done = summary("run", "--recorded", recordings / "smallville" / "july1", data_dir=tmp_path / "data")
    assert (done["agents"], done["ticks"]) == (3, 1440)
    assert done["jobs"]["plan"]["end"] == {"applied": 3}
    assert done["jobs"]["reflect"]["end"]["applied"] >= 3
    assert all(
        line["limit"] is None or line["reserved"] + line["spent"] <= line["limit"] + line["overrun"]
        for line in done["budget"]
    )
