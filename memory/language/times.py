"""Times in text: clock times ("7:00 AM", "07:00", "from 5 to 7pm", "noon"), and days told by their number."""

from __future__ import annotations

import re
from typing import NamedTuple

from cogitate.memory.clock import clock_in_force, day_number
from cogitate.memory.language.quotations import outside_quotations

_TIME = re.compile(
    r"""(?<![\d:.,$€£])(?:
        (?P<h1>\d{1,2})(?:[:.](?P<m1>\d{2}))?\s*+(?:(?P<ap1>[ap])\.?m\b\.?\s*+)?(?:-|–|to|until|till)\s*+
            (?=\d{1,2}(?:[:.]\d{2})?\s*+(?P<apnext>[ap])\.?m\b)      # a range: "5 to 7pm"
        | (?P<h2>\d{1,2})(?:[:.](?P<m2>\d{2}))?\s*+(?P<ap2>[ap])\.?m\b\.?
        | (?P<h3>\d{1,2}):(?P<m3>\d{2})(?![\d:])
        | (?P<h4>\d{1,2})\s?o['’]?clock\b
        | \b(?P<word>noon|midday|midnight|полдень|полночь)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_RELATIVE = re.compile(
    r"\b(?P<until>(?:by|until|till|before|since|after|from) )?"
    r"(?:(?P<after>(?:the )?day after tomorrow|послезавтра)|(?P<next>tomorrow|завтра)|(?P<now>today|сегодня)"
    r"|(?P<this>this(?= (?:morning|afternoon)\b))|(?P<night>tonight|this evening)|(?P<past>yesterday|вчера))"
    r"(?P<part> (?:morning|afternoon|evening|night))?\b(?!['’])",
    re.IGNORECASE,
)
#: In whatever `_TIME` finds, unless it is a word.
_CLOCK = re.compile(r"\d(?:\s*+[ap]\.?m|:\d|\s?o['’]?c)", re.IGNORECASE)
_BARE_HOUR = re.compile(r"(\d{1,2})(?:h|\s*+(?:hours|ч))?")
_HOUR = re.compile(r"\d{1,2}")
_AHEAD = {"after": 2, "next": 1, "now": 0, "this": 0, "night": 0, "past": -1}
_WORDS = {"noon": 720, "midday": 720, "midnight": 0, "полдень": 720, "полночь": 0}


class Time(NamedTuple):
    """A clock time found in a text, in minutes after midnight, and where it stands there."""

    minute: int
    start: int
    end: int


def find_times(text: str) -> list[Time]:
    """Return every clock time in `text`, in order. Of a range its two ends."""
    if not _may_name_time(text):
        return []
    found = []
    for match in _TIME.finditer(text):
        minute = _minute(match)
        if minute is not None:
            found.append(Time(minute, match.start(), match.end()))
    return found


def _may_name_time(text: str) -> bool:
    """Return whether a text has what a clock time cannot be without; most texts have not."""
    if _CLOCK.search(text):
        return True
    low = text.lower()
    return any(word in low for word in _WORDS)


def parse_clock(text: str) -> int | None:
    """Return the first clock time in `text` in minutes after midnight; a bare hour ("7") counts on its own."""
    times = find_times(text)
    if times:
        return times[0].minute
    bare = _BARE_HOUR.fullmatch(text.strip())
    return int(bare[1]) * 60 if bare and int(bare[1]) < 24 else None


def anchor_days(text: str, minute: int) -> str:
    """Return `text`, said at game time `minute`, with "today", "tomorrow" and the like as "on day 3".

    What is told again on a later day would otherwise mean another day. Days before the first stay as they are said, and
    so does what stands between quotation marks, and everything where the clock in force counts no days.
    """

    if not clock_in_force().counts_days:
        return text

    def told(match: re.Match[str]) -> str:
        said = next(name for name in _AHEAD if match[name])
        day = day_number(minute) + _AHEAD[said]
        if day < 1:
            return match[0]
        if not match[0].isascii():
            return f"в день {day}"
        part = "evening" if said == "night" else (match["part"] or "").strip()
        return (match["until"] or "on ") + (f"the {part} of day {day}" if part else f"day {day}")

    return outside_quotations(text, lambda part: _RELATIVE.sub(told, part))


def _minute(match: re.Match[str]) -> int | None:
    part = match.groupdict()
    if part["word"]:
        return _WORDS[part["word"].lower()]
    hour = int(part["h1"] or part["h2"] or part["h3"] or part["h4"])
    minute = int(part["m1"] or part["m2"] or part["m3"] or 0)
    half = (part["ap1"] or part["ap2"] or part["apnext"] or "").lower()
    if minute > 59 or hour > 23:
        return None
    if half:
        if hour > 12:
            return hour * 60 + minute  # "17:00 pm" is said by models; 17:00 is meant
        hour = hour % 12 + (12 if half == "p" else 0)
        if part["h1"] and not part["ap1"] and half == "p" and _next_hour(match) < hour % 12:
            hour -= 12  # "from 10 to 1pm" begins in the morning
    elif part["h4"] and 1 <= hour <= 6:
        hour += 12  # "3 o'clock" is said of the afternoon
    return hour * 60 + minute


def _next_hour(match: re.Match[str]) -> int:
    following = _HOUR.match(match.string, match.end())
    return int(following[0]) % 12 if following else 0
