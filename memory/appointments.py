"""Appointments that memories mention: what, when, where ("party at 5 pm at Hobbs Cafe").

Game time has no calendar, so a text names a day as "today", "tomorrow" or "day 3". A mention without such a word, or
with a calendar date, refers to the coming day if it is at most a day old.
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


class _Cancellation(NamedTuple):
    """A sentence that cancels or moves appointments, with the game time and number of its entry."""

    at: tuple[int, int]
    text: str
    subject: frozenset[str]  # words for what it cancels
    words: frozenset[str]  # all its words, those for its speaker included

    def moved(self, appointment: Appointment) -> Appointment | None:
        """Return the appointment at the time that the sentence names; None if it names no other time."""
        said_at, number = self.at
        new = language_of(self.text).moved_to(self.text, said_at)
        if new is None:
            return None
        time, day = new
        minute = (day_of(appointment.minute) if day is None else day) * DAY + time
        if minute == appointment.minute:
            return None
        what = appointment.what
        if find_times(what):
            what = shorten(anchor_days(self.text, said_at).rstrip(".。"), MAX_WHAT, "…")
        return appointment._replace(minute=minute, what=what, number=number)


def appointments(entries: Iterable[Entry], places: Sequence[Location], start: int, end: int) -> list[Appointment]:
    """Return the appointments that entries mention between `start` and `end` (game minutes, end excluded), by time.

    Of mentions less than half an hour apart it keeps one: one with a place if possible, else the latest for the
    earliest time. It omits what a later entry cancels. If the clock in force has no times of day, the result is empty.
    """
    clock, find_place = clock_in_force(), place_finder(places)
    if not clock.has_times:
        return []
    entries = [entry for entry in entries if entry.type != "plan"]
    may_move = any(calls_off(entry.text) for entry in entries)  # an appointment of another day into this span
    mentioned = []
    for entry in entries:
        for appointed, place in _appointed(entry.text, entry.minute, find_place, clock):
            minute = _when(appointed, entry.minute, start, end)
            if minute is None and may_move and appointed.day is not None:
                minute = appointed.day * DAY + appointed.time
            if minute is not None:
                mentioned.append(Appointment(minute, appointed.what, place, entry.number))
    within = [a for a in standing(mentioned, entries) if start <= a.minute < end]
    within.sort(key=lambda a: (a.minute, a.location is None, -a.number))
    kept: list[Appointment] = []
    for appointment in within:
        if kept and appointment.minute - kept[-1].minute < 30:
            if kept[-1].location is None and appointment.location is not None:
                kept[-1] = appointment
            continue
        kept.append(appointment)
    return kept


def standing(mentioned: Iterable[Appointment], entries: Iterable[Entry]) -> list[Appointment]:
    """Return the appointments that no later entry cancels, each at the time to which the last one moved it.

    An entry cancels or moves the appointments whose subject, people or place it names; of several, those that share
    most words with it.
    """
    kept = list(mentioned)
    if not kept:
        return []
    mentions = {e.number: e for e in entries if e.type != "plan"}
    cancellations = [
        _Cancellation((e.minute, e.number), s, _words(language_of(s).subject_of(s)), _words(s))
        for e in sorted((e for e in mentions.values() if _OFF.of(e.text)), key=lambda e: (e.minute, e.number))
        for s in _OFF.of(e.text)
    ]
    for cancellation in cancellations:
        overlap = {}
        for appointment in kept:
            entry = mentions.get(appointment.number)
            if entry is not None and (entry.minute, entry.number) < cancellation.at:
                words = _words(" ".join((appointment.what, *_TIMED.of(entry.text))))
                if words & cancellation.subject:
                    overlap[appointment] = len(words & cancellation.words)
        most = max(overlap.values(), default=0)
        cancelled = [a for a in kept if overlap.get(a) == most]
        moved = (cancellation.moved(a) for a in cancelled)
        kept = [*(a for a in moved if a is not None), *(a for a in kept if a not in cancelled)]
    return kept


def calls_off(text: str) -> bool:
    """Return whether a text cancels an appointment or moves it to another time."""
    return bool(_OFF.of(text))


def _words(text: str) -> frozenset[str]:
    return language_of(text).deed_words(text)


def names_time(text: str) -> bool:
    """Return whether a text names a clock time."""
    return bool(_TIMES.of(text))


def _timed_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences that name a clock time, up to the first of a story, except those that the next refuses."""
    if not _TIMES.of(text):
        return ()
    language, sentences = language_of(text), split_sentences(text)
    before = list(takewhile(lambda sentence: not language.is_tale(sentence), sentences))
    return tuple(
        sentence
        for sentence, following in zip_longest(before, before[1:])
        if find_times(sentence) and not (following and language.is_refusal(following))
    )


def _off_sentences(text: str) -> tuple[str, ...]:
    language = language_of(text)
    return tuple(s for s in split_sentences(text) if language.is_called_off(s)) if language.is_called_off(text) else ()


_TIMES = TextCache(lambda text: tuple(find_times(text)), most=300_000)  # most texts have one item; about 20 MB
_TIMED = TextCache(_timed_sentences, most=100_000)
_OFF = TextCache(_off_sentences, most=100_000)


@lru_cache(maxsize=65_536)
def _appointed(
    text: str, minute: int, find_place: Callable[[str], Location | None], clock: Clock
) -> tuple[tuple[Appointed, str | None], ...]:
    """Return the appointments in a text with the ids of their places.

    Args:
        clock: the clock in force, by which the result names days; here as part of the cache key.
    """
    places = ((sentence, find_place(sentence)) for sentence in _TIMED.of(text))
    appointed = ((appointed_in(sentence, minute), place.id if place else None) for sentence, place in places)
    return tuple((what, place) for what, place in appointed if what is not None)


forget_with_packs(_appointed.cache_clear)


def appointed_in(sentence: str, minute: int) -> Appointed | None:
    """Return the appointment that a sentence, said at game time `minute`, makes, with a quotation of it; None if none.

    A speaker's own intention for an hour without a day is for the same day. One with a calendar date, which game time
    lacks, is for the coming day.
    """
    code = languages_of(sentence)[0]
    language, pack = language_of(sentence), pack_of(code)
    if sentence.endswith(QUESTIONS) or language.leaves_open(sentence):
        return None
    dated = anchor_days(sentence, minute, pack)
    spoken = anchor_days(without_marks(sentence), minute, pack)  # a quotation keeps its own words for days
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


def _when(appointed: Appointed, said_at: int, start: int, end: int) -> int | None:
    if appointed.day is not None:
        minute = appointed.day * DAY + appointed.time
        return minute if start <= minute < end else None
    if said_at < start - DAY:
        return None
    for minute in (day_of(start) * DAY + appointed.time, (day_of(start) + 1) * DAY + appointed.time):
        if start <= minute < end:
            return minute
    return None
