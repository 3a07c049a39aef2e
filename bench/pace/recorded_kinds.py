"""The kinds of job that repeat recorded calls: each is one call, whose answer is a short text."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from bench.pace.recorded_calls import RATING, THOUGHT
from cogitate.tasks.kind import Case
from cogitate.tasks.own.choices import newest
from cogitate.tasks.own.declaring import kind


class RecordedAnswer(BaseModel):
    """Any short text: only the times of the call and of its use are reproduced, not its content."""

    text: str = Field(min_length=1, max_length=200)


class _RecordedCall:
    latency_least = 1
    latency_most = 10_000  # game minutes: only its use bounds a call

    def instead(self, case: Case, memories: Any) -> None:
        """Remember nothing."""

    def store(self, case: Case, answer: RecordedAnswer, memories: Any) -> None:
        """Remember nothing."""


@kind(name=RATING, reads=newest(1), ask="You rate how much a memory matters.", answer=RecordedAnswer)
class RecordedRating(_RecordedCall):
    """A rating of an event or a talk, independent of other calls."""


@kind(name=THOUGHT, reads=newest(1), ask="You say what follows from a memory.", answer=RecordedAnswer)
class RecordedThought(_RecordedCall):
    """A call of a reflection, which needs the result of the one before."""
