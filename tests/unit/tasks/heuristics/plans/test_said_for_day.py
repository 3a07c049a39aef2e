"""What is said for the day of a plan, at no hour."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY, Clock
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.tasks.heuristics.plans.said_for_day import said_for_day
from tests.unit.tasks.kind_cases import KLAUS, MARIA, message, stream_of
from tests.unit.tasks.plan.plan_case import MORNING, made

NAMES = {KLAUS: "Klaus Mueller", MARIA: "Maria Lopez"}


def said_for(*entries: Entry, day: int = 1, agreed: tuple[int, ...] = ()) -> list[str]:
    return said_for_day("Klaus Mueller", stream_of(*entries).live(), NAMES, day * DAY + MORNING, agreed)


def own(text: str) -> Entry:
    return message(text, 600, speaker=KLAUS, hearer=MARIA)


def to_him(text: str) -> Entry:
    return message(text, 600, speaker=MARIA, hearer=KLAUS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I'll look in the laundry tomorrow.", "I'll look in the laundry on day 2"),
        ("J'essaierai au ministère demain.", "J'essaierai au ministère le jour 2"),
        ("Domani mi serve il latte.", "Il giorno 2 mi serve il latte"),
    ],
)
def test_what_an_owner_says_of_itself_for_a_day_is_for_that_day_alone(text: str, said: str) -> None:
    assert said_for(own(text)) == [said]
    assert said_for(own(text), day=2) == []
    assert said_for(own(text), agreed=(1,)) == [], "a promise"


def test_what_another_asks_by_name_is_for_the_day() -> None:
    asked = to_him("Klaus, could you bring the glue tomorrow?")
    assert said_for(asked) == ["Maria Lopez: Klaus, could you bring the glue on day 2?"]
    assert said_for(to_him("I will bring the glue tomorrow.")) == [], "hers to do"


@pytest.mark.parametrize(
    "text",
    [
        "It will rain tomorrow.",
        "Shall I look tomorrow?",
        "I can't look tomorrow.",
        "Maybe I'll look tomorrow.",
        "I'll look tomorrow at 5 PM.",
        "I'll look soon.",
        "Domani piove.",
    ],
)
def test_weather_questions_refusals_and_appointments_are_not(text: str) -> None:
    assert said_for(own(text)) == []


def test_a_plan_holds_the_two_said_last() -> None:
    texts = ("I'll mend the gate tomorrow.", "I'll feed the goat tomorrow.", "I'll paint the door tomorrow.")
    plan = made(stream_of(*map(own, texts)), DAY + MORNING, profile=Profile(name="Klaus Mueller"))
    items = [item.description for item in plan.items]
    assert items == ["I'll feed the goat on day 2", "I'll paint the door on day 2"]


def test_where_time_is_told_by_rounds_what_anybody_says_of_a_round_ahead_is_for_it() -> None:
    def said_at(number: int, *entries: Entry) -> list[str]:
        with Clock(names="40 rounds").in_force():
            return said_for_day("Klaus Mueller", stream_of(*entries).live(), NAMES, number, ())

    meets = message("The council meets in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    moved = message("The meeting is moved from round 14 to round 17.", 12, speaker=MARIA, hearer=KLAUS)
    soon = message("I will count the votes in the next round.", 12, speaker=KLAUS, hearer=MARIA)
    assert said_at(10, meets) == said_at(14, meets) == ["Maria Lopez: The council meets in round 14"]
    assert said_at(15, meets) == []
    assert said_at(13, meets, moved) == ["Maria Lopez: The meeting is moved from round 14 to round 17"]
    assert said_at(13, soon) == ["I will count the votes in the next round"]
    assert said_at(14, soon) == said_at(10, message("Who meets in round 14?", 8, speaker=MARIA, hearer=KLAUS)) == []
    spanish = message("El consejo vota en la ronda 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, spanish) == ["Maria Lopez: El consejo vota en la ronda 14"]
    assert said_at(15, spanish) == []
    french = message("Je m'en occupe au tour 14.", 8, speaker=MARIA, hearer=KLAUS)
    mine = message("I will count the votes in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, french) == said_at(10, mine) == [], "theirs to do"
    ours = message("We count the votes in round 14.", 8, speaker=MARIA, hearer=KLAUS)
    assert said_at(10, ours) == ["Maria Lopez: We count the votes in round 14"]
