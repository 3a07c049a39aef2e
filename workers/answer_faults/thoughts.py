"""Faults of a character's thoughts, actions and reasons. A host's own kind may contain speech and is not checked."""

from __future__ import annotations

import re

from pydantic import BaseModel

from cogitate.memory.language.endings import QUESTIONS, SPACED, UNSPACED
from cogitate.prompts.answers import HELD_PHRASE, ActionAnswer, DailyPlan, ReflectionAnswer, StepPlan

THOUGHTS = (ActionAnswer, DailyPlan, ReflectionAnswer, StepPlan)
QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|「[^「」]*」|『[^『』]*』")
YOU = re.compile(r"\byou(?:rs?|rself|['’]\w+)?\b", re.IGNORECASE)
_MARKUP = re.compile(  # of a page, of a prompt, of a model's template
    r"</[a-z][\w-]{0,30}>|<\|[\w ]{1,30}\|>|\[/?INST\]|\A(?:assistant|system|user): ", re.IGNORECASE
)
_MARKS = SPACED + UNSPACED
_ENDED = re.compile(f"([^{_MARKS}]+)([{_MARKS}]*)")  # a sentence and its end
_COLON = re.compile("[:：]")
_TWO_DAYS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow) (?!\1)(yesterday|today|tonight|tomorrow)\b", re.IGNORECASE
)
_NO_DEED = re.compile(
    r"day \d|(?:a|my|the|this) (?:\w+ )?(?:day|plan) (?:begin|end|start)s\b", re.IGNORECASE
)  # of a plan's item


def fault_of_thought(text: str) -> str | None:
    """Return why a text is not a thought, action or reason of a character, or None."""
    if any(mark in text for mark in QUESTIONS):
        sentences = [one for one in _ENDED.findall(QUOTED.sub("", text)) if any(map(str.isalnum, one[0]))]
        if sentences and all(_asks(end) and not _COLON.search(said) for said, end in sentences):
            return f"{text[:40]!r} only asks; say what the character thinks or does"
    if (found := _TWO_DAYS.search(text)) is not None:
        return f"{found[0]!r} names two days at once"
    if (found := _MARKUP.search(text)) is not None:
        return f"{found[0].strip()!r} is no word; write what the character would"
    if len(text) == HELD_PHRASE and text[-1].isalnum():  # a server cut it to fit the schema
        return f"{text[:40]!r} is cut off after {HELD_PHRASE} characters; be brief"
    return None


def _asks(end: str) -> bool:
    return any(mark in end for mark in QUESTIONS)


def fault_of_plan(plan: DailyPlan | StepPlan) -> str | None:
    """Return why an item of a plan is not an activity, or None."""
    description = next((item.description for item in plan.activities if _NO_DEED.match(item.description)), None)
    return None if description is None else f"{description[:40]!r} tells of the day; say what the character does"


def fault_of_reasons(answer: BaseModel) -> str | None:
    """Return why a reason in an answer is not the character's, or None."""
    if any(YOU.search(QUOTED.sub("", reason)) for reason in _reasons(answer)):
        return "a reason speaks to 'you'; say why the character does it"
    return None


def _reasons(answer: BaseModel) -> list[str]:
    if isinstance(answer, ActionAnswer):
        return [answer.reason]
    return [change.reason for change in answer.relationship_changes] if isinstance(answer, ReflectionAnswer) else []
