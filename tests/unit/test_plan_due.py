"""The daily plan: when it is due, and what goes into its request."""

from __future__ import annotations

import pytest
from kind_cases import KLAUS, case_of, moment_of, stream_of
from plan_case import KIND, MORNING, made

from memory.apply import apply
from memory.clock import DAY, next_morning
from memory.entry import Entry, PlanItem
from tasks.kind import World


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
