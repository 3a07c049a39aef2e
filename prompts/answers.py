"""The classes of the answers that prompts ask for.

The schemas require every field and forbid others. Bounds and patterns help where the server enforces them; a server
that rejects these keywords gets a schema without them (`cogitate.workers.llm.requests.schema`). Several servers accept
a schema and then ignore it, so validators are more lenient, and `cogitate.workers.llm.replies.reading` reads other
forms. Field names follow the streams design (tasks 7 to 9). The docstrings of answers are part of their schemas: a
model reads them. The order of fields matters too: a model writes its reason before its choice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from cogitate.memory.language.hidden_characters import is_blank
from cogitate.memory.language.truncation import shorten
from cogitate.memory.language.word_count import count_words
from cogitate.prompts.clock_times import clock_text
from cogitate.prompts.render import plain

MAX_PHRASE = 200  # characters of a time, a description, a place, a reason
HELD_PHRASE = 120  # characters that the schema allows; a server that enforces it cuts a longer text there
MAX_PARAGRAPH = 1_200  # characters of an insight
MAX_SUMMARY = 20_000  # characters of a summary, which its kind bounds further
MAX_ITEMS = 20  # more than this from one answer is noise
_LABEL = re.compile(  # "[Insight 5]: ", "[n]) ", "[day 1, 4:08 PM] "
    r"(?:[-*•] )?\[(?:known|earlier|(?:insight|reason|reflection|summary|thought)(?: \d{1,3}| n)?|\d{1,3}|n|"
    r"[^\[\]]{0,20}\bdays?\b[^\[\]]{0,20})[\])][ )\],:;.-]*",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]\.?")
_ENDS = (". ", "! ", "? ", "。", "！", "？", "؟ ", "। ")
_CLOCK = re.compile(r"\d{1,2}:\d\d ?([ap]\.?m\.?)?", re.IGNORECASE)
_SENTENCE = 4  # a text in brackets with fewer words is a label


def _capped(most: int) -> AfterValidator:
    return AfterValidator(lambda text: shorten(plain(text), most, "…"))


def _unlabelled(text: str) -> str:
    """Strip the brackets around a text, or a bracketed label before it, such as a number or a time.

    Small models copy such labels from lists and memories.
    """
    kept = text.strip()
    label = _LABEL.match(kept)
    kept = (kept[label.end() :] if label is not None else kept) or text
    inside = _IN_BRACKETS.fullmatch(kept)
    return inside[1] if inside is not None and count_words(kept) >= _SENTENCE else kept


def _whole(text: str) -> str:
    """Shorten a phrase that the server cut at the schema's bound to its whole sentences, if they are half of it."""
    if len(text) != HELD_PHRASE:
        return text
    end = max(text.rfind(mark) for mark in _ENDS)
    return text[: end + 1] if end >= HELD_PHRASE // 2 else text


def _unless(is_wrong: Callable[[str], object], why: str) -> AfterValidator:
    """Return a validator that rejects a text for which `is_wrong` holds and tells the model why."""

    def check(text: str) -> str:
        if is_wrong(text):
            raise ValueError(why.format(text=text, size=len(text)))
        return text

    return AfterValidator(check)


