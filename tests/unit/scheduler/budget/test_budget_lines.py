"""Budget lines: reserved, spent, held and retry amounts of each cell."""

from __future__ import annotations

from fakeredis import FakeRedis

from cogitate.scheduler.budget.budget_lines import (
    NO_POOLS,
    BudgetLine,
    LimitInForce,
    Pools,
    budget_lines,
    limits_in_force,
    lines_of,
    pools_of,
)
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.ledger.run_store import RunStore

OWNER = "owner:agent:a|b"  # contains the separator


def store() -> RunStore:
    made = RunStore.of(FakeRedis(), "town", "now")
    made.client.hset(made.key("state"), "settings", keep_settings(PinnedSettings.tuned(retry_share=0.1)))
    return made


def test_pools_are_those_of_the_settings() -> None:
    assert pools_of(store()) == Pools(0.1)
    assert (NO_POOLS.of("calls", 10), NO_POOLS.of("calls", None)) == (0, 0)
    assert [Pools(0.1).of("calls", limit) for limit in (None, 0, 9, 10, 29)] == [0, 0, 0, 1, 2]
    assert Pools(0.5).of("jobs", 10) == 0


def test_limits_in_force_are_listed_by_name() -> None:
    table = LimitTable({"run.tokens": 30, "day.run.calls": 10, "day.run.jobs": 10})
    assert limits_in_force(table, Pools(0.1)) == [
        LimitInForce(name="day.run.calls", limit=10, for_retries=1),
        LimitInForce(name="day.run.jobs", limit=10, for_retries=0),
        LimitInForce(name="run.run.tokens", limit=30, for_retries=3),
    ]


def test_each_account_has_a_line_with_the_held_amount() -> None:
    run = store()
    for window, accounts in {
        "day:0": {
            "run|calls|reserved": 2,
            "run|calls|spent": 5,
            "run|calls|pool": 1,
            "run|calls|overrun": 3,
            "run|tokens|spent": 40,
            f"{OWNER}|calls|spent": 1,
        },
        "run:0": {"run|calls|spent": 5},
    }.items():
        run.client.sadd(run.key("windows"), window)
        run.client.hset(run.window_key(window), mapping=accounts)
    run.client.hset(run.key("windows") + "x", "odd", 1)
    view = {"day:0|run|calls": 9, "day:0|run|jobs": 7, f"day:0|{OWNER}|jobs": 4, "day:0|run|tokens": 30}
    run.client.hset(run.key("view"), mapping=view)

    def line(window: str, scope: str, unit: str, **figures: int | None) -> BudgetLine:
        usual = {"limit": None, "reserved": 0, "spent": 0, "overrun": 0}
        return BudgetLine(window=window, scope=scope, unit=unit, **(usual | figures))  # type: ignore[arg-type]

    assert budget_lines(run, LimitTable({"day.run.calls": 20, "day.run.jobs": 20}).limit_of) == [
        line("day:0", OWNER, "calls", spent=1),
        line("day:0", OWNER, "jobs", spent=4),
        line(
            "day:0",
            "run",
            "calls",
            limit=20,
            reserved=2,
            spent=5,
            overrun=3,
            retried=1,
            for_retries=2,
            held=9 - (2 + 5 - 1),
        ),
        line("day:0", "run", "tokens", spent=40),
        line("day:0", "run", "jobs", limit=20, spent=7),
        line("run:0", "run", "calls", spent=5),
    ]


def test_line_computes_counted_and_room() -> None:
    accounts = {("day:0", "run", "calls"): {"reserved": 2, "spent": 5, "pool": 1}}
    (found,) = lines_of(accounts, LimitTable({"day.run.calls": 20}).limit_of, Pools(0.2), {"day:0|run|calls": 10})
    assert (found.counted, found.room, found.held) == (2 + 5 - 1 + 4, 16, 4)
    (bare,) = lines_of(accounts, LimitTable({}).limit_of)
    assert (bare.limit, bare.room, bare.for_retries, bare.held) == (None, 0, 0, 0)


def test_windows_are_sorted_by_time() -> None:
    accounts = {
        (f"{period}:{index}", "run", "calls"): {"spent": 1} for period in ("day", "tick") for index in (16, 9, 8)
    }
    found = [line.window for line in lines_of(accounts | {("run:0", "run", "calls"): {}}, LimitTable({}).limit_of)]
    assert found == ["day:8", "day:9", "day:16", "run:0", "tick:8", "tick:9", "tick:16"]
