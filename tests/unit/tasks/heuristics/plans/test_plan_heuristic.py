"""The daily plan without a model: 5 to 8 items at sensible times, of what is known and remembered."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, next_morning
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.language.times import find_times, parse_clock
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.world import energy, fed
from cogitate.tasks.kind import WorldFacts
from tests.unit.tasks.kind_cases import PLACES, PROFILE, appended, case_of, message, observation, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING, made


def at(entry: Entry, minute: int) -> PlanItem:
    return next(i for i in entry.items if i.minute == minute)


ROUTINE = (
    "7:00 Get up and have breakfast @home",
    "9:00–17:00 Study at {place} @work",
    "12:00 Have lunch @cafe",
    "19:00 Have dinner @home",
    "23:00 Go to bed @home",
)
STUDENT = msgspec.structs.replace(PROFILE, routine=ROUTINE)


def test_the_day_follows_routine_occupation_and_places() -> None:
    plan = made(stream_of(), MORNING, profile=STUDENT)
    assert [(i.minute, i.description, i.location, i.priority) for i in plan.items] == [
        (420, "Get up and have breakfast", "dorm", 4),
        (540, "Study at Oak Hill Library", "library", 5),
        (720, "Have lunch", "cafe", 4),
        (1140, "Have dinner", "dorm", 4),
        (1380, "Go to bed", "dorm", 4),
    ]
    assert [i.id for i in plan.items] == [f"360-{n}" for n in range(len(plan.items))]


def test_an_hour_at_a_place_is_one_visit() -> None:
    places = tuple(Location(id=name, name=name.title(), type="cafe") for name in "abcd")

    def eats(*seen: Entry) -> str | None:
        profile = Profile(name="Ann Lee", routine="12:00 lunch @cafe")
        (lunch,) = made(stream_of(*seen), DAY + MORNING, profile=profile, world=WorldFacts(locations=places)).items
        return lunch.location

    assert eats() == "a"
    assert eats(*(observation(f"Saw cup {n}.", 600 + n, location="c") for n in range(2))) == "a"
    assert eats(*(observation(f"Saw cup {n}.", 60 * n, location="c") for n in range(2))) == "c"


def test_an_appointment_that_a_memory_mentions_is_kept_at_its_time_and_place() -> None:
    stream = stream_of(message("I am planning a Valentine's Day party at 5 pm at Hobbs Cafe tomorrow.", 700))
    case = case_of(KIND, stream, DAY + MORNING, profile=STUDENT)
    plan = made(stream, DAY + MORNING, profile=STUDENT)
    party = at(plan, DAY + 1020)
    assert "Valentine's Day party" in party.description
    assert (party.location, party.priority) == ("cafe", 5)
    assert KIND.heuristic(case)[1].numbers == (1,)  # type: ignore[union-attr]


def test_needs_are_seen_to_first() -> None:
    params = {"status": {"hunger": fed(5), "energy": energy(10)}}
    plan = made(stream_of(), MORNING, profile=STUDENT, params=params)
    assert [(i.minute, i.description, i.priority) for i in plan.items[:2]] == [
        (MORNING, "Needs attention: energy 10/100", 5),
        (MORNING + 30, "Needs attention: hunger 5/100", 5),
    ]


def test_appointments_are_understood(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int, tuple[int, str, str | None] | None]] = [
        ("Party at 5 pm at Hobbs Cafe on day 2", 1, (1020, "Party at 5 pm at Hobbs Cafe on day 2", "cafe")),
        (
            "Meet Maria at 3 pm at the Oak Hill Library tomorrow",
            1,
            (900, "Meet Maria at 3 pm at the Oak Hill Library on day 2", "library"),
        ),
        ("Let's dine tonight at 19:30", 0, (1170, "Let's dine on the evening of day 1 at 19:30", None)),
        ("I promised to help Maria at 4pm", 0, (960, "I promised to help Maria at 4pm", None)),
        ("The concert is on day 4 from 8 to 10pm", 3, (1200, "The concert is on day 4 from 8 to 10pm", None)),
        ("Завтра встреча в 17:00", 1, (1020, "В день 2 встреча в 17:00", None)),
        (
            "Tomás invited me to an open-air supper at Hobbs Cafe tomorrow at 6:00 PM, and I said yes.",
            1,
            (
                1080,
                "Tomás invited me to an open-air supper at Hobbs Cafe on day 2 at 6:00 PM, and I said yes",
                "cafe",
            ),
        ),
        (
            "Ana is holding a school concert on day 4 at 5:45 PM",
            3,
            (1065, "Ana is holding a school concert on day 4 at 5:45 PM", None),
        ),
        ("The party is tonight at 5 pm", 1, None),
        ("Yesterday the party began at 5 pm", 1, None),
        ("Carlos Gomez is having lunch at 1:00 pm", 1, None),
        ("The price of the party was 5.00", 1, None),
        ("There is a party at 5 pm", 4, None),
    ]
    for said, day, expected in cases:
        with subtests.test(said=said):
            entry = observation(said, 600, number=3)
            start = day * DAY + (MORNING if day else 700)
            found = appointments([entry], PLACES, start, next_morning(start, MORNING))
            assert [(a.minute - day * DAY, a.what, a.location) for a in found] == ([expected] if expected else [])


def test_several_mentions_of_one_appointment_count_once() -> None:
    entries = [
        observation("The party begins tomorrow at 5pm.", 600, number=1),
        observation("The party at Hobbs Cafe begins tomorrow at 5pm.", 610, number=2),
        observation("A party at 17:10 tomorrow!", 620, number=3),
    ]
    (found,) = appointments(entries, PLACES, DAY + MORNING, 2 * DAY + MORNING)
    assert (found.number, found.location) == (2, "cafe")


def test_an_appointment_in_another_script_is_understood_too() -> None:
    plan = made(stream_of(message("Завтра в 18:00 концерт в Hobbs Cafe, приходи!", 700)), DAY + MORNING)
    concert = at(plan, DAY + 1080)
    assert "концерт" in concert.description.lower()
    assert concert.location == "cafe"


def test_an_invitation_to_a_meal_takes_the_place_of_that_meal() -> None:
    seen = observation("Dinner with Maria is tomorrow at 8:30 PM.", 700)
    plan = made(stream_of(seen), DAY + MORNING, profile=STUDENT)
    assert [i.minute for i in plan.items if "dinner" in i.description.lower()] == [DAY + 1230]


def test_clock_times(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, int | None]] = [
        ("7:00 AM", 420),
        ("07:00", 420),
        ("7am", 420),
        ("7", 420),
        ("12:30 a.m.", 30),
        ("noon", 720),
        ("19:05", 1145),
        ("17:00 pm", 1020),
        ("3 o'clock", 900),
        ("from 5 to 7pm", 1020),
        ("10 to 1pm", 600),
        ("in the morning", None),
        ("25:00", None),
        ("7:75", None),
        ("", None),
    ]
    for text, minute in cases:
        with subtests.test(text=text):
            assert parse_clock(text) == minute


text = st.text(max_size=60) | st.sampled_from(
    [
        "goes to bed around 11pm, awakes around 6am",
        "dinner at 5pm, walks at 6pm, reads at 7pm, swims at 6 am",
        "bed 3am",
        "7:00 a @cafe",
        "~19h30 b @a",
        "22:00–06:00 watch",
    ]
)
place = st.builds(
    Location, id=st.sampled_from(["a", "b", "c"]), name=text.filter(bool), type=st.sampled_from(["", "cafe"])
)
remark = text | st.sampled_from(["Party at 5pm!", "Meet me at 6:10 PM", "lunch at noon with Al"])
left_over = st.fixed_dictionaries({"description": text, "location": st.none() | text, "priority": st.integers(1, 5)})


@given(
    minute=st.integers(0, 3 * DAY),
    morning=st.integers(0, DAY - 1),
    routine=text | st.lists(text, max_size=12).map(tuple),
    currently=text,
    occupation=text,
    home=st.sampled_from(["", "a", "nowhere"]),
    places=st.lists(place, max_size=3),
    said=st.lists(st.tuples(st.integers(0, 3 * DAY), remark), max_size=8),
    unfinished=st.lists(left_over, max_size=8),
    rested=st.integers(0, 100),
)
@settings(max_examples=150, deadline=None)
def test_any_agent_gets_one_to_eight_items_in_order(
    minute: int,
    morning: int,
    routine: str | tuple[str, ...],
    currently: str,
    occupation: str,
    home: str,
    places: list[Location],
    said: list[tuple[int, str]],
    unfinished: list[dict[str, Any]],
    rested: int,
) -> None:
    profile = Profile(name="A", routine=routine, currently=currently, occupation=occupation, home=home)
    world = WorldFacts(locations=tuple(places), morning=morning)
    stream = stream_of(*(observation(words, when) for when, words in said))
    params = {"unfinished": unfinished, "status": {"energy": energy(rested), "hunger": fed(100 - rested)}}
    case = case_of(KIND, stream, minute, world=world, profile=profile, params=params)
    effects = KIND.heuristic(case)
    assert effects == KIND.heuristic(case)
    (plan,) = appended(effects)
    assert 1 <= len(plan.items) <= 8
    minutes = [item.minute or 0 for item in plan.items]
    assert minutes == sorted(minutes)
    assert minute <= minutes[0]
    assert minutes[-1] < plan.valid_until == next_morning(minute, morning)
    if plan.valid_until - minute > 200:
        assert all(b - a >= 15 for a, b in itertools.pairwise(minutes))
    assert all(item.description.strip() and 1 <= item.priority <= 5 for item in plan.items)
    assert 0 < len(plan.text) <= 4000


@given(st.text(max_size=80))
def test_times_in_any_text_are_times(words: str) -> None:
    assert all(0 <= t.minute < DAY and t.start < t.end for t in find_times(words))
