"""Limits changed by operators: the current ones, and the highest of each window."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.limits import LimitError, LimitTable, parse_limit_name

FIRST = LimitTable({"day.calls": 100, "tick.run.calls": 5, "run.run.tokens": 1000})


def test_a_change_is_in_force_from_its_tick_on() -> None:
    history = LimitHistory(FIRST).with_limit("day.run.calls", 10, tick=700, minute=DAY + 10)
    assert history.now.of("day", "run", "calls") == 10
    assert history.now.of("run", "run", "tokens") == 1000
    assert LimitHistory(FIRST, history.changes).now.of("day", "run", "calls") == 10, "as it is kept"
    again = history.with_limit("day.run.calls", 20, tick=700, minute=DAY + 10)
    assert len(again.changes) == 1, "the last change of a tick wins"


def test_limit_of_is_the_highest_limit_of_the_window() -> None:
    lowered = LimitHistory(FIRST).with_limit("day.run.calls", 10, tick=700, minute=DAY + 10)
    limits = {day: lowered.limit_of(f"day:{day}", "run", "calls") for day in range(4)}
    assert limits == {0: 100, 1: 100, 2: 10, 3: 10}
    raised = lowered.with_limit("day.run.calls", 50, tick=2000, minute=3 * DAY)
    assert [raised.limit_of(f"day:{day}", "run", "calls") for day in range(4)] == [100, 100, 10, 50]


def test_window_once_unlimited_has_no_limit() -> None:
    history = LimitHistory(FIRST).with_limit("day.run.calls", None, tick=10, minute=10)
    history = history.with_limit("day.run.calls", 1, tick=20, minute=20)
    assert history.limit_of("day:0", "run", "calls") is None
    assert history.limit_of("day:1", "run", "calls") == 1
    assert history.limit_of("run:0", "run", "tokens") == 1000


def test_tick_window_uses_the_limits_of_its_tick() -> None:
    history = LimitHistory(FIRST).with_limit("tick.run.calls", 1, tick=10, minute=10)
    assert [history.limit_of(f"tick:{tick}", "run", "calls") for tick in (9, 10, 11)] == [5, 1, 1]


def test_last_limit_of_a_window() -> None:
    history = LimitHistory(FIRST).with_limit("day.run.calls", 10, tick=700, minute=DAY + 10)
    history = history.with_limit("day.run.calls", 20, tick=710, minute=DAY + 20)
    history = history.with_limit("day.run.calls", None, tick=2000, minute=3 * DAY)
    history = history.with_limit("run.run.tokens", 7, tick=2001, minute=3 * DAY + 1)
    assert [history.last_of(f"day:{day}", "run", "calls") for day in range(4)] == [100, 20, 20, None]
    assert history.last_of("run:0", "run", "tokens") == 7
    assert [history.last_of(f"tick:{tick}", "run", "calls") for tick in (7, 2002)] == [5, 5]


def test_ever_includes_removed_limits() -> None:
    history = LimitHistory(FIRST).with_limit("day.run.calls", None, tick=1, minute=1)
    assert {name.text() for name, _ in history.ever} == {"day.run.calls", "tick.run.calls", "run.run.tokens"}
    assert history.now.of("day", "run", "calls") is None


def test_names_are_read_in_full() -> None:
    assert parse_limit_name("day.tokens").text() == "day.run.tokens"
    assert [parse_limit_name(f"day.kind:{kind}.calls").kind for kind in ("plan", "*")] == ["plan", ""]
    with pytest.raises(LimitError):
        parse_limit_name("week.tokens")
