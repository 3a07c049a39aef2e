"""A day's plan without a model, item by item."""

from __future__ import annotations

from typing import Any

import pytest

from memory.clock import DAY
from memory.profile import Profile
from tasks.heuristics.day_plan import Slot, build
from tests.unit.tasks.heuristics.day_plans import BAKER, CASES, PLACES


def told(slots: list[Slot]) -> list[str]:
    """Each item as its clock, text, place, priority and rank."""
    return [f"{s.minute // 60}:{s.minute % 60:02} {s.text} | {s.location or '-'} {s.priority} {s.rank}" for s in slots]


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
