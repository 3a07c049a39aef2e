"""Appointments that memories mention: what, when, where ("party at 5 pm at Hobbs Cafe").

Game time has no calendar, so a day is understood from "today", "tomorrow", "day 3". A mention without such a word,
or with a calendar date, counts for the coming day if it is not older than a day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile, zip_longest
from typing import NamedTuple

from cogitate.memory.clock import DAY, Clock, clock_in_force, date, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import MAX_WHAT, Appointed
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, languages_of
from cogitate.memory.language.packs import forget_with_packs, pack_of
from cogitate.memory.language.place_names import place_finder
from cogitate.memory.language.port import language_of
from cogitate.memory.language.quotations import without_marks
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, split_sentences
from cogitate.memory.language.times import anchor_days, days_named, find_times, names_date
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.text_cache import TextCache


class Appointment(NamedTuple):
    """An activity at a game time (total minutes), its place if known, and the number of the entry that mentions it."""

    minute: int
    what: str
    location: str | None
    number: int


class _Off(NamedTuple):
    """A sentence that calls something off or moves it, with the time and number of its entry."""

    at: tuple[int, int]
    text: str
    words: frozenset[str]
    told: frozenset[str]  # likewise, with the words for the one who told it

    def moved(self, one: Appointment) -> Appointment | None:
        """Return an appointment at the hour that the sentence names, unless that is the one which it had."""
        said, number = self.at
        new = language_of(self.text).moved_to(self.text, said)
        if new is None:
            return None
        time, day = new
        minute = (day_of(one.minute) if day is None else day) * DAY + time
        if minute == one.minute:
            return None
        what = shorten(anchor_days(self.text, said).rstrip(".。"), MAX_WHAT, "…") if find_times(one.what) else one.what
        return one._replace(minute=minute, what=what, number=number)


def appointments(entries: Iterable[Entry], places: Sequence[Location], start: int, end: int) -> list[Appointment]:
    """Return the appointments that entries mention between `start` and `end` (game minutes, end excluded), by time.

    Of several mentions within half an hour the function keeps the one with a place, then the latest. Where the clock in
    force has no times of day the result is empty. What a later entry calls off is left out.
    """
    clock, find_place = clock_in_force(), place_finder(places)
    if not clock.has_times:
        return []
    entries = [entry for entry in entries if entry.type != "plan"]
    may_move = any(calls_off(entry.text) for entry in entries)  # what is appointed for another day
    found = []
    for entry in entries:
        for said, place in _appointed(entry.text, entry.minute, find_place, clock):
            minute = _when(said, entry.minute, start, end)
            if minute is None and may_move and said.day is not None:
                minute = said.day * DAY + said.time
            if minute is not None:
                found.append(Appointment(minute, said.what, place, entry.number))
    found = [a for a in standing(found, entries) if start <= a.minute < end]
    found.sort(key=lambda a: (a.minute, a.location is None, -a.number))
    kept: list[Appointment] = []
    for appointment in found:
        if kept and appointment.minute - kept[-1].minute < 30:
            if kept[-1].location is None and appointment.location is not None:
                kept[-1] = appointment
            continue
        kept.append(appointment)
    return kept


def standing(found: Iterable[Appointment], entries: Iterable[Entry]) -> list[Appointment]:
    """Return the appointments that no later entry calls off, each at the hour to which it was moved last.

    Such an entry ends or moves those whose subject, people or place it names; of several, those with which it shares
    most words.
    """
    kept = list(found)
    if not kept:
        return []
    mentions = {e.number: e for e in entries if e.type != "plan"}
    offs = [
        _Off((e.minute, e.number), s, _words(language_of(s).subject_of(s)), _words(s))
        for e in sorted((e for e in mentions.values() if _OFF.of(e.text)), key=lambda e: (e.minute, e.number))
        for s in _OFF.of(e.text)
    ]
    for off in offs:
        shares = {}
        for one in kept:
            entry = mentions.get(one.number)
            if entry is not None and (entry.minute, entry.number) < off.at:
                words = _words(" ".join((one.what, *_TIMED.of(entry.text))))
                if words & off.words:
                    shares[one] = len(words & off.told)
        most = max(shares.values(), default=0)
        ended = [one for one in kept if shares.get(one) == most]
        moved = (off.moved(one) for one in ended)
        kept = [*(one for one in moved if one is not None), *(one for one in kept if one not in ended)]
    return kept


def calls_off(text: str) -> bool:
    """Return whether a text calls an appointment off, or gives it another hour."""
    return bool(_OFF.of(text))


def _words(text: str) -> frozenset[str]:
    return language_of(text).deed_words(text)


def names_time(text: str) -> bool:
    """Return whether a text names a clock time."""
    return bool(_TIMES.of(text))


def _timed_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text that name a clock time, are part of no story, and are not refused by the next."""
    if not _TIMES.of(text):
        return ()
    language, sentences = language_of(text), split_sentences(text)
    told = list(takewhile(lambda sentence: not language.is_tale(sentence), sentences))
    return tuple(
        sentence
        for sentence, after in zip_longest(told, told[1:])
        if find_times(sentence) and not (after and language.is_refusal(after))
    )


