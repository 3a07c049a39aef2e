"""What a plan's job is told and asks for, and how its entry is written, case by case."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry, PlanItem, PlanStatus
from cogitate.memory.stream import Stream
from cogitate.tasks.heuristics.plans.planning import _done, unfinished_of
from cogitate.tasks.plan import _fulfilled, _previous
from cogitate.tasks.plan_times import LATE, within
from tests.unit.tasks.kind_cases import KLAUS, PROFILE, case_of, moment_of, observation, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING, made


def item(number: int, minute: int | None, status: PlanStatus = "pending", **fields: Any) -> PlanItem:
    return PlanItem(id=f"1-{number}", description=f"Do {number}", minute=minute, status=status, **fields)


def planned(*items: PlanItem, until: int = DAY + MORNING) -> Stream:
    return stream_of(Entry(type="plan", text="Plan.", minute=MORNING, items=items, valid_until=until))


def requested(stream: Stream, minute: int, **brief: Any) -> dict[str, Any]:
    (request,) = KIND.due(moment_of(stream, minute, **brief))
    assert (request.kind, request.owner, request.priority) == ("plan", KLAUS, 5)
    return dict(request.params)


def test_a_plan_is_stored_as_an_entry_of_its_owner_for_the_day() -> None:
    plan = made(stream_of(), MORNING)
    assert (plan.importance, plan.source, plan.subjects, plan.minute) == (6, "internal", (KLAUS,), MORNING)
    assert plan.valid_until == DAY + MORNING
    assert plan.text.startswith("Plan for day 1: 7:00 AM Awake up")


@pytest.mark.parametrize(
    ("clock", "minute"),
    [
        (600, 600),  # the plan begins
        (601, 601),
        (1_439, 1_439),
        (0, DAY),
        (359, DAY + 359),
        (599, 599),
        (600 - LATE, 600 - LATE),  # lately
        (600 - LATE - 1, None),
        (360, None),  # neither today any more nor before the next morning
    ],
)
@pytest.mark.parametrize("day", [0, 3])
def test_an_hour_is_that_of_the_plan_or_just_before_it(clock: int, minute: int | None, day: int) -> None:
    found = within(clock, day * DAY + 600, (day + 1) * DAY + 360)
    assert found == (None if minute is None else day * DAY + minute)


def test_an_overdue_item_is_unfinished() -> None:
    now = DAY + MORNING
    stream = planned(
        item(0, None),
        item(1, 600),
        item(2, 700, "active", location="cafe", priority=5),
        item(3, 800, "completed"),
        item(4, 900, "cancelled"),
        item(5, now),
        item(6, now + 1),
    )
    params = requested(stream, now)
    assert [left["description"] for left in params["unfinished"]] == ["Do 0", "Do 1", "Do 2", "Do 5"]
    assert params["unfinished"][2] == {"description": "Do 2", "location": "cafe", "priority": 5}
    assert params["ended"] == {"1-3": "completed", "1-4": "cancelled"}


def test_at_most_eight_unfinished_items_are_named() -> None:
    params = requested(planned(*(item(n, 600 + n) for n in range(9))), DAY + MORNING)
    assert [left["description"] for left in params["unfinished"]] == [f"Do {n}" for n in range(8)]
    assert "ended" not in params


@pytest.mark.parametrize(("until", "told"), [(DAY + MORNING, True), (MORNING + 1, True), (MORNING, False)])
def test_a_plan_that_ended_a_day_ago_is_over(until: int, told: bool) -> None:
    assert ("unfinished" in requested(planned(item(0, 600), until=until), DAY + MORNING)) is told


def test_a_condition_is_kept_by_name_with_its_figures_only() -> None:
    params = requested(stream_of(), MORNING, status={"hunger": 10, "energy": 5.5, "mood": "low", 3: 1})
    assert params == {"status": {"3": 1, "energy": 5.5, "hunger": 10}}
    assert list(params["status"]) == ["3", "energy", "hunger"]
    assert requested(stream_of(), MORNING, status="low") == {}


@pytest.mark.parametrize(
    ("params", "unfinished", "done"),
    [
        ({}, [], []),
        ({"unfinished": None, "done": None}, [], []),
        ({"unfinished": "x", "done": "x"}, [], []),
        ({"unfinished": {"description": "x"}, "done": {"x": 1}}, [], []),
        ({"unfinished": ["x", {"description": "y"}, 3], "done": ["x", 3]}, [{"description": "y"}], ["x", "3"]),
    ],
)
def test_unreadable_params_are_empty(params: dict[str, Any], unfinished: Any, done: Any) -> None:
    case = case_of(KIND, stream_of(), MORNING, params=params)
    assert (unfinished_of(case), _done(case)) == (unfinished, done)


def came(minute: int, until: int = DAY + MORNING, **params: Any) -> list[tuple[str, str]]:
    stream = planned(item(0, None), item(1, 600), item(2, 700), item(3, 800), until=until)
    return [(line["when"], line["came"]) for line in _previous(case_of(KIND, stream, minute, params=params))]


def test_the_outcome_of_each_item_of_the_last_plan_is_told() -> None:
    ended = {"1-1": "completed", "1-2": "cancelled"}
    done, dropped = (came(700, ended=ended)[n][1] for n in (1, 2))
    assert done != dropped
    assert {done, dropped}.isdisjoint({"not done", "to come"})
    assert came(700) == [
        ("day 1", "not done"),
        ("day 1, 10:00 AM", "not done"),
        ("day 1, 11:40 AM", "not done"),
        ("day 1, 1:20 PM", "to come"),
    ]
    assert [told for _, told in came(699)] == ["not done", "not done", "to come", "to come"]
    assert next(told for _, told in came(0)) == "not done", "an item without a time is of any time"
    assert came(700, ended="x") == came(700)


def test_a_plan_that_ended_a_day_ago_or_is_replaced_is_not_the_last() -> None:
    assert len(came(DAY + 700, until=701)) == 4
    assert came(DAY + 700, until=700) == []
    assert came(700, replaces=1) == []
    assert _previous(case_of(KIND, stream_of(observation("Tea.", 1)), 700)) == []


@pytest.mark.parametrize(
    ("currently", "description", "status", "fulfilled"),
    [
        ("Klaus wants to win the prize", "Win the prize", "completed", ["Win the prize"]),
        ("Klaus wants to win the prize", "Take up again: Win the prize", "completed", ["Win the prize"]),
        ("Klaus wants to win the prize", "Win the prize", "active", []),
        ("Klaus wants to win the prize", "Sell the boat", "completed", []),
        ("Klaus is writing a paper", "Spend time writing a paper", "completed", []),  # it goes on
        ("", "", "completed", []),
    ],
)
def test_a_wish_is_fulfilled_by_a_completed_item(
    currently: str, description: str, status: PlanStatus, fulfilled: list[str]
) -> None:
    stream = planned(PlanItem(id="1-0", description=description, minute=600, status=status))
    profile = msgspec.structs.replace(PROFILE, currently=currently)
    assert _fulfilled(msgspec.structs.replace(moment_of(stream, DAY + MORNING), profile=profile)) == fulfilled
