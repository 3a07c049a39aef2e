"""Until when something is due in English, and whether it is done again and again."""

from __future__ import annotations

import re

_UP_TO = re.compile(r"\b(?:by|before|until|till)\b", re.IGNORECASE)
_IN_A_DAY = re.compile(
    r"\b(?:by|before|until|till|at) (?:the )?(?:breakfast|break|lunch|tea|dinner|supper|dark|dusk|nightfall|sunset)\b",
    re.IGNORECASE,
)
_OFTEN = re.compile(r"\b(?:every|each|daily|always)\b", re.IGNORECASE)


def is_deadline(text: str) -> bool:
    """Return whether a text names what something is due by."""
    return _UP_TO.search(text) is not None


def ends_in_a_day(text: str) -> bool:
    """Return whether something is due by a part of the day that each day has."""
    return _IN_A_DAY.search(text) is not None


def is_often(text: str) -> bool:
    """Return whether a text tells of each day."""
    return _OFTEN.search(text) is not None
