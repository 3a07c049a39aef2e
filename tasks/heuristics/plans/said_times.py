"""Appointments made in conversation, in any language: who takes part, when, and whether they still stand.

A line that names a future day or hour stands, quoted with its speaker, until a reply refuses it, or a later line moves
or cancels it. So the rule needs no words of assent. Lines that add an hour or a deed are quoted with the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.appointments import Appointment, calls_off, standing
from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue, resolve_name
from cogitate.memory.language.languages import languages_of, prevailing_language
from cogitate.memory.language.packs import forget_with_packs, pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, joined, split_sentences
from cogitate.memory.language.times import anchor_days, is_over, nearer_half, rounds_named
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.summaries.conversations import GAP, parse_line
from cogitate.tasks.heuristics.plans.dated_lines import LINES, SHOWS_NONE, Line, Mention, Reply, mentions_in, read_reply

_ENDS = (SPACED + UNSPACED).replace("?", "").replace("？", "")
_ANSWERS = 2  # sentences of a line that may answer the question before it
_LOOKED_BACK = 20  # lines before one among which its talk is read ahead of a plan
_MOST_HEARD = 2  # items of a plan that are about nobody in particular
_MOST_NAMED = 3  # of those to whom one said it
_MOST_PARTS = 3  # lines that are told together
_LONGEST = 200  # characters of them
_NEW = 2  # words that make a sentence about the same hour worth telling


class SaidTimes(NamedTuple):
    """Appointments within the window of a plan."""

    timed: tuple[Appointment, ...] = ()  # at an hour
    due: tuple[Appointment, ...] = ()  # before an hour
    untimed: tuple[Appointment, ...] = ()  # for the day, the newest last
    numbers: frozenset[int] = frozenset()  # of the lines that say so


@dataclass(eq=False)
class _Item:
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
        """Return whether somebody who takes part says later that it does not happen at its hour."""
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


def find_said(
    owner: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    places: Sequence[Location],
    told: Sequence[Entry],
    window: tuple[int, int],
) -> SaidTimes:
    """Return the appointments of an owner within the window of a plan.

    Args:
        names: of the owners.
        told: entries that name times, or call something off.
        window: [start, end) of the plan, game minutes.
    """
    (start, end), clock, me = window, clock_in_force(), resolve_name(owner, names)
    found: dict[Appointment, _Item] = {}
    numbers: set[int] = set()
    may_move = any(calls_off(entry.text) for entry in told)  # what was said for another day
    lines = LINES.of(entries, owner, names)
    for talk in _talks(lines):
        mentions = ((line, mention) for line in talk for mention in line.mentions)
        if not any(may_move or _may_be_in(one, line, start, end) for line, one in mentions) or talk[0].minute >= end:
            continue
        for item in _items_of(*talk):
            numbers.update(line.number for line, _ in item.parts)
            minute = item.day * DAY + (DAY - 1 if item.of.time is None else item.of.time)
            if me in item.doers and (start <= minute <= end or may_move):
                place = next(filter(None, (find_place(text, places) for _, text in item.parts)), None)
                found[Appointment(minute, _told(item, me), place.id if place else None, item.last.number)] = item
    found = {one: item for one, item in found.items() if not any(map(item.is_denied_by, filter(None, lines)))}
    still = standing(found, [*told, *(entry for entry in entries if entry.number in numbers)])
    kept = [(one, found[one]) for one in still if one in found]
    exact = [(one, i) for one, i in kept if i.of.time is not None and not i.of.is_due and start <= one.minute < end]
    heard = [one for one, item in exact if item.is_heard][-_MOST_HEARD:]
    moved = [one for one in still if one not in found and start <= one.minute < end]  # by a later line
    booked = {one.minute: one for one in (*heard, *(one for one, item in exact if not item.is_heard), *moved)}
    return SaidTimes(
        timed=tuple(sorted(booked.values())) if clock.has_times else (),
        due=tuple(one for one, item in kept if item.of.is_due and start < one.minute <= end),
        untimed=tuple(one for one, i in kept if i.of.time is None and i.day == day_of(start) and not i.is_heard),
        numbers=frozenset(numbers),
    )


def read_talk(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> None:
    """Read the talk of an owner's last line ahead of its next plan."""
    recent = LINES.of(entries, owner, names)[-_LOOKED_BACK:]
    last = recent[-1] if recent else None
    if last is not None:
        talk = _talks(line for line in recent if line is not None and line.people == last.people)[-1]
        if any(line.mentions for line in talk):
            _items_of(*talk)


