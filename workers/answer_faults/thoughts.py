"""Faults of a character's thoughts and actions. A host's own kind may contain speech and is not checked."""

from __future__ import annotations

import re

from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED
from cogitate.prompts.answers import HELD_PHRASE, ActionAnswer, DailyPlan, ReflectionAnswer, StepPlan

THOUGHTS = (ActionAnswer, DailyPlan, ReflectionAnswer, StepPlan)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|「[^「」]*」|『[^『』]*』")
_MARKUP = re.compile(  # of a page, of a prompt, of a model's template
    r"</[a-z][\w-]{0,30}>|<\|[\w ]{1,30}\|>|\[/?INST\]|\A(?:assistant|system|user): ", re.IGNORECASE
)
_MARKS = SPACED + UNSPACED
_ENDED = re.compile(f"([^{_MARKS}]+)([{_MARKS}]*)")  # a sentence and its end
_COLON = re.compile("[:：]")


def fault_of_thought(text: str, field: str) -> str | None:
    """Return why a text is not a thought, action or reason of a character, or None."""
    if any(mark in text for mark in QUESTIONS):
        sentences = [one for one in _ENDED.findall(_QUOTED.sub("", text)) if any(map(str.isalnum, one[0]))]
        if sentences and all(_asks(end) and not _COLON.search(said) for said, end in sentences):
            return f"{text[:40]!r} only asks; say what the character thinks or does"
    if (found := _MARKUP.search(text)) is not None:
        return f"{found[0].strip()!r} is no word; write what the character would"
    if len(text) == HELD_PHRASE and text[-1].isalnum() and field != "insight":  # a server cut it to fit the schema
        return f"{text[:40]!r} is cut off after {HELD_PHRASE} characters; be brief"
    return None


def _asks(end: str) -> bool:
    return any(mark in end for mark in QUESTIONS)
