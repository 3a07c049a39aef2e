"""`cogitate.open`: what it makes of its arguments."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

import cogitate
from cogitate import Profile, TickLoop
from cogitate.errors import ConfigurationError, RunExists
from cogitate.hosting import open_loop
from cogitate.scheduler.config.settings import PinnedSettings

OWNERS = {"agent:ada": Profile(name="Ada Smith")}


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    """A Redis in memory on which every loop of the test runs, without processes."""
    client = FakeRedis()

    def inline(**arguments: Any) -> TickLoop:
        return TickLoop(**arguments, inline=True, client=client)

    monkeypatch.setattr(open_loop, "TickLoop", inline)
    return client


def test_a_run_is_created_refused_resumed_and_replaced(redis: FakeRedis, tmp_path: Path) -> None:
    settings = PinnedSettings(data_dir=tmp_path)
    with cogitate.open("village", OWNERS, settings=settings) as loop, loop.next_tick():
        pass
    with pytest.raises(RunExists, match="village"):
        cogitate.open("village", OWNERS, settings=settings)
    with cogitate.open("village", OWNERS, exist="resume", settings=settings, ticks=3) as loop:
        assert loop.tick == 1
        assert [tick.number for tick in loop] == [1, 2, 3]
    with cogitate.open("village", OWNERS, exist="replace", settings=settings) as loop:
        assert loop.tick == 0
    with cogitate.open("another", OWNERS, exist="resume", settings=settings) as loop:
        assert loop.tick == 0


def test_seconds_of_a_tick_are_the_pace_of_the_run(redis: FakeRedis, tmp_path: Path) -> None:
    settings = PinnedSettings(data_dir=tmp_path)
    with cogitate.open("paced", OWNERS, real_seconds_per_tick=0.05, settings=settings) as loop:
        assert loop.settings.tick_rate == 20.0
        assert loop.settings.wait_seconds() == 0
        assert loop.settings.data_dir == tmp_path
    with cogitate.open("unpaced", OWNERS, settings=settings) as loop:
        assert loop.settings.tick_rate is None


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, True, "1", 10**6])
def test_seconds_that_no_tick_has_are_refused(seconds: Any) -> None:
    with pytest.raises(ConfigurationError, match="real_seconds_per_tick="):
        cogitate.open("village", OWNERS, real_seconds_per_tick=seconds)


@pytest.mark.parametrize("exist", ["refuse", "", None])
def test_an_unknown_exist_value_is_refused_with_the_valid_ones(exist: Any) -> None:
    with pytest.raises(ConfigurationError, match='"create", "resume" or "replace"'):
        cogitate.open("village", OWNERS, exist=exist)