def said_for_rounds(name: str, entries: Iterable[Entry], names: Mapping[str, str], start: int) -> list[str]:
    """Return the last sentence about each round that is not over, the newest last.

    Sentences about what others mean to do alone are left out.
    """
    found: dict[int, str] = {}
    for entry in entries if clock_in_force().counts_rounds else ():
        if not is_dialogue(entry) or entry.minute > start:
            continue
        line = parse_line(entry, names)
        for sentence in split_sentences(line.text):
            rounds = rounds_named(sentence, entry.minute)
            if not rounds or sentence.endswith(QUESTIONS) or is_over(sentence, start, entry.minute):
                continue
            known = language_of(sentence)
            if line.speaker != name and known.is_intent(sentence) and known.persons(sentence) == {"I"}:
                continue
            label = "" if line.speaker == name else pack_of(languages_of(sentence)[0]).labelled(line.speaker, "")
            for number in rounds:  # a later sentence replaces an earlier one about the same round
                found.pop(number, None)
            found[max(rounds)] = label + sentence.rstrip(".。")
    return [*found.values()]


def _may_be_in(mention: Mention, line: Line, start: int, end: int) -> bool:
    """Return whether a sentence may be about a window; an hour without a day may be of the next two days."""
    if mention.day is None:
        return start - 2 * DAY <= line.minute < end
    return start <= mention.day * DAY + (DAY - 1 if mention.time is None else mention.time) <= end


def _talks(lines: Iterable[Line | None]) -> list[list[Line]]:
    """Return the lines of each conversation: the same people, with no pause of `GAP` minutes."""
    running: dict[tuple[str, ...], list[Line]] = {}
    talks: list[list[Line]] = []
    for line in lines:
        if line is None:
            continue
        talk = running.get(line.people)
        if talk is None or line.minute - talk[-1].minute >= GAP:
            talk = running[line.people] = []
            talks.append(talk)
        talk.append(line)
    return talks


@lru_cache(maxsize=16_384)  # an owner's memories are read again by each plan
def _items_of(*lines: Line) -> Sequence[_Item]:
    """Return the appointments that the lines of a talk make."""
    return _Talk(lines).items


