"""The routine that a small town declares is the day of the streams design."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.profile import Location, PlaceIndex, Profile
from cogitate.memory.routines import check_routine
from cogitate.simulation.story.people import PEOPLE
from cogitate.simulation.town.people import population
from cogitate.simulation.usual_day import usual_day
from cogitate.tasks.heuristics.plans.day_plan import Duties, Owner, build

PLACES = (
    Location(id="cafe", name="Hobbs Cafe", type="cafe", tags=("food",)),
    Location(id="lib", name="Oak Library", type="library"),
    Location(id="dorm", name="Dorm", type="home"),
    Location(id="bar", name="Rose Bar", type="bar", tags=("social",)),
)
BAKER = Profile(name="Klaus", occupation="baker", home="dorm", work="cafe", currently="Klaus is writing a novel.")
ANN = Profile(name="Ann", occupation="student of law", home="dorm", work="lib")


def day(profile: Profile, work: str, **hours: Any) -> list[str]:
    """The plan of a day: each item with its clock, place and priority."""
    owner = Owner(profile=profile, routine=usual_day(profile, work, **hours), places=PlaceIndex(PLACES))
    slots = build(owner, Duties(), (360, 1_800))
    return [f"{s.minute // 60}:{s.minute % 60:02} {s.text} | {s.location or '-'} {s.priority}" for s in slots]


def test_a_day_of_meals_work_company_and_home() -> None:
    assert day(BAKER, "Hobbs Cafe", wake=420, bed=1_380) == [
        "7:00 Get up and have breakfast at home | dorm 4",
        "9:00 Go to work at Hobbs Cafe as a baker | cafe 5",
        "12:00 Have lunch at Hobbs Cafe | cafe 4",
        "13:00 Continue working at Hobbs Cafe | cafe 5",
        "17:30 Spend time writing a novel | - 3",
        "19:00 Have dinner at home | dorm 4",
        "20:15 Relax and meet people at Rose Bar | bar 3",
        "23:00 Go to bed | dorm 4",
    ]


@pytest.mark.parametrize(
    ("profile", "work", "hours", "working"),
    [
        (ANN, "Oak Library", {}, ["9:00 Study at Oak Library", "13:00 Continue studying at Oak Library"]),
        (
            Profile(name="Ann", occupation="retired teacher", home="dorm", work="lib"),
            "Oak Library",
            {},
            ["9:00 Spend time at Oak Library", "13:00 Stay at Oak Library"],
        ),
        (
            Profile(name="Ann", occupation="artist", home="dorm", work="dorm", currently="Ann is painting a wall."),
            "home",
            {},
            ["8:00 Work at home as an artist", "13:00 Spend time painting a wall"],
        ),
        (Profile(name="Ann", occupation="ranger", home="dorm"), "", {}, ["8:00 Work as a ranger", "13:00 Continue"]),
        (
            BAKER,
            "Hobbs Cafe",
            {"hours": (690, 1_260)},
            ["11:30 Go to work at Hobbs Cafe", "12:30 Continue working", "19:00 Take a break for dinner"],
        ),
    ],
)
def test_the_day_is_spent_on_what_role_and_place_say(
    profile: Profile, work: str, hours: dict[str, Any], working: list[str]
) -> None:
    plan = day(profile, work, **hours)
    for item in working:
        assert any(planned.startswith(item) for planned in plan), item


def test_every_inhabitant_declares_a_routine_that_a_host_may_declare() -> None:
    town = [person.profile for person in population(0, 60).values()]
    story = [profile for owner, profile in PEOPLE.items() if owner.startswith("agent:")]
    for profile in (*town, *story):
        assert profile.routine
        check_routine(profile.routine)
