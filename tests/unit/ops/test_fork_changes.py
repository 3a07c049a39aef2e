"""The changes of a fork are read as a user writes them, and what cannot be read is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate.memory.errors import CogitateError
from cogitate.ops.fork_changes import read_set, read_template, read_world
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    Change,
    DropObservation,
    RewordObservation,
    SetProfile,
    SetSetting,
    SetTemplate,
)
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "how-to" / "forking.md").read_text()


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("day.tokens=20000", SetLimit("day.run.tokens", 20_000)),
        ("limits.run.usd=0.5", SetLimit("run.run.usd_micros", 500_000)),
        ("budget.limits.day.owner:*.calls=3", SetLimit("day.owner:*.calls", 3)),
        ("act_interval=30", SetSetting("act_interval", 30)),
        ("model=gpt-4.1-mini", SetSetting("model", "gpt-4.1-mini")),
        ('model="gpt"', SetSetting("model", "gpt")),
        ('disable=["act", "plan"]', SetSetting("disable", ["act", "plan"])),
        ("models.default.seed=7", SetSetting("models.default.seed", 7)),
        ("response_cache=true", SetSetting("response_cache", True)),
    ],
)
def test_a_setting_or_a_limit_is_read(text: str, change: Change) -> None:
    assert read_set(text) == change


@pytest.mark.parametrize("text", ["", "=3", "act_interval", "day.tokens=many", "day.coins=3", "day.tokens=0.5"])
def test_a_change_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(CogitateError, match=r"--set|limit"):
        read_set(text)


def test_a_template_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.j2").write_text("Plan.")
    assert read_template(f"plan={tmp_path / 'mine.j2'}") == SetTemplate("plan", "Plan.")
    for wrong in ("plan", f"plan={tmp_path / 'gone.j2'}"):
        with pytest.raises(CogitateError):
            read_template(wrong)


def test_the_file_of_the_page_is_read(tmp_path: Path) -> None:
    file = tmp_path / "changes.toml"
    file.write_text(PAGE.split("```toml\n")[1].partition("```")[0])
    times: list[str] = []

    def tick_of(at: str) -> int:
        times.append(at)
        return 700 + len(times)

    assert read_world(file, tick_of) == (
        AddObservation(701, "agent:isabella-rossi", {"text": "A stranger asks about the harbour.", "importance": 7}),
        AddEvent(
            702,
            {"kind": "discussion_statement", "speaker": "agent:isabella-rossi", "text": "The harbour is closed."},
            ("agent:amara-okafor",),
        ),
        DropObservation(703, "watering the plants"),
        RewordObservation(704, "a parcel", "a letter", "agent:isabella-rossi"),
        SetProfile(705, "agent:isabella-rossi", {"occupation": "harbour master"}),
    )
    assert times[0] == "day 1 12:30"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[[sing]]\nat = 3", "there is no change 'sing'; there are drop, event, observe, profile, reword"),
        ("[[drop]]\ntext = 'a'", "drop 1: give at"),
        ("[[drop]]\nat = true\ntext = 'a'", "drop 1: give at"),
        ("[[drop]]\nat = 3", "drop 1: text"),
        ("[[drop]]\nat = 3\ntext = 'a'\nby = 'b'", "there is no field 'by'"),
        ("[[reword]]\nat = 3\ntext = 'a'", "reword 1: to"),
        ("[[observe]]\nat = 3\nowner = 'a'\ntext = 'b'\nimportance = 11", "observe 1: "),
        ("[[observe]]\nat = 3\nowner = 'a'", "observe 1: "),
        ("[[event]]\nat = 3\nkind = 'a'\ntext = 'b'\nalso = 'c'", "also is 'c': give a list of owners"),
        ("[[profile]]\nat = 3\nowner = 'a'\nshoes = 4", "a profile has no field 'shoes'"),
        ("[[profile]]\nat = 3\nowner = 'a'", "give a field of the profile"),
        ("drop = 3", r"write \[\[drop\]\]"),
        ("[[drop", "cannot be read as TOML"),
    ],
)
def test_a_change_that_cannot_be_read_is_named(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "changes.toml"
    file.write_text(text)
    with pytest.raises(CogitateError, match=error):
        read_world(file, int)
