"""The daily plan without a model: 5 to 8 items at sensible times, of what is known and remembered."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, next_morning
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.language.times import find_times, parse_clock
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.meters import energy, fed
from cogitate.tasks.heuristics.identity import pursuit_of, read_routine, role_of, work_of
from cogitate.tasks.kind import WorldFacts
from tests.unit.tasks.kind_cases import PLACES, appended, case_of, message, observation, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING, made


def at(entry: Entry, minute: int) -> PlanItem:
    return next(i for i in entry.items if i.minute == minute)


def test_the_day_follows_routine_occupation_and_places() -> None:
    plan = made(stream_of(), MORNING)
    assert [(i.minute, i.location) for i in plan.items if i.priority >= 4] == [
        (420, "dorm"),
        (540, "library"),
        (720, "cafe"),
        (780, "library"),
        (1020, "dorm"),
        (1380, "dorm"),
    ]
    assert at(plan, 540).description == "Study at Oak Hill Library"
    assert "gentrification" in at(plan, 780).description
    assert plan.items[-1].description == "Go to bed"
    assert [i.id for i in plan.items] == [f"360-{n}" for n in range(len(plan.items))]


def test_an_hour_at_a_place_is_one_visit_however_much_was_seen_there() -> None:
    places = tuple(Location(id=name, name=name.title(), type="cafe", tags=("social",)) for name in "abcd")

    def eats(*seen: Entry) -> str | None:
        world = WorldFacts(locations=places)
        plan = made(
            stream_of(*seen),
            DAY + MORNING,
            profile=Profile(name="Ann Lee", routine="Ann lives by the day."),
            world=world,
        )
        (lunch,) = [item.location for item in plan.items if "lunch" in item.description]
        return lunch

    assert eats() == "a"
    assert eats(*(observation(f"Saw cup {n}.", 600 + n, location="c") for n in range(2))) == "a"
    assert eats(*(observation(f"Saw cup {n}.", 60 * n, location="c") for n in range(2))) == "c"


def test_an_appointment_that_a_memory_mentions_is_kept_at_its_time_and_place() -> None:
    stream = stream_of(message("I am planning a Valentine's Day party at 5 pm at Hobbs Cafe tomorrow.", 700))
    case = case_of(KIND, stream, DAY + MORNING)
    plan = made(stream, DAY + MORNING)
    party = at(plan, DAY + 1020)
    assert "Valentine's Day party" in party.description
    assert (party.location, party.priority) == ("cafe", 5)
    assert not any("dinner" in i.description for i in plan.items)
    assert KIND.heuristic(case)[1].numbers == (1,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("begin", "lunch"), [(600, 720), (689, 720), (690, 630), (720, 660), (840, 780)], ids=lambda minute: f"{minute}"
)
def test_lunch_is_at_noon_or_an_hour_before_work_that_begins_about_then(begin: int, lunch: int) -> None:
    hours = f"works from {begin // 60}:{begin % 60:02} to 20:00"
    plan = made(stream_of(), MORNING, profile=Profile(name="Ada Smith", occupation="clerk", routine=f"Ada {hours}."))
    (found,) = [item.minute for item in plan.items if "lunch" in item.description]
    assert found == lunch


def test_needs_come_first() -> None:
    plan = made(stream_of(), MORNING, params={"status": {"hunger": fed(5), "energy": energy(10)}})
    assert plan.items[0].minute == MORNING
    assert plan.items[0].location == "cafe"
    assert any("Rest at home" in i.description and i.priority == 5 for i in plan.items[:3])


@pytest.mark.parametrize(
    ("said", "day", "expected"),
    [
        ("There is a party at 5 pm at Hobbs Cafe", 1, (1020, "Attend the party at Hobbs Cafe", "cafe")),
        (
            "Meet Maria at 3 pm at the Oak Hill Library tomorrow",
            1,
            (900, "Meet Maria at the Oak Hill Library", "library"),
        ),
        ("Let's have dinner with Maria Lopez tonight at 19:30", 0, (1170, "Have dinner with Maria Lopez", None)),
        ("I promised to help Maria with the decorations at 4pm", 1, (960, "Help Maria with the decorations", None)),
        ("The concert is on day 4 from 8 to 10pm", 3, (1200, "Attend the concert", None)),
        ("Завтра встреча в 17:00", 1, (1020, "Встреча", None)),
        (
            "Tomás invited me to an open-air supper at Hobbs Cafe tomorrow at 6:00 PM, and I said yes.",
            1,
            (1080, "Attend the open-air supper at Hobbs Cafe", "cafe"),
        ),
        ("Ana is holding a school concert on day 4 at 5:45 PM", 3, (1065, "Attend the school concert", None)),
        ("The party is tonight at 5 pm", 1, None),
        ("Yesterday the party began at 5 pm", 1, None),
        ("Carlos Gomez is having lunch at 1:00 pm", 1, None),
        ("The price of the party was 5.00", 1, None),
        ("There is a party at 5 pm", 4, None),
    ],
)
def test_appointments_are_understood(said: str, day: int, expected: tuple[int, str, str | None] | None) -> None:
    entry = observation(said, 600, number=3)
    start = day * DAY + (MORNING if day else 700)
    found = appointments([entry], PLACES, start, next_morning(start, MORNING))
    assert [(a.minute - day * DAY, a.what, a.location) for a in found] == ([expected] if expected else [])


def test_several_mentions_of_one_appointment_count_once() -> None:
    entries = [
        observation("The party begins at 5pm.", 600, number=1),
        observation("The party at Hobbs Cafe begins at 5pm.", 610, number=2),
        observation("A party at 17:10!", 620, number=3),
    ]
    (found,) = appointments(entries, PLACES, DAY + MORNING, 2 * DAY + MORNING)
    assert (found.number, found.location) == (2, "cafe")


def test_routine_words() -> None:
    routine = read_routine("Maria goes to bed around 2am, awakes up around 9am, eats dinner around 6pm.", "Maria")
    assert (routine.wake, routine.bed, routine.dinner) == (540, 1440 + 120, 1080)
    habits = read_routine("Takes a walk at 8 pm and watches TV from 9pm to 10pm").habits
    assert habits == ((1200, "Takes a walk"), (1260, "watches TV"))
    assert read_routine("") == read_routine("sleeps when tired")


def test_other_scripts_are_understood_too() -> None:
    routine = read_routine(
        "Анна ложится спать около 23:00, просыпается в 6:30, работает с 9:00 до 17:30, ужинает в 20:00."
    )
    assert (routine.bed, routine.wake, routine.work, routine.dinner) == (1380, 390, (540, 1050), 1200)
    plan = made(stream_of(message("Завтра в 18:00 концерт в Hobbs Cafe, приходи!", 700)), DAY + MORNING)
    concert = at(plan, DAY + 1080)
    assert "концерт" in concert.description.lower()
    assert concert.location == "cafe"


def test_working_hours_are_read_and_conditions_are_no_habits() -> None:
    routine = read_routine(
        "Ana wakes up around 5:30 AM, works at the mill from 7:00 AM to 3:30 PM and goes to bed at 10 PM."
    )
    assert (routine.wake, routine.work, routine.bed) == (330, (420, 930), 1320)
    assert read_routine("She likes to hang out at the cafe if it's before 6pm.").habits == ()


@pytest.mark.parametrize(
    ("fields", "role", "work", "pursuit"),
    [
        ({"occupation": "baker", "work": "cafe"}, "baker", "cafe", ""),
        ({"background": "Ana is a cafe owner of Hobbs Cafe who loves guests."}, "cafe owner of Hobbs Cafe", "cafe", ""),
        ({"background": "Ana is a part time clerk."}, "part time clerk", "", ""),
        (
            {"currently": "Ana is also working on a book of poems that rhyme."},
            "",
            "",
            "Spend time working on a book of poems",
        ),
        ({"currently": "Ana hopes to repaint the door."}, "", "", "Repaint the door"),
        ({"currently": "Status: Ana is excited. She is saving for a boat."}, "", "", ""),
    ],
)
def test_identity_is_read_from_words(fields: dict[str, str], role: str, work: str, pursuit: str) -> None:
    profile = Profile(name="Ana", **fields)
    assert (role_of(profile), work_of(profile, PLACES), pursuit_of(profile)) == (role, work, pursuit)


def test_an_invitation_to_a_meal_takes_the_place_of_that_meal() -> None:
    plan = made(stream_of(observation("Dinner with Maria is tomorrow at 8:30 PM.", 700)), DAY + MORNING)
    assert [i.minute for i in plan.items if "dinner" in i.description] == [DAY + 1230]


@pytest.mark.parametrize(
    ("text", "minute"),
    [
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
    ],
)
def test_clock_times(text: str, minute: int | None) -> None:
    assert parse_clock(text) == minute


text = st.text(max_size=60) | st.sampled_from(
    [
        "goes to bed around 11pm, awakes around 6am",
        "dinner at 5pm, walks at 6pm, reads at 7pm, swims at 6 am",
        "bed 3am",
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
    routine=text,
    currently=text,
    occupation=text,
    home=st.sampled_from(["", "a", "nowhere"]),
    places=st.lists(place, max_size=3),
    said=st.lists(st.tuples(st.integers(0, 3 * DAY), remark), max_size=8),
    unfinished=st.lists(left_over, max_size=8),
    rested=st.integers(0, 100),
)
@settings(max_examples=150, deadline=None)
def test_any_agent_gets_items_in_order_and_five_to_eight_if_it_has_usual_days(
    minute: int,
    morning: int,
    routine: str,
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
    assert (5 if home or routine.strip() else 1) <= len(plan.items) <= 8
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
