"""Appointments made in conversation, in any language: who takes part, when, and whether they still stand.

A line that names a future day or hour makes an appointment until a reply refuses it, or a later line moves or cancels
it, so the rule needs no words of assent. A plan quotes the line with its speaker, and the lines that add an hour or a
deed to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from cogitate.memory.appointments import Appointment, calls_off, standing
from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue, resolve_name
from cogitate.memory.language.languages import ENGLISH, languages_of, prevailing_language
from cogitate.memory.language.packs import forget_with_packs, pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, split_sentences
from cogitate.memory.language.times import anchor_days, is_over, rounds_named
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.summaries.conversations import GAP, parse_line
from cogitate.tasks.heuristics.plans.dated_lines import (
    LINES,
    SHOWS_NONE,
    Line,
    Mention,
    names_first,
)
from cogitate.tasks.heuristics.plans.talk_appointments import TalkAppointment, appointments_of

_ENDS = (SPACED + UNSPACED).replace("?", "").replace("？", "")
_LOOKED_BACK = 20  # latest lines that `read_talk` searches for the current talk
_MOST_HEARD = 2  # items of a plan that name no participant
_LONGEST = 200  # characters of an item


class SaidTimes(NamedTuple):
    """Appointments within the window of a plan."""

    timed: tuple[Appointment, ...] = ()  # at an hour
    due: tuple[Appointment, ...] = ()  # before an hour
    untimed: tuple[Appointment, ...] = ()  # for the day, the newest last
    numbers: frozenset[int] = frozenset()  # entry numbers of the lines


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
        names: display names of the owners, by id.
        told: entries that name times, or call something off.
        window: [start, end) of the plan, game minutes.
    """
    (start, end), clock, me = window, clock_in_force(), resolve_name(owner, names)
    found: dict[Appointment, TalkAppointment] = {}
    numbers: set[int] = set()
    may_move = any(calls_off(entry.text) for entry in told)  # then appointments for other days count, too
    lines = LINES.of(entries, owner, names)
    for talk in _talks(lines):
        mentions = ((line, mention) for line in talk for mention in line.mentions)
        may_be = any(may_move or _may_be_in(one, line, start, end) for line, one in mentions) or _hides_mentions(talk)
        if not may_be or talk[0].minute >= end:
            continue
        for item in appointments_of(*talk):
            numbers.update(line.number for line, _ in item.parts)
            minute = item.day * DAY + (DAY - 1 if item.of.time is None else item.of.time)
            if me in item.doers and (start <= minute <= end or may_move):
                place = next(filter(None, (find_place(text, places) for _, text in item.parts)), None)
                found[Appointment(minute, _told(item, me), place.id if place else None, item.last.number)] = item
    denials = [line for line in lines if line is not None and line.denials]
    found = {one: item for one, item in found.items() if not any(map(item.is_denied_by, denials))}
    said = (replace(entry, text=parse_line(entry, names).text) for entry in entries if entry.number in numbers)
    still = standing(found, [*told, *said])  # by what is said, not by who says it
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
    """Fill the cache of appointments with the talk of an owner's last line, ahead of its next plan."""
    recent = LINES.of(entries, owner, names)[-_LOOKED_BACK:]
    last = recent[-1] if recent else None
    if last is not None:
        talk = _talks(line for line in recent if line is not None and line.people == last.people)[-1]
        if any(line.mentions for line in talk):
            appointments_of(*talk)


def said_for_rounds(name: str, entries: Iterable[Entry], names: Mapping[str, str], start: int) -> list[str]:
    """Return the last sentence about each round that is not over, the newest last.

    Skip sentences in which others tell what they intend to do alone.
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
    """Return whether a sentence may name a time in a window. An hour without a day may be within two days."""
    if mention.day is None:
        return start - 2 * DAY <= line.minute < end
    return start - DAY <= mention.day * DAY + (DAY - 1 if mention.time is None else mention.time) <= end


def _hides_mentions(talk: Sequence[Line]) -> bool:
    """Return whether a line alone does not show its language, but the talk does."""
    hides = any(line.language in SHOWS_NONE and not line.mentions for line in talk)
    return hides and prevailing_language(line.text for line in talk) not in (ENGLISH, *SHOWS_NONE)


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


@lru_cache(maxsize=32_768)
def _told(item: TalkAppointment, me: str) -> str:
    """Return a plan item as told on its day: each quote with its speaker, or the owner's own with its one partner."""
    shows_none = item.language in SHOWS_NONE
    pack = pack_of(languages_of("\n".join(text for _, text in item.parts))[0] if shows_none else item.language)
    who = ["" if line.speaker == me else line.speaker for line, _ in item.parts]
    quoted = (anchor_days(text, line.minute, pack, today=item.day + 1).rstrip(_ENDS) for line, text in item.parts)
    said = (pack.labelled(one, text) for one, text in zip(who, quoted, strict=True))
    text = shorten(("——" if pack.is_wide else " – ").join(said), _LONGEST, "…")
    others = [name for name in item.last.people if name != me and name in item.doers and not names_first(text, name)]
    if any(who) or len(others) != 1:
        return text
    return pack.bracketed(text, (pack.phrase("with") or "with {name}").format(name=others[0]))


forget_with_packs(_told.cache_clear)
