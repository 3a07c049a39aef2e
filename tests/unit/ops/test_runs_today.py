"""`cogitate runs` shows each run under its whole name, and what all runs spend today, where that is limited."""

from __future__ import annotations

import json

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.ops.commands import runs as module
from cogitate.ops.commands.runs import show_runs
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import PinnedSettings, Settings
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.real_day import Held, RealDay
from cogitate.tasks.job import Cost
from tests.unit.scheduler.run_lines_case import lines, store_of


def test_the_limit_of_the_real_day_stands_above_all_runs(capsys: pytest.CaptureFixture[str]) -> None:
    client, settings = FakeRedis(), Settings(real_day_tokens=5_000)
    day = RealDay(client, settings)
    held = day.reserve(Cost(calls=1, tokens=700))
    assert isinstance(held, Held)
    day.settle(held, Cost(calls=1, tokens=600))
    show_runs(client, settings, as_json=False)
    assert "all runs together: 600 tokens spent of 5,000 tokens" in " ".join(capsys.readouterr().out.split())
    show_runs(client, settings, as_json=True)
    assert json.loads(capsys.readouterr().out)["real_day"]["spent"]["tokens"] == 600


def test_a_limit_that_is_not_set_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(FakeRedis(), Settings(), as_json=True)
    assert "real_day" not in json.loads(capsys.readouterr().out)


def test_an_empty_server_says_how_to_start_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(FakeRedis(), Settings(), as_json=False)
    assert capsys.readouterr().out == "no runs yet; start one with: cogitate run\n"


@pytest.mark.parametrize("name", ["schelling-seed-17", "a" * 64])
def test_a_name_is_shown_in_one_piece_and_no_neighbour_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    store = store_of(lines(), settings=keep_settings(PinnedSettings()), digest="d", chain="c", host="vm-7.example:123")
    summary = msgspec.structs.replace(summarise_run(store.client, "town"), run=name)
    monkeypatch.setattr(module, "run_names", lambda client: [name])
    monkeypatch.setattr(module, "summarise_run", lambda client, run: summary)
    show_runs(FakeRedis(), Settings(), as_json=False)
    shown = capsys.readouterr().out
    assert name in shown
    assert "no runs yet" not in shown
    folded = "".join(line.split("│")[-2].strip() for line in shown.splitlines() if "│" in line)
    assert folded == "vm-7.example:123"
