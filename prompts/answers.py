"""What each prompt promises to be answered with.

Every field is required in the schemas, and nothing else is allowed. Bounds of lists, texts and numbers and the pattern
of a time help models that are held to them; a server that refuses these keywords gets a schema without them
(`workers.llm.schema`). Validators deal with ranges, lengths and control characters, more leniently than the schemas,
since several servers accept a schema and then ignore it. Field names follow the streams design (tasks 7 to 9); its
camel case is understood too. The docstrings of answers are part of their schemas: a model reads them. So is the order
of fields: a model writes what leads to a choice before the choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from prompts.render import plain

MAX_PHRASE = 200  # characters of a time, a description, a place, a reason
MAX_PARAGRAPH = 1_200  # characters of an insight
MAX_SUMMARY = 20_000  # characters of a summary, which its kind then bounds; what is longer is no summary
MAX_ITEMS = 20  # more than this from one answer is noise
_NUMBER = re.compile(r"([+-]?\d++(?:\.\d++)?)\s*+(?:/\s*+\d++)?")  # "7", "7/10"


def _capped(most: int) -> Callable[[str], str]:
    def cap(text: str) -> str:
        text = plain(text)
        if len(text) <= most:
            return text
        return text[:most].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"

    return cap


def _bounded(most: int) -> Callable[[str], str]:
    def bound(text: str) -> str:
        if len(text) > most:
            raise ValueError(f"has {len(text)} characters: write at most {most}")
        return text

    return bound


def _filled(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _clamped(least: int, most: int) -> Callable[[Any], int]:
    def clamp(value: Any) -> int:
        if isinstance(value, str):
            found = _NUMBER.fullmatch(value.strip())
            value = float(found[1]) if found else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"must be a number from {least} to {most}")
        return max(least, min(most, round(value)))

    return clamp


def _first(value: Any) -> Any:
    return value[:MAX_ITEMS] if isinstance(value, list) else value


def _held_to(**keywords: int | str) -> Any:
    """Return a part of the schema alone; validation is more lenient."""
    return Field(json_schema_extra=dict(keywords))


Phrase = Annotated[str, AfterValidator(_capped(MAX_PHRASE)), _held_to(maxLength=120)]
Deed = Annotated[str, AfterValidator(_capped(MAX_PHRASE)), _held_to(minLength=3, maxLength=120)]
FilledPhrase = Annotated[
    str, AfterValidator(_capped(MAX_PHRASE)), AfterValidator(_filled), _held_to(minLength=2, maxLength=120)
]
ClockTime = Annotated[
    str,
    AfterValidator(_capped(MAX_PHRASE)),
    AfterValidator(_filled),
    _held_to(pattern="^(1[0-2]|[1-9]):[0-5][0-9] (AM|PM)$"),
]
FilledParagraph = Annotated[
    str,
    AfterValidator(_capped(MAX_PARAGRAPH)),
    AfterValidator(_filled),
    _held_to(minLength=10, maxLength=MAX_PARAGRAPH),
]
Summary = Annotated[str, AfterValidator(plain), AfterValidator(_filled), AfterValidator(_bounded(MAX_SUMMARY))]
Importance = Annotated[int, BeforeValidator(_clamped(1, 10)), _held_to(minimum=1, maximum=10)]
Priority = Annotated[int, BeforeValidator(_clamped(1, 5)), _held_to(minimum=1, maximum=5)]
Change = Annotated[int, BeforeValidator(_clamped(-2, 2)), _held_to(minimum=-2, maximum=2)]


class Answer(BaseModel):
    """The base class of all answers.

    The schema that is sent requires every field and forbids others. What comes back is taken as far as it is usable:
    keys that nobody asked for are ignored, and fields with a default (streams design) may be missing.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _snake_case(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", str(key)).lower(): value for key, value in data.items()}


class Activity(Answer):
    """One timed item of a daily plan."""

    time: ClockTime  # "7:00 AM"
    description: FilledPhrase
    location: Phrase  # name or id of a known place; empty: anywhere
    priority: Priority = 3  # 5 is highest


class DailyPlan(Answer):
    """A day's plan: 5 to 8 activities in order of time."""

    activities: Annotated[list[Activity], BeforeValidator(_first), _held_to(minItems=5, maxItems=8)]


class RatedMemory(Answer):
    """The importance of one memory."""

    number: int
    importance: Importance


class RatingsAnswer(Answer):
    """How important memories are, by their numbers."""

    ratings: Annotated[list[RatedMemory], BeforeValidator(_first), _held_to(minItems=1, maxItems=MAX_ITEMS)]


class ActionAnswer(Answer):
    """What a character does next."""

    reason: Deed
    location: Phrase  # name or id of a known place; empty: where it is
    doing: Deed
    completing_plan_item: bool = False  # the present plan item is done


class RelationshipChange(Answer):
    """How a relationship changed in the eyes of the one who reflects."""

    agent_id: FilledPhrase  # id or name
    reason: Phrase = ""
    change: Change


class ReflectionAnswer(Answer):
    """One insight drawn from recent experiences."""

    insight: FilledParagraph
    significance: Importance = 7
    relationship_changes: Annotated[list[RelationshipChange], BeforeValidator(_first), _held_to(maxItems=5)] = []


class SummaryAnswer(Answer):
    """What was said, in a few sentences."""

    summary: Summary


class IntegratedAnswer(Answer):
    """The new long-term memory, with what happened worked into it."""

    summary: Summary
