"""What the cards of Flower's first page say, and when they are red."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from cogitate.ops.flower.card import Card
from cogitate.ops.flower.cards import (
    cards_of,
    failing_card,
    host_card,
    late_card,
    model_card,
    reflections_card,
    spenders_card,
    workers_card,
    worse_of,
)
from cogitate.ops.flower.money_card import money_card
from cogitate.ops.flower.run_rows import refusals_of, row_of
from cogitate.ops.formatting.vitals import format_slow_kind
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.budget.forecast import forecast
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.overview import RunOverview, Spenders
from cogitate.scheduler.inspection.recent import KindTally, Recent
from cogitate.scheduler.inspection.summary import SlowKind
from cogitate.scheduler.inspection.vitals import OpenKind, SteeringVitals, Window
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, UnansweredWorker, WorkersSeen
from cogitate.tasks.job import Cost

NOON = 12 * 60
STEERING = SteeringVitals(
    mode="running",
    asked=0,
    cadence=1.0,
    interval=720,
    usual=720,
    by="controller",
    causes={},
    pressing=(),
    waiting=0,
    postponed=0,
    lag=0,
    host_ms=3.25,
)
ENDPOINT = EndpointVitals(
    endpoint="default",
    breaker="closed",
    why="",
    changed=None,
    next_probe=None,
    set_aside={},
    held=0.0,
    usual=0.4,
    p50=0.4,
    p95=1.25,
    in_flight=0,
    calls=9,
    requests=9,
    tokens=900,
    estimated=0,
    reasoning=0,
    failures={},
    refused={},
    waits=0,
    waited=0.0,
    openings=0,
)
NO_SPENDERS = Spenders(since=0, owners={})
NOBODY = WorkersSeen(alive=[], missing=[], kinds=[])


def window(name: str = "run:0", unit: LimitUnit = "usd_micros", **figures: Any) -> Window:
    values = {"limit": None, "reserved": 0, "spent": 0, "overrun": 0} | figures
    line = BudgetLine(window=name, scope="run", unit=unit, **values)
    return Window(line=line, forecast=forecast(line, minute=NOON, start=0))


def hour(refused: dict[str, int] | None = None, failures: dict[str, int] | None = None, **kind: Any) -> Recent:
    tally = {name: Counter(counts) for name, counts in kind.items()}
    return Recent(
        first=1,
        last=60,
        minute=NOON,
        kinds={"act": KindTally(**tally)},
        refused=refused or {},
        owners={},
        failures=failures or {},
        failed=(),
    )


def run(**changed: Any) -> RunOverview:
    values = {
        "run": "town",
        "status": "running",
        "held": True,
        "host": "vm:7",
        "tick": 60,
        "minute": NOON,
        "asks_model": True,
        "endpoints": ["default"],
        "windows": [],
        "steering": STEERING,
        "open": {},
        "hour": hour(ends={"applied": 9}),
    }
    return RunOverview(**(values | changed))


def endpoint(**changed: Any) -> EndpointVitals:
    return msgspec.structs.replace(ENDPOINT, **changed)


def test_nothing_is_red_where_nothing_has_happened() -> None:
    fresh = run(hour=hour(), minute=0)
    assert {card.grade for card in cards_of(fresh, NO_SPENDERS, [], NOBODY)} <= {"", "good"}
    assert {card.grade for card in cards_of(run(asks_model=False), NO_SPENDERS, [], NOBODY)} <= {"", "good"}


def test_a_run_that_is_well_has_no_red_card() -> None:
    well = run(
        windows=[window("day:0", spent=1_000, limit=50_000), window(spent=1_000)],
        hour=hour(ends={"applied": 20}, sources={"llm": 19, "heuristic": 1}, reasons={"failed": 1}),
    )
    cards = cards_of(well, NO_SPENDERS, [ENDPOINT], WorkersSeen(alive=["one"], missing=[], kinds=[]))
    assert [card.name for card in cards] == [
        "money",
        "spenders",
        "late",
        "failing",
        "reflections",
        "model",
        "host",
        "workers",
    ]
    assert {card.grade for card in cards} <= {"", "good"}


# -- money -------------------------------------------------------------------------------------------


def test_money_shows_spent_held_and_left_today() -> None:
    today = window("day:0", spent=10_000, reserved=2_000, held=3_000, limit=50_000, for_retries=10_000)
    card = money_card(run(windows=[today, window(spent=60_000)]), None)
    assert (card.label, card.value, card.grade) == ("Spent today, day 1", "$0.0100", "")
    assert card.figures == {
        "spent": 10_000,
        "reserved": 2_000,
        "held": 3_000,
        "overrun": 0,
        "limit": 50_000,
        "left": 25_000,
    }
    assert "left $0.0250 of $0.0400 + $0.0100 for retries, day 1" in card.lines
    assert "held $0.0030, in flight $0.0020" in card.lines
    assert not [line for line in card.lines if "at this pace" in line], "15,000 of 40,000 by noon lasts"


def test_money_predicts_when_a_limit_is_exhausted() -> None:
    card = money_card(run(windows=[window("day:0", spent=20_000, limit=30_000)]), None)
    assert "money until day 1, 6:00 PM at this pace" in card.lines
    assert card.grade == ""


@pytest.mark.parametrize(
    ("full", "said"),
    [
        (window("day:0", "calls", spent=8, limit=10, for_retries=2), "nothing left: 8 calls of 8 calls, day 1"),
        (window("run:0", spent=90, held=10, limit=100), "nothing left: $0.0001 of $0.0001, whole run"),
    ],
)
def test_money_is_red_when_any_limit_of_the_day_or_the_run_has_nothing_left(full: Window, said: str) -> None:
    card = money_card(run(windows=[window("day:0", spent=90), full]), None)
    assert card.grade == "bad"
    assert card.lines[0] == said


def test_money_without_a_limit_shows_the_fullest_one() -> None:
    windows = [window("day:0", spent=90), window("day:0", "calls", spent=2, limit=10), window("run:0", "jobs", limit=9)]
    card = money_card(run(windows=windows), None)
    assert (card.value, card.lines[0]) == ("$0.0001", "left 8 calls of 10 calls, day 1")


def test_a_run_without_prices_shows_tokens() -> None:
    tokens = window("day:0", "tokens", spent=1_200, limit=9_000)
    assert money_card(run(windows=[window("day:0"), tokens]), None).value == "1,200 tokens"


@pytest.mark.parametrize(
    ("limit", "spent", "held", "grade", "said"),
    [
        # It thinks no more at 19%.
        ("run.run.tokens", 190, 800, "bad", "game hour though 81% of the tokens is unspent; held 800 tokens"),
        ("run.run.tokens", 190, 0, "bad", "game hour though 81% of the tokens is unspent; held 0 tokens"),
        # What is left is too little for any job.
        ("run.run.tokens", 990, 0, "bad", "no room for more: 990 tokens of 1,000 tokens, whole run; refused 12"),
        ("day.run.tokens", 190, 800, "bad", "no room for more: 990 tokens of 1,000 tokens, day 1; refused 12"),
        # A part of a day's limit is promised to kinds; limits of a tick or a kind are meant to refuse.
        ("day.run.tokens", 190, 0, "warn", "12 refused in the last game hour"),
        ("tick.kind:act.calls", 190, 0, "warn", "12 refused in the last game hour"),
    ],
)
def test_a_limit_that_refuses_without_room_or_while_much_is_unspent_is_red(
    limit: str, spent: int, held: int, grade: str, said: str
) -> None:
    windows = [window(name, "tokens", spent=spent, held=held, limit=1_000) for name in ("day:0", "run:0")]
    card = money_card(run(windows=windows, hour=hour(refused={limit: 12})), None)
    assert card.grade == grade
    assert any(said in line for line in card.lines)


def test_requests_that_no_model_was_fast_enough_for_are_not_refused_by_a_limit() -> None:
    assert money_card(run(hour=hour(refused={"too_slow": 5})), None).grade == ""


def test_money_is_red_when_the_real_day_refuses_calls() -> None:
    day = DaySpending(
        date="2026-03-01",
        limit_tokens=5_000,
        limit_usd_micros=None,
        reserved=Cost(),
        spent=Cost(tokens=4_900),
        overrun=Cost(),
        refused=3,
    )
    card = money_card(run(), day)
    assert card.grade == "bad"
    assert "3 calls refused" in card.lines[-1]
    assert money_card(run(), msgspec.structs.replace(day, limit_tokens=None)).grade == ""


# -- the model ---------------------------------------------------------------------------------------


def graded(card: Card) -> tuple[str, str]:
    return card.value, card.grade


def test_a_model_that_answers_is_up_with_its_percentiles() -> None:
    card = model_card(run(hour=hour(sources={"llm": 3}, reasons={"late": 1})), [ENDPOINT])
    assert graded(card) == ("up", "good")
    assert card.lines == ["a call takes p50 0.40 s, p95 1.25 s", "3 of 4 results in the last game hour are a model's"]
    assert card.figures == {"thought": 3, "wanted": 4, "p50": 0.4, "p95": 1.25}


@pytest.mark.parametrize(
    ("changed", "failures", "expected"),
    [
        ({"breaker": "open", "why": "overloaded", "next_probe": 8.0}, {}, ("down", "bad")),
        ({"breaker": "half-open", "why": "connection"}, {}, ("down", "bad")),
        ({"set_aside": {"gpt-5": "model_missing"}}, {}, ("down", "bad")),
        ({"breaker": "open", "why": "rate_limited"}, {}, ("limited", "bad")),
        ({"held": 4.0}, {}, ("limited", "warn")),  # nothing was lost by it yet
        ({}, {"rate_limited_here": 7}, ("limited", "bad")),
        ({"held": 4.0}, {"no_slot": 1}, ("limited", "bad")),
        ({}, {"wrong_schema": 7}, ("up", "good")),
    ],
)
def test_a_model_is_down_or_limited(
    changed: dict[str, Any], failures: dict[str, int], expected: tuple[str, str]
) -> None:
    card = model_card(run(hour=hour(failures=failures, sources={"llm": 1})), [endpoint(**changed)])
    assert graded(card) == expected


def test_a_model_of_which_every_call_fails_is_down_although_its_breaker_is_closed() -> None:
    failing = run(hour=hour(reasons={"failed": 5, "late": 1}, failures={"timeout": 5, "late": 1}))
    assert graded(model_card(failing, [ENDPOINT])) == ("down", "bad")
    late = run(hour=hour(reasons={"late": 5}, failures={"late": 5}))
    assert graded(model_card(late, [ENDPOINT])) == ("no answer in time", "bad")
    assert model_card(late, [ENDPOINT], workers=False).grade == "", "no worker is there to ask it"
    one = run(hour=hour(reasons={"late": 1}, failures={"late": 1}))
    assert model_card(one, [ENDPOINT]).grade == "", "a single late job says nothing"


@pytest.mark.parametrize(("failed", "expected"), [(2, ("no answer yet", "")), (3, ("answers, but unusable", "bad"))])
def test_a_few_unusable_answers_alone_are_no_alarm(failed: int, expected: tuple[str, str]) -> None:
    seen = run(hour=hour(reasons={"failed": failed}, failures={"refused": failed}))
    assert graded(model_card(seen, [ENDPOINT])) == expected


def test_an_endpoint_that_only_holds_calls_back_is_red_once_jobs_were_lost_by_it() -> None:
    for sources, late, grade in ({"llm": 1}, 2, "warn"), ({"llm": 0}, 3, "bad"), ({"llm": 30}, 13, "bad"):
        seen = run(hour=hour(ends={"applied": 40}, sources=sources, reasons={"late": late}, failures={"late": late}))
        assert graded(model_card(seen, [endpoint(held=2.0)])) == ("limited", grade)


def test_a_model_too_slow_for_many_jobs_is_not_green() -> None:
    seen = run(hour=hour(ends={"applied": 9}, sources={"llm": 3}, reasons={"too_slow": 6}))
    assert graded(model_card(seen, [ENDPOINT])) == ("too slow", "bad")
    few = run(hour=hour(ends={"applied": 9}, sources={"llm": 3}, reasons={"too_slow": 2}))
    assert graded(model_card(few, [ENDPOINT])) == ("too slow", "warn")
    faulty = msgspec.structs.replace(seen.hour.kinds["act"], faults=6)
    of_kind = msgspec.structs.replace(seen.hour, kinds={"act": faulty})
    assert graded(model_card(run(hour=of_kind), [ENDPOINT])) == ("up", "good"), "the kind's code is at fault"
    ends = msgspec.structs.replace(seen, hour=msgspec.structs.replace(seen.hour, refused={"run_ends": 6}))
    assert graded(model_card(ends, [ENDPOINT])) == ("up", "good")


def test_a_model_is_not_slow_because_the_host_caught_up() -> None:
    late = hour(ends={"applied": 20}, sources={"llm": 4, "heuristic": 16}, reasons={"late": 16})
    assert graded(model_card(run(hour=late), [ENDPOINT])) == ("too slow", "bad")
    stalled = run(hour=msgspec.structs.replace(late, late_by_host=16))
    assert graded(model_card(stalled, [ENDPOINT])) == ("up", "good")
    assert "jobs late after it stalled: 16" in host_card(stalled).lines
    none = hour(ends={"applied": 16}, sources={"heuristic": 16}, reasons={"late": 16})
    assert graded(model_card(run(hour=none), [ENDPOINT])) == ("no answer in time", "bad")
    assert model_card(run(hour=msgspec.structs.replace(none, late_by_host=16)), [ENDPOINT]).grade in ("", "good")


def test_the_model_card_names_why_calls_fail() -> None:
    seen = hour(sources={"llm": 9}, reasons={"failed": 4}, failures={"connection": 4, "late": 1})
    assert model_card(run(hour=seen), [ENDPOINT]).lines[1] == "failed: connection 4×"


def test_a_worker_that_no_endpoint_answers_is_red() -> None:
    lost = UnansweredWorker(worker="b", endpoint="default", failures=4, why="connection")
    card = workers_card(run(), WorkersSeen(alive=["a", "b"], missing=[], kinds=[], unanswered=[lost]))
    assert graded(card) == ("2 of 2", "bad")
    assert card.lines[0] == (
        "Worker b: its last 4 calls of default failed (connection), those of others did not: check its URL and key"
    )
    assert (card.command, card.jobs) == ("cogitate doctor", {}), "others end the jobs that it fails"


def test_a_kind_whose_own_code_fails_is_failing_whatever_its_jobs_lacked() -> None:
    faulty = {
        "trade": KindTally(
            ends=Counter(applied=9), reasons=Counter(too_slow=9), faults=9, other_faults=9, fault="KeyError"
        )
    }
    card = failing_card(run(hour=msgspec.structs.replace(hour(), kinds=faulty)))
    assert (card.value, card.grade) == ("9 of 9", "bad")
    assert card.lines[0] == "the code of trade failed 9×: KeyError"
    assert (card.jobs["kind"], card.command) == ("trade", "cogitate jobs town --kind trade")
    faulty["trade"].other_faults, faulty["trade"].reasons["failed"] = 2, 7
    mixed = failing_card(run(hour=msgspec.structs.replace(hour(), kinds=faulty)))
    assert (mixed.value, mixed.lines[0]) == ("9 of 9", "the code of trade failed 9×: KeyError"), "counted once"


def test_a_pause_that_is_nearly_over_is_still_a_wait() -> None:
    card = model_card(run(), [endpoint(held=0.2)])
    assert any("calls wait 1 s more" in line for line in card.lines), card.lines


def test_endpoints_of_other_runs_do_not_matter() -> None:
    other = endpoint(endpoint="other", breaker="open", why="server")
    assert graded(model_card(run(), [other])) == ("not called yet", "")
    assert graded(model_card(run(), [ENDPOINT, other])) == ("up", "good")
    both = model_card(run(endpoints=["default", "other"]), [ENDPOINT, other])
    assert graded(both) == ("down", "bad")
    assert "other: breaker open for 0 s (server error 5xx), next call in 0 s" in both.lines


def test_a_run_of_heuristics_has_no_model() -> None:
    assert graded(model_card(run(asks_model=False), [endpoint(breaker="open")])) == ("not asked", "")


# -- host, workers, late, failing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ("alive", "good")),
        ({"held": False}, ("gone", "bad")),
        ({"status": "paused"}, ("paused", "warn")),
        ({"status": "paused", "held": False}, ("gone", "bad")),
        ({"status": "finished", "held": False}, ("left", "")),
        ({"steering": msgspec.structs.replace(STEERING, lag=6)}, ("alive", "warn")),
    ],
)
def test_a_host_is_alive_gone_or_has_left(changed: dict[str, Any], expected: tuple[str, str]) -> None:
    card = host_card(run(**changed))
    assert graded(card) == expected
    assert card.figures["lag"] == (6 if "steering" in changed else 0)


@pytest.mark.parametrize("held", [True, False])  # its sign of life may be as old as the last write
def test_a_host_whose_redis_takes_no_writes_is_not_well(held: bool) -> None:
    card = host_card(run(held=held), no_writes=True)
    assert graded(card) == ("cannot write", "bad")
    assert "Redis takes no writes" in card.lines[0]
    assert host_card(run(status="finished", held=False), no_writes=True) == host_card(
        run(status="finished", held=False)
    )


def test_workers_are_not_missing_where_redis_refuses_their_heartbeats() -> None:
    seen = WorkersSeen(alive=[], missing=[MissingWorker(worker="a", seconds=7.5)], kinds=[])
    well = run(open={"act": OpenKind(waiting=4)})
    assert graded(workers_card(well, seen)) == ("0 of 1", "bad")
    assert graded(workers_card(well, seen, no_writes=True)) == ("not known", "warn")


def test_a_lost_host_comes_with_a_remedy() -> None:
    assert host_card(run(held=False)).lines == [
        'no host is at work: start the program that hosts it again, with exist="resume"',
        "the last was vm:7",
    ]


@pytest.mark.parametrize(
    ("alive", "missing", "waiting", "held", "expected"),
    [
        (["a", "b"], [], 4, True, ("2 of 2", "good")),
        (["a"], ["b"], 0, True, ("1 of 2", "bad")),
        ([], [], 0, True, ("none", "")),
        ([], [], 4, True, ("none", "bad")),
        ([], [], 4, False, ("none", "")),  # its host is what is wrong
    ],
)
def test_workers_are_missed_when_they_died_or_jobs_wait(
    alive: list[str], missing: list[str], waiting: int, held: bool, expected: tuple[str, str]
) -> None:
    seen = WorkersSeen(alive=alive, missing=[MissingWorker(worker=name, seconds=7.5) for name in missing], kinds=[])
    card = workers_card(run(held=held, open={"act": OpenKind(waiting=waiting)}), seen)
    assert graded(card) == expected
    assert (card.figures["alive"], card.figures["expected"]) == (len(alive), len(alive) + len(missing))
    assert all(any(name in line for line in card.lines) for name in missing)


@pytest.mark.parametrize("ended", [False, True])
def test_a_worker_without_claims_is_unable_and_says_why(ended: bool) -> None:
    failing = FailingWorker(worker="b", failures=21, why="no template", ended=ended)
    seen = WorkersSeen(alive=["a"] if ended else ["a", "b"], missing=[], kinds=[], failing=[failing])
    card = workers_card(run(), seen)
    assert graded(card) == ("1 of 2", "bad")
    assert [line for line in card.lines if "no template" in line and line.startswith("Worker b ")]


def test_a_model_whose_answers_cannot_be_used_is_not_down() -> None:
    for failures, value in (
        ({"unusable:copied": 2, "not_json": 1, "late": 9}, "answers, but unusable"),
        ({"connection": 3}, "down"),
        ({"unusable:copied": 1, "connection": 2}, "down"),
    ):
        silent = run(hour=hour(ends={"applied": 3}, sources={"heuristic": 3}, reasons={"failed": 3}, failures=failures))
        assert graded(model_card(silent, [ENDPOINT])) == (value, "bad")


@pytest.mark.parametrize(
    ("count", "ended", "grade"), [(0, 0, ""), (0, 50, ""), (2, 2, "warn"), (3, 12, "bad"), (3, 50, "warn"), (1, 50, "")]
)
def test_late_and_failed_jobs_are_red_where_they_are_many(count: int, ended: int, grade: str) -> None:
    late = late_card(run(hour=hour(ends={"applied": ended}, reasons={"late": count})))
    assert (late.value, late.grade) == (f"{count} of {ended}", grade)
    failing = failing_card(run(hour=hour(ends={"applied": ended}, reasons={"dead": count}, failures={"auth": count})))
    assert (failing.value, failing.grade) == (f"{count} of {ended}", grade)
    assert failing.figures == {"failed": count, "ended": ended}


NIGHT = hour(ends={}, reasons={})
BAD_MINUTE = hour(ends={"applied": 50}, reasons={"late": 20, "failed": 20}, failures={"timeout": 20})


def test_a_minute_of_real_time_is_counted_where_a_game_hour_is_shorter() -> None:
    night = run(hour=NIGHT, lately=BAD_MINUTE)
    for make in (late_card, failing_card):
        card = worse_of(make, night)
        assert graded(card) == ("20 of 50", "bad"), "an hour without jobs is not well"
        assert card.lines[-1] == "of the jobs that ended in the last real minute"
    assert row_of(night)["cells"][4] == ["20 of 50", "bad"]
    some = hour(ends={"applied": 9}, reasons={"late": 1})
    assert graded(worse_of(late_card, run(hour=some, lately=BAD_MINUTE))) == ("20 of 50", "bad"), "it does not flicker"


@pytest.mark.parametrize(("ended", "grade"), [(2, "bad"), (3, "warn")])
def test_what_the_minute_still_counts_is_yellow_once_the_newest_jobs_are_well(ended: int, grade: str) -> None:
    seen = run(hour=hour(ends={"applied": ended}), lately=BAD_MINUTE)
    assert graded(worse_of(late_card, seen)) == ("20 of 50", grade)


def test_what_begins_is_red_within_the_game_hour_although_the_minute_was_well() -> None:
    begun = hour(ends={"applied": 9}, reasons={"late": 6, "failed": 3}, failures={"timeout": 3})
    seen = run(hour=begun, lately=hour(ends={"applied": 400}, sources={"llm": 300}, reasons={"late": 6, "failed": 3}))
    cards = {card.name: card for card in cards_of(seen, NO_SPENDERS, [ENDPOINT], NOBODY)}
    assert graded(cards["late"]) == ("6 of 9", "bad")
    assert graded(cards["failing"]) == ("3 of 9", "bad")
    assert graded(cards["model"]) == ("down", "bad")


def test_the_model_is_graded_by_the_newest_jobs_while_an_hour_asks_it_nothing() -> None:
    silent = run(hour=NIGHT, lately=hour(sources={"llm": 300}), judged=BAD_MINUTE)
    card = model_card(silent.over_judged, [ENDPOINT])
    assert graded(card) == ("down", "bad")
    assert card.lines[-1] == "0 of 40 results in the last 60 ticks are a model's"
    assert row_of(silent)["cells"][1] == ["0 of 40", "bad"]
    back = run(hour=hour(sources={"llm": 3}), lately=BAD_MINUTE)
    assert graded(model_card(back.over_judged, [ENDPOINT])) == ("up", "good"), "as soon as it answers"


def test_refusals_of_the_minute_are_yellow_and_only_those_of_the_hour_are_red() -> None:
    windows = [window("run:0", "tokens", spent=190, limit=1_000)]
    refused = hour(refused={"run.run.tokens": 12})
    card = money_card(run(windows=windows, hour=NIGHT, lately=refused), None)
    assert card.grade == "warn", "an operator may have raised the limit since"
    assert "12 refused in the last real minute" in card.lines
    assert money_card(run(windows=windows, hour=refused, lately=refused), None).grade == "bad"


def test_jobs_for_which_the_model_is_too_slow_count_with_the_late_ones() -> None:
    card = late_card(run(hour=hour(ends={"dropped": 9}, reasons={"too_slow": 4})))
    assert (card.value, card.grade) == ("4 of 9", "bad")
    assert "0 late; 4 not asked, since answers took longer than they may wait" in card.lines
    assert card.lines[0] == "act 4"


def test_the_row_of_a_run_counts_late_jobs_as_its_card_does() -> None:
    seen = run(hour=hour(ends={"applied": 10}, reasons={"too_slow": 4, "late": 1}))
    assert [late_card(seen).value, late_card(seen).grade] in row_of(seen)["cells"]


def test_too_slow_is_explained_by_its_figures() -> None:
    kinds = [
        SlowKind(kind=name, jobs=4, model="default", ticks=130, most=60, tick_rate=None) for name in ("act", "a", "b")
    ]
    card = late_card(run(hour=hour(reasons={"too_slow": 12}), slow_kinds=kinds))
    assert [line for line in card.lines if "130" in line] == [format_slow_kind(one) for one in kinds[:2]]


def test_jobs_without_a_tick_left_do_not_blame_the_model() -> None:
    card = late_card(run(hour=hour(reasons={"too_slow": 12}, refused={"run_ends": 12})))
    assert any("the run ends" in line for line in card.lines)
    assert not any("took longer" in line for line in card.lines)


def test_failing_names_its_first_cause() -> None:
    causes = {"late": 9, "overloaded": 5, "timeout": 2, "auth": 1}
    card = failing_card(run(hour=hour(ends={"applied": 20}, reasons={"failed": 8, "late": 9}, failures=causes)))
    assert card.lines[:2] == ["first cause: overloaded 503 or 529 5×", "then timeout 2×"]


def test_late_and_failing_name_the_kinds_that_have_most_of_them() -> None:
    kinds = {
        name: KindTally(ends=Counter(applied=20), reasons=Counter(reasons))
        for name, reasons in {"act": {"late": 2, "dead": 1}, "plan": {"too_slow": 5}, "rate": {}}.items()
    }
    seen = run(hour=msgspec.structs.replace(hour(), kinds=kinds))
    assert late_card(seen).lines[0] == "plan 5, act 2"
    assert failing_card(seen).lines[0] == "act 1"
    assert [len(card.lines) for card in (late_card(run()), failing_card(run()))] == [1, 1], "no kind has any"


# -- who spends, and how often agents reflect --------------------------------------------------------


def test_the_largest_spenders_are_named_with_amounts() -> None:
    owners = {
        "agent:ada": Cost(calls=3, tokens=2_000, usd_micros=40_000),
        "agent:ben": Cost(calls=1, tokens=700),
        "npc:cy": Cost(calls=2, usd_micros=900),
        "agent:dee": Cost(calls=1),
    }
    card = spenders_card(Spenders(since=NOON - 90, owners=owners))
    assert (card.label, card.value, card.grade) == ("Spent most since 10:30 AM", "ada", "")
    assert "2,000" in card.lines[0]
    assert [line.partition(":")[0] for line in card.lines[1:]] == ["then ben", "then npc"]
    assert "$0.0009" in card.lines[2]
    assert card.figures == {"tokens": 2_000, "usd_micros": 40_000}
    unknown = spenders_card(NO_SPENDERS)
    assert (unknown.value, unknown.lines) == ("no one", ["jobs count once they have ended"])


def test_reflections_say_how_much_they_are_throttled_by_whom_and_why() -> None:
    slow = msgspec.structs.replace(
        STEERING, cadence=0.25, interval=2_880, causes={"late": 40, "queue": 10}, pressing=("late",), waiting=7
    )
    card = reflections_card(run(steering=slow))
    assert graded(card) == ("25% of usual", "warn")
    assert card.lines == [
        "throttled; left to the controller",
        "pressure: late results 40%",
        "every 2,880 game minutes, usually every 720 game minutes",
        "agents that are due and wait: 7",
    ]
    stopped = reflections_card(run(steering=msgspec.structs.replace(slow, cadence=0.0, interval=None, pressing=())))
    assert (stopped.value, stopped.lines[1]) == ("0% of usual", "none are due, usually every 720 game minutes")
    assert graded(reflections_card(run())) == ("as usual", "")


def test_a_refusal_names_its_limit_and_held_amount() -> None:
    seen = run(
        hour=hour(refused={"day.kind:act.calls": 2, "run.run.usd_micros": 5, "tick.run.jobs": 1, "too_slow": 3}),
        held_under={"day.kind:act.calls": 4, "run.run.usd_micros": 12_300},
    )
    limits = {"day.kind:act.calls": 9, "run.run.usd_micros": 1_000_000, "tick.run.jobs": 2}
    assert refusals_of(seen, limits) == [
        {"limit": "run.run.usd_micros", "value": "$1.0000", "held": "$0.0123", "count": 5},
        {"limit": "day.kind:act.calls", "value": "9 calls", "held": "4 calls", "count": 2},
        {"limit": "tick.run.jobs", "value": "2 jobs", "held": "—", "count": 1},
    ]
