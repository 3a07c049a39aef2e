"""Routines: what an owner usually does, when and where, as its host declares it, in any language.

A routine is a list of habits ("07:00 breakfast @home", "08:00–20:00 shift @module-b", "~18:30 chess @park", "patrol the
wall"), one text with a habit on each line, or prose that names times ("goes to bed around 11pm, wakes up at 6am").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.clock import DAY

MOST_HABITS = 100  # of a routine

_CLOCK = re.compile(
    r"(?:(?P<late>下午|晚上|傍晚|午後|夜|오후|저녁|밤)|早上|上午|午前|朝|오전|아침)?\s?(?:(?P<h>\d{1,2})\s?(?:[:：.](?P<m>\d{2})(?!\d)|[hH](?P<hm>\d{2})?(?![^\W\d_])|[時时点點시]\s?(?:(?P<zm>\d{1,2})[分분]?|(?P<half>[半반]))?"
    r"|Uhr\b)(?:\s?(?P<ap>[ap])\.?m\b\.?)?|(?P<h2>\d{1,2})\s?(?P<ap2>[ap])\.?m\b\.?)",
    re.IGNORECASE,
)
_TO = r"\s?(?:[-–—−~〜～至到]|\b(?:to|until|till|bis|à|до|hasta|até)\b|から)\s?"
_UNTIL = re.compile(_TO)
_BARE = re.compile(rf"(?P<h>\d{{1,2}})(?={_TO}\d)")  # of "5 to 7pm"
_OPENING = re.compile(
    r"[\s\[(•*·]*+(?P<loose>[~≈]\s?)?(?:(?:at|from|about|around|um|von|ab|gegen|à|de|vers|a las|alle|às|om|в|с)\s)?",
    re.IGNORECASE,
)
_AFTER_TIME = re.compile(r"[\s:：,，、.)\]|–—-]++")
_LINES = re.compile(r"[\n;；]+|[,，、。]\s*+(?=[~≈]?\d{1,2}\s?[:：.hH時时点點시])")
_PLACE = re.compile(r"(?<![A-Za-z0-9._])[@＠]\s?(?P<place>[^@＠]+)$")
_CLAUSE_ENDS = re.compile(r"(?P<mark>[,;.](?!\d)\s*+)|(?<!\s)\s++(?:and|then|и)\s++")
_DIGIT_OR_MARK = re.compile(r"[,;\d]")
_CONDITION = re.compile(r"\b(?:if|unless|before|after|when)\b", re.IGNORECASE)
_BEFORE_TIME = re.compile(r"(?<!\s)\s*+\b(?:at|around|about|from|by|usually|um|gegen|von|à|vers|в|около|с)$")
_PRONOUN = re.compile(r"^(?:she|he|they|it)\s++", re.IGNORECASE)


class Habit(NamedTuple):
    """One usual activity of an owner."""

    what: str  # "" if only the place is declared
    begins: int | None = None  # minutes after midnight; None: at no time in particular
    ends: int | None = None
    place: str = ""  # as the host wrote it after "@"
    loose: bool = False  # at about that time
    prose: bool = False  # from prose, in the third person


@lru_cache(maxsize=4_096)  # each plan of an owner reads its routine again
def read_routine(routine: str | tuple[str, ...], name: str = "") -> tuple[Habit, ...]:
    """Return the habits of a routine, in the order of its text; a habit with an impossible time gets none.

    Args:
        name: the owner's name, which prose may repeat.
    """
    habits: list[Habit] = []
    for line in _lines(routine):
        try:
            habit = _timed_habit(line)
        except ValueError:
            habit = Habit(line)
        habits += [habit] if habit else _prose_habits(line, name) if _CLOCK.search(line) else [_untimed_habit(line)]
    return tuple(habits[:MOST_HABITS])


def routine_text(routine: str | tuple[str, ...]) -> str:
    """Return a routine as one readable text."""
    text = routine if isinstance(routine, str) else "; ".join(routine)
    return text.replace("{place}", "…")


def check_routine(routine: str | tuple[str, ...]) -> None:
    """Check that each habit of a routine has a possible time, if any, and names an activity or a place.

    Raises:
        ValueError: naming the first wrong habit, or if there are too many.
    """
    lines = list(_lines(routine))
    if len(lines) > MOST_HABITS:
        raise ValueError(f"it has {len(lines)} habits, at most {MOST_HABITS}")
    for line in lines:
        _timed_habit(line)


def _lines(routine: str | tuple[str, ...]) -> Iterator[str]:
    for text in (routine,) if isinstance(routine, str) else routine:
        yield from filter(None, (line.strip(" \t\r-•*.。").strip() for line in _LINES.split(text)))


def _timed_habit(line: str) -> Habit | None:
    """Return the habit of a line that begins with a time; None for any other line.

    Raises:
        ValueError: if the time is not from 0:00 to 24:00, or neither an activity nor a place follows.
    """
    opening = _OPENING.match(line)
    assert opening is not None
    span = _span(line, opening.end())
    if span is None:
        return None
    begins, ends, after = span
    rest = _AFTER_TIME.match(line, after)
    habit = _untimed_habit(line[rest.end() if rest else after :])
    if not habit.what and not habit.place:
        raise ValueError(f"{line!r} names nothing to do: write it as in '07:00 breakfast @home'")
    return habit._replace(begins=begins, ends=ends, loose=opening["loose"] is not None)


def _untimed_habit(text: str) -> Habit:
    place = _PLACE.search(text)
    what = text[: place.start()] if place else text
    return Habit(what.strip(), place=place["place"].strip() if place else "")


def _span(line: str, start: int) -> tuple[int, int | None, int] | None:
    """Return the begin of the time or span at a position, the span's end or None, and the position after them.

    Raises:
        ValueError: if a time is not from 0:00 to 24:00.
    """
    first = _CLOCK.match(line, start) or _BARE.match(line, start)
    if first is None:
        return None
    until = _UNTIL.match(line, first.end())
    last = _CLOCK.match(line, until.end()) if until else None
    if last is None:
        return (_minute(first, line) % DAY, None, first.end()) if first.re is _CLOCK else None
    ends = _minute(last, line)
    begins = _minute(first, line)
    if first.re is _BARE and ends >= DAY // 2 and begins + DAY // 2 < ends:
        begins += DAY // 2  # "5 to 7pm"
    return begins % DAY, ends, last.end()


def _minute(match: re.Match[str], line: str) -> int:
    part = match.groupdict()
    hour = int(part["h"] or part["h2"])
    minute = 30 if part.get("half") else int(part.get("m") or part.get("hm") or part.get("zm") or 0)
    half = "p" if part.get("late") else (part.get("ap") or part.get("ap2") or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    if minute > 59 or hour * 60 + minute > DAY:
        raise ValueError(f"{line!r} begins or ends at {match[0].strip()!r}, which is not a time from 0:00 to 24:00")
    return hour * 60 + minute


def _prose_habits(line: str, name: str) -> Iterator[Habit]:
    """Yield the habits of prose that names their times: "goes to bed around 11pm, works from 9:00 to 17:00"."""
    for clause in _clauses(line):
        clock = _CLOCK.search(clause)
        if clock is None or _CONDITION.search(clause):
            continue
        start = bare.start() if (bare := _BARE.search(clause)) and bare.start() < clock.start() else clock.start()
        try:
            span = _span(clause, start)
        except ValueError:
            continue
        if span is None:
            continue
        text = clause if clause[span[2] :].strip(" .") else _BEFORE_TIME.sub("", clause[:start].rstrip())
        text = _PRONOUN.sub("", text.removeprefix(name).strip()).strip()
        if text:
            yield _untimed_habit(text)._replace(begins=span[0], ends=span[1], prose=True)


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses of prose: split at marks, and at conjunctions that a number follows before the next mark."""
    start, ahead = 0, -1  # positions: the clause's first character, the next digit or mark
    for match in _CLAUSE_ENDS.finditer(text):
        if match["mark"] is None:
            if ahead < match.end():
                following = _DIGIT_OR_MARK.search(text, match.end())
                ahead = following.start() if following else len(text)
            if not text[ahead : ahead + 1].isdigit():
                continue
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]
