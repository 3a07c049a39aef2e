"""Times in text: clock times ("7:00 AM", "07:00", "from 5 to 7pm", "noon"), and days told by their number.

Packs have the words of other languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.clock import DAY, clock_in_force, day_number
from cogitate.memory.language.day_words import DAYS
from cogitate.memory.language.languages import UNDETERMINED, languages_of, prevailing_language
from cogitate.memory.language.packs import Pack, pack_of
from cogitate.memory.language.quotations import outside_quotations, within_quotations

_LEAD = 12  # characters before a quotation that may name its day: " on day 3: "
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PAST_HOUR = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_LATE = re.compile(r"\b(?:afternoon|evening|tonight)\b[^.!?;]{0,20}$", re.IGNORECASE)
_TONIGHT = re.compile(r" (?:tonight|this evening)\b", re.IGNORECASE)
_FOLLOWED = (  # what may follow an hour and cannot be counted: "at ten and", but not "at ten places"
    r"(?=[.,;!?\"”](?![ ]?\d)|$"
    r"|[ ](?:sharp|today|tonight|tomorrow|this|on|at|in|with|then|and|or|so|but|if|when|until|till|for|as"
    r"|yourself|myself|instead|too|please|i|we|you|he|she|it|they)\b)"
)
_TIME = re.compile(
    r"""(?<![\d:.,$€£])(?:
        (?P<h1>\d{1,2})(?:[:.](?P<m1>\d{2}))?\s*+(?:(?P<ap1>[ap])\.?m\b\.?\s*+)?(?:-|–|to|until|till)\s*+
            (?=\d{1,2}(?:[:.]\d{2})?\s*+(?P<apnext>[ap])\.?m\b)      # a range: "5 to 7pm"
        | (?P<h2>\d{1,2})(?:[:.](?P<m2>\d{2}))?\s*+(?P<ap2>[ap])\.?m\b\.?
        | (?P<h3>\d{1,2}):(?P<m3>\d{2})(?![\d:])
        | (?P<h4>\d{1,2})\s?o['’]?clock\b
        | \b(?P<word>noon|midday|midnight)\b
        | \b(?:(?P<m6>half|(?:a[ ])?quarter|five|ten|twenty|twenty-five)[ ](?P<way>past|to)[ ](?P<h6>__HOUR__)\b
            |(?P<h7>__HOUR__)(?:[ ]o['’]?clock\b|(?=[ ](?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night)\b))
            |half[ ](?P<half>__HOUR__)__FOLLOWED__
            |(?:(?<=\bat[ ])|(?<=\bby[ ])|(?<=\bbefore[ ])|(?<=\bfrom[ ])|(?<=\buntil[ ])|(?<=\btill[ ]))
              (?P<h8>__HOUR__|\d{1,2})__FOLLOWED__)
          (?:[ ](?:in[ ]the|at)[ ](?P<part>morning|afternoon|evening|night)\b)?
    )""".replace("__HOUR__", "|".join(_HOURS)).replace("__FOLLOWED__", _FOLLOWED),
    re.IGNORECASE | re.VERBOSE,
)
_MAY_NAME_TIME = re.compile(
    r"\d|noon|mid| past | to |half |at |by |before |from |un?till? |clock|morning|evening|night", re.IGNORECASE
)  # every match of `_TIME` contains one of these
_RELATIVE = re.compile(
    r"\b(?P<until>(?:by|until|till|before|since|after|from|for|of|about|to|through) )?"
    r"(?:(?P<after>(?:the )?day after tomorrow)|(?P<next>tomorrow)|(?P<now>today)"
    r"|(?P<this>this(?= (?:morning|afternoon)\b))|(?P<night>tonight|this evening)|(?P<past>yesterday))"
    r"(?P<part> (?:morning|afternoon|evening|night))?\b(?!['’](?!s\b))(?!-\w)(?P<own>['’]s)?",
    re.IGNORECASE,
)
_BEFORE_DAY = (
    r"\b(?:(?P<before>(?:by|until|till|before|since|after|from|for|about|to|through) )|on )"
    r"(?:the (?P<part>morning|afternoon|evening|night) of )?"
)
_DAY_NUMBER = re.compile(r"\bday (\d{1,6})\b", re.IGNORECASE)
_NEXT_ROUND = re.compile(r"\bnext round\b", re.IGNORECASE)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})\b")
_TELLS_HALF = re.compile(r"[:.]\d\d|[ap]\.?m\b|morning|noon|evening|night|midday|1[3-9]|2[0-3]", re.IGNORECASE)
_MORNING = re.compile(r"\b(?:morning|dawn|breakfast|first thing)\b", re.IGNORECASE)
_EVENING = re.compile(r"\b(?:evening|tonight|night|midnight)\b", re.IGNORECASE)
_HALF_DAY = DAY // 2
_DAWN = 5 * 60  # an hour of an evening before this is after midnight
_BARE_HOUR = re.compile(r"(\d{1,2})(?:h|\s*+(?:hours|ч))?")
_HOUR = re.compile(r"\d{1,2}")
_AHEAD = {"after": 2, "next": 1, "now": 0, "this": 0, "night": 0, "past": -1}
_WORDS = {"noon": 720, "midday": 720, "midnight": 0}


class Time(NamedTuple):
    """A clock time found in a text, in minutes after midnight, and where it stands there."""

    minute: int
    start: int
    end: int


def find_times(text: str, pack: Pack | None = None) -> list[Time]:
    """Return every clock time in `text`, in order; of a range, both ends.

    Args:
        pack: pack of the text's language, if known.
    """
    return list(_times_in(text, pack or pack_of(languages_of(text)[0])))


@lru_cache(maxsize=32_768)  # an owner's memories are read again by each plan and reflection
def _times_in(text: str, pack: Pack) -> tuple[Time, ...]:
    found = _found(_TIME, text, _minute) if _MAY_NAME_TIME.search(text) else []
    if pack.hours.pattern is None:
        return tuple(found)
    named = _found(pack.hours.pattern, text, pack.hours.minute)
    others = (time for time in found if not any(time.start < one.end and one.start < time.end for one in named))
    return tuple(sorted([*named, *others], key=lambda time: time.start))


def _found(pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], int | None]) -> list[Time]:
    matches = ((read(match), match) for match in pattern.finditer(text))
    return [Time(minute, match.start(), match.end()) for minute, match in matches if minute is not None]


def is_bare_hour(text: str, time: Time, pack: Pack) -> bool:
    """Return whether a time in a text may be in either half of the day: "at eight"."""
    said = text[time.start : time.end]
    parts = [way.casefold() for key in ("am", "pm", "noon", "midnight") for way in pack.ways(key)]
    parts += [way for hour in pack.ways("numbers")[12:] for way in hour.split("/")]
    return not (any(part in said.casefold() for part in parts) or _TELLS_HALF.search(said))


def is_of_evening(text: str, pack: Pack) -> bool | None:
    """Return whether a text names the evening or night, or else another part of the day; None if it names none."""
    if pack.says("evening", text) or _EVENING.search(text):
        return True
    return False if pack.says("morning", text) or _MORNING.search(text) else None


def in_part(minute: int, is_late: bool) -> int:
    """Return a bare hour as one of the morning or the evening, counted from the midnight before.

    An evening lasts from five to five, a morning from five to noon; an hour outside the morning is unchanged.
    """
    hour = minute % _HALF_DAY
    if is_late:
        return hour + (_HALF_DAY if hour >= _DAWN else DAY)
    return hour if hour >= _DAWN else minute


def nearest_half(minute: int, near: int) -> int:
    """Return a bare hour in the half of the day that is nearest to another hour."""
    return min((minute % _HALF_DAY + half * _HALF_DAY for half in range(3)), key=lambda one: abs(one - near))


def parse_clock(text: str) -> int | None:
    """Return the first clock time in `text` in minutes after midnight; a bare hour ("7") counts on its own."""
    times = find_times(text)
    if times:
        return times[0].minute
    bare = _BARE_HOUR.fullmatch(text.strip())
    return int(bare[1]) * 60 if bare and int(bare[1]) < 24 else None


def anchor_days(
    text: str, minute: int, pack: Pack | None = None, around: str = UNDETERMINED, today: int | None = None
) -> str:
    """Return `text`, said at game time `minute`, with "today", "tomorrow" and the like as "on day 3".

    On a later day, such a word would mean another day. Days before the first and quotations are unchanged, and so is
    the whole text if the clock in force counts no days.

    Args:
        pack: pack of the text's language, if known.
        around: language to assume if the text shows none, or may be in this one.
        today: the number of the day on which it is read, which becomes "today".
    """
    if not clock_in_force().counts_days:
        return text
    return _anchored(text, day_number(minute), pack or pack_of(prevailing_language((text,), around)), today)


def with_today(text: str, minute: int) -> str:
    """Return a text with the number of a game time's day replaced by "today" or the like."""
    number, pack = day_number(minute), pack_of(languages_of(text)[0])
    if not clock_in_force().counts_days:
        return text
    if pack.days.pattern is not None:
        return pack.days.with_today(text, number)

    def told(match: re.Match[str]) -> str:
        part = match["part"]
        word = "tonight" if part == "night" else f"this {part}" if part else "today"
        before = match["before"] or ""
        return before + (word.capitalize() if match[0][len(before)].isupper() else word)

    return re.sub(rf"{_BEFORE_DAY}day {number}\b(?!['’])", told, text, flags=re.IGNORECASE)


def with_quoted_days(text: str, minute: int) -> str:
    """Return a summary written at game time `minute` with the days in its quotations as numbers, for a search.

    A day named right before a quotation is the one on which it was said.
    """

    around = prevailing_language((text,))

    def dated(said: str, before: str) -> str:
        named = days_named(before[-_LEAD:], pack_of(around))
        return anchor_days(said, named[-1] * DAY if named else minute, around=around)

    return within_quotations(text, dated)


@lru_cache(maxsize=32_768)  # a job shows the same lines in each prompt until one fits
def _anchored(text: str, day: int, pack: Pack, today: int | None) -> str:
    if pack.days.pattern is not None:
        return _anchored_as_in(pack, pack.days.pattern, text, day, today)

    def told(match: re.Match[str]) -> str:
        said = next(name for name in _AHEAD if match[name])
        number = day + _AHEAD[said]
        if number < 1:
            return match[0]
        part = "evening" if said == "night" else (match["part"] or "").strip()
        own = match["own"] or ""
        if number != today and own and (part or said == "this"):
            return match[0]
        if number == today and said in ("now", "this", "night"):
            return match[0]
        if number == today:
            word = f"this {part}".replace("this night", "tonight") if part else "today"
            return f"{match['until'] or ''}{word.capitalize() if match[0][0].isupper() else word}{own}"
        if own:
            told = f"{match['until'] or ''}day {number}{own}"
            return told[0].upper() + told[1:] if match[0][0].isupper() else told
        return (match["until"] or "on ") + (f"the {part} of day {number}" if part else f"day {number}")

    return outside_quotations(text, lambda part: _RELATIVE.sub(told, part))


def _anchored_as_in(pack: Pack, words: re.Pattern[str], text: str, day: int, today: int | None) -> str:
    """Return a text with a pack's words for days replaced by numbered days, and by the word for `today`."""
    numbers = {name: day + ahead for name, ahead in DAYS.items()}

    def told(match: re.Match[str]) -> str:
        way = pack.days.phrase_of(match["day"])
        is_number = pack.days.numbered is not None and pack.days.numbered.match(match.string, match.start("day"))
        if is_number or any(number < 1 and f"{{{name}}}" in way for name, number in numbers.items()):
            return match[0]
        return (pack.days.by_today(match, numbers, today) if today else "") or pack.days.by_number(match, numbers)

    anchored = outside_quotations(text, lambda part: words.sub(told, part))
    return anchored.replace("  ", " ") if "" in pack.days.told.values() else anchored


def days_named(text: str, pack: Pack | None = None) -> list[int]:
    """Return the days (from 0) that a text names by number, in order.

    Args:
        pack: pack of the text's language, if known.
    """
    pattern = (pack or pack_of(languages_of(text)[0])).days.numbered or _DAY_NUMBER
    return [int(next(filter(None, match.groups()))) - 1 for match in pattern.finditer(text)]


def names_date(text: str) -> bool:
    """Return whether a text names a day of a calendar in English, which game time does not have."""
    return _DATE.search(text) is not None


def rounds_named(text: str, minute: int) -> list[int]:
    """Return the rounds that a text names, said at game time `minute`; none if the clock counts no rounds."""
    clock = clock_in_force()
    if not clock.counts_rounds:
        return []
    named = [int(number) for number in pack_of(languages_of(text)[0]).rounds.findall(text)]
    return [*named, clock.dated(minute).get("round", 0) + 1] if _NEXT_ROUND.search(text) else named


def is_over(sentence: str, minute: int, said: int | None = None) -> bool:
    """Return whether a sentence names days or rounds, and the last, with its hour if it names one, is before `minute`.

    Args:
        said: game minute at which it was said; without one, what it says of the next round is not over.
    """
    clock = clock_in_force()
    if clock.counts_rounds:
        rounds = rounds_named(sentence, minute if said is None else said)
        return bool(rounds) and max(rounds) < clock.dated(minute).get("round", 0)
    days = days_named(sentence)
    if not days or not clock.counts_days:
        return False
    times = find_times(sentence)
    return max(days) * DAY + (max(time.minute for time in times) if times else DAY - 1) < minute


def _minute(match: re.Match[str]) -> int | None:
    part = match.groupdict()
    if part["word"]:
        return _WORDS[part["word"].lower()]
    if word := part["h6"] or part["h7"] or part["half"] or part["h8"]:
        return _in_words(match, word.lower())
    hour = int(part["h1"] or part["h2"] or part["h3"] or part["h4"])
    minute = int(part["m1"] or part["m2"] or part["m3"] or 0)
    half = (part["ap1"] or part["ap2"] or part["apnext"] or "").lower()
    if minute > 59 or hour > 23:
        return None
    if half:
        if hour > 12:
            return hour * 60 + minute  # models write "17:00 pm" for 17:00
        hour = hour % 12 + (12 if half == "p" else 0)
        if part["h1"] and not part["ap1"] and half == "p" and _next_hour(match) < hour % 12:
            hour -= 12  # "from 10 to 1pm" begins in the morning
    elif part["h4"] and 1 <= hour <= 6:
        hour += 12  # "3 o'clock" is said of the afternoon
    return hour * 60 + minute


def _in_words(match: re.Match[str], word: str) -> int | None:
    """Return the minute of an hour in words, or of a bare number: "half past seven in the evening", "at 8"."""
    hour, said = int(word) if word.isdigit() else _HOURS.index(word) + 1, (match["part"] or "").lower()
    if hour > 23:
        return None
    if hour in (0, *range(13, 24)):
        return hour * 60
    late = said in ("afternoon", "evening") or (
        not said and bool(_LATE.search(match.string, 0, match.start()) or _TONIGHT.match(match.string, match.end()))
    )
    if late or (said == "night" and hour > 6) or (not said and hour <= 6):
        hour = hour % 12 + 12  # without a part, as of "3 o'clock", the afternoon is meant
    hour = hour % 24 if said != "morning" and not (said == "night" and word == "twelve") else hour % 12
    away = 30 if match["half"] else _PAST_HOUR[match["m6"].lower().removeprefix("a ")] if match["m6"] else 0
    return (hour * 60 + (-away if match["way"] and match["way"].lower() == "to" else away)) % DAY


def _next_hour(match: re.Match[str]) -> int:
    following = _HOUR.match(match.string, match.end())
    return int(following[0]) % 12 if following else 0
