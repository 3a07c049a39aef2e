"""The tense of plans that are over when they are told: "Ada will sing" becomes "Ada was going to sing"."""

from __future__ import annotations

import re

from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.language.quotations import outside_quotations
from cogitate.memory.language.times import find_times

_DAY = re.compile(r"\bday (\d{1,6})\b", re.IGNORECASE)
_SEVERAL = re.compile(r"(?:\b(?:they|we|you|both|all)|\b[^\W\d]\w* and [^\W\d][\w ]{0,60})$", re.IGNORECASE)
_WILL = re.compile(r"(?:(?<=\w)['’]ll\b|\s(?:will|shall)\b)(?P<not> not\b)?(?P<be> be \w+ing\b)?")
_WONT = re.compile(r"\swon['’]t\b")
_PRESENT = re.compile(r"\b(is|are|am)(?= (?:\w+ing|to)\b| (?:\w+ ){1,3}on (?:the \w+ of )?day \d)")
_OVER = {"is": "was", "are": "were", "am": "was"}


def is_over(sentence: str, minute: int) -> bool:
    """Return whether a sentence names days, and the last of them, with its hour if it names one, is before `minute`."""
    days = [int(day) for day in _DAY.findall(sentence)]
    if not days or not clock_in_force().counts_days:
        return False
    times = find_times(sentence)
    return (max(days) - 1) * DAY + (max(time.minute for time in times) if times else DAY - 1) < minute


def told_after(sentence: str, minute: int) -> str:
    """Return a sentence told at game time `minute`: what it says of a time that is over by then is in the past."""
    if not is_over(sentence, minute):
        return sentence
    return outside_quotations(sentence, _in_past)


def _in_past(text: str) -> str:
    text = _WILL.sub(_was_going, text)
    text = _WONT.sub(lambda found: f" {_be(found)} not going to", text)
    return _PRESENT.sub(lambda found: _OVER[found[1]], text)


def _be(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 120) : found.start()]
    return "were" if _SEVERAL.search(before) else "was"


def _was_going(found: re.Match[str]) -> str:
    return f" {_be(found)}{' not' if found['not'] else ''} going to{found['be'] or ''}"
