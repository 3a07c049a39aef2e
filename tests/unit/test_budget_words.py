"""Limits and what is used of them, as people read it."""

from __future__ import annotations

from typing import Any

from ops.budget_words import COLUMNS, budget_rows, limit_lines, refused_in_words
from scheduler.budget import limit_in_words, refusal_in_words
from scheduler.budget_lines import BudgetLine, LimitInForce, Pools, limits_in_force
from scheduler.limits import LimitTable

POOLS = Pools(0.2)
TABLE = LimitTable({"tick.run.calls": 10, "day.owner:*.calls": 20, "day.owner:agent:eve.calls": 5, "day.run.jobs": 3})
LIMITS = limits_in_force(TABLE, POOLS)


def line(scope: str, spent: int, **more: Any) -> BudgetLine:
    limit = TABLE.limit_of("day:0", scope, "calls")
    facts: dict[str, Any] = {"window": "day:0", "unit": "calls", "reserved": 0, "overrun": 0} | more
    return BudgetLine(scope=scope, spent=spent, limit=limit, for_retries=POOLS.of("calls", limit), **facts)


def test_a_limit_is_said_with_what_is_for_retries() -> None:
    assert limit_in_words(10, 2) == "8 + 2 for retries"
    assert limit_in_words(1_234, 0) == "1,234"
    assert limit_in_words(2_000_000, 400_000, lambda amount: f"${amount / 1e6}") == "$1.6 + $0.4 for retries"
    assert limit_lines(LIMITS) == [
        "day.owner:*.calls = 16 + 4 for retries",
        "day.owner:agent:eve.calls = 4 + 1 for retries",
        "day.run.jobs = 3",
        "tick.run.calls = 8 + 2 for retries",
    ]


def test_what_refused_is_said_with_its_limit() -> None:
    assert refused_in_words({"tick.run.calls": 3, "draining": 1}, LIMITS) == [
        "tick.run.calls = 8 + 2 for retries, 3×", "draining, 1×",
    ]  # fmt: skip
    assert refusal_in_words("day:0 owner:agent:ann calls", TABLE.limit_of, POOLS.of) == (
        "day 1 owner:agent:ann calls = 16 + 4 for retries"
    )
    assert refusal_in_words("day:0 kind:plan calls", TABLE.limit_of, POOLS.of) == "day 1 kind:plan calls", (
        "lifted since"
    )
    assert refusal_in_words("draining", TABLE.limit_of, POOLS.of) == "draining"


def test_owners_with_the_same_limit_are_one_row_that_names_the_fullest() -> None:
    lines = [line(f"owner:agent:{name}", spent) for name, spent in (("ann", 3), ("bob", 9), ("cid", 1), ("dan", 4))]
    lines += [line("owner:agent:eve", 5, held=2), line("run", 40)]
    rows = budget_rows(lines, LIMITS)
    assert [dict(zip(COLUMNS, row, strict=True)) for row in rows] == [
        {
            "window": "day 1", "scope": "owner:*: 4, most agent:bob 9, agent:dan 4, agent:ann 3", "unit": "calls",
            "spent": 9, "in flight": 0, "held": 0, "limit": "16 + 4 for retries", "overrun": 0,
        },
        {
            "window": "day 1", "scope": "owner:agent:eve", "unit": "calls", "spent": 5, "in flight": 0, "held": 2,
            "limit": "4 + 1 for retries", "overrun": 0,
        },
    ]  # fmt: skip
    assert [row[1] for row in budget_rows(lines, LIMITS, fold=False)] == [
        f"owner:agent:{name}" for name in ("ann", "bob", "cid", "dan", "eve")
    ]
    assert budget_rows(lines[:1], LIMITS)[0][1] == "owner:agent:ann", "one is named"


def test_whose_reservation_counts_most_comes_first() -> None:
    lines = [line("owner:agent:ann", 3), line("owner:agent:bob", 1, reserved=1, held=4)]
    assert budget_rows(lines, LIMITS)[0][:6] == (
        "day 1", "owner:*: 2, most agent:bob 6, agent:ann 3", "calls", 1, 1, 4,
    )  # fmt: skip


def test_a_limit_in_force_is_named_as_in_the_settings() -> None:
    assert LIMITS[-1] == LimitInForce(name="tick.run.calls", limit=10, for_retries=2)
