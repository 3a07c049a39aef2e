"""The tense of plans that are over when they are told: "Ada will sing" becomes "Ada was going to sing"."""

from __future__ import annotations

import re

from cogitate.memory.language.quotations import outside_quotations
from cogitate.memory.language.times import is_over

_SEVERAL = re.compile(r"(?:\b(?:they|we|you|both|all)|\b[^\W\d]\w* and [^\W\d][\w ]{0,60})$", re.IGNORECASE)
_WILL = re.compile(r"(?:(?<=\w)['’]ll\b|\s(?:will|shall)\b)(?P<not> not\b)?(?P<be> be \w+ing\b)?")
_WONT = re.compile(r"\swon['’]t\b")
_PRESENT = re.compile(r"\b(is|are|am)(?= (?:\w+ing|to)\b| (?:\w+ ){1,3}on (?:the \w+ of )?day \d)")
_OVER = {"is": "was", "are": "were", "am": "was"}


def told_after(sentence: str, minute: int) -> str:
    """Return a sentence with plans that are over at game time `minute` in the past tense."""
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