def _off_sentences(text: str) -> tuple[str, ...]:
    language = language_of(text)
    return tuple(s for s in split_sentences(text) if language.is_called_off(s)) if language.is_called_off(text) else ()


_TIMES = TextCache(lambda text: tuple(find_times(text)), most=300_000)  # items: one for most texts; some 20 MB
_TIMED = TextCache(_timed_sentences, most=100_000)
_OFF = TextCache(_off_sentences, most=100_000)


@lru_cache(maxsize=65_536)
def _appointed(
    text: str, minute: int, find_place: Callable[[str], Location | None], clock: Clock
) -> tuple[tuple[Appointed, str | None], ...]:
    """Return what a text appoints, with the ids of places; `clock` is the one in force, by which it is told."""
    places = ((sentence, find_place(sentence)) for sentence in _TIMED.of(text))
    found = ((appointed_in(sentence, minute), place.id if place else None) for sentence, place in places)
    return tuple((said, place) for said, place in found if said is not None)


forget_with_packs(_appointed.cache_clear)


def appointed_in(sentence: str, minute: int) -> Appointed | None:
    """Return what a sentence, said at game time `minute`, tells of a day and an hour to come, quoted; None if nothing.

    A sentence about its speaker that names an hour alone is about the day on which it is said, and one with a date of a
    calendar, which game time has not, about the coming day.
    """
    code = languages_of(sentence)[0]
    language, pack = language_of(sentence), pack_of(code)
    if sentence.endswith(QUESTIONS) or language.leaves_open(sentence):
        return None
    dated = anchor_days(sentence, minute, pack)
    spoken = anchor_days(without_marks(sentence), minute, pack)  # a quotation keeps its words for days
    times, days = find_times(spoken, pack), days_named(spoken, pack)
    if (moved := language.moved_to(sentence, minute)) is not None:
        time, day = moved
        days = [day_of(minute) if day is None and not days else days[0] if day is None else day]
    elif not times or language.is_called_off(sentence):
        return None
    else:
        time = times[0].minute
    if not days and not names_date(sentence):
        if not language.is_intent(sentence) or time <= minute % DAY:
            return None
        days = [day_of(minute)]
    what = shorten(dated.rstrip(SPACED + UNSPACED), MAX_WHAT, "…")
    if spoken != without_marks(dated):
        what = pack.bracketed(what, date(minute) if code in (ENGLISH, UNDETERMINED) else pack.day(minute))
    return Appointed(time, days[0] if days else None, what)


def _when(found: Appointed, said: int, start: int, end: int) -> int | None:
    if found.day is not None:
        minute = found.day * DAY + found.time
        return minute if start <= minute < end else None
    if said < start - DAY:
        return None
    for minute in (day_of(start) * DAY + found.time, (day_of(start) + 1) * DAY + found.time):
        if start <= minute < end:
            return minute
    return None
