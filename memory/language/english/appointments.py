"""Appointments in English sentences ("party at 5 pm at Hobbs Cafe"), by their nouns, verbs and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cogitate.memory.clock import date, day_of
from cogitate.memory.language.commitments import MAX_WHAT, Appointed
from cogitate.memory.language.english.certainty import is_moved, is_of_others, is_open
from cogitate.memory.language.quotations import is_quoted
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import Time, find_times
from cogitate.memory.language.truncation import shorten

_NOUN = re.compile(
    r"\b(party|meeting|appointment|date|dinner|supper|lunch|breakfast|brunch|tea|coffee|class|lecture|seminar|concert|wedding|"
    r"interview|workshop|rehearsal|ceremony|festival|celebration|gathering|reception|show|exam|picnic|debate|speech|"
    r"match|performance|funeral|auction|tournament|lesson|club|event|game)\b",
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
_MEALS = frozenset({"dinner", "supper", "lunch", "breakfast", "brunch", "tea", "coffee"})
_VERB = re.compile(
    r"\b(meet|join|visit|help|attend|come|arrive|pick up|bring|call|see|drop by|stop by|deliver|practi[cs]e)\b",
    re.IGNORECASE,
)
_PLEDGE = re.compile(r"\b(?:agreed|promised|arranged|decided) (?:with \w+ )?to (?P<deed>\w.*)")
_PAST = re.compile(r"\b(yesterday|last (?:night|week|evening)|was|were|ago|attended|met)\b", re.I)
_ONGOING = re.compile(
    r"\b(?:is|are)\s++(?!hosting|planning|throwing|organi[sz]ing|inviting|going|meeting|holding|giving|expecting)\w+ing\b",
    re.I,
)  # an observed activity is not an appointment
_DAYS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"\b(?:the )?day after tomorrow\b", re.I), 2),
    (re.compile(r"\btomorrow(?: (?:morning|afternoon|evening|night))?\b", re.I), 1),
    (re.compile(r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b", re.I), 0),
)
_SELF = re.compile(r"\b(?:I|we|you)\b", re.I)  # who says so means to do it: that is no event
_EVENT = re.compile(r"(?:the|an?|our|my) ", re.I)  # opens a sentence on more than a time and a place
_DEADLINE = re.compile(r"\b(?:by|before|until|till) $", re.I)  # of this day, where no other is named
_SEVERAL = re.compile(r'"(?:,| and) "')
_REPLACED = re.compile(r"\b(?:instead of|rather than|not|from)(?: at)? $", re.I)  # stands before the old time
_FURTHER = re.compile(r"[,;]| because | so that ")  # cancelled activities
_COMPANY = re.compile(r" with ((?:[A-Z][\w'’-]*+(?: and )? ?+){1,5})")
_DAY_NUMBER = re.compile(r"\b(?:on |on the evening of )?day (\d{1,5})\b", re.I)
_FRAME = re.compile(
    r"\b(?:from|at|by|around|about|on|until|till|to|between)\s*+(?=\x00)|\x00|"
    r"\b(?:on )?(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r" \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?",
    re.I,
)
_WHERE = re.compile(r"\b(?:at|in|into|on|to) the (\w+)", re.I)
_LOOSE_END = re.compile(r" (?:before|after|by|until|till|from|since|around|about)$", re.I)  # the time stood behind it


def find_appointed(sentence: str, minute: int, place: str) -> Appointed | None:
    """Return the appointment that a sentence mentions, or None.

    Args:
        minute: game time at which it was said.
        place: the name of the place that it names, or "".
    """
    times = find_times(sentence)
    if (
        not times
        or _PAST.search(sentence)
        or _ONGOING.search(sentence)
        or not (_is_dated(sentence) or any(cue.search(sentence) for cue in (_NOUN, _VERB, _OCCASION, _PLEDGE)))
        or is_open(sentence)
        or (_DEADLINE.search(sentence, 0, times[0].start) and not _is_dated(sentence))
        or (not _OCCASION.search(sentence) and is_of_others(sentence, place))
    ):
        return None
    if _SEVERAL.search(sentence):  # quotations: each tells something else
        return next((one for part in _quoting(sentence) if (one := find_appointed(part, minute, place))), None)
    what = _what(sentence, times, place)
    verb = _VERB.search(sentence)
    if what and not _is_event(what) and is_quoted(sentence, verb.start() if verb else times[0].start):
        what = _said(sentence, minute)  # whose deed it is, the quotation says
    time = _new_time(sentence, times) if is_moved(sentence) else times[0]
    return Appointed(time.minute, _day(sentence, minute), what) if what else None


def moved_to(sentence: str, minute: int) -> tuple[int, int | None] | None:
    """Return the time of day that a sentence gives an appointment anew, and the day if it names one; else None.

    Args:
        minute: game time at which it was said.
    """
    times = find_times(sentence) if is_moved(sentence) else ()
    return (_new_time(sentence, times).minute, _day(sentence, minute)) if times else None


def _new_time(sentence: str, times: Sequence[Time]) -> Time:
    """Return the last time that a sentence names, but for the one that it replaces."""
    return next((time for time in reversed(times) if not _REPLACED.search(sentence, 0, time.start)), times[-1])


def _quoting(sentence: str) -> Iterable[str]:
    """Yield who is quoted with each of several quotations."""
    lead, _, said = sentence.partition('"')
    return (f'{lead}"{part}"' for part in _SEVERAL.split(said.rstrip('".')))


def _is_dated(sentence: str) -> bool:
    """Return whether a sentence names a day to come."""
    return _DAY_NUMBER.search(sentence) is not None or any(pattern.search(sentence) for pattern, _ in _DAYS)


def _day(sentence: str, minute: int) -> int | None:
    if numbered := _DAY_NUMBER.search(sentence):
        return int(numbered[1]) - 1
    return next((day_of(minute) + ahead for pattern, ahead in _DAYS if pattern.search(sentence)), None)


def _what(sentence: str, times: Sequence[Time], place: str) -> str:
    ends = (0, *(time.end for time in times))
    starts = (*(time.start for time in times), len(sentence))
    bare = "\x00".join(sentence[end:start] for end, start in zip(ends, starts, strict=True))
    for pattern, _ in _DAYS:
        bare = pattern.sub(" ", bare)
    bare = _DAY_NUMBER.sub(" ", bare)
    bare = " ".join(_FRAME.sub(" ", _FRAME.sub("\x00", bare)).split()).replace(" ,", ",").rstrip(" .,!?;:")
    noun, verb, occasion = _NOUN.search(bare), _VERB.search(bare), _OCCASION.search(bare)
    where = _WHERE.search(bare)
    is_there = where is not None and where[1].casefold() in place.casefold().split()  # "in the workshop", of a place
    if noun and where and is_there and noun.start() == where.start(1):
        noun = _NOUN.search(bare, where.end())
    if occasion:
        what = ("Host " if _HOSTS.search(bare) else "Attend ") + re.sub(r"^(?:an?|my)\s", "the ", occasion["what"])
    elif noun and not (verb and verb.start() < noun.start() and verb[0].lower() not in {"attend", "come", "join"}):
        what = _event(bare, noun)
    elif verb:
        what = " ".join(_FURTHER.split(bare[verb.start() :], maxsplit=1)[0].split()[:14])
    elif pledge := _PLEDGE.search(bare):
        what = _FURTHER.split(pledge["deed"], maxsplit=1)[0]
    elif _is_dated(sentence) and not _SELF.search(bare) and not (is_there and not _EVENT.match(bare)):
        what = _FURTHER.split(bare, maxsplit=1)[0]
    elif is_there:
        what = "be"
    else:
        return ""
    what = _LOOSE_END.sub("", what)
    what = what if what.count('"') % 2 == 0 else what.replace('"', "").rstrip(" .,!?;:")
    is_told = is_there and where is not None and where[0] in what
    if place and place.casefold() not in what.casefold() and not is_told:
        what += f" at {place}"
    return (what[:1].upper() + what[1:])[:MAX_WHAT]


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
    name = " ".join([*reversed(before), noun[0].lower()])
    company = _COMPANY.match(text, noun.end())
    if company:
        name += f" with {company[1].strip()}"
    if noun[0].lower() in _MEALS:
        return f"Have {name}"
    owned = any(re.search(r"['’]s?$", word) for word in before)
    return f"Attend {name if owned else 'the ' + name}"
