"""What a sentence commits somebody to: an appointment, or a promise."""

from __future__ import annotations

from collections.abc import Set
from typing import Literal, NamedTuple

ALIKE = 0.6  # share of a deed's words that an account of it repeats
MAX_WHAT = 120  # characters of what is appointed

#: What came of a promise; "": the text does not say which.
Outcome = Literal["kept", "broken", ""]
#: Who is to do what one speaker says to another; "": it proposes nothing.
Doer = Literal["we", "you", "I", ""]
#: Whom a sentence is about: who says it, all who talk, or those whom it is said to.
Person = Literal["I", "we", "you"]


class Appointed(NamedTuple):
    """An activity at a time of day (minutes after midnight), on a game day (from 0) if the sentence names one."""

    time: int
    day: int | None
    what: str


class Vow(NamedTuple):
    """A promise as a sentence gives it, or tells of it."""

    giver: str  # as it is called; "I": who says so
    taker: str  # likewise; "me", or "" if the sentence does not say
    deed: str  # the part of the sentence that tells what is promised
    spoken: bool  # the giver says so itself


def are_alike(wanted: Set[str], said: Set[str]) -> bool:
    """Return whether a text with some stems is about a deed with the wanted ones."""
    return bool(wanted) and len(wanted & said) >= ALIKE * len(wanted)
