"""Day limits released over the day: admission stays within the released part, which is complete at the last tick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY
from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.budget import AT_ONCE, MILLION, BudgetView, Cell, Guarantee, Release
from cogitate.scheduler.budget.rules import release_of
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.tasks.job import Cost, JobKey

SETTINGS = st.builds(
    lambda **given: PinnedSettings.tuned(**given),
    day_start=st.floats(0.000_001, 1),
    morning=st.integers(0, DAY - 1),
    repair_from=st.integers(0, DAY),
    seconds_per_tick=st.sampled_from([60, 600, 3600]),
)
KINDS = ("plan", "reflect", "act")


@given(SETTINGS, st.integers(0, 10**12), st.integers(0, 9))
def test_release_grows_and_is_complete_at_the_last_tick(settings: PinnedSettings, room: int, day: int) -> None:
    release, step = release_of(settings), settings.seconds_per_tick // 60
    found = [release.of(room, day * DAY + minute) for minute in range(0, DAY, step)]
    assert found == sorted(found)
    if settings.morning > DAY - step:  # no tick follows the morning
        assert found[0] == room
    elif settings.morning:
        assert found[0] == room * round(settings.day_start * MILLION) // MILLION
    assert found[-1] == room or settings.morning >= DAY - step
    assert [AT_ONCE.of(room, minute) for minute in (0, 1, DAY - 1)] == [room] * 3


@given(
    release=SETTINGS.map(release_of),
    limit=st.integers(0, 100),
    shares=st.dictionaries(st.sampled_from(KINDS), st.floats(0, 0.3)),
    wanted=st.lists(st.tuples(st.integers(0, DAY - 1), st.sampled_from(KINDS), st.integers(1, 20)), max_size=60),
)
def test_admission_stays_within_the_released_part(
    release: Release, limit: int, shares: dict[str, float], wanted: list[tuple[int, str, int]]
) -> None:
    guarantees = {kind: Guarantee(share, 720) for kind, share in shares.items()}
    table = LimitTable({"day.run.tokens": limit, "day.kind:act.tokens": limit // 2})
    view = BudgetView(table, retry_share=0.2, guarantees=guarantees, release=release)
    at_once = BudgetView(table, retry_share=0.2, guarantees=guarantees)
    for minute, kind, tokens in sorted(wanted):
        key, cost = JobKey(minute, kind, "agent:a", 0, 0), Cost(tokens=tokens)
        if view.refusal(key, minute, cost) is None:
            view.move(view.cells(key, minute), Cost(), cost)
        for scope in ("run", "kind:act"):
            room = at_once.room("day", scope, "tokens") or 0
            assert view.get(Cell("day:0", scope), "tokens") <= release.of(room, minute)


@pytest.mark.parametrize("start", [0.1, 0.5, 1.0])
def test_run_spreads_its_spending_over_the_day(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, start: float
) -> None:
    limit, owners = 60, {f"agent:{name}": Profile(name=name.title()) for name in ("ada", "ben", "eve")}
    given: dict[str, Any] = {"limits": {"day.run.jobs": limit}, "day_start": start, "guarantees": {}}
    settings = PinnedSettings.tuned(data_dir=tmp_path, seconds_per_tick=600, **given)
    loop = cogitate_loop(owners=owners, settings=settings, ticks=200)
    given_out = []
    for tick in loop:
        for owner in owners:
            loop.request("reflect", owner)
        if tick.minute < DAY:
            given_out.append((tick.minute, loop.state.view.get(Cell("day:0", "run"), "jobs")))
    release = release_of(settings)
    assert all(jobs <= release.of(limit, minute) for minute, jobs in given_out)
    assert given_out[-1][1] == limit
    noon = dict(given_out)[720]
    assert (noon == limit) == (start == 1.0)
