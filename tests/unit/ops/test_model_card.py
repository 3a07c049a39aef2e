"""What the card of the model says, and when it is red."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.ops.flower.cards import host_card, model_card
from cogitate.ops.flower.run_rows import row_of
from tests.unit.ops.card_case import BAD_MINUTE, ENDPOINT, NIGHT, endpoint, graded, hour, run


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


def test_a_model_whose_calls_all_fail_is_down_even_with_a_closed_breaker() -> None:
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


def test_a_model_whose_answers_cannot_be_used_is_not_down() -> None:
    for failures, value in (
        ({"unusable:copied": 2, "not_json": 1, "late": 9}, "answers, but unusable"),
        ({"connection": 3}, "down"),
        ({"unusable:copied": 1, "connection": 2}, "down"),
    ):
        silent = run(hour=hour(ends={"applied": 3}, sources={"heuristic": 3}, reasons={"failed": 3}, failures=failures))
        assert graded(model_card(silent, [ENDPOINT])) == (value, "bad")


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
    assert "jobs late because it stalled: 16" in host_card(stalled).lines
    none = hour(ends={"applied": 16}, sources={"heuristic": 16}, reasons={"late": 16})
    assert graded(model_card(run(hour=none), [ENDPOINT])) == ("no answer in time", "bad")
    assert model_card(run(hour=msgspec.structs.replace(none, late_by_host=16)), [ENDPOINT]).grade in ("", "good")


def test_the_model_card_names_why_calls_fail() -> None:
    seen = hour(sources={"llm": 9}, reasons={"failed": 4}, failures={"connection": 4, "late": 1})
    assert model_card(run(hour=seen), [ENDPOINT]).lines[1] == "failed: connection 4×"


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


def test_the_model_is_graded_by_the_newest_jobs_while_an_hour_asks_it_nothing() -> None:
    silent = run(hour=NIGHT, lately=hour(sources={"llm": 300}), judged=BAD_MINUTE)
    card = model_card(silent.over_judged, [ENDPOINT])
    assert graded(card) == ("down", "bad")
    assert card.lines[-1] == "0 of 40 results in the last 60 ticks are a model's"
    assert row_of(silent)["cells"][1] == ["0 of 40", "bad"]
    back = run(hour=hour(sources={"llm": 3}), lately=BAD_MINUTE)
    assert graded(model_card(back.over_judged, [ENDPOINT])) == ("up", "good"), "as soon as it answers"
