"""Pressing matters: important observations that no plan took up and no later observation answers.

An empty plan also sees to what matters less, and to what others said. Matters are of the last day or, where ticks have
no times of day, of the time since the last plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice

from cogitate.memory.appointments import Appointment, appointments, standing
from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.markup import prose
from cogitate.memory.language.port import frame_of, is_courtesy, language_of, tells_done
from cogitate.memory.language.sentences import SPACED, UNSPACED, split_sentences
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import parse_line, quoted_speaker
from cogitate.tasks.heuristics.reading import BY_TIME

IMPORTANT = 7  # the least importance of what presses: that of an event which changes a life
NOTABLE = 4  # the least importance of what an empty plan sees to
MOST_PRESSING = 2  # of a plan
LONGEST_QUOTE = 100  # characters of an observation in a plan
_ALIKE = 0.6  # share of an observation's words that one about the same matter repeats
_AHEAD = 30 * DAY  # an appointment within this time is kept at its hour


def find_pressing(
    name: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    places: Sequence[Location],
    start: int,
    agreed: Collection[int] = (),
    *,
    is_empty: bool = False,
    language: str = ENGLISH,
) -> list[Entry]:
    """Return the entries that a plan is to see to, the most important first, of equal ones the newest.

    Args:
        name: of the owner, whose own deeds are done.
        start: game minute at which the plan begins.
        agreed: numbers of the entries that promise or appoint something.
        is_empty: the plan has nothing else.
        language: of the owner's plans.
    """
    least = NOTABLE if is_empty else IMPORTANT
    since = start - DAY
    if not clock_in_force().has_times:
        since = max((entry.minute for entry in entries if entry.type == "plan"), default=0) - 1
    recent = [e for e in entries if e.minute > since]
    seen = [e for e in recent if e.type == "observation" and e.source == "perception"]
    seen.sort(key=BY_TIME)
    told = (e for e in recent if is_empty and e.type == "message")
    found = [e for e in chain(seen, told) if e.importance >= least and e.number not in agreed]
    if not found:
        return []
    found.sort(key=lambda e: (-e.importance, -e.minute, -e.number))
    planned = [item.description for plan in entries if plan.type == "plan" for item in plan.items]
    words = [TERMS.of(e.text) for e in seen]

    def is_open(entry: Entry) -> bool:
        at = bisect_right(seen, BY_TIME(entry), key=BY_TIME)
        return (
            not _is_answered(TERMS.of(entry.text), zip(words[at:], seen[at:], strict=True))
            and (_is_told(entry, name, names) if entry.type == "message" else not _is_done_or_said(entry.text, name))
            and bool(prose(entry.text))
            and not _is_settled(entry, seen)
            and not (planned and _is_planned(quote(entry, names, language), planned))
            and not appointments([entry], places, entry.minute - DAY, entry.minute + _AHEAD)
            and not _is_called_off(entry, entries)
        )

    return [*islice(filter(is_open, found), MOST_PRESSING)]


def quote(entry: Entry, names: Mapping[str, str], language: str = ENGLISH) -> str:
    """Return an entry as a plan quotes it, in which another's words stand in a frame of a language."""
    line = parse_line(entry, names)
    if line.speaker:
        return frame_of(line.text, language).quoted(
            shorten(line.text, LONGEST_QUOTE, "…"), line.speaker, "", False, None
        )
    text = anchor_days(line.text, entry.minute)
    return shorten(
        language_of(line.text, language).with_subject(text, "I").rstrip(SPACED + UNSPACED), LONGEST_QUOTE, "…"
    )


def is_seen_to(matter: str, later: Sequence[Entry]) -> bool:
    """Return whether an observation after a plan is about a matter that the plan saw to: it presses anew or is over."""
    return _is_answered(TERMS.of(matter), ((TERMS.of(e.text), e) for e in later if e.type == "observation"))


def _is_planned(quoted: str, planned: Sequence[str]) -> bool:
    return any(text.endswith(quoted) for text in planned)


def _is_told(entry: Entry, name: str, names: Mapping[str, str]) -> bool:
    """Return whether an entry is what another than the one called `name` said, and no mere courtesy."""
    line = parse_line(entry, names)
    anybody = Speakers(())
    return line.speaker not in ("", name) and not all(is_courtesy(s, anybody) for s in split_sentences(line.text))


def _is_done_or_said(text: str, name: str) -> bool:
    """Return whether a text tells what the one called `name` did, or quotes what a person said."""
    language = language_of(text)
    told = language.with_subject(text, "I")
    first = name.partition(" ")[0]  # of a title, such as "The guard", no name
    called = (name, first) if first.casefold() not in FUNCTION_WORDS else (name,)
    who = next((f"{who} " for who in ("I", "We", *called) if told.startswith(f"{who} ")), "")
    return quoted_speaker(text) != "" or (who != "" and not language.tells_state(told[len(who) :]))


def _is_called_off(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Return whether a message proposes something for a day, and a later entry calls it off."""
    if entry.type != "message" or anchor_days(entry.text, entry.minute) == entry.text:
        return False
    return not standing([Appointment(entry.minute, entry.text, None, entry.number)], entries)


def _is_settled(entry: Entry, seen: Sequence[Entry]) -> bool:
    """Return whether an entry says that its matter is done, or matters little beside an earlier one about the same."""
    language = language_of(entry.text)
    if all(language.tells_done(said) for said in split_sentences(entry.text)):
        return True
    if entry.importance >= IMPORTANT:
        return False
    said = ((TERMS.of(entry.text), entry),)
    before = seen[: bisect_left(seen, BY_TIME(entry), key=BY_TIME)]
    return any(one.importance > entry.importance and _is_answered(TERMS.of(one.text), said) for one in before)


def _is_answered(matter: Collection[str], later: Iterable[tuple[Collection[str], Entry]]) -> bool:
    """Return whether a later observation, here with its words, is about the matter that some words tell.

    An observation of something done needs fewer shared words: half of its own words, and two or half of the matter's.
    """
    words = frozenset(matter)
    enough, least = 2 * _ALIKE * len(words), max(1, min(4, len(words)))
    for said, entry in later:
        shared = 2 * len(words.intersection(said))
        if shared >= least and (shared >= enough or (shared >= len(said) and tells_done(entry.text))):
            return True
    return False
