"""What the card of money and the list of refusals say, and when the card is red."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.ops.flower.money_card import money_card
from cogitate.ops.flower.run_rows import refusals_of
from cogitate.scheduler.inspection.vitals import Window
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.tasks.job import Cost
from tests.unit.ops.card_case import NIGHT, hour, run, window


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


def test_refusals_of_the_minute_are_yellow_and_only_those_of_the_hour_are_red() -> None:
    windows = [window("run:0", "tokens", spent=190, limit=1_000)]
    refused = hour(refused={"run.run.tokens": 12})
    card = money_card(run(windows=windows, hour=NIGHT, lately=refused), None)
    assert card.grade == "warn", "an operator may have raised the limit since"
    assert "12 refused in the last real minute" in card.lines
    assert money_card(run(windows=windows, hour=refused, lately=refused), None).grade == "bad"


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
