"""An agent that acts at noon, with a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cogitate.memory.entry import Entry, PlanItem, PlanStatus
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import ActionAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.kind import WorldFacts
from tests.unit.tasks.kind_cases import WORLD, case_of, message, moment_of, observation, stream_of

KIND = Act(Templates())
ACTING = replace(WORLD, act_interval=30)
NOON = 720
FREE: dict[str, Any] = {"free": True, "location": "library", "activity": "Write the paper"}


def plan(status: PlanStatus = "active", location: str = "library") -> Entry:
    items = (
        PlanItem(id="1-0", description="Write the paper", location=location, minute=600, status=status),
        PlanItem(id="1-1", description="Have lunch with Maria", location="cafe", minute=780),
    )
    return Entry(type="plan", text="Plan.", minute=360, importance=6, items=items, valid_until=1800)


def lived(*entries: Entry) -> Stream:
    return stream_of(
        observation("Found a source on rents in the archive.", 640, importance=6),
        message("Maria: See you at lunch, bring the paper!", 650, importance=7),
        *entries,
    )


def turn(stream: Stream, world: WorldFacts = ACTING, **brief: Any) -> list[tuple[int, dict[str, Any]]]:
    """Tick and parameters of what is due from noon to half past."""
    return [
        (tick, request.params)
        for tick in range(NOON, NOON + 30)
        for request in KIND.due(moment_of(stream, tick, world=world, **{**FREE, **brief}))
    ]


def act(stream: Stream, **params: Any) -> Any:
    return case_of(KIND, stream, NOON, params=params, world=ACTING)


def answer(**fields: Any) -> ActionAnswer:
    values = {"location": "", "doing": "reading", "reason": "to learn", "completing_plan_item": False} | fields
    return ActionAnswer.model_validate(values)
