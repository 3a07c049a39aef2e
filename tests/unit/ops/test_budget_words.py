"""Limits and what is used of them, as people read it."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from cogitate.ops.formatting.budget import (
    BudgetRow,
    budget_cells,
    budget_rows,
    budget_table,
    denied_requests,
    format_refusals,
    limit_lines,
)
from cogitate.scheduler.budget.budget import figure_of, format_limit, format_refusal
from cogitate.scheduler.budget.budget_lines import BudgetLine, LimitInForce, Pools, limits_in_force
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.inspection.stored_run import Refusal

POOLS = Pools(0.2)
TABLE = LimitTable({"tick.run.calls": 10, "day.owner:*.calls": 20, "day.owner:agent:eve.calls": 5, "day.run.jobs": 3})
LIMITS = limits_in_force(TABLE, POOLS)


def line(scope: str, spent: int, **more: Any) -> BudgetLine:
    limit = TABLE.limit_of("day:0", scope, "calls")
    facts: dict[str, Any] = {"window": "day:0", "unit": "calls", "reserved": 0, "overrun": 0} | more
    return BudgetLine(scope=scope, spent=spent, limit=limit, for_retries=POOLS.of("calls", limit), **facts)


def refusal(limit: str, value: int | None, requests: int, reserves: int = 0) -> Refusal:
    for_retries = POOLS.of("calls", value)
    return Refusal(limit=limit, value=value, for_retries=for_retries, requests=requests, reserves=reserves)


def test_a_limit_is_shown_with_its_retry_pool() -> None:
    assert format_limit(10, 2) == "8 + 2 for retries"
    assert format_limit(1_234, 0) == "1,234"
    assert format_limit(2_000_000, 400_000, lambda amount: f"${amount / 1e6}") == "$1.6 + $0.4 for retries"
    assert limit_lines(LIMITS) == [
        "day.owner:*.calls = 16 + 4 for retries",
        "day.owner:agent:eve.calls = 4 + 1 for retries",
        "day.run.jobs = 3",
        "tick.run.calls = 8 + 2 for retries",
    ]


def test_a_refusal_names_its_limit() -> None:
    assert format_refusals([refusal("tick.run.calls", 10, 3), refusal("draining", None, 1)]) == [
        "tick.run.calls = 8 + 2 for retries, 3×",
        "draining, 1×",
    ]
    assert format_refusal("day:0 owner:agent:ann calls", TABLE.limit_of, POOLS.of) == (
        "day 1 owner:agent:ann calls = 16 + 4 for retries"
    )
    assert format_refusal("day:0 kind:plan calls", TABLE.limit_of, POOLS.of) == "day 1 kind:plan calls", "lifted since"
    assert format_refusal("draining", TABLE.limit_of, POOLS.of) == "draining"


@pytest.mark.parametrize(
    ("value", "spent", "told"),
    [
        (12_000, 7_833, "; 1,767 left, less than the 2,200 that one more job reserves"),
        (12_000, 7_000, ""),
        (12_000, 9_600, ""),
        (6_000, 7_833, ""),
    ],
)
def test_a_remainder_too_small_for_another_job_is_shown(value: int, spent: int, told: str) -> None:
    facts: dict[str, Any] = {"window": "run:0", "scope": "run", "unit": "tokens", "limit": 12_000, "for_retries": 2_400}
    budget = [BudgetLine(**facts, reserved=0, spent=spent, overrun=0)]
    (text,) = format_refusals([refusal("run.run.tokens", value, 46, reserves=2_200)], budget)
    assert text.endswith(f" for retries, 46×{told}")


def test_a_request_that_no_model_was_fast_enough_for_is_not_denied() -> None:
    refused = {"tick.run.calls": 3, "draining": 1, "too_slow": 40}
    assert denied_requests(refused) == {"tick.run.calls": 3, "draining": 1}


def test_owners_with_the_same_limit_are_one_row_that_names_the_fullest() -> None:
    lines = [line(f"owner:agent:{name}", spent) for name, spent in (("ann", 3), ("bob", 9), ("cid", 1), ("dan", 4))]
    lines += [line("owner:agent:eve", 5, held=2), line("run", 40)]
    assert budget_rows(lines, LIMITS) == [
        BudgetRow(
            "day 1",
            "owner:agent:bob (most of 4)",
            "calls",
            9,
            0,
            0,
            "16 + 4 for retries",
            0,
            "agent:bob 9, agent:dan 4, agent:ann 3",
        ),
        BudgetRow("day 1", "owner:agent:eve", "calls", 5, 0, 2, "4 + 1 for retries", 0),
    ]
    console = Console(width=80, file=io.StringIO())
    console.print(budget_table(lines, LIMITS))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "agent:bob 9, agent:dan 4, agent:ann 3" in " ".join(shown.split())
    assert "agent:cid" not in shown
    assert [row[1] for row in budget_rows(lines, LIMITS, fold=False)] == [
        f"owner:agent:{name}" for name in ("ann", "bob", "cid", "dan", "eve")
    ]
    assert budget_rows(lines[:1], LIMITS)[0][1] == "owner:agent:ann", "one is named"


def test_the_largest_reservations_come_first() -> None:
    lines = [line("owner:agent:ann", 3), line("owner:agent:bob", 1, reserved=1, held=4)]
    (row,) = budget_rows(lines, LIMITS)
    assert (row.spent, row.in_flight, row.held, row.most) == (1, 1, 4, "agent:bob 6, agent:ann 3")


def test_a_limit_in_force_is_named_as_in_the_settings() -> None:
    assert LIMITS[-1] == LimitInForce(name="tick.run.calls", limit=10, for_retries=2)


def test_money_is_shown_in_dollars() -> None:
    limits = LimitTable({"day.run.usd_micros": 30_000})
    in_force = limits_in_force(limits, POOLS)
    assert limit_lines(in_force) == ["day.run.usd_micros = $0.0240 + $0.0060 for retries"]
    assert format_refusals([refusal("day.run.usd_micros", 30_000, 2)]) == [
        "day.run.usd_micros = $0.0240 + $0.0060 for retries, 2×"
    ]
    assert format_refusal("day:0 run usd_micros", limits.limit_of, POOLS.of).endswith("= $0.0240 + $0.0060 for retries")
    spent = BudgetLine(
        window="day:0",
        scope="run",
        unit="usd_micros",
        limit=30_000,
        for_retries=6_000,
        spent=4_447,
        reserved=1_200,
        overrun=0,
    )
    (row,) = budget_rows([spent], in_force)
    cells = ("day 1", "run", "$", "$0.0044", "$0.0012", "$0", "$0.0240 + $0.0060 for retries", "$0")
    assert budget_cells(row) == cells
    assert figure_of("usd_micros")(40) == "$0.000040", "less than four digits show"
    assert figure_of("tokens")(40_000) == "40,000"


@pytest.mark.parametrize(("width", "left_out"), [(80, ("held",)), (200, ())])
def test_a_table_that_is_too_wide_leaves_out_columns_and_cuts_no_figure(width: int, left_out: tuple[str, ...]) -> None:
    lines = [
        BudgetLine(
            window="run:0",
            scope="run",
            unit="usd_micros",
            limit=100_000_000_000,
            for_retries=10_000_000_000,
            spent=12_345_678_900,
            reserved=1_123_456_000,
            held=44_000,
            overrun=77_000_000,
        )
    ]
    console = Console(width=width, file=io.StringIO())
    console.print(budget_table(lines, [], width=width))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for figure in ("$12,345.6789", "$90,000.0000", "$10,000.0000", "$77.0000", "retries"):
        assert figure in shown.split()
    head = shown.partition("───")[0]
    assert [name for name in ("held", "in flight") if name not in head] == list(left_out)
    assert all(name in shown for name in left_out), "the caption names them"


def test_no_word_is_broken_in_a_terminal_of_80_columns() -> None:
    lines = [line(f"owner:agent:{name}", 1_234_567) for name in ("isabella-rodriguez", "bob")]
    lines.append(
        msgspec.structs.replace(lines[0], scope="run", unit="usd_micros", limit=3_000_000, for_retries=600_000)
    )
    lines.append(msgspec.structs.replace(lines[0], scope="kind:summarise", unit="tokens"))
    console = Console(width=80, file=io.StringIO())
    console.print(budget_table(lines, LIMITS))
    shown = console.file.getvalue().split()  # type: ignore[attr-defined]
    for word in ("$1.2346", "1,234,567", "kind:summarise", "$2.4000", "retries", "held", "calls"):
        assert word in shown
    assert "overrun" not in shown
    lines[-1] = msgspec.structs.replace(lines[-1], overrun=77)
    console.print(budget_table(lines, LIMITS))
    shown = console.file.getvalue().split()  # type: ignore[attr-defined]
    for word in ("77", "overrun", "$2.4000", "retries"):
        assert word in shown
