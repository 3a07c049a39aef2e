"""What a line of talk and the next one settle together: one names a day, the other an hour, or only agrees.

Of a question and its reply neither says alone what is to be done and when; a plan quotes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import is_english
from cogitate.memory.language.port import is_courtesy, language_of
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, joined, split_sentences
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.times import anchor_days, days_named, find_times
from cogitate.memory.language.truncation import shorten
from cogitate.memory.summaries.conversations import conversations, parse_line, resolve_name

LONGEST = 200  # characters of what is quoted
_SINCE = 3 * DAY  # age in game minutes of the oldest talk that settles something
_NOBODY = Speakers(())


class Settled(NamedTuple):
    """What was settled at an hour, and for the day at none."""

    timed: tuple[Appointment, ...] = ()
    untimed: tuple[Appointment, ...] = ()  # at the day's first minute


class _Line(NamedTuple):
    speaker: str
    sentences: tuple[str, ...]
    entry: Entry

    @property
    def refuses(self) -> bool:
        return any(language_of(s).is_refusal(s) for s in self.sentences)


def settled_in_talk(owner: str, entries: Iterable[Entry], names: Mapping[str, str], start: int) -> Settled:
    """Return what talk settled for an owner, for the day of a plan that begins at game minute `start`."""
    clock, me, today = clock_in_force(), resolve_name(owner, names), day_of(start)
    if not (clock.counts_days and clock.has_times):
        return Settled()
    timed: list[Appointment] = []
    untimed: list[Appointment] = []
    for talk in conversations(owner, (e for e in entries if start - _SINCE < e.minute <= start)):
        lines = [
            _Line(u.speaker, tuple(split_sentences(u.text)), e) for e in talk.entries for u in (parse_line(e, names),)
        ]
        for at, line in enumerate(lines):
            reply = next((one for one in lines[at + 1 : at + 2] if one.speaker != line.speaker), None)
            if reply is not None and reply.refuses:
                continue
            for found, by in _settled(line, reply, today, me):
                is_mine = by == me or not language_of(found.what).is_own_matter(found.what)
                if found.minute > today * DAY and is_mine and all(found.minute != one.minute for one in timed):
                    timed.append(found)
                elif found.minute == today * DAY and by == me:
                    untimed.append(found)
    return Settled(tuple(timed), tuple(untimed))


def _settled(line: _Line, reply: _Line | None, today: int, me: str) -> Iterator[tuple[Appointment, str]]:
    """Yield what a line settles for a day, alone or with the reply to it, and by whom."""
    said = line.entry.minute
    for first, second in pairwise(line.sentences):
        if _names(first, said, today) and not find_times(first) and not is_english(first):
            times = find_times(second)
            if times and anchor_days(second, said) == second:
                yield _quoted(me, line, (first, second), line, (), today * DAY + times[0].minute), line.speaker
    if reply is None:
        return
    answers = [s for s in reply.sentences if not s.endswith(QUESTIONS) and not is_courtesy(s, _NOBODY)]
    for lead in reversed(line.sentences):
        is_named, is_question = _names(lead, said, today), lead.endswith(QUESTIONS)
        then = reply.entry.minute
        dated = [s for s in answers if _names(s, then, today)]
        if not answers or not (is_named or (is_question and dated)) or (is_named and find_times(lead)):
            continue
        hours = [time.minute for s in answers for time in find_times(s)]
        is_foreign = not is_english(lead)
        if hours and is_foreign and (dated or all(anchor_days(s, then) == s for s in answers)):
            yield _quoted(me, line, (lead,), reply, answers, today * DAY + hours[0]), reply.speaker
        elif is_question and not hours and _agrees(answers[0]):
            yield _quoted(me, line, (lead,), reply, (dated or answers)[:1], today * DAY), reply.speaker
        return


def _agrees(reply: str) -> bool:
    """Return whether a reply is no refusal, as far as its language tells."""
    language = language_of(reply)
    return language.is_intent(reply) if is_english(reply) else not language.tells_trouble(reply)


def _names(sentence: str, said: int, day: int) -> bool:
    """Return whether a sentence names a day by a word such as "tomorrow"."""
    dated = anchor_days(sentence, said)
    return dated != sentence and day in days_named(dated)


def _quoted(
    me: str, line: _Line, lead: Iterable[str], reply: _Line, answers: Iterable[str], minute: int
) -> Appointment:
    """Return what was settled at a minute, in the words of both; those of others stand in quotation marks."""
    parts = []
    for one, sentences in ((line, lead), (reply, answers)):
        if text := joined(anchor_days(s, one.entry.minute) for s in sentences):
            parts.append(text if one.speaker == me else language_of(text).quoted(text, one.speaker, "", False, None))
    what = joined(parts).rstrip(SPACED.replace("?", "") + UNSPACED)
    return Appointment(minute, shorten(what, LONGEST, "…"), None, reply.entry.number)
