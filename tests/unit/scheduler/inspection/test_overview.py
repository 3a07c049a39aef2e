"""The figures that an operator reads first: of the last hour of game time, of today, and of what is open."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.overview import RunOverview, run_overview, spenders_today
from cogitate.scheduler.inspection.recent import KindTally, Recent, lines_by_model, newest_lines, tally
from cogitate.scheduler.inspection.vitals import OpenKind
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.presence import this_process
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import Figures
from cogitate.tasks.job import Cost, JobKey
from tests.unit.scheduler.run_lines_case import ANN, BOB, lines, put, store_of, with_open_job

LIMITS = {"day.run.calls": 100, "run.run.tokens": 500, "run.kind:*.calls": 40}
WINDOWS = {
    "day:0": {"run|calls|spent": 30, "kind:think|calls|spent": 2},
    "day:1": {"run|calls|spent": 1},
    "run:0": {"run|tokens|spent": 50, "kind:think|calls|spent": 4, "kind:muse|calls|spent": 1},
}
VIEW = {
    "day:0|run|calls": 33,
    "run:0|run|tokens": 50,
    "run:0|kind:think|calls": 6,
    "run:0|kind:muse|calls": 4,
    "day:1|run|calls": 9,
}


def run(step: int = 1, **settings: Any) -> RunStore:
    """A run of six ticks, one minute each by its lines, that a host has left."""
    chosen: dict[str, Any] = {"limits": LIMITS, "seconds_per_tick": 60 * step, "retry_share": 0.0}
    kept = PinnedSettings.tuned(**(chosen | settings))
    store = with_open_job(store_of(lines(), settings=keep_settings(kept), status="running", host="here:7"))
    for window, fields in WINDOWS.items():
        store.client.sadd(store.key("windows"), window)
        store.client.hset(store.window_key(window), mapping=fields)  # type: ignore[arg-type]
    store.client.hset(store.key("view"), mapping=VIEW)  # type: ignore[arg-type]
    return store


def overview(store: RunStore) -> RunOverview:
    return run_overview(store.client, "town")


def test_an_overview_shows_tick_and_host() -> None:
    store = run()
    found = overview(store)
    assert (found.run, found.status, found.host, found.held, found.state) == (
        "town",
        "running",
        "here:7",
        False,
        "running, no host",
    )
    assert (found.tick, found.minute, found.asks_model, found.endpoints) == (6, 6, False, ["default"])
    assert found.open == {"think": OpenKind(running=1, oldest="town/4/think/agent:cy/0/0", age=2)}
    assert (found.waiting, found.slow_kinds, found.steering.mode) == (0, [], "running")
    store.client.set(store.key("host"), msgspec.json.encode(this_process()))
    assert (overview(store).held, overview(store).state) == (True, "running")
    for tick in (5, 6):
        put(store, JobKey(tick, "muse", BOB, 0, 0))
    put(store, JobKey(6, "rest", BOB, 0, 0))
    assert overview(store).waiting == 3


def test_a_run_with_models_names_their_endpoints() -> None:
    endpoints = {name: {"base_url": f"http://{name}:1/v1"} for name in ("there", "here")}
    where = {"a": "there", "b": "there", "c": "here"}
    models = {name: {"model": name, "endpoint": there} for name, there in where.items()}
    tiers = {"routine": "a", "strong": "c"}
    found = overview(run(llm="openai", endpoints=endpoints, models=models, tiers=tiers))
    assert (found.asks_model, found.endpoints) == (True, ["default", "here", "there"]), "each once, by name"


def test_the_budget_is_that_of_today_and_then_of_the_whole_run() -> None:
    found = overview(run())
    cells = [(one.line.window, one.line.scope, one.line.unit, one.line.spent, one.line.limit) for one in found.windows]
    assert cells == [("day:0", "run", "calls", 30, 100), ("run:0", "run", "tokens", 50, 500)]
    day, whole = (one.forecast for one in found.windows)
    assert day is not None
    assert whole is not None
    assert (day.rate, whole.rate) == (330.0, 500.0), "an hour's: 33 calls and 50 tokens in six minutes"


def test_a_run_began_as_long_ago_as_its_ticks_took() -> None:
    (_, whole) = overview(run(step=2)).windows
    assert whole.forecast is not None
    assert whole.forecast.rate == 250.0, "six ticks of two minutes"


def test_held_amounts_are_summed_under_todays_limits() -> None:
    assert overview(run()).held_under == {
        "day.run.calls": 3,
        "run.run.tokens": 0,
        "run.kind:*.calls": 5,
        "day.kind:*.calls": 0,
    }


@pytest.mark.parametrize(("step", "first"), [(1, 1), (10, 1), (12, 2), (15, 3), (30, 5), (59, 6), (60, 6)])
def test_the_hour_is_in_game_time(step: int, first: int) -> None:
    found = overview(run(step)).hour
    assert (found.first, found.last) == (first, 6)


@pytest.mark.parametrize(
    ("step", "began", "held", "first"),
    [
        (30, 100.0, True, 3),  # ticks of 10 seconds: those after the 40th second
        (30, 100.0, False, None),  # a run without a host has no present minute
        (10, 100.0, True, None),  # its game hour has them all
        (30, 0.0, True, None),  # they are long ago
    ],
)
def test_a_real_minute_is_read_where_a_game_hour_has_fewer_ticks(
    step: int, began: float, held: bool, first: int | None
) -> None:
    store = run(step)
    if held:
        store.client.set(store.key("host"), msgspec.json.encode(this_process()))
    ticks = {f"t{at}": msgspec.json.encode(Figures(tick=at, minute=at, at=began + 10 * at)) for at in range(1, 7)}
    store.client.hset(store.key("history"), mapping=ticks)  # type: ignore[arg-type]
    found = run_overview(store.client, "town", now=began + 85 if began else 1_000.0)
    assert (found.lately.first if found.lately is not None else None) == first
    assert found.over_lately.hour == (found.lately or found.hour)
    assert overview(store).lately is None


@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
def test_lines_by_model_is_the_smallest_window_with_enough_jobs(jobs: int) -> None:
    newest = newest_lines(run(), 6)

    def of_model(ticks: int) -> int:
        kinds = tally(newest[len(newest) - ticks :], "town", LimitTable({})).kinds.values()
        return sum(sum(kind.sources[name] for name in ("llm", "cached")) for kind in kinds) + sum(
            kind.reasons[reason] for kind in kinds for reason in ("too_slow", "late", "failed", "dead")
        )

    found = lines_by_model(newest, jobs)
    assert of_model(found - 1) < jobs
    assert of_model(found) >= jobs or found == len(newest)


def hour(**kinds: KindTally) -> RunOverview:
    recent = Recent(first=1, last=6, minute=6, kinds=kinds, refused={}, owners={}, failures={}, failed=())
    return msgspec.structs.replace(overview(run()), hour=recent)


def test_the_last_hours_jobs_are_added_up_over_all_kinds() -> None:
    found = hour(
        think=KindTally(
            ends=Counter(applied=3, stale=1),
            sources=Counter(llm=5, cached=7, heuristic=99),
            reasons=Counter(denied=1, too_slow=2, late=4, failed=8, dead=16, cancelled=500),
        ),
        muse=KindTally(ends=Counter(dropped=2), sources=Counter(cached=1, none=9), reasons=Counter(late=32)),
    )
    assert (found.ended, found.thought, found.wanted) == (6, 13, 13 + 1 + 2 + 4 + 8 + 16 + 32)
    assert (found.late, found.short("late"), found.short("dead")) == (38, 36, 16)
    assert (hour().ended, hour().thought, hour().wanted, hour().late) == (0, 0, 0, 0)


def test_the_largest_spender_of_today_comes_first() -> None:
    store = run()
    found = spenders_today(store, overview(store))
    assert found.since == 1, "the first tick is the first minute"
    assert [*found.owners.items()] == [(BOB, Cost(calls=2, tokens=12)), (ANN, Cost(calls=1, tokens=7))]


@pytest.mark.parametrize("field", ["tick", "settings"])
def test_a_run_that_was_deleted_while_it_was_read_is_missing(field: str) -> None:
    store = run()
    found = overview(store)
    store.client.hdel(store.key("state"), field)
    with pytest.raises(RunMissing, match="deleted meanwhile"):
        overview(store)
    if field == "settings":
        with pytest.raises(RunMissing, match="deleted meanwhile"):
            spenders_today(store, found)
