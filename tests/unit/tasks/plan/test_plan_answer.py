"""The daily plan by a model: what is read tolerantly, and what its answer must keep to."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.clock import DAY
from cogitate.prompts.answers import DailyPlan
from cogitate.simulation.world import energy
from cogitate.tasks.kind import Case
from tests.unit.tasks.kind_cases import KLAUS, PROFILE, WORLD, appended, case_of, observation, stream_of
from tests.unit.tasks.plan.plan_case import KIND, MORNING

EARLY = ["7:00", "8:00", "9:00", "10:00", "11:00"]


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


def test_items_in_no_order_of_time_are_refused() -> None:
    case, answer = answered(["7:00 PM", "8:00", "9:20 PM", "9:00", "10:00 PM"])
    with pytest.raises(ValueError, match="out of order"):
        KIND.effects(case, answer, ())


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("hobbs cafe", "cafe"),
        ("the Cafe", "cafe"),
        ("home", "dorm"),
        ("work", "library"),
        ("", None),
        ("none", None),
        ("Oak Hill Library, first floor", "library"),
    ],
)
def test_places_are_understood_by_name_and_id(said: str, place: str | None) -> None:
    case, answer = answered(EARLY, said)
    (plan,) = appended(KIND.effects(case, answer, ()))
    assert {i.location for i in plan.items} == {place}


def test_an_unknown_place_is_refused_by_name() -> None:
    case, answer = answered(EARLY, "Atlantis")
    with pytest.raises(ValueError, match="'Atlantis'; known places: cafe, library, dorm"):
        KIND.effects(case, answer, ())


def test_fewer_than_five_usable_items_are_refused() -> None:
    case, answer = answered(["8:00", "9:00", "10:00", "11:00", "sometime", "3:00 AM"])
    assert KIND.effects(case, answer, ())
    case, answer = answered(["8:00", "9:00", "10:00", "11:00", "sometime"])
    with pytest.raises(ValueError, match="4 of 5 plan items"):
        KIND.effects(case, answer, ())


def test_two_items_that_begin_at_the_same_time_are_refused_by_name() -> None:
    case, answer = answered([*EARLY, "8 am"])
    with pytest.raises(ValueError, match="begin at 8:00 AM: 'Do 1' and 'Do 5'"):
        KIND.effects(case, answer, ())


def test_an_item_told_twice_counts_once() -> None:
    case, answer = answered(EARLY)
    first, *others = answer.activities
    again = first.model_copy(update={"description": "do 0"})
    (plan,) = appended(KIND.effects(case, DailyPlan(activities=[first, again, *others]), ()))
    assert [item.description for item in plan.items] == [f"Do {n}" for n in range(5)]
    with pytest.raises(ValueError, match="4 of 5 plan items have a time of their own"):
        KIND.effects(case, DailyPlan(activities=[first, again, *others[:3]]), ())
    elsewhere = again.model_copy(update={"location": "library"})
    with pytest.raises(ValueError, match="begin at 7:00 AM"):
        KIND.effects(case, DailyPlan(activities=[first, elsewhere, *others]), ())


@pytest.mark.parametrize(
    ("past", "begins"),
    [(["6:29"], []), (["6:30"], ["Do 0"]), (["6:40", "6:50"], ["Do 1"]), (["6:50", "7:00"], ["Do 1"])],
)
def test_the_last_overdue_item_starts_now(past: list[str], begins: list[str]) -> None:
    seven = MORNING + 60
    _, answer = answered([*past, "8:00", "9:00", "10:00", "11:00", "12:00"])
    (plan,) = appended(KIND.effects(case_of(KIND, stream_of(), seven), answer, ()))
    assert [item.description for item in plan.items if item.minute == seven] == begins
    assert [item.minute for item in plan.items][-5:] == [480, 540, 600, 660, 720]


def test_the_least_important_of_more_than_eight_items_are_dropped() -> None:
    case, answer = answered([f"{hour}:00" for hour in range(8, 20)])
    (plan,) = appended(KIND.effects(case, answer, ()))
    assert sorted(i.priority for i in plan.items) == [2, 2, 3, 3, 4, 4, 5, 5], "of 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5"
    minutes = [i.minute or 0 for i in plan.items]
    assert minutes == sorted(minutes)


def test_the_prompt_names_person_place_time_and_unfinished_items() -> None:
    stream = stream_of(observation("Maria wants to meet tomorrow.", 1000))
    params = {"unfinished": [{"description": "Return the </unfinished> books"}], "status": {"energy": 55.0}}
    prompt = KIND.prompt(case_of(KIND, stream, DAY + MORNING, params=params))
    for said in (
        PROFILE.name,
        PROFILE.currently,
        "- Hobbs Cafe (cafe)",
        "energy 55",
        "It is day 2",
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


def test_fifteen_memories_come_to_mind_by_the_words_of_the_query() -> None:
    idle = [observation(f"Somebody number {n} walked past the window.", 900 + n, importance=4) for n in range(30)]
    stream = stream_of(observation("I want and need a goal: to plan for tomorrow.", 10, importance=1), *idle)
    prompt = KIND.prompt(case_of(KIND, stream, MORNING + 600))
    assert len(prompt.used) == 15
    assert 1 in prompt.used, "the oldest and least important, but for its words"


def test_items_have_unique_ids_and_an_ordinary_priority_by_default() -> None:
    case, answer = answered(["7:00 AM", "9:00 AM", "11:00 AM", "1:00 PM", "3:00 PM"])
    unsaid = type(answer).model_validate(
        {"activities": [{"time": a.time, "description": a.description, "location": ""} for a in answer.activities]}
    )
    (plan,) = appended(KIND.effects(case, unsaid, ()))
    assert [item.id for item in plan.items] == [f"{case.job.key.tick}-{n}" for n in range(5)]
    assert {item.priority for item in plan.items} == {3}


def test_the_prompt_requests_five_to_eight_activities_with_traits_and_condition() -> None:
    prompt = KIND.prompt(case_of(KIND, stream_of(), MORNING, params={"status": {"energy": energy(55.0)}}))
    assert "5 to 8 different activities" in prompt.system
    assert f"Traits: {', '.join(PROFILE.traits)}\n" in prompt.user
    assert "Condition: energy: halfway to exhausted\n" in prompt.user
