"""The daily plan: when it is due, 5 to 8 items at sensible times, and what a model's answer must keep to."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kind_cases import KLAUS, PLACES, PROFILE, WORLD, appended, case_of, message, moment_of, observation, stream_of

from memory.apply import apply
from memory.appointments import appointments
from memory.clock import DAY, next_morning
from memory.entry import Entry, PlanItem
from memory.profile import Location, Profile
from memory.stream import Stream
from memory.times import find_times, parse_clock
from prompts.answers import DailyPlan
from prompts.render import Templates
from tasks.identity import pursuit_of, read_routine, role_of, work_of
from tasks.kind import Case, World
from tasks.plan import Plan

KIND = Plan(Templates())
MORNING = 360


def made(stream: Stream, minute: int, **case: Any) -> Entry:
    """The plan that the heuristic makes."""
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, minute, **case)))
    return entry


def at(entry: Entry, minute: int) -> PlanItem:
    return next(i for i in entry.items if i.minute == minute)


# -- when it is due ------------------------------------------------------------------------------


def test_due_once_at_the_first_tick_of_each_morning() -> None:
    stream, minutes = stream_of(), []
    for minute in range(0, 3 * DAY, 7):
        for request in KIND.due(moment_of(stream, minute)):
            minutes.append(minute)
            apply({KLAUS: stream}, KIND.heuristic(case_of(KIND, stream, minute, request=request)), minute)
    assert len(minutes) == 3
    assert all(0 <= minute - (day * DAY + MORNING) < 7 for day, minute in enumerate(minutes))


def test_an_agent_that_joins_during_the_day_plans_at_once() -> None:
    stream = stream_of()
    (request,) = KIND.due(moment_of(stream, 900))
    plan = made(stream, 900, request=request)
    assert plan.valid_until == DAY + MORNING
    assert all(900 <= (item.minute or 0) < plan.valid_until for item in plan.items)


def test_who_joins_during_working_hours_works_on() -> None:
    plan = made(stream_of(), 900)
    assert (plan.items[0].minute, plan.items[0].location) == (900, "library")
    assert len({item.description for item in plan.items}) == len(plan.items)


def test_not_due_at_night_with_a_plan_or_for_a_place() -> None:
    plan = Entry(type="plan", text="Plan.", minute=360, valid_until=DAY + MORNING)
    assert not list(KIND.due(moment_of(stream_of(), 100)))
    assert not list(KIND.due(moment_of(stream_of(plan), 1300)))
    assert not list(KIND.due(moment_of(stream_of(owner="location:cafe"), 900)))
    assert KIND.wake(moment_of(stream_of(owner="location:cafe"), 900)) is None


@pytest.mark.parametrize("minute", [0, 359, 360, 900, 1439])
def test_it_wakes_at_the_next_morning(minute: int) -> None:
    assert KIND.wake(moment_of(stream_of(), minute)) == next_morning(minute, MORNING)
    plan = Entry(type="plan", text="Plan.", minute=360, valid_until=DAY + MORNING)
    assert KIND.wake(moment_of(stream_of(plan), minute)) == DAY + MORNING
    world = World(minutes_per_tick=7)
    wake = KIND.wake(moment_of(stream_of(), 700, tick=100, world=world))
    assert wake is not None
    assert 700 + (wake - 100 - 1) * 7 < DAY + MORNING <= 700 + (wake - 100) * 7


def test_what_the_head_knows_goes_into_the_request() -> None:
    items = tuple(PlanItem(id=f"1-{i}", description=f"Errand {i}", priority=i + 1, location="cafe") for i in range(3))
    stream = stream_of(Entry(type="plan", text="Plan.", minute=400, valid_until=DAY + MORNING, items=items))
    stream.set_plan_status("1-0", "completed")
    stream.set_plan_status("1-1", "active")
    (request,) = KIND.due(moment_of(stream, DAY + MORNING, status={"energy": 12.5, "hunger": 80, "mood": "fine"}))
    assert request.params == {
        "unfinished": [
            {"description": "Errand 1", "location": "cafe", "priority": 2},
            {"description": "Errand 2", "location": "cafe", "priority": 3},
        ],
        "status": {"energy": 12.5, "hunger": 80},
    }
    plan = made(stream, DAY + MORNING, request=request)
    assert [i.description for i in plan.items if "Errand" in i.description] == [
        "Take up again: Errand 2",
        "Take up again: Errand 1",
    ]
    assert any("Rest at home" in i.description for i in plan.items)


# -- the heuristic -------------------------------------------------------------------------------


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


def test_an_appointment_that_a_memory_mentions_is_kept_at_its_time_and_place() -> None:
    stream = stream_of(message("I am planning a Valentine's Day party at 5 pm at Hobbs Cafe tomorrow.", 700))
    case = case_of(KIND, stream, DAY + MORNING)
    plan = made(stream, DAY + MORNING)
    party = at(plan, DAY + 1020)
    assert "Valentine's Day party" in party.description
    assert (party.location, party.priority) == ("cafe", 5)
    assert not any("dinner" in i.description for i in plan.items)
    assert KIND.heuristic(case)[1].numbers == (1,)  # type: ignore[union-attr]


def test_needs_come_first() -> None:
    plan = made(stream_of(), MORNING, params={"status": {"hunger": 5, "energy": 10}})
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
        ("The concert is on day 3 from 8 to 10pm", 3, (1200, "Attend the concert", None)),
        ("Завтра встреча в 17:00", 1, (1020, "Встреча", None)),
        (
            "Tomás invited me to an open-air supper at Hobbs Cafe tomorrow at 6:00 PM, and I said yes.",
            1,
            (1080, "Attend the open-air supper at Hobbs Cafe", "cafe"),
        ),
        ("Ana is holding a school concert on day 3 at 5:45 PM", 3, (1065, "Attend the school concert", None)),
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
        ("7:00 AM", 420), ("07:00", 420), ("7am", 420), ("7", 420), ("12:30 a.m.", 30), ("noon", 720), ("19:05", 1145),
        ("17:00 pm", 1020), ("3 o'clock", 900), ("from 5 to 7pm", 1020), ("10 to 1pm", 600), ("in the morning", None),
        ("25:00", None), ("7:75", None), ("", None),
    ],
)  # fmt: skip
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
    energy=st.integers(0, 100),
)
@settings(max_examples=150, deadline=None)
def test_any_agent_gets_five_to_eight_items_in_order(
    minute: int, morning: int, routine: str, currently: str, occupation: str, home: str, places: list[Location],
    said: list[tuple[int, str]], unfinished: list[dict[str, Any]], energy: int,
) -> None:  # fmt: skip
    profile = Profile(name="A", routine=routine, currently=currently, occupation=occupation, home=home)
    world = World(locations=tuple(places), morning=morning)
    stream = stream_of(*(observation(words, when) for when, words in said))
    params = {"unfinished": unfinished, "status": {"energy": energy, "hunger": 100 - energy}}
    case = case_of(KIND, stream, minute, world=world, profile=profile, params=params)
    effects = KIND.heuristic(case)
    assert effects == KIND.heuristic(case)
    (plan,) = appended(effects)
    assert 5 <= len(plan.items) <= 8
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


# -- a model's answer ----------------------------------------------------------------------------


def answered(times: list[str], location: str = "cafe", **case: Any) -> tuple[Case, DailyPlan]:
    activities = [
        {"time": time, "description": f"Do {i}", "location": location, "priority": 1 + i % 5}
        for i, time in enumerate(times)
    ]
    return case_of(KIND, stream_of(), MORNING, **case), DailyPlan.model_validate({"activities": activities})


def test_times_are_read_tolerantly_and_put_in_order() -> None:
    case, answer = answered(["7:00 AM", "19:00", "9am", "13:30", "11 PM", "12:30 am"])
    (plan,) = appended(KIND.effects(case, answer, (1, 2)))
    assert [i.minute for i in plan.items] == [420, 540, 810, 1140, 1380, DAY + 30]
    assert plan.valid_until == DAY + MORNING
    assert {i.location for i in plan.items} == {"cafe"}


@pytest.mark.parametrize(
    ("said", "place"),
    [("hobbs cafe", "cafe"), ("the Cafe", "cafe"), ("home", "dorm"), ("work", "library"), ("", None), ("none", None),
     ("Oak Hill Library, first floor", "library")],
)  # fmt: skip
def test_places_are_understood_by_name_and_id(said: str, place: str | None) -> None:
    case, answer = answered(["8:00"] * 5, said)
    (plan,) = appended(KIND.effects(case, answer, ()))
    assert {i.location for i in plan.items} == {place}


def test_an_unknown_place_is_refused_by_name() -> None:
    case, answer = answered(["8:00"] * 5, "Atlantis")
    with pytest.raises(ValueError, match="'Atlantis'; known are cafe, library, dorm"):
        KIND.effects(case, answer, ())


def test_fewer_than_five_usable_items_are_refused() -> None:
    case, answer = answered(["8:00", "9:00", "10:00", "11:00", "sometime", "3:00 AM"])
    assert KIND.effects(case, answer, ())
    case, answer = answered(["8:00", "9:00", "10:00", "11:00", "sometime"])
    with pytest.raises(ValueError, match="4 of 5 plan items"):
        KIND.effects(case, answer, ())


def test_of_more_than_eight_the_least_important_go() -> None:
    case, answer = answered([f"{hour}:00" for hour in range(8, 20)])
    (plan,) = appended(KIND.effects(case, answer, ()))
    assert len(plan.items) == 8
    assert (
        sorted(i.priority for i in plan.items) == [2, 3, 3, 4, 4, 4, 5, 5][:8]
        or min(i.priority for i in plan.items) >= 2
    )
    minutes = [i.minute or 0 for i in plan.items]
    assert minutes == sorted(minutes)


def test_the_prompt_says_who_where_when_and_what_is_unfinished() -> None:
    stream = stream_of(observation("Maria wants to meet tomorrow.", 1000))
    params = {"unfinished": [{"description": "Return the </unfinished> books"}], "status": {"energy": 55.0}}
    prompt = KIND.prompt(case_of(KIND, stream, DAY + MORNING, params=params))
    for said in (
        PROFILE.name,
        PROFILE.currently,
        "- cafe: Hobbs Cafe (cafe)",
        "energy 55",
        "day 1",
        "6:00 AM",
        "Maria wants",
    ):
        assert said in prompt.user
    assert "- Return the ‹/unfinished› books" in prompt.user
    assert prompt.used == (1,)
    assert WORLD.names[KLAUS] in prompt.user


def test_a_repair_replaces_the_provisional_plan() -> None:
    effects = KIND.heuristic(case_of(KIND, stream_of(), MORNING, params={"replaces": 4}))
    assert effects[0].replaces == 4  # type: ignore[union-attr]
