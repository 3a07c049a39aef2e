"""Words for deadlines and for recurrence in English."""

from __future__ import annotations

import re

_UP_TO = re.compile(r"\b(?:by|before|until|till)\b", re.IGNORECASE)
_IN_A_DAY = re.compile(
    r"\b(?:by|before|until|till|at) (?:the )?(?:breakfast|break|lunch|tea|dinner|supper|dark|dusk|nightfall|sunset)\b",
    re.IGNORECASE,
)
_OFTEN = re.compile(r"\b(?:every|each|daily|always)\b", re.IGNORECASE)


def is_deadline(text: str) -> bool:
    """Return whether a text has a word for a deadline."""
    return _UP_TO.search(text) is not None


def ends_in_a_day(text: str) -> bool:
    """Return whether a text has a deadline at a part of every day."""
    return _IN_A_DAY.search(text) is not None


def is_often(text: str) -> bool:
    """Return whether a text tells of something that recurs, such as every day."""
    return _OFTEN.search(text) is not None
