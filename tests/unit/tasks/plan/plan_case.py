"""What tests of the daily plan share."""

from __future__ import annotations

from typing import Any

from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.prompts.render import Templates
from cogitate.tasks.plan import Plan
from tests.unit.tasks.kind_cases import appended, case_of

KIND = Plan(Templates())
MORNING = 360


def made(stream: Stream, minute: int, **case: Any) -> Entry:
    """The plan that the heuristic makes."""
    (entry,) = appended(KIND.heuristic(case_of(KIND, stream, minute, **case)))
    return entry
