"""What the cards of late and of failing jobs say, and when they are red."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from cogitate.ops.flower.cards import cards_of, failing_card, late_card, model_card, worse_of
from cogitate.ops.flower.run_rows import row_of
from cogitate.ops.formatting.vitals import format_slow_kind
from cogitate.scheduler.inspection.recent import KindTally
from cogitate.scheduler.inspection.summary import SlowKind
from tests.unit.ops.card_case import BAD_MINUTE, ENDPOINT, NIGHT, NO_SPENDERS, NOBODY, graded, hour, run


@pytest.mark.parametrize(
    ("count", "ended", "grade"), [(0, 0, ""), (0, 50, ""), (2, 2, "warn"), (3, 12, "bad"), (3, 50, "warn"), (1, 50, "")]
)
def test_many_late_or_failed_jobs_are_red(count: int, ended: int, grade: str) -> None:
    late = late_card(run(hour=hour(ends={"applied": ended}, reasons={"late": count})))
    assert (late.value, late.grade) == (f"{count} of {ended}", grade)
    failing = failing_card(run(hour=hour(ends={"applied": ended}, reasons={"dead": count}, failures={"auth": count})))
    assert (failing.value, failing.grade) == (f"{count} of {ended}", grade)
    assert failing.figures == {"failed": count, "ended": ended}


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


def test_jobs_for_which_the_model_is_too_slow_count_with_the_late_ones() -> None:
    card = late_card(run(hour=hour(ends={"dropped": 9}, reasons={"too_slow": 4})))
    assert (card.value, card.grade) == ("4 of 9", "bad")
    assert "0 late; 4 not asked, since answers take longer than they may wait" in card.lines
    assert card.lines[0] == "act 4"


def test_the_row_of_a_run_counts_late_jobs_as_its_card_does() -> None:
    seen = run(hour=hour(ends={"applied": 10}, reasons={"too_slow": 4, "late": 1}))
    assert [late_card(seen).value, late_card(seen).grade] in row_of(seen)["cells"]


def test_without_an_answer_no_model_is_called_slow() -> None:
    kinds = [SlowKind(kind="act", jobs=4, model="default", ticks=None, assumed=120, most=60, tick_rate=None)]
    seen = run(hour=hour(ends={"dropped": 9}, reasons={"too_slow": 4}), slow_kinds=kinds)
    assert "0 late; 4 not asked, since no answer has arrived yet" in late_card(seen).lines
    assert model_card(seen, []).value == "no answer yet"


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


def test_late_and_failing_name_the_kinds_that_have_most_of_them() -> None:
    kinds = {
        name: KindTally(ends=Counter(applied=20), reasons=Counter(reasons))
        for name, reasons in {"act": {"late": 2, "dead": 1}, "plan": {"too_slow": 5}, "rate": {}}.items()
    }
    seen = run(hour=msgspec.structs.replace(hour(), kinds=kinds))
    assert late_card(seen).lines[0] == "plan 5, act 2"
    assert failing_card(seen).lines[0] == "act 1"
    assert [len(card.lines) for card in (late_card(run()), failing_card(run()))] == [1, 1], "no kind has any"
