"""English sentences about a time: uncertain ones, requests, and the hour to which one moves an appointment."""

from __future__ import annotations

import re

from cogitate.memory.language.commitments import Doer, Person
from cogitate.memory.language.english.certainty import WORDS, is_moved, is_of_others, is_open, is_refusal
from cogitate.memory.language.english.certainty import is_called_off as is_ended
from cogitate.memory.language.times import Time, anchor_days, days_named, find_times

_PAST = re.compile(r"\b(?:yesterday|last (?:night|week|evening)|was|were|ago|attended|met)\b", re.IGNORECASE)
_ONGOING = re.compile(
    r"\b(?:is|are)\s++(?!hosting|planning|throwing|organi[sz]ing|inviting|going|meeting|holding|giving|expecting)\w+ing\b",
    re.IGNORECASE,
)  # an observed activity is not an appointment
_AHEAD = re.compile(r"\btomorrow\b|\bon (?:the \w+ of )?day \d", re.IGNORECASE)  # then "is coming" is ahead, too
#: It states the current time: "It's already 8:30".
_NOW = re.compile(r"\bit(?:['’]?s| is) (?:\w+ )?(?=\d|noon|midnight|half|quarter)", re.IGNORECASE)
_REPLACED = re.compile(r"\b(?:instead of|rather than|not|from)(?: at)? $", re.IGNORECASE)  # stands before the old time
#: The speaker counts on the listeners, as helpers or as guests.
_CALLS_FOR = re.compile(
    r"\bI(?:['’]ll| will)? (?:want|need|expect)\b(?! to\b)|"
    r"\bI(?:['’]m| am) (?:holding|hosting|throwing|giving|planning|organi[sz]ing|having) (?:an?|the|my)\b",
    re.IGNORECASE,
)
_TO_DAY = re.compile(
    r"\b(?:move[sd]?|shift(?:s|ed)?|reschedule[sd]?) (?:\w+ ){0,4}?(?:to|till|until) "
    r"(?:day \d|(?:the day after )?tomorrow|next |another day)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"^(?:please |and |then |so |now )?(?:be|meet|wait|report|open|close|come|bring|take|fetch|give|tell|call|send|"
    r"keep|make|go|get|put|stop|join|visit|help|check|show|find|start|leave|remember|never|don['’]t)\b",
    re.IGNORECASE,
)


def leaves_open(sentence: str) -> bool:
    """Return whether a sentence denies, doubts or refuses, or tells of others, of the past or of the present."""
    if sentence.endswith("?"):
        return is_refusal(sentence)
    happens = (_ONGOING.search(sentence) and not _AHEAD.search(sentence)) or _NOW.search(sentence)
    return bool(_PAST.search(sentence) or happens or is_open(sentence) or is_of_others(sentence, ""))


def is_called_off(sentence: str) -> bool:
    """Return whether a sentence calls an appointment off, or moves it to another hour or day."""
    return is_ended(sentence) or _TO_DAY.search(sentence) is not None


def proposes(sentence: str) -> Doer:
    """Return who is to do what a sentence proposes, asks for or offers, or what it opens with: "Bring rope." """
    return WORDS.proposes(sentence) or ("you" if _REQUEST.search(sentence) else "")


def persons(sentence: str) -> frozenset[Person]:
    """Return whom a sentence is about; a call for help or an invitation also concerns the listeners ("you")."""
    found = WORDS.persons(sentence)
    return found | {"you"} if _CALLS_FOR.search(sentence) else found


def moved_to(sentence: str, minute: int) -> tuple[int, int | None] | None:
    """Return the new time of day of an appointment that a sentence moves, and the day if named; else None.

    Args:
        minute: game time at which it was said.
    """
    times = find_times(sentence) if is_moved(sentence) else []
    days = days_named(anchor_days(sentence, minute))
    return (_new_time(sentence, times).minute, days[-1] if days else None) if times else None


def _new_time(sentence: str, times: list[Time]) -> Time:
    """Return the last time that a sentence names, except the one that it replaces."""
    return next((time for time in reversed(times) if not _REPLACED.search(sentence, 0, time.start)), times[-1])
