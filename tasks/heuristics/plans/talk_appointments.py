"""Appointments that the lines of a conversation make, by the rule in `said_times`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.language.commitments import MAX_WHAT
from cogitate.memory.language.languages import prevailing_language
from cogitate.memory.language.packs import forget_with_packs
from cogitate.memory.language.port import language_called
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences
from cogitate.memory.language.times import in_part, nearest_half
from cogitate.memory.language.truncation import shorten
from cogitate.tasks.heuristics.plans.dated_lines import (
    SHOWS_NONE,
    Line,
    Mention,
    Reply,
    mentions_in,
    names_first,
    read_reply,
    says_little,
)

_ANSWERS = 2  # sentences of a line that may answer the question before it
_MOST_PARTS = 3  # quotes of one appointment
_SHOWS_LANGUAGE = 5  # words that make a line's language certain: "No, non posso" may be of several
_NEW = 2  # new words that make another sentence about the same hour worth quoting


@dataclass(eq=False)
class TalkAppointment:
    """An appointment that one or more lines of a talk make."""

    doers: set[str]
    parts: list[tuple[Line, str]]
    day: int
    of: Mention  # the one that names its hour
    words: frozenset[str]
    is_heard: bool  # it names no participant
    language: str  # of the talk

    @property
    def last(self) -> Line:
        return self.parts[-1][0]

    def is_denied_by(self, line: Line) -> bool:
        """Return whether a participant later denies that it happens at its hour."""
        return (
            line.number > self.last.number
            and line.speaker in self.doers
            and any(one.time is not None and (one.day, one.time) == (self.day, self.of.time) for one in line.denials)
        )

    def add(self, line: Line, text: str) -> None:
        if self.parts and self.last.speaker == line.speaker:
            self.parts[-1] = line, joined((self.parts[-1][1], text))
        elif len(self.parts) < _MOST_PARTS:
            self.parts.append((line, text))

    def change(self, line: Line, mention: Mention) -> None:
        """Repeat, complete or move the appointment by a sentence."""
        if mention.time is not None:
            if mention.is_bare and self.of.time is not None:
                mention = mention._replace(time=nearest_half(mention.time, self.of.time))
            says_more = not mention.is_short and len(mention.words - self.words) >= _NEW
            if mention.time != self.of.time or says_more:
                self.add(line, mention.text)
            self.of, self.day = mention, self.day if mention.day is None else mention.day
        if "we" in mention.persons:
            self.doers.update(line.people)
        elif not mention.persons:
            self.doers |= {line.speaker, *line.called}
        elif "you" not in mention.persons:  # the speaker who names the hour takes part
            self.doers.add(line.speaker)
        self.words |= mention.words
        self.is_heard = self.is_heard and not mention.persons


@lru_cache(maxsize=16_384)  # an owner's memories are read again by each plan
def appointments_of(*lines: Line) -> Sequence[TalkAppointment]:
    """Return the appointments that the lines of a talk make."""
    return _TalkReader(lines).items


class _TalkReader:
    """A reader of a talk's lines, in order; `items` are the appointments that they make."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._language = prevailing_language(line.text for line in lines)
        self.items: list[TalkAppointment] = []
        self._since = 0  # number of the first line that the current one may answer
        self._day: int | None = None  # the day named last, and the number of its line
        self._day_said = 0
        self._late: bool | None = None  # that day's part, if it was named
        self._before: Line | None = None  # the other speaker's line before the current one
        self._lines = lines
        self._untold: tuple[Line, Mention] | None = None  # the last sentence without a doer
        for at, line in enumerate(lines):
            if at and lines[at - 1].speaker != line.speaker:
                self._before = lines[at - 1]
                if not self._before.text.endswith(QUESTIONS):  # an answer is about what the question is about
                    self._since = _first_replied(lines, at)
            self._read(line)

    def _read(self, line: Line) -> None:
        near = [one for one in self.items if one.last.number >= self._since]
        replied = [one for one in near if one.last.speaker != line.speaker]
        reply = self._reply(line)
        refused = self._refuse(line, replied) if reply.refuses else []
        if reply.calls_off and near and near[-1].last.speaker == line.speaker:
            self.items.remove(near[-1])
        for one in replied:
            is_theirs = "we" in one.of.persons or (reply.offers and one.of.time is not None)
            if reply.joins or (reply.accepts and is_theirs):
                one.doers.add(line.speaker)
        for denied in line.denials:
            self._note_day(line, denied)
        changed = [self._take(line, mention, refused) for mention in self._mentions(line)]
        if not (line.mentions or reply.refuses):
            self._include_listeners(line)
        if reply.deed and not any(changed) and replied[-1:] and line.speaker in replied[-1].doers:
            replied[-1].add(line, reply.deed)

    def _include_listeners(self, line: Line) -> None:
        """Add those to whom a line gives a part in an appointment: "Then you'll ride behind me"."""
        known, others = language_called(self._language), set(line.called) or set(line.people) - {line.speaker}
        for sentence in split_sentences(line.text):
            if sentence.endswith(QUESTIONS) or "you" not in known.persons(sentence):
                continue
            about = known.deed_words(sentence)
            for item in self.items:
                if item.words & about and not others <= item.doers:
                    item.doers |= others
                    item.add(line, shorten(sentence, MAX_WHAT, "…"))

    def _reply(self, line: Line) -> Reply:
        own = prevailing_language((line.text,), self._language)
        if own in SHOWS_NONE:
            own = self._language
        reply = read_reply(line.text, line.minute, own)
        if own != self._language and len(line.text.split()) < _SHOWS_LANGUAGE and not reply.refuses:
            around = read_reply(line.text, line.minute, self._language)
            return around if around.refuses else reply
        return reply

    def _mentions(self, line: Line) -> Sequence[Mention]:
        if line.mentions or line.language == self._language:
            return line.mentions
        found = mentions_in(line.text, line.minute, clock_in_force(), self._language)
        return [one for one in found if not one.denies]

    def _refuse(self, line: Line, replied: Sequence[TalkAppointment]) -> list[TalkAppointment]:
        """Return the items that a line refuses: cancel them between two people, else drop the speaker from them."""
        concern = [one for one in replied if line.speaker in one.doers or one.of.asks]
        refused = [one for one in concern if one.last.number == concern[-1].last.number]
        for one in refused:
            if len(line.people) == 2:
                self.items.remove(one)
            else:
                one.doers.discard(line.speaker)
        return refused

    def _take(self, line: Line, mention: Mention, refused: Sequence[TalkAppointment]) -> bool:
        """Return whether a sentence makes a new appointment or changes one."""
        self._note_day(line, mention)
        is_known = self._late is not None and self._day_said >= self._since
        if is_known and mention.day is None and mention.is_bare and mention.time is not None:
            mention = mention._replace(time=in_part(mention.time, self._late is True), is_bare=False)
        same = (one for one in reversed(self.items) if one.of.time == mention.time is not None and self._is_near(one))
        last = next(same, self.items[-1] if self.items else None)
        if last is not None and self._adds(last, line, mention):
            if mention.asks and not mention.is_short and mention.day not in (None, last.day):
                last.parts.clear()  # drops the proposal for another day
            last.change(line, mention)
            if self._before and self._before.text.endswith(QUESTIONS) and mention.is_short and not mention.asks:
                last.doers.add(self._before.speaker)  # who asks when takes part
        elif (new := self._new(line, mention, refused)) is not None:
            self.items.append(new)
        else:
            return False
        return True

    def _note_day(self, line: Line, mention: Mention) -> None:
        if mention.day is not None:
            self._day, self._day_said, self._late = mention.day, line.number, mention.is_late

    def _is_near(self, item: TalkAppointment) -> bool:
        return item.last.number >= self._since

    def _own_before(self, line: Line) -> Line | None:
        """Return the speaker's own line before this one."""
        said = self._lines[: self._lines.index(line)]
        return next((one for one in reversed(said) if one.speaker == line.speaker), None)

    def _adds(self, last: TalkAppointment, line: Line, mention: Mention) -> bool:
        """Return whether a sentence repeats the last appointment, moves it, or adds an hour to it."""
        is_near = self._is_near(last)
        first, proposed = last.parts[0]
        is_again = mention.is_short and last.last is self._own_before(line)
        is_theirs = first.speaker != line.speaker and (last.last is line or last.last.speaker != line.speaker)
        is_counter = mention.asks and (is_again or (is_near and is_theirs))
        is_other_day = mention.day not in (None, last.day)
        if is_other_day and not mention.moves and not (is_counter and proposed.endswith(QUESTIONS)):
            return False
        if mention.time is None:
            is_answer = mention.accepts and is_near and last.of.time is not None and last.last.speaker != line.speaker
            return not mention.asks and (is_answer or not mention.persons)
        is_about = bool(mention.words & last.words)
        if last.of.time in (None, mention.time):
            is_for_them = line is last.last or line.called <= last.doers or last.of.time is not None
            return (is_near or is_about) and is_for_them
        is_apart = line.speaker not in last.doers or mention.is_due is not last.of.is_due
        if mention.persons == {"I"} and not mention.asks and is_apart:
            return mention.moves  # else it tells of its speaker alone
        is_other = mention.day is not None or line is last.last  # beside the hour before it
        moves = mention.is_short or mention.is_apart or mention.moves or is_counter
        return (moves and (is_near or is_counter)) or (is_about and (mention.moves or not is_other))

    def _new(self, line: Line, mention: Mention, refused: Sequence[TalkAppointment]) -> TalkAppointment | None:
        """Return the appointment that a sentence makes alone, as a counter-proposal, or as an answer to a question."""
        asked = self._reply(self._before) if self._before else None
        asker = self._before.speaker if self._before and asked and asked.question else ""
        day, doers = self._day_of(line, mention), _doers(line, mention, asker)
        if refused and mention.time is not None:
            doers = refused[0].doers | {line.speaker}
        if day is None or not doers:
            self._untold = line, mention
            return None
        item = TalkAppointment(
            doers, [], day, mention, mention.words, not mention.persons and not line.called, self._language
        )
        for said, text in self._context(line, mention, refused):
            item.add(said, text)
        item.add(line, mention.text)
        return item

    def _context(self, line: Line, mention: Mention, refused: Sequence[TalkAppointment]) -> list[tuple[Line, str]]:
        """Return the quotes that name a sentence's matter: what it answers, or the sentence before a short one."""
        untold, self._untold = self._untold, None
        if refused and mention.time is not None:
            return refused[0].parts[:1]
        asked = self._reply(self._before) if self._before else None
        if self._before and asked and asked.question and not mention.asks and mention.at < _ANSWERS:
            return [*(self._said_before(self._before) if asked.asks_little else ()), (self._before, asked.question)]
        if untold is not None and self._is_context(*untold, line, mention):
            before = self._said_before(untold[0]) if untold[1].is_short else ()
            return [*before, (untold[0], untold[1].text)]
        own = split_sentences(line.text)[: mention.at][-1:]
        is_little = not own or says_little(own[0], self._language)
        if not mention.is_short:
            is_told = is_little or language_called(self._language).stands_alone(mention.text)
            return [] if is_told else [(line, own[0])]
        return [*(self._said_before(line) if is_little else ()), *((line, text) for text in own)]

    def _is_context(self, said: Line, untold: Mention, line: Line, mention: Mention) -> bool:
        """Return whether an earlier sentence without a doer belongs to a later one."""
        is_reply = said.number >= self._since and not mention.asks
        return (said is line or is_reply) and mention.day in (None, untold.day)

    def _said_before(self, line: Line) -> list[tuple[Line, str]]:
        """Return the end of the line before this one, or, if that refuses, of the line that it refuses."""
        at = self._lines.index(line)
        before = self._lines[at - 1] if at else None
        if before is not None and self._reply(before).refuses:
            before = self._own_before(line) or before
        return [(before, shorten(joined(split_sentences(before.text)[-2:]), MAX_WHAT, "…"))] if before else []

    def _day_of(self, line: Line, mention: Mention) -> int | None:
        """Return the day of a sentence: the one it names, else the one the talk named last, else the talk's own day."""
        if mention.day is not None or mention.time is None:
            return mention.day
        if self._day is not None and (self._day_said >= self._since or mention.persons & {"we", "you"}):
            return self._day
        today = day_of(line.minute)
        return today if (mention.persons or line.called) and today * DAY + mention.time > line.minute else None