def _clamped(least: int, most: int) -> BeforeValidator:
    def clamp(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise PydanticCustomError("number_type", f"must be a number from {least} to {most}")
        return max(least, min(most, round(value)))

    return BeforeValidator(clamp)


def _in_schema(**keywords: int | str) -> Any:
    """Add keywords to the schema only; validation is more lenient."""
    return Field(json_schema_extra=dict(keywords))


_first = BeforeValidator(lambda value: value[:MAX_ITEMS] if isinstance(value, list) else value)
_filled = _unless(is_blank, "must not be empty")
_no_time = _unless(lambda text: _CLOCK.fullmatch(text.strip()), "{text!r} is a time: say what the character does")
_phrase = (AfterValidator(_whole), AfterValidator(_unlabelled), _capped(MAX_PHRASE))
Phrase = Annotated[str, *_phrase, _in_schema(maxLength=HELD_PHRASE)]
Reason = Annotated[str, *_phrase, _in_schema(minLength=3, maxLength=HELD_PHRASE)]
Deed = Annotated[Reason, _no_time]
FilledPhrase = Annotated[str, *_phrase, _filled, _in_schema(minLength=2, maxLength=HELD_PHRASE)]
_clock = _in_schema(pattern="^(1[0-2]|[1-9]):[0-5][0-9] (AM|PM)$")
ClockTime = Annotated[str, AfterValidator(clock_text), _capped(MAX_PHRASE), _filled, _clock]
_paragraph = (AfterValidator(_unlabelled), _capped(MAX_PARAGRAPH), _filled)
FilledParagraph = Annotated[str, *_paragraph, _in_schema(minLength=10, maxLength=MAX_PARAGRAPH)]
_bounded = _unless(lambda text: len(text) > MAX_SUMMARY, f"has {{size}} characters: write at most {MAX_SUMMARY}")
Summary = Annotated[str, AfterValidator(plain), _filled, _bounded]
Importance = Annotated[int, _clamped(1, 10), _in_schema(minimum=1, maximum=10)]
Significance = Annotated[int, _clamped(7, 10), _in_schema(minimum=7, maximum=10)]
Priority = Annotated[int, _clamped(1, 5), _in_schema(minimum=1, maximum=5)]
Change = Annotated[int, _clamped(-2, 2), _in_schema(minimum=-2, maximum=2)]


_Omitted = Annotated[SkipJsonSchema[str], BeforeValidator(lambda _: "")]  # a field that the schema leaves out


class Answer(BaseModel):
    """The base class of all answers.

    The schema that is sent requires every field and forbids others. Validation accepts what is usable: it ignores
    unknown keys, and fields with a default (streams design) may be missing.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)


class Step(Answer):
    """One item of a plan without times of day."""

    description: Annotated[FilledPhrase, _no_time]
    location: Phrase = ""  # name or id of a known place; empty: anywhere
    priority: Priority = 3  # 5 is highest


class StepPlan(Answer):
    """A plan without times of day: steps in their order."""

    activities: Annotated[list[Step], _first, _in_schema(minItems=1, maxItems=8)]


class Activity(Answer):
    """One timed item of a daily plan."""

    time: ClockTime  # "7:00 AM"
    description: Annotated[FilledPhrase, _no_time]
    location: Phrase = ""  # name or id of a known place; empty: anywhere
    priority: Priority = 3  # 5 is highest


class DailyPlan(Answer):
    """A day's plan: 5 to 8 activities in order of time."""

    activities: Annotated[list[Activity], _first, _in_schema(minItems=5, maxItems=8)]


class RatedMemory(Answer):
    """The importance of one memory."""

    number: int
    importance: Importance


class RatingsAnswer(Answer):
    """How important memories are, by their numbers."""

    ratings: Annotated[list[RatedMemory], _first, _in_schema(minItems=1, maxItems=MAX_ITEMS)]


class ActionAnswer(Answer):
    """What a character does next."""

    reason: Reason = ""
    location: Phrase = ""  # name or id of a known place; empty: where it is
    doing: Deed
    completing_plan_item: bool = False  # the present plan item is done


class UnexplainedAction(ActionAnswer):  # for models whose reasons are poor
    """What a character does next."""

    reason: _Omitted = ""


class PlacedAction(ActionAnswer):  # for a prompt that offers no places
    """What a character does next."""

    location: _Omitted = ""


class UnexplainedPlacedAction(UnexplainedAction):
    """What a character does next."""

    location: _Omitted = ""


class RelationshipChange(Answer):
    """How a relationship changed in the eyes of the one who reflects."""

    agent_id: FilledPhrase  # id or name
    reason: Phrase = ""
    change: Change


class ReflectionAnswer(Answer):
    """One insight drawn from recent experiences."""

    insight: FilledParagraph
    significance: Significance = 7  # the lower bound: every insight is important
    relationship_changes: Annotated[list[RelationshipChange], _first, _in_schema(maxItems=5)] = []


class InsightAlone(ReflectionAnswer):  # for models whose reasons are poor
    """One insight drawn from recent experiences."""

    relationship_changes: Annotated[SkipJsonSchema[list[RelationshipChange]], BeforeValidator(lambda _: [])] = []


class SummaryAnswer(Answer):
    """A summary, as the instructions ask for it."""

    summary: Summary


class IntegratedAnswer(Answer):
    """The new long-term memory, with what happened worked into it."""

    summary: Summary
