"""A day's plan without a model, item by item."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.meters import fed
from cogitate.tasks.heuristics.day_plan import Slot, build
from tests.unit.tasks.heuristics.day_plans import BAKER, CASES, PLACES

CAFE, LIBRARY, _, PARK, _, GARDEN = PLACES


def told(slots: list[Slot]) -> list[str]:
    """Each item as its clock, text, place, priority and rank."""
    places = ["-" if s.location is None else s.location for s in slots]
    return [
        f"{s.minute // 60}:{s.minute % 60:02} {s.text} | {place} {s.priority} {s.rank}"
        for s, place in zip(slots, places, strict=True)
    ]


def built(profile: dict[str, Any], **given: Any) -> list[str]:
    values = {"places": PLACES, "start": 360, "end": 1_800, "booked": (), "unfinished": (), "status": {}} | given
    return told(build(profile=Profile(**profile), **values))


@pytest.mark.parametrize(("profile", "given", "plan"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_day_goes_as_routine_work_and_memories_say(profile: dict[str, Any], given: dict[str, Any], plan: str) -> None:
    assert built(profile, **given) == [line.strip() for line in plan.strip().splitlines()]


def test_a_plan_of_another_day_begins_at_its_midnight() -> None:
    assert built(BAKER, start=DAY + 360, end=2 * DAY)[0] == "31:00 Get up and have breakfast at home | dorm 4 3"
    assert built(BAKER, start=DAY + 510, end=2 * DAY)[0] == "32:30 Get up and have breakfast at home | dorm 4 3"


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (420, "7:00 Get up and have breakfast at home | dorm 4 3"),
        (421, "7:01 Get up and have breakfast at home | dorm 4 3"),
        (511, "9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1"),
    ],
)
def test_who_joins_more_than_an_hour_and_a_half_late_has_had_breakfast(start: int, first: str) -> None:
    assert built(BAKER, start=start)[0] == first


ANN: dict[str, Any] = {"name": "Ann", "home": "dorm"}


def times(profile: dict[str, Any], *words: str, **given: Any) -> list[str]:
    """The clock of each item that has one of these words in it."""
    return [item.partition(" ")[0] for item in built(profile, **given) if any(word in item for word in words)]


def at(profile: dict[str, Any], clock: str, **given: Any) -> str:
    """Return what is planned for a time."""
    (found,) = [item.partition(" ")[2] for item in built(profile, **given) if item.startswith(f"{clock} ")]
    return found.partition(" |")[0]


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (660, "12:00 Have lunch at Hobbs Cafe | cafe 4 3"),
        (700, "12:00 Have lunch at Hobbs Cafe | cafe 4 3"),
        (750, "13:00 Continue working at Hobbs Cafe | cafe 5 2"),
        (780, "13:00 Continue working at Hobbs Cafe | cafe 5 2"),
        (781, "13:01 Continue working at Hobbs Cafe | cafe 5 2"),
        (959, "15:59 Continue working at Hobbs Cafe | cafe 5 2"),
        (960, "18:00 Have dinner at home | dorm 4 3"),
        (DAY + 800, "37:20 Continue working at Hobbs Cafe | cafe 5 2"),
    ],
)
def test_who_joins_in_the_afternoon_begins_at_once_up_to_an_hour_before_the_end_of_work(start: int, first: str) -> None:
    assert built(BAKER, start=start, end=start // DAY * DAY + 1_800)[0] == first


@pytest.mark.parametrize(
    ("wakes", "work", "begins"),
    [
        ("6am", "cafe", "9:00"),
        ("8:01am", "cafe", "9:01"),
        ("7am", "dorm", "8:00"),
        ("7:01am", "dorm", "8:01"),
        ("10am", "cafe", "11:00"),
    ],
)
def test_work_without_hours_begins_an_hour_after_waking_at_the_soonest(wakes: str, work: str, begins: str) -> None:
    clerk = ANN | {"occupation": "clerk", "work": work, "routine": f"Ann wakes up at {wakes}."}
    assert times(clerk, "Go to work", "Work at home") == [begins]


def test_hours_without_a_length_are_a_beginning() -> None:
    clerk = BAKER | {"routine": "Klaus works from 9am to 9am."}
    assert built(clerk) == [
        "7:00 Get up and have breakfast at home | dorm 4 3",
        "9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1",
        "12:00 Have lunch at Hobbs Cafe | cafe 4 3",
        "17:00 Spend time writing a novel | - 3 4",
        "19:00 Have dinner at home | dorm 4 3",
        "20:15 Relax and meet people at Rose Bar | bar 3 5",
        "22:00 Go to bed | dorm 4 1",
    ]


@pytest.mark.parametrize(
    ("hours", "free"),
    [
        ("works from 9am to 4:30pm, eats dinner at 6pm", ["17:00", "19:15"]),  # an hour before dinner
        ("works from 9am to 4:31pm, eats dinner at 6pm", ["19:15", "20:30"]),
        ("works from 9am to 6:30pm, eats dinner at 7pm", ["20:15"]),
        ("works from 9am to 6:30pm, eats dinner at 6:30pm", ["19:45", "21:00"]),
        ("works from 9am to 7pm, eats dinner at 6:30pm", ["19:30", "19:45"]),
        ("works from 9am to 6:59pm, eats dinner at 6:30pm", ["19:45", "21:00"]),
        ("works from 6am to 1pm, eats dinner at 6pm", ["16:00", "19:15"]),  # not before four
        ("eats dinner at 6pm, goes to bed at 8pm", ["19:15"]),  # three quarters of an hour before bed
        ("eats dinner at 6pm, goes to bed at 7:59pm", []),
        ("eats dinner at 6pm, goes to bed at 9:15pm", ["19:15", "20:30"]),
        ("eats dinner at 6pm, goes to bed at 9:14pm", ["19:15"]),
    ],
)
def test_the_evening_is_free_after_work_and_around_dinner_until_bed(hours: str, free: list[str]) -> None:
    assert times(BAKER | {"routine": f"Klaus {hours}."}, "writing a novel", "meet people") == free


@pytest.mark.parametrize(
    ("profile", "working", "continuing"),
    [
        ({"occupation": "retired teacher", "work": "lib"}, "Spend time at Oak Library", "Spend time painting a wall"),
        (
            {"occupation": "pensioner", "home": "dorm", "work": "dorm", "currently": ""},
            "Spend time at home",
            "Stay at home",
        ),
        ({"occupation": "retired teacher"}, "Spend time painting a wall", "Continue working"),
        ({"occupation": "guard at night"}, "Spend time painting a wall", "Continue working"),
        ({"occupation": "guard at night", "currently": ""}, "Work as a guard at night", "Continue working"),
        ({"occupation": "Student"}, "Go to class and study", "Spend time painting a wall"),
        ({"occupation": "Student", "currently": ""}, "Go to class and study", "Continue studying"),
        (
            {"occupation": "clerk", "work": "lib"},
            "Go to work at Oak Library as a clerk",
            "Continue working at Oak Library",
        ),
        ({"occupation": "clerk", "work": "mill"}, "Go to work at mill as a clerk", "Continue working at mill"),
        ({"work": "lib"}, "Go to work at Oak Library", "Continue working at Oak Library"),
        (
            {"occupation": "clerk of Oak Library", "work": "lib"},
            "Go to work at Oak Library as a clerk",
            "Continue working at Oak Library",
        ),
        ({"currently": "Ann hopes to paint a wall."}, "Paint a wall", "Continue working"),
        ({"currently": ""}, "See to the day's errands", "Continue working"),
    ],
)
def test_what_the_day_is_spent_on_follows_from_role_place_and_occupation(
    profile: dict[str, Any], working: str, continuing: str
) -> None:
    ann = {"name": "Ann", "currently": "Ann is painting a wall.", "routine": "Ann lives by the day."} | profile
    begins = "9:00" if "work" in profile and profile["work"] != "dorm" else "8:00"
    assert (at(ann, begins), at(ann, "13:00")) == (working, continuing)


@pytest.mark.parametrize(
    ("walk", "places"),
    [
        ("Take a walk | -", (CAFE, LIBRARY)),
        ("Take a walk at Johnson Park | park", (CAFE, PARK)),
        ("Take a walk at Rose Garden | garden", (PARK, GARDEN)),  # of several the first by id
        ("Take a walk at Market | market", (Location(id="market", name="Market", type="plaza"), PARK)),
        ("Take a walk at Beds | beds", (PARK, Location(id="beds", name="Beds", type="garden"))),
    ],
)
def test_a_walk_leads_outdoors(walk: str, places: tuple[Location, ...]) -> None:
    (found,) = [item for item in built(ANN, start=1_170, places=places) if "Take a walk" in item]
    assert walk in found


@pytest.mark.parametrize("fills", ["Tidy up at home", "Take a walk", "Read and rest at home"])
def test_nothing_fills_a_day_twice(fills: str) -> None:
    plan = built(ANN, start=1_170, unfinished=({"description": fills},), places=())
    filled = built(ANN | {"currently": f"Ann hopes to {fills.lower()}."}, start=1_170, places=())
    assert sum(fills.lower() in item.lower() for item in filled) == 1
    assert len(plan) == len(filled) == 5


def test_nothing_is_taken_up_of_an_item_without_words() -> None:
    """Not even where the night has no other."""
    owl = {"name": "Ann", "routine": "Ann goes to bed at 3am."}
    plan = built(owl, start=1_400, end=1_450, unfinished=({"description": "…"}, {"description": ""}))
    assert not any("Take up again" in item for item in plan)
    assert len(plan) == 5


def test_an_item_is_taken_up_unless_three_of_five_of_its_words_are_planned_anyway() -> None:
    def taken(*left: str) -> list[str]:
        plan = built(BAKER, unfinished=tuple({"description": text} for text in left))
        return [item.partition("again: ")[2].partition(" |")[0] for item in plan if "Take up again" in item]

    assert taken("Lunch hobbs cafe eggs hats") == []  # three of five
    assert taken("Lunch hobbs eggs hats boats") == ["Lunch hobbs eggs hats boats"]
    assert taken("Buy eggs", "Buy eggs!", "Sell a boat") == ["Buy eggs", "Sell a boat"]


def test_of_promises_the_oldest_is_taken_up_first() -> None:
    plan = built(BAKER, owed=("Mend the gate", "Feed the hens"), unfinished=({"description": "Buy eggs"},))
    assert "10:30 Mend the gate | - 4 2" in plan
    assert "15:00 Take up again: Buy eggs | - 3 2" in plan
    assert not any("hens" in item for item in plan)


def test_who_goes_somewhere_often_goes_there_again() -> None:
    places = tuple(Location(id=name, name=name.title(), type="cafe", tags=("social",)) for name in "abcd")

    def goes(**visits: int) -> list[str]:
        return [at(ANN, clock, places=places, visits=visits) for clock in ("12:00", "17:30")]

    assert goes() == ["Have lunch at B", "Relax and meet people at B"]
    for often in "ac":
        assert goes(**{often: 5}) == [f"Have lunch at {often.upper()}", f"Relax and meet people at {often.upper()}"]


def test_what_was_wished_and_is_done_is_wished_no_more() -> None:
    wishing = BAKER | {"currently": "Klaus hopes to repaint the door."}
    assert times(wishing, "Repaint the door") == ["19:15"]
    assert times(wishing, "Repaint the door", done=("Repaint the door",)) == []


@pytest.mark.parametrize(("minute", "lunch"), [(660, True), (661, False), (764, False), (765, True)])
def test_lunch_gives_way_to_an_appointment_an_hour_before_it_or_three_quarters_after(minute: int, lunch: bool) -> None:
    party = Appointment(minute=minute, what="Attend the party", location="cafe", number=1)
    assert (times(BAKER, "lunch", booked=(party,)) == ["12:00"]) is lunch


@pytest.mark.parametrize(
    ("what", "meals"),
    [
        ("Have lunch with Bo", ["dinner"]),
        ("Have dinner with Bo", ["lunch"]),
        ("Supper with Bo", ["lunch"]),
        ("Sing with Bo", ["lunch", "dinner"]),
    ],
)
def test_a_meal_with_somebody_stands_for_that_meal_whenever_it_is(what: str, meals: list[str]) -> None:
    plan = built(BAKER, booked=(Appointment(minute=900, what=what, location=None, number=1),))
    assert [meal for meal in ("lunch", "dinner") if any(f"Have {meal} at" in item for item in plan)] == meals


def test_an_appointment_late_in_the_evening_puts_bedtime_off_an_hour_after_it() -> None:
    def bed(minute: int) -> list[str]:
        booked = (Appointment(minute=minute, what="Sing", location=None, number=1),)
        return times(BAKER, "Go to bed", booked=booked)

    assert (bed(1_320), bed(1_321)) == (["23:00"], ["23:01"])


@pytest.mark.parametrize("filler", ["See to what comes up", "处理眼前的事", "Atender lo que surja"])
def test_an_item_for_want_of_another_is_not_taken_up_again(filler: str) -> None:
    slots = built({"name": "Ann"}, unfinished=[{"description": filler}, {"description": "Mend the gate"}])
    assert slots == ["6:00 See to what comes up | - 3 5", "10:30 Take up again: Mend the gate | - 3 2"]


def test_an_agent_of_which_nothing_is_known_sees_to_what_comes_up_in_its_language() -> None:
    assert built({"name": "李明"}, language="zh") == ["6:00 处理眼前的事 | - 3 5"]


ROBOT = {"name": "R7", "occupation": "maintenance robot"}


@pytest.mark.parametrize(
    ("currently", "told"),
    [
        ("checks the air filters", 'See to this: "checks the air filters"'),
        ("checking the air filters.", 'See to this: "checking the air filters"'),
        ("R7 is checking the seals.", "Spend time checking the seals"),
    ],
)
def test_what_occupies_an_agent_is_planned_in_its_own_words_where_they_name_no_deed(currently: str, told: str) -> None:
    slots = built(ROBOT | {"currently": currently})
    assert slots == ["6:00 Work as a maintenance robot | - 4 1", f"12:00 {told} | - 4 1"]


@pytest.mark.parametrize(
    ("start", "routine", "gone", "eats"),
    [
        (360, "wakes at 7am", "breakfast", "6:00"),
        (360, "wakes at 9am", "breakfast", "9:00"),
        (660, "wakes at 7am", "lunch", "11:00"),
        (1_080, "wakes at 7am", "dinner", "18:00"),
    ],
)
def test_one_that_is_very_hungry_eats_in_place_of_the_next_meal(start: int, routine: str, gone: str, eats: str) -> None:
    given = {"start": start, "status": {"hunger": fed(5)}}
    profile = BAKER | {"routine": f"Klaus {routine}, eats dinner at 7pm."}
    assert times(profile, gone, **given) == []
    assert times(profile, "Eat something", **given) == [eats]


def test_who_eats_long_before_a_meal_has_that_meal() -> None:
    assert times(BAKER, "lunch", start=530, status={"hunger": fed(5)}) == ["12:00"]
