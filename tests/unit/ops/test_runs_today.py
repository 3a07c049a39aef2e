"""`cogitate runs` shows what all runs spend today, where that is limited."""

from __future__ import annotations

import json

import pytest
from fakeredis import FakeRedis

from ops.commands.runs import show_runs
from scheduler.config.settings import Settings
from scheduler.ledger.real_day import Held, RealDay
from tasks.job import Cost


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


def test_without_a_limit_nothing_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_runs(FakeRedis(), Settings(), as_json=True)
    assert "real_day" not in json.loads(capsys.readouterr().out)
