"""Windows, retry pools, shares and admission's view."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.scheduler.budget.budget import (
    NOTHING,
    BudgetView,
    Cell,
    Guarantee,
    Pool,
    figure_of,
    format_cell,
    format_empty_pool,
    format_limit,
    format_refusal,
    format_window,
    retry_pool,
    taken,
    window_of,
)
from cogitate.scheduler.config.limits import LimitTable
from cogitate.tasks.job import Cost, JobKey

KINDS = ("plan", "reflect", "summarise", "prune")


def view_of(limits: dict[str, int], retry_share: float = 0.0, **guarantees: tuple[float, int]) -> BudgetView:
    shares = {kind: Guarantee(*share) for kind, share in guarantees.items()}
    return BudgetView(LimitTable(limits), retry_share=retry_share, guarantees=shares)


def key(kind: str = "plan", owner: str = "agent:a", tick: int = 7) -> JobKey:
    return JobKey(tick, kind, owner, 0, 0)


def hold(view: BudgetView, job: JobKey, minute: int, cost: Cost) -> None:
    view.hold(taken(map(view.account, view.cells(job, minute)), cost))


def test_the_window_is_part_of_the_key() -> None:
    assert [window_of(period, 1500, 1500) for period in ("tick", "day", "run")] == ["tick:1500", "day:1", "run:0"]
    assert [window_of("day", 0, minute) for minute in (0, 1439, 1440)] == ["day:0", "day:0", "day:1"]


def test_cells_have_limits_or_appear_in_reports() -> None:
    view = view_of({"tick.run.calls": 1, "day.owner:agent:a.tokens": 1, "run.kind:plan.calls": 1})
    assert view.cells(key(), 1440) == [
        Cell("tick:7", "run"),
        Cell("day:1", "run"),
        Cell("day:1", "kind:plan"),
        Cell("day:1", "owner:agent:a"),
        Cell("run:0", "run"),
        Cell("run:0", "kind:plan"),
    ]
    assert Cell("day:1", "owner:agent:b") not in view.cells(key(owner="agent:b"), 1440)
    assert view_of({}).cells(key(), 1440) == [Cell("day:1", "run"), Cell("day:1", "kind:plan"), Cell("run:0", "run")]
    assert Cell("tick:7", "run") not in view_of({"tick.kind:*.calls": 1}).cells(key(), 1440)


def test_view_continues_from_stored_amounts() -> None:
    view = view_of({"day.run.calls": 3})
    view.held = {"day:0|run|calls": 2, "day:0|run|jobs": 2}
    assert view.take_changes() == []
    assert view.refusal(key(), 0, Cost(calls=1)) is None
    hold(view, key(), 0, Cost(calls=1))
    assert view.refusal(key(), 0, Cost(calls=1)) == "day:0 run calls"


def test_each_limit_has_a_separate_retry_pool() -> None:
    view = view_of({"day.run.calls": 100, "day.kind:*.tokens": 9}, retry_share=0.2)
    cells = view.cells(key(), 0)
    assert view.pools(cells) == [Pool("day:0", "run", 1, 20, 100), Pool("day:0", "kind:plan", 2, 1, 9)]


@given(st.integers(0, 2**53 - 1), st.floats(0, 1, exclude_max=True))
def test_a_pool_is_a_part_of_its_limit(limit: int, share: float) -> None:
    pool = retry_pool("calls", limit, share)
    assert 0 <= pool <= limit
    assert pool < limit or limit == 0 or share > 0.99
    assert pool == (int(limit * share) if limit > 1 else 0)
    assert retry_pool("jobs", limit, share) == 0


@pytest.mark.parametrize(
    ("unit", "limit", "admitted"),
    [
        ("calls", 3, 3),
        ("jobs", 3, 3),
        ("calls", 4, 4),
        ("calls", 5, 4),
        ("jobs", 5, 5),
        ("calls", 10, 8),
        ("calls", 1, 1),
    ],
)
def test_a_limit_of_three_admits_three(unit: str, limit: int, admitted: int) -> None:
    """The default retry share of three calls rounds down to 0."""
    view = view_of({f"day.run.{unit}": limit}, retry_share=0.2)
    while view.refusal(key(), 0, Cost(calls=1)) is None:
        hold(view, key(), 0, Cost(calls=1))
    assert view.get(Cell("day:0", "run"), "jobs") == admitted


def test_heuristic_job_counts_only_as_a_job() -> None:
    view = view_of({"day.run.calls": 0, "day.run.tokens": 0, "tick.kind:*.jobs": 2}, retry_share=0.9)
    for _ in range(2):
        assert view.refusal(key(), 0, NOTHING) is None
        hold(view, key(), 0, NOTHING)
    assert view.refusal(key(), 0, NOTHING) == "tick:7 kind:plan jobs"
    assert view.refusal(key("reflect"), 0, NOTHING) is None
    assert view.pools(view.cells(key(), 0)) == [Pool("day:0", "run", 1, 0, 0), Pool("day:0", "run", 2, 0, 0)]


def test_job_count_is_permanent() -> None:
    view = view_of({"day.run.jobs": 1})
    hold(view, key(), 0, Cost(calls=1))
    view.move(view.cells(key(), 0), Cost(calls=1), NOTHING)
    assert view.refusal(key(), 0, NOTHING) == "day:0 run jobs"


def test_a_guaranteed_share_holds_for_jobs_too() -> None:
    view = view_of({"day.run.jobs": 10}, plan=(0.3, 720))
    for _ in range(7):
        hold(view, key("prune"), 0, NOTHING)
    assert view.refusal(key("prune"), 0, NOTHING) == "day:0 run jobs"
    assert view.refusal(key("plan"), 0, NOTHING) is None


def test_admission_never_sees_the_pool() -> None:
    view = view_of({"day.run.calls": 10}, retry_share=0.3)
    for _ in range(7):
        assert view.refusal(key(), 0, Cost(calls=1)) is None
        hold(view, key(), 0, Cost(calls=1))
    assert view.refusal(key(), 0, Cost(calls=1)) == "day:0 run calls"
    assert view.refusal(key(), 1440, Cost(calls=1)) is None, "another day is another window"


def test_the_cell_that_refuses_is_named() -> None:
    view = view_of({"day.run.calls": 10, "day.owner:*.tokens": 50, "run.kind:plan.usd_micros": 0})
    assert view.refusal(key(), 0, Cost(calls=1, tokens=51)) == "day:0 owner:agent:a tokens"
    assert view.refusal(key(), 0, Cost(calls=1, usd_micros=1)) == "run:0 kind:plan usd_micros"
    assert view.refusal(key("reflect"), 0, Cost(calls=1, usd_micros=1)) is None


def test_a_limit_of_zero_forbids_and_an_unused_one_does_not() -> None:
    view = view_of({"day.run.tokens": 0})
    assert view.refusal(key(), 0, Cost(calls=1)) is None
    assert view.refusal(key(), 0, Cost(calls=1, tokens=1)) == "day:0 run tokens"


def test_guarantee_is_released_after_the_last_call() -> None:
    view = view_of({"day.run.calls": 100}, plan=(0.3, 720), reflect=(0.3, 1440))
    while view.refusal(key("prune"), 0, Cost(calls=1)) is None:
        hold(view, key("prune"), 0, Cost(calls=1))
    assert view.get(Cell("day:0", "kind:prune"), "calls") == 40, "other kinds cannot use guarantees"
    assert view.refusal(key("prune"), 719, Cost(calls=1)) == "day:0 run calls"
    assert view.refusal(key("prune"), 720, Cost(calls=1)) is None, "after the last call plan's share is free"
    assert view.refusal(key("plan"), 719, Cost(calls=30)) is None
    assert view.refusal(key("plan"), 719, Cost(calls=31)) == "day:0 run calls"
    assert view.refusal(key("plan"), 720, Cost(calls=30)) is None, "it may still take what is free"
    assert view.refusal(key("plan"), 1440 + 5, Cost(calls=31)) is None, "each day has a new guarantee"
    assert view.refusal(key("prune"), 1440 + 720, Cost(calls=70)) is None, "guarantees have ended"
    assert view.refusal(key("prune"), 1440 + 720, Cost(calls=71)) == "day:1 run calls"


def test_guarantees_apply_to_the_day_window_of_the_run_only() -> None:
    limits = {"day.kind:plan.calls": 10, "tick.run.calls": 10, "run.run.calls": 10, "day.owner:*.calls": 10}
    for name in limits:
        view = view_of({name: 10}, plan=(0.5, 1440), act=(0.5, 1440))
        assert view.refusal(key(), 0, Cost(calls=10)) is None, name
        assert view.refusal(key(), 0, Cost(calls=11)) is not None, name
        hold(view, key(), 0, Cost(calls=10))
        assert view.refusal(key(), 0, Cost(calls=1)) is not None, name


def test_correction_updates_open_windows_only() -> None:
    view = view_of({"tick.run.calls": 10, "day.run.calls": 10})
    cells, reserved, used = view.cells(key(), 0), Cost(calls=2, tokens=9), Cost(calls=1, tokens=4)
    hold(view, key(), 0, reserved)
    view.forget("tick:7")
    view.take_changes()
    view.correct(cells, reserved, used)
    assert [view.get(Cell("day:0", "run"), unit) for unit in ("calls", "tokens", "jobs")] == [1, 4, 1]
    assert view.get(Cell("run:0", "run"), "tokens") == 4
    assert not [field for field in view.held if field.startswith("tick:7|")]
    assert all(not field.startswith("tick:7|") for field, _ in view.take_changes())


steps = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 30), st.sampled_from(["hold", "release"])),
    max_size=120,
)
shares = st.dictionaries(
    st.sampled_from(KINDS), st.tuples(st.floats(0, 0.25), st.sampled_from([0, 360, 720, 1440])), max_size=4
)


@given(steps, shares, st.integers(0, 200), st.sampled_from([0.0, 0.2]))
def test_no_kind_is_refused_inside_its_guarantee(
    steps: list[tuple[str, int, int, str]], shares: dict[str, tuple[float, int]], limit: int, retry: float
) -> None:
    """The formula: admit iff the sum over kinds of max(held, guarantee) stays within the limit."""
    view = view_of({"day.run.calls": limit}, retry, **shares)
    room = limit - retry_pool("calls", limit, retry)
    minute = 0
    for kind, amount, later, what in steps:
        minute = min(1439, minute + later)
        cost = Cost(calls=amount)
        held = view.get(Cell("day:0", f"kind:{kind}"), "calls")
        if what == "release" and held >= amount:
            view.move(view.cells(key(kind), minute), cost, NOTHING)
            continue
        share, last_call = shares.get(kind, (0.0, 0))
        refused = view.refusal(key(kind), minute, cost)
        if minute < last_call and held + amount <= int(share * room):
            assert refused is None
        if refused is None:
            hold(view, key(kind), minute, cost)
        assert view.get(Cell("day:0", "run"), "calls") <= room


def test_take_changes_returns_each_change_once() -> None:
    view = view_of({"tick.run.calls": 5})
    hold(view, key(), 0, Cost(calls=1))
    told = view.take_changes()
    assert ("tick:7|run|calls", 1) in told
    assert told == sorted(told)
    assert view.take_changes() == []
    view.move(view.cells(key(), 0), Cost(calls=1), Cost(calls=1))
    assert view.take_changes() == []


def test_forget_drops_the_whole_window() -> None:
    view = view_of({"tick.run.calls": 5, "tick.owner:*.calls": 5})
    hold(view, key(tick=7), 0, Cost(calls=1))
    hold(view, key(tick=70), 0, Cost(calls=1))
    assert view.forget("tick:7") == [
        f"tick:7|{scope}|{unit}" for scope in ("owner:agent:a", "run") for unit in ("calls", "jobs")
    ]
    assert view.forget("tick:7") == []
    assert [field for field, _ in view.take_changes() if field.startswith("tick:7|")] == []
    assert view.get(Cell("tick:70", "run"), "calls") == 1


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("day:0 run tokens", "day 1 run tokens = 8 + 2 for retries"),
        ("run:0 run tokens", "whole run run tokens"),
        ("day:0 run dreams", "day 1 run dreams"),
        ("draining", "draining"),
    ],
)
def test_format_refusal_includes_the_limit(cell: str, words: str) -> None:
    limits = {("day:0", "run", "tokens"): 10}
    said = format_refusal(cell, lambda *of: limits.get(of), lambda unit, limit: limit // 5)
    assert said == words


@pytest.mark.parametrize(
    ("window", "words"),
    [("day:0", "day 1"), ("day:9", "day 10"), ("run:0", "whole run"), ("tick:5", "tick 5"), ("x", "x")],
)
def test_format_window_counts_days_from_one(window: str, words: str) -> None:
    assert format_window(window) == words
    assert format_cell(f"{window} kind:plan calls") == f"{words} kind:plan calls"
    assert format_cell(window) == words


def test_format_limit_shows_the_retry_pool() -> None:
    assert [format_limit(1_000, part) for part in (0, 1, 200)] == [
        "1,000",
        "999 + 1 for retries",
        "800 + 200 for retries",
    ]
    assert format_limit(10, 2, lambda amount: f"${amount}") == "$8 + $2 for retries"
    assert format_limit(10, 0, lambda amount: f"${amount}") == "$10"


def test_format_empty_pool_names_the_limit() -> None:
    assert (
        format_empty_pool("tick:5 run calls")
        == "attempt refused: the retry pool of tick.run.calls is empty, or overruns used up the limit"
    )
    assert format_empty_pool("day:0 owner:agent:a b tokens").startswith(
        "attempt refused: the retry pool of day.owner:agent:a b.tokens "
    )
    view = view_of({"day.run.tokens": 10}, retry_share=0.2)
    assert view.describe_limit("day:0 run tokens") == "day 1 run tokens = 8 + 2 for retries"
    assert view.describe_limit("draining") == "draining"


def test_room_excludes_the_retry_pool() -> None:
    view = view_of({"day.run.calls": 10, "day.run.jobs": 10, "run.run.tokens": 1}, retry_share=0.25)
    rooms = [view.room("day", "run", "calls"), view.room("day", "run", "jobs"), view.room("run", "run", "tokens")]
    assert rooms == [8, 10, 1]
    assert view.room("tick", "run", "calls") is None


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (0, "$0"),
        (1, "$0.000001"),
        (99, "$0.000099"),
        (100, "$0.0001"),
        (4_400, "$0.0044"),
        (1_234_567_000, "$1,234.5670"),
    ],
)
def test_money_is_formatted_in_dollars(micros: int, shown: str) -> None:
    assert figure_of("usd_micros")(micros) == shown
    assert [figure_of(unit)(1_234_567) for unit in ("calls", "tokens", "jobs")] == ["1,234,567"] * 3