def _first_replied(lines: Sequence[Line], at: int) -> int:
    """Return the number of the first line that a line may answer: one turn of each other speaker back."""
    turns = 0
    for back in range(at - 1, -1, -1):
        turns += lines[back].speaker != lines[back + 1].speaker
        if turns >= len(lines[at].people):
            return lines[back + 1].number
    return lines[0].number


def _doers(line: Line, mention: Mention, asker: str) -> set[str]:
    """Return the people whose plans a sentence concerns, by its pronouns and the names that it calls.

    Args:
        asker: the one whose question it may answer, or "".
    """
    persons, has_time = mention.persons, mention.time is not None
    everybody, others = set(line.people), set(line.people) - {line.speaker}
    called = {name for name in line.called if names_first(mention.text, name)} or set(line.called)
    if not persons:
        is_request = mention.proposed or mention.asks or mention.is_due or not has_time
        told = called if is_request else called | {line.speaker}
        return told if called else (everybody if has_time and not line.is_of_absent else set())
    if "we" in persons and (has_time or mention.proposed == "we"):
        return everybody
    found: set[str] = set()
    is_own = not mention.asks or has_time or "you" not in persons
    if is_own and (persons & {"I", "we"} or (asker and not mention.asks)):
        found |= {line.speaker, *line.named}
    if "you" in persons and called:
        found |= called
    elif "you" in persons and asker and not mention.asks:
        found.add(asker)
    elif "you" in persons and (has_time or mention.proposed == "you" or mention.asks):
        found |= others
    return found


forget_with_packs(appointments_of.cache_clear)