class _Talk:
    """A reader of a talk's lines, in order; `items` are the appointments that they make."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._language = prevailing_language(line.text for line in lines)
        self.items: list[_Item] = []
        self._since = 0  # number of the first line to which the present one may reply
        self._day: int | None = None  # the day named last, and the number of its line
        self._day_said = 0
        self._before: Line | None = None  # the line of another before the present one
        for at, line in enumerate(lines):
            if at and lines[at - 1].speaker != line.speaker:
                self._before = lines[at - 1]
                self._since = _first_replied(lines, at)
            self._read(line)

    def _read(self, line: Line) -> None:
        near = [one for one in self.items if one.last.number >= self._since]
        replied = [one for one in near if one.last.speaker != line.speaker]
        reply = self._reply(line) if near else None
        refused = self._refuse(line, replied) if reply and reply.refuses else []
        if reply and reply.calls_off and near[-1].last.speaker == line.speaker:
            self.items.remove(near[-1])
        for one in replied if reply else ():
            if reply and (reply.joins or (reply.offers and one.of.time is not None)):
                one.doers.add(line.speaker)
        for denied in line.denials:
            if denied.day is not None:
                self._day, self._day_said = denied.day, line.number
        changed = [self._take(line, mention, refused) for mention in self._mentions(line)]
        if reply and reply.deed and not any(changed) and replied[-1:] and line.speaker in replied[-1].doers:
            replied[-1].add(line, reply.deed)

    def _reply(self, line: Line) -> Reply:
        own = prevailing_language((line.text,), self._language)
        return read_reply(line.text, line.minute, self._language if own in SHOWS_NONE else own)

    def _mentions(self, line: Line) -> Sequence[Mention]:
        if line.mentions or languages_of(line.text)[0] == self._language:
            return line.mentions
        found = mentions_in(line.text, line.minute, clock_in_force(), self._language)
        return [one for one in found if not one.denies]

    def _refuse(self, line: Line, replied: Sequence[_Item]) -> list[_Item]:
        """Return the items that a line refuses: cancelled if two talk, otherwise only without the one who refuses."""
        concern = [one for one in replied if line.speaker in one.doers or one.of.asks]
        refused = [one for one in concern if one.last.number == concern[-1].last.number]
        for one in refused:
            if len(line.people) == 2:
                self.items.remove(one)
            else:
                one.doers.discard(line.speaker)
        return refused

    def _take(self, line: Line, mention: Mention, refused: Sequence[_Item]) -> bool:
        """Return whether a sentence makes a new appointment or changes one."""
        if mention.day is not None:
            self._day, self._day_said = mention.day, line.number
        same = (one for one in reversed(self.items) if one.of.time == mention.time is not None and self._is_near(one))
        last = next(same, self.items[-1] if self.items else None)
        if last is not None and self._adds(last, line, mention):
            if mention.asks and mention.day not in (None, last.day):
                last.parts.clear()  # what was proposed for another day
            _change(last, line, mention)
        elif (new := self._new(line, mention, refused)) is not None:
            self.items.append(new)
        else:
            return False
        return True

    def _is_near(self, item: _Item) -> bool:
        return item.last.number >= self._since

    def _adds(self, last: _Item, line: Line, mention: Mention) -> bool:
        """Return whether a sentence repeats the last appointment, moves it, or adds an hour to it."""
        is_near = self._is_near(last)
        first, proposed = last.parts[0]
        is_counter = mention.asks and first.speaker != line.speaker and is_near
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
        is_other = mention.day is not None or line is last.last  # beside the hour before it
        moves = mention.is_short or mention.moves or is_counter
        return (moves and is_near) or (is_about and (mention.moves or not is_other))

    def _new(self, line: Line, mention: Mention, refused: Sequence[_Item]) -> _Item | None:
        """Return the appointment that a sentence makes alone, as a counter-proposal, or as an answer to a question."""
        question = self._reply(self._before).question if self._before else ""
        asker = self._before.speaker if self._before and question else ""
        day, doers = self._day_of(line, mention), _doers(line, mention, asker)
        parts: list[tuple[Line, str]] = []
        if refused and mention.time is not None:
            parts, doers = refused[0].parts[:1], refused[0].doers | {line.speaker}
        elif self._before and question and not mention.asks and mention.at < _ANSWERS:
            parts = [(self._before, question)]
        if day is None or not doers:
            return None
        parts = [*parts, (line, mention.text)]
        is_heard = not mention.persons and not line.called
        return _Item(doers, parts, day, mention, mention.words, is_heard, self._language)

    def _day_of(self, line: Line, mention: Mention) -> int | None:
        """Return the day of a sentence: the one that it names, or that the talk named last, or the day of the talk."""
        if mention.day is not None or mention.time is None:
            return mention.day
        if self._day is not None and (self._day_said >= self._since or mention.persons & {"we", "you"}):
            return self._day
        today = day_of(line.minute)
        return today if mention.persons and today * DAY + mention.time > line.minute else None


def _first_replied(lines: Sequence[Line], at: int) -> int:
    """Return the number of the first line to which a line may reply: it looks back one turn of each other speaker."""
    turns = 0
    for back in range(at - 1, -1, -1):
        turns += lines[back].speaker != lines[back + 1].speaker
        if turns >= len(lines[at].people):
            return lines[back + 1].number
    return lines[0].number


def _change(item: _Item, line: Line, mention: Mention) -> None:
    if mention.time is not None:
        if mention.is_bare and item.of.time is not None:
            mention = mention._replace(time=nearer_half(mention.time, item.of.time))
        says_more = not mention.is_short and len(mention.words - item.words) >= _NEW
        if mention.time != item.of.time or says_more:
            item.add(line, mention.text)
        item.of, item.day = mention, item.day if mention.day is None else mention.day
    if "we" in mention.persons:
        item.doers.update(line.people)
    elif not mention.persons:
        item.doers |= {line.speaker, *line.called}
    elif "you" not in mention.persons:  # the speaker who names the hour takes part
        item.doers.add(line.speaker)
    item.words |= mention.words
    item.is_heard = item.is_heard and not mention.persons


def _doers(line: Line, mention: Mention, asker: str) -> set[str]:
    """Return the people whose plans a sentence concerns, by its pronouns and the names that it calls.

    Args:
        asker: the one whose question it may answer, or "".
    """
    persons, has_time = mention.persons, mention.time is not None
    everybody, others = set(line.people), set(line.people) - {line.speaker}
    if not persons:
        return set(line.called) or (everybody if has_time and not line.is_of_absent else set())
    if "we" in persons and (has_time or mention.proposed == "we"):
        return everybody
    found: set[str] = set()
    is_own = not mention.asks or has_time or "you" not in persons
    if is_own and (persons & {"I", "we"} or (asker and not mention.asks)):
        found.add(line.speaker)
    if "you" in persons and line.called:
        found |= line.called
    elif "you" in persons and asker and not mention.asks:
        found.add(asker)
    elif "you" in persons and (has_time or mention.proposed == "you" or mention.asks):
        found |= others
    return found


@lru_cache(maxsize=32_768)
def _told(item: _Item, me: str) -> str:
    """Return the text of a plan's item as of its day: each quote with its speaker, or else with its listeners."""
    shows_none = item.language in SHOWS_NONE
    pack = pack_of(languages_of("\n".join(text for _, text in item.parts))[0] if shows_none else item.language)
    who = ["" if line.speaker == me else line.speaker for line, _ in item.parts]
    quoted = (anchor_days(text, line.minute, pack, today=item.day + 1).rstrip(_ENDS) for line, text in item.parts)
    said = (pack.labelled(one, text) for one, text in zip(who, quoted, strict=True))
    text = shorten(("——" if pack.is_wide else " – ").join(said), _LONGEST, "…")
    others = [name for name in item.last.people if name != me and name in item.doers]
    return text if any(who) or len(others) > _MOST_NAMED else pack.bracketed(text, pack.named(others))


forget_with_packs(_items_of.cache_clear)
forget_with_packs(_told.cache_clear)
