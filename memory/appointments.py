"""Appointments that memories mention: what, when, where ("party at 5 pm at Hobbs Cafe").

Game time has no calendar, so a day is understood from "today", "tomorrow", "day 3". A mention without such a word,
or with a calendar date, counts for the coming day if it is not older than a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cogitate.memory.clock import DAY, clock_in_force, date, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.quotations import is_quoted
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import Time, find_times
from cogitate.memory.language.truncation import shorten
from cogitate.memory.place_names import find_place
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.text_cache import TextCache

_NOUN = re.compile(
    r"\b(party|meeting|appointment|date|dinner|lunch|breakfast|brunch|tea|coffee|class|lecture|seminar|concert|wedding|"
    r"interview|workshop|rehearsal|ceremony|festival|celebration|gathering|reception|show|exam|picnic|debate|speech|"
    r"match|performance|funeral|auction|tournament|lesson|club|event|game|"
    r"встреч\w*|вечеринк\w*|праздник\w*|свидани\w*|собрани\w*|урок\w*|концерт\w*|ужин\w*|обед\w*)\b",
    re.IGNORECASE,
)
# An event with an invitation or a host is an appointment, even without a known name.
_OCCASION = re.compile(
    r"(?:\binvit(?:ed?|ing)\s++[\w'’-]++(?:\s[\w'’-]++)?\s++to|"
    r"(?:(?:\bI['’]m|\bwe['’]re)|\b(?:is|am|are)) (?:holding|hosting|throwing|giving|organi[sz]ing))"
    r"\s++(?P<what>(?:an?|the|my|his|her|our|their)\s++[\w'’ -]{1,60}?)"
    r"(?=\s++(?:at|on|in|for|and|with)\b|\s*+[,.;!\x00]|$)",
    re.IGNORECASE,
)
#: Who remembers it holds it.
_HOSTS = re.compile(r"\bI(?:['’]m| am) (?:holding|hosting|throwing|giving|organi[sz]ing)\b", re.IGNORECASE)
_MEALS = frozenset({"dinner", "lunch", "breakfast", "brunch", "tea", "coffee"})
_VERB = re.compile(
    r"\b(meet|join|visit|help|attend|come|arrive|pick up|bring|call|see|drop by|stop by|deliver|practi[cs]e|"
    r"встрет\w*|прийти|приходи\w*|помочь)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(yesterday|last (?:night|week|evening)|was|were|ago|attended|met|вчера|был[аио]?)\b", re.I)
_ONGOING = re.compile(
    r"\b(?:is|are)\s++(?!hosting|planning|throwing|organi[sz]ing|inviting|going|meeting|holding|giving|expecting)\w+ing\b",
    re.I,
)  # an observed activity is not an appointment
_DAYS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"\b(?:the )?day after tomorrow\b|\bпослезавтра\b", re.I), 2),
    (re.compile(r"\btomorrow(?: (?:morning|afternoon|evening|night))?\b|\bзавтра\b", re.I), 1),
    (re.compile(r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\bсегодня\b", re.I), 0),
)
_FURTHER = re.compile(r"[,;]| because | so that ")  # cancelled activities
_COMPANY = re.compile(r" with ((?:[A-ZА-Я][\w'’-]*+(?: and )? ?+){1,5})")
_DAY_NUMBER = re.compile(r"\b(?:on |on the evening of |в )?(?:day|день) (\d{1,5})\b", re.I)
_FRAME = re.compile(
    r"\b(?:from|at|by|around|about|on|until|till|to|between|в|к|с|до)\s*+(?=\x00)|\x00|"
    r"\b(?:on )?(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r" \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?",
    re.I,
)
_LOOSE_END = re.compile(r" (?:before|after|by|until|till|from|since|around|about)$", re.I)  # the time stood behind it
MAX_WHAT = 120  # characters


class Appointment(NamedTuple):
    """An activity at a game time (total minutes), its place if known, and the number of the entry that mentions it."""

    minute: int
    what: str
    location: str | None
    number: int


class _Mention(NamedTuple):
    """A sentence that tells of an appointment, at a clock time of a day that it may name."""

    sentence: str
    minute: int  # after midnight
    day: int | None  # the first is 0
    ahead: int | None  # days from the one on which it was said
    what: str
    is_quoted: bool


def appointments(entries: Iterable[Entry], places: Sequence[Location], start: int, end: int) -> list[Appointment]:
    """Return the appointments that entries mention between `start` and `end` (game minutes, end excluded), by time.

    Of several mentions within half an hour the function keeps the one with a place, then the latest. Where the clock in
    force has no times of day the result is empty.
    """
    if not clock_in_force().has_times:
        return []
    found = [
        appointment
        for entry in entries
        if entry.type != "plan"
        for mention in _MENTIONS.of(entry.text)
        if (appointment := _appointment(mention, entry, places, start, end)) is not None
    ]
    found.sort(key=lambda a: (a.minute, a.location is None, -a.number))
    kept: list[Appointment] = []
    for appointment in found:
        if kept and appointment.minute - kept[-1].minute < 30:
            if kept[-1].location is None and appointment.location is not None:
                kept[-1] = appointment
            continue
        kept.append(appointment)
    return kept


_TIMES = TextCache(lambda text: tuple(find_times(text)), most=300_000)  # items: one for most texts; some 20 MB


def names_time(text: str) -> bool:
    """Return whether a text names a clock time."""
    return bool(_TIMES.of(text))


def _mentions(text: str) -> tuple[_Mention, ...]:
    """Return the sentences of a text that tell of an appointment."""
    if not _TIMES.of(text):
        return ()
    return tuple(mention for sentence in split_sentences(text) if (mention := _mention(sentence)) is not None)


def _mention(sentence: str) -> _Mention | None:
    times = find_times(sentence)
    if (
        not times
        or _PAST.search(sentence)
        or _ONGOING.search(sentence)
        or not any(cue.search(sentence) for cue in (_NOUN, _VERB, _OCCASION))
    ):
        return None
    what = _what(sentence, times)
    if what is None:
        return None
    numbered = _DAY_NUMBER.search(sentence)
    day = int(numbered[1]) - 1 if numbered else None
    ahead = None if numbered else next((ahead for pattern, ahead in _DAYS if pattern.search(sentence)), None)
    verb = _VERB.search(sentence)
    quoted = is_quoted(sentence, verb.start() if verb else times[0].start)
    return _Mention(sentence, times[0].minute, day, ahead, what, quoted)


_MENTIONS = TextCache(_mentions, most=100_000)  # items: one for a text, and one for each sentence kept with it


def _appointment(
    mention: _Mention, entry: Entry, places: Sequence[Location], start: int, end: int
) -> Appointment | None:
    minute = _when(mention, entry.minute, start, end)
    if minute is None:
        return None
    what, place = mention.what, find_place(mention.sentence, places)
    if place and place.name.casefold() not in what.casefold():
        what += f" at {place.name}"
    what = (what[:1].upper() + what[1:])[:MAX_WHAT]
    if what and mention.is_quoted and not _is_event(what):
        what = _said(mention.sentence, entry.minute)  # whose deed it is, the quotation says
    return Appointment(minute, what, place.id if place else None, entry.number) if what else None


def _when(mention: _Mention, said: int, start: int, end: int) -> int | None:
    """Return the minute of a mention if it is within [start, end); one that names no day is of the next of two."""
    day = mention.day
    if mention.ahead is not None:
        day = day_of(said) + mention.ahead
    if day is not None:
        days = [day]
    elif said < start - DAY:
        days = []
    else:
        days = [day_of(start), day_of(start) + 1]
    return next((minute for day in days if start <= (minute := day * DAY + mention.minute) < end), None)


def _what(sentence: str, times: Sequence[Time]) -> str | None:
    """Return what is to be done at the times of a sentence; None if it does not say."""
    ends = (0, *(time.end for time in times))
    starts = (*(time.start for time in times), len(sentence))
    bare = "\x00".join(sentence[end:start] for end, start in zip(ends, starts, strict=True))
    for pattern, _ in _DAYS:
        bare = pattern.sub(" ", bare)
    bare = _DAY_NUMBER.sub(" ", bare)
    bare = " ".join(_FRAME.sub(" ", _FRAME.sub("\x00", bare)).split()).replace(" ,", ",").rstrip(" .,!?;:")
    noun, verb, occasion = _NOUN.search(bare), _VERB.search(bare), _OCCASION.search(bare)
    if occasion:
        what = ("Host " if _HOSTS.search(bare) else "Attend ") + re.sub(r"^(?:an?|my)\s", "the ", occasion["what"])
    elif noun and not (verb and verb.start() < noun.start() and verb[0].lower() not in {"attend", "come", "join"}):
        what = _event(bare, noun)
    elif verb:
        what = " ".join(_FURTHER.split(bare[verb.start() :], maxsplit=1)[0].split()[:14])
    else:
        return None
    what = _LOOSE_END.sub("", what)
    return what if what.count('"') % 2 == 0 else what.replace('"', "").rstrip(" .,!?;:")


def _is_event(what: str) -> bool:
    """Return whether a noun names the appointment rather than an activity."""
    return what.startswith(("Attend ", "Host ", "Have "))


def _said(sentence: str, minute: int) -> str:
    """Return a quoting sentence with the day of the statement."""
    return f"{shorten(sentence, MAX_WHAT - 16)} ({date(minute)})"


def _event(text: str, noun: re.Match[str]) -> str:
    before: list[str] = []
    for word in reversed(text[: noun.start()].split()[-5:]):
        if word.lower().strip(',"“”„«»') in FUNCTION_WORDS or word.endswith(("ing", ",", ";", ":")) or word.islower():
            if word.islower() and not before and word.lower() not in FUNCTION_WORDS and not word.endswith("ing"):
                before.append(word)
            break
        before.append(word)
    name = " ".join([*reversed(before), noun[0].lower() if noun[0].isascii() else noun[0]])
    company = _COMPANY.match(text, noun.end())
    if company:
        name += f" with {company[1].strip()}"
    if noun[0].lower() in _MEALS:
        return f"Have {name}"
    owned = any(re.search(r"['’]s?$", word) for word in before)
    return f"Attend {name if owned else 'the ' + name}" if noun[0].isascii() else name
