"""A day's plan without a model: promises, appointments, pressing matters and the routine."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY
from cogitate.memory.profile import Location, PlaceIndex, Profile
from cogitate.simulation.world import energy, fed
from cogitate.tasks.heuristics.plans.day_plan import Duties, Owner, Slot, build

PLACES = (
    Location(id="module-b", name="Module B", type="module", activities=("repair the pumps", "check the seals")),
    Location(id="galley", name="the galley", type="mess", tags=("food",), activities=("have lunch",)),
    Location(id="dock", name="the dock"),
)
ROUTINE = ("07:00 breakfast @home", "08:00–20:00 shift @module-b", "12:00 lunch @food", "22:00 recharge @dock")
PARTY = Appointment(minute=1110, what="Attend the party", location="galley", number=1)


def told(slots: list[Slot]) -> list[str]:
    """Each item as its clock, text and place."""
    return [f"{s.minute // 60}:{s.minute % 60:02} {s.text}{f' | {s.location}' if s.location else ''}" for s in slots]


def built(*routine: str, profile: dict[str, Any] | None = None, **given: Any) -> list[str]:
    window = given.pop("start", 360), given.pop("end", 1_800)
    own = {field.name: given.pop(field.name) for field in fields(Owner) if field.name in given}
    own |= {"profile": Profile(**{"name": "R7", **(profile or {})}), "routine": routine}
    own["places"] = PlaceIndex(own.get("places", PLACES))
    return told(build(Owner(**own), Duties(**given), window))


def test_a_day_goes_as_the_routine_says_at_its_places() -> None:
    assert built(*ROUTINE, profile={"home": "dock"}) == [
        "7:00 breakfast | dock",
        "8:00 shift | module-b",
        "12:00 lunch | galley",
        "22:00 recharge | dock",
    ]
    assert built(*ROUTINE, start=DAY + 360, end=2 * DAY + 360)[0] == "31:00 breakfast"


@pytest.mark.parametrize("profile", [{}, {"work": "dock"}, {"home": "dock"}])
def test_an_agent_without_facts_gets_the_default_item_only(profile: dict[str, Any]) -> None:
    assert built(profile=profile) == ["6:00 See to what comes up"]


def test_work_is_planned_where_occupation_and_place_are_stated() -> None:
    assert built(profile={"occupation": "robot", "work": "dock"}) == ["6:00 Work at the dock as a robot | dock"]
    assert built(profile={"occupation": "engineer of module-b"}) == [
        "6:00 Work at Module B as an engineer of module-b | module-b"
    ]
    assert built("8:00–9:00 lift crates @dock", profile={"occupation": "robot", "work": "dock"}) == [
        "8:00 lift crates | dock"
    ]


def test_a_routine_names_the_place_of_work_before_the_occupation_does() -> None:
    carpenter = {"occupation": "galley carpenter"}
    assert built("8:00–16:00 repair the pumps @module-b", profile=carpenter) == ["8:00 repair the pumps | module-b"]


def test_an_item_without_a_time_is_planned_in_the_first_two_thirds_of_a_day() -> None:
    idle = {"currently": "R7 is learning to sing."}
    assert built("8:00–16:00 shift @dock", profile=idle) == ["8:00 shift | dock", "15:00 Spend time learning to sing"]


def test_places_are_named_by_id_name_type_or_tag_and_a_habit_without_one_is_done_where_the_host_says() -> None:
    assert built("8:00 a @MODULE-B", "9:00 b @module b", "10:00 c @mess", "11:00 d @food", "12:00 e @nowhere") == [
        "8:00 a | module-b",
        "9:00 b | module-b",
        "10:00 c | galley",
        "11:00 d | galley",
        "12:00 e | nowhere",
    ]
    assert built("8:00 check seals", "9:00 polish the dock", "10:00 think", "11:00 @module-b", "12:00 @dock") == [
        "8:00 check seals | module-b",
        "9:00 polish the dock | dock",
        "10:00 think",
        "11:00 repair the pumps | module-b",
        "12:00 the dock | dock",
    ]
    assert built("12:00 eat at {place} @food") == ["12:00 eat at the galley | galley"]
    assert built("12:00 eat @home", "13:00 lift @work") == ["12:00 eat", "13:00 lift"]


def test_habits_without_times_are_done_in_the_order_in_which_they_are_declared() -> None:
    assert built("rise", "work", "rest") == ["6:00 rise", "12:00 work", "18:00 rest"]
    assert built("pray", "9:00 drill", "wash", "eat", "18:00 feast", "sing") == [
        "7:30 pray",
        "9:00 drill",
        "12:00 wash",
        "15:00 eat",
        "18:00 feast",
        "24:00 sing",
    ]


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (420, "7:00 breakfast"),
        (479, "7:59 breakfast"),
        (480, "8:00 shift"),
        (1139, "18:59 shift"),  # an hour before its end it is not begun any more
        (1140, "22:00 recharge"),
        (1410, "23:30 recharge"),  # what has no end is under way for an hour and a half
        (1411, "23:31 See to what comes up"),
    ],
)
def test_an_agent_that_joins_during_a_habit_begins_it_at_once(start: int, first: str) -> None:
    plan = built("7:00 breakfast", "8:00–20:00 shift", "22:00 recharge", start=start)
    assert plan[0] == first


def test_a_habit_of_the_night_is_under_way_in_the_morning_and_begins_again() -> None:
    assert built("20:00–08:00 watch", "8:00 recharge") == ["6:00 watch", "8:00 recharge", "20:00 watch"]


def test_a_habit_shortly_before_the_next_plan_is_left_to_it() -> None:
    assert built("5:00 rise", "9:00 work") == ["6:00 rise", "9:00 work"]
    assert built("4:00 rise", "9:00 work") == ["9:00 work", "28:00 rise"]


@pytest.mark.parametrize(("nap", "stays"), [("17:45", True), ("17:46", False), ("19:29", False), ("19:30", True)])
def test_a_habit_gives_way_to_an_appointment_an_hour_before_it_or_three_quarters_after(nap: str, stays: bool) -> None:
    plan = built(f"{nap} nap", "22:00 recharge", booked=(PARTY,))
    assert "18:30 Attend the party | galley" in plan
    assert (f"{nap} nap" in plan) is stays


def test_work_continues_around_an_appointment_and_the_end_of_the_day_waits_for_it() -> None:
    assert built("18:00–20:00 shift", "19:00 recharge", booked=(PARTY,)) == [
        "18:00 shift",
        "18:30 Attend the party | galley",
        "19:30 recharge",
    ]


def test_an_appointment_for_a_meal_replaces_the_habitual_one() -> None:
    dinner = Appointment(minute=1200, what="Have dinner with Bo", location=None, number=1)
    assert built("18:00 dinner @galley", "22:00 recharge", booked=(dinner,)) == [
        "20:00 Have dinner with Bo",
        "22:00 recharge",
    ]
    party = Appointment(minute=1200, what="Attend the party at the galley", location="galley", number=1)
    assert (
        built("18:00 dinner at {place} @galley", "22:00 rest", booked=(party,))[0]
        == "18:00 dinner at the galley | galley"
    )


def test_a_pressing_matter_is_planned_first_and_the_least_important_items_are_dropped() -> None:
    routine = (*(f"{hour}:00 habit {hour}" for hour in range(8, 18)), "19:00–21:00 watch")
    plan = built(
        *routine,
        booked=(PARTY,),
        owed=("Mend the gate", "Feed the hens"),
        unfinished=({"description": "Paint a wall"},),
        pressing=("Oxygen fell below 18 percent",),
        status={"battery": energy(5)},
    )
    assert plan == [
        "6:00 Needs attention: Oxygen fell below 18 percent",
        "6:30 Needs attention: battery 5/100",
        "7:15 Mend the gate",
        "8:00 habit 8",
        "9:00 habit 9",
        "17:45 Take up again: Paint a wall",
        "18:30 Attend the party | galley",
        "19:00 watch",
    ]


def test_more_appointments_than_a_day_has_room_for_leave_nothing_else() -> None:
    booked = [Appointment(minute=600 + 30 * n, what=f"Meet {n}", location=None, number=n) for n in range(9)]
    assert built(*ROUTINE, booked=booked) == [f"{10 + n // 2}:{30 * (n % 2):02} Meet {n}" for n in range(8)]


def test_a_window_of_a_few_minutes_holds_every_item() -> None:
    plan = built("8:00–20:00 shift", start=600, end=604, pressing=("a", "b"), unfinished=({"description": "Paint"},))
    assert len(plan) == 4
    assert all(600 <= int(hour) * 60 + int(minute[:2]) < 604 for hour, _, minute in (p.partition(":") for p in plan))


@pytest.mark.parametrize(
    ("currently", "planned"),
    [
        ("checks the air filters", 'See to this: "checks the air filters"'),
        ("R7 is checking the seals.", "Spend time checking the seals"),
        ("R7 hopes to paint a wall.", "Paint a wall"),
    ],
)
def test_a_current_concern_is_planned_in_a_day_with_room(currently: str, planned: str) -> None:
    assert built(profile={"currently": currently}) == [f"6:00 {planned}"]
    beside = built("8:00 rise", "22:00 recharge", profile={"currently": currently})
    assert (f"15:00 {planned}" in beside) is planned.startswith("Spend time"), "a wish is no deed of a day"
    full = built(*(f"{hour}:00 habit {hour}" for hour in range(8, 13)), profile={"currently": currently})
    assert not any(planned in item for item in full)


def test_a_fulfilled_wish_is_not_planned_again() -> None:
    given = {"profile": {"currently": "R7 hopes to paint a wall."}, "done": ("Paint a wall",)}
    assert built("9:00 Paint a wall", "10:00 rest", **given) == ["10:00 rest"]


def test_an_item_is_taken_up_unless_three_of_five_of_its_words_are_planned_anyway() -> None:
    def taken(*left: str) -> list[str]:
        plan = built("12:00 lunch with eggs", "22:00 rest", unfinished=tuple({"description": text} for text in left))
        return [item.partition("again: ")[2] for item in plan if "Take up again" in item]

    assert taken("Lunch eggs hats", "") == []
    assert taken("Lunch eggs hats boats") == ["Lunch eggs hats boats"]
    assert taken("Buy bread", "Buy bread!", "Take up again: Sell a boat") == ["Buy bread", "Sell a boat"]


def test_a_pressing_matter_of_an_earlier_plan_is_not_taken_up_again() -> None:
    left = (
        {"description": "Needs attention: The hull leaks"},
        {"description": "Needs attention: battery 9/100"},
    )
    assert built("8:00 rise", unfinished=left, status={"battery": energy(90)}) == ["8:00 rise"]


@pytest.mark.parametrize("filler", ["See to what comes up", "处理眼前的事", "Atender lo que surja"])
def test_a_default_item_is_not_taken_up_again(filler: str) -> None:
    plan = built(unfinished=[{"description": filler}, {"description": "Mend the gate"}])
    assert plan == ["10:30 Take up again: Mend the gate"]


def test_needs_are_told_in_the_words_of_the_host() -> None:
    status = {"hunger": fed(19), "energy": energy(20)}
    assert built(status=status) == ["6:00 Needs attention: hunger 19/100"]


def test_prose_is_told_as_things_to_do() -> None:
    assert built("R7 goes to bed around 11pm, works from 9:00 to 17:00 and watches birds at 6pm.") == [
        "9:00 Work",
        "18:00 Watch birds",
        "23:00 Go to bed",
    ]


def test_another_language_is_told_in_its_phrases_and_the_words_of_the_host() -> None:
    assert built("晚上8点 收摊 @dock", pressing=("B舱氧气低于18%",), status={"电量": energy(3)}, language="zh") == [
        "6:00 待处理：B舱氧气低于18%",
        "6:30 待处理：电量 3/100",
        "20:00 收摊 | dock",
    ]
    nurse = {"name": "李明", "occupation": "护士", "work": "dock", "currently": "准备过年。"}
    assert built(profile=nurse, language="zh") == ["6:00 工作（the dock） | dock", "12:00 准备过年"]
    left = ({"description": "待处理：B舱漏水"}, {"description": "修门"})
    assert built(profile={"name": "李明"}, unfinished=left, language="zh") == [
        "10:30 继续未完成的事：修门",
    ]
