"""The daily plan: when it is due, and what goes into its request."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from cogitate.memory.apply import apply
from cogitate.memory.clock import DAY, Clock, clock_time, next_morning
from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import Activity, DailyPlan
from cogitate.simulation.world import energy
from cogitate.tasks import timing
from cogitate.tasks.job import Request
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.plan import EVERY
from tests.unit.tasks.kind_cases import KLAUS, PROFILE, case_of, moment_of, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING, made


def test_due_once_at_the_first_tick_of_each_morning() -> None:
    stream, minutes = stream_of(), []
    for minute in range(0, 3 * DAY, 7):
        for request in KIND.due(moment_of(stream, minute)):
            minutes.append(minute)
            apply({KLAUS: stream}, KIND.heuristic(case_of(KIND, stream, minute, request=request)), minute)
    assert len(minutes) == 3
    assert all(0 <= minute - (day * DAY + MORNING) < 7 for day, minute in enumerate(minutes))


def test_mornings_of_a_crowd_are_spread_by_a_stable_hash_of_the_owner() -> None:
    world = WorldFacts(spread=60)
    begins = {owner: timing.morning_of(owner, world) for owner in (f"agent:a{number}" for number in range(600))}
    assert set(begins.values()) == set(range(MORNING, MORNING + 60))
    assert max(Counter(begins.values()).values()) < 30
    assert [begins[f"agent:a{number}"] - MORNING for number in range(5)] == [37, 43, 25, 11, 56], "in every process"
    for owner, begin in list(begins.items())[:20]:
        stream = stream_of(owner=owner)
        assert not KIND.due(moment_of(stream, begin - 1, world=world))
        assert KIND.wake(moment_of(stream, begin - 1, world=world)) == begin
        (request,) = KIND.due(moment_of(stream, begin, world=world))
        plan = made(stream, begin, request=request, world=world)
        assert plan.valid_until == DAY + begin, "it holds until the agent's own next morning"


def test_an_agent_that_joins_during_the_day_plans_at_once() -> None:
    stream = stream_of()
    (request,) = KIND.due(moment_of(stream, 900))
    plan = made(stream, 900, request=request)
    assert plan.valid_until == DAY + MORNING
    assert all(900 <= (item.minute or 0) < plan.valid_until for item in plan.items)


def test_an_agent_that_joins_during_working_hours_works_on() -> None:
    profile = msgspec.structs.replace(PROFILE, routine="8:00–17:00 work @library; 22:00 rest")
    plan = made(stream_of(), 900, profile=profile)
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
    world = WorldFacts(clock=Clock(seconds_per_tick=420))
    wake = KIND.wake(moment_of(stream_of(), 700, tick=100, world=world))
    assert wake is not None
    assert 700 + (wake - 100 - 1) * 7 < DAY + MORNING <= 700 + (wake - 100) * 7


def test_the_request_carries_facts_of_the_head() -> None:
    items = tuple(PlanItem(id=f"1-{i}", description=f"Errand {i}", priority=i + 1, location="cafe") for i in range(3))
    stream = stream_of(Entry(type="plan", text="Plan.", minute=400, valid_until=DAY + MORNING, items=items))
    stream.set_plan_status("1-0", "completed")
    stream.set_plan_status("1-1", "active")
    (request,) = KIND.due(moment_of(stream, DAY + MORNING, status={"energy": energy(12), "hunger": 80, "mood": "fine"}))
    assert request.params == {
        "unfinished": [
            {"description": "Errand 1", "location": "cafe", "priority": 2},
            {"description": "Errand 2", "location": "cafe", "priority": 3},
        ],
        "ended": {"1-0": "completed"},
        "status": {"energy": {"value": 12.0, "low": "exhausted", "need": "low"}, "hunger": 80},
    }
    plan = made(stream, DAY + MORNING, request=request)
    assert [i.description for i in plan.items if "Errand" in i.description] == [
        "Take up again: Errand 2",
        "Take up again: Errand 1",
    ]
    assert any(i.description == "Needs attention: energy 12/100" for i in plan.items)


def asks(stream: Stream, minutes: range, lead: int) -> list[tuple[int, Request]]:
    """The first requests of one agent that is asked at the ticks at which it wakes, as the tick loop does."""
    wakes = minutes.start
    for minute in minutes:
        moment = moment_of(stream, minute, lead=lead)
        if minute < wakes:
            continue
        if requests := [*KIND.due(moment)]:
            return [(minute, request) for request in requests]
        wakes = KIND.wake(moment) or minutes.stop
    return []


@pytest.mark.parametrize("lead", [2, 28, 100, 480])
def test_a_plan_is_requested_its_latency_before_the_morning(lead: int) -> None:
    today = Entry(type="plan", text="Plan.", minute=360, valid_until=DAY + MORNING)
    ((minute, request),) = asks(stream_of(today), range(400, 2 * DAY), lead)
    assert lead <= DAY + MORNING - minute <= lead + EVERY
    assert (request.at, request.priority) == (DAY + MORNING, 5)
    assert request.params["from"] == DAY + MORNING


def test_a_plan_requested_the_evening_before_is_for_the_coming_day() -> None:
    items = (
        PlanItem(id="1-0", description="Buy flour", minute=700),
        PlanItem(id="1-1", description="Meet Ann", minute=DAY - 10),
    )
    today = Entry(type="plan", text="Plan.", minute=360, valid_until=DAY + MORNING, items=items)
    stream, minute = stream_of(today), DAY - 100
    (request,) = KIND.due(moment_of(stream, minute, lead=DAY + MORNING - minute))
    assert [item["description"] for item in request.params["unfinished"]] == ["Buy flour"]  # Ann may still be met
    apply({KLAUS: stream}, KIND.heuristic(case_of(KIND, stream, minute, request=request)), DAY + MORNING)
    plan = stream.latest("plan")
    assert plan is not None
    assert (plan.minute, plan.valid_until) == (DAY + MORNING, 2 * DAY + MORNING)
    assert all(plan.minute <= (item.minute or 0) < plan.valid_until for item in plan.items)
    assert "Plan for day 2:" in plan.text
    assert not list(KIND.due(moment_of(stream, DAY + MORNING, lead=480)))
    assert not list(KIND.due(moment_of(stream, 2 * DAY + MORNING - 481 - EVERY, lead=480)))


def test_a_plan_is_requested_before_the_first_morning() -> None:
    ((minute, request),) = asks(stream_of(), range(100, DAY), 30)
    assert 30 <= MORNING - minute <= 30 + EVERY
    assert (request.at, request.params["from"]) == (MORNING, MORNING)


def test_an_agent_that_joins_during_the_day_plans_for_today_at_once() -> None:
    (request,) = KIND.due(moment_of(stream_of(), 900, lead=100))
    assert (request.at, "from" in request.params) == (0, False)


def test_an_early_answer_is_about_the_coming_day() -> None:
    stream, minute = stream_of(), MORNING - 200
    (request,) = KIND.due(moment_of(stream, minute, lead=250))
    case = case_of(KIND, stream, minute, request=request)
    prompt = KIND.prompt(case)
    assert clock_time(MORNING) in prompt.user
    assert clock_time(minute) not in prompt.user
    deeds = [Activity(time=f"{h}:00", description=f"Deed {h}", location="library", priority=1) for h in range(7, 13)]
    (append, *_) = KIND.effects(case, DailyPlan(activities=deeds), ())
    assert isinstance(append, Append)
    assert [item.minute for item in append.entry.items] == [h * 60 for h in range(7, 13)]


def test_turns_are_independent_of_latencies() -> None:
    """Otherwise a resumed run would request plans at other ticks than an uninterrupted one."""
    stream = stream_of(Entry(type="plan", text="Plan.", minute=360, valid_until=DAY + MORNING))
    for minute in range(400, DAY + MORNING, 37):
        assert len({KIND.wake(moment_of(stream, minute, lead=lead)) for lead in (2, 40, 480)}) == 1


def test_a_plan_for_a_morning_after_the_last_tick_is_not_requested() -> None:
    today = Entry(type="plan", text="Plan.", minute=DAY + MORNING, valid_until=2 * DAY + MORNING)
    moment = moment_of(stream_of(today), 2 * DAY - 60, lead=480)
    assert list(KIND.due(msgspec.structs.replace(moment, last=2 * DAY + MORNING)))
    assert not list(KIND.due(msgspec.structs.replace(moment, last=2 * DAY + MORNING - 1)))
