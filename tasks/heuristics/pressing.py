"""Pressing matters: observations of trouble that no plan took up and no later observation answers.

What happened and needs nothing from anybody, such as good news, is no matter of a plan. Matters are of the last day or,
where ticks have no times of day, of the time since the last plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.port import frame_of, language_of, tells_trouble
from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import parse_line, quoted_speaker
from cogitate.tasks.heuristics.reading import BY_TIME

NOTABLE = 4  # the least importance of what presses: more than that of an ordinary event
IMPORTANT = 7  # that of an event which changes a life: it presses though an earlier one about the same was worse
MOST_PRESSING = 2  # of a plan
LONGEST_QUOTE = 100  # characters of an observation in a plan
_ALIKE = 0.6  # share of an observation's words that one about the same matter repeats
_LONGEST_ARTICLE = 4  # characters
_AHEAD = 30 * DAY  # an appointment within this time is kept at its hour


def find_pressing(
    name: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    places: Sequence[Location],
    start: int,
    agreed: Collection[int] = (),
    language: str = ENGLISH,
) -> list[Entry]:
    """Return the entries that a plan is to see to, the most important first, of equal ones the newest.

    Args:
        name: of the owner, whose own deeds are done.
        start: game minute at which the plan begins.
        agreed: numbers of the entries that promise or appoint something.
        language: of the owner's plans.
    """
    since = start - DAY
    if not clock_in_force().has_times:
        since = max((entry.minute for entry in entries if entry.type == "plan"), default=0) - 1
    recent = [e for e in entries if e.minute > since]
    seen = [e for e in recent if e.type == "observation" and e.source == "perception"]
    found = [e for e in seen if e.importance >= NOTABLE and e.number not in agreed and tells_trouble(e.text, language)]
    if not found:
        return []
    seen.sort(key=BY_TIME)
    found.sort(key=lambda e: (-e.importance, -e.minute, -e.number))
    planned = [item.description for plan in entries if plan.type == "plan" for item in plan.items]
    words = [TERMS.of(e.text) for e in seen]

    def is_open(entry: Entry) -> bool:
        at = bisect_right(seen, BY_TIME(entry), key=BY_TIME)
        return (
            not _is_answered(entry.text, zip(words[at:], seen[at:], strict=True), name, language)
            and not _is_done_or_said(entry.text, name)
            and not _is_settled(entry, seen, name, language)
            and not (planned and _is_planned(quote(entry, names, language), planned))
            and not appointments([entry], places, entry.minute - DAY, entry.minute + _AHEAD)
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


def is_seen_to(matter: str, later: Sequence[Entry], name: str, language: str) -> bool:
    """Return whether an observation after a plan is about a matter that the plan saw to: it presses anew or is over."""
    return _is_answered(matter, ((TERMS.of(e.text), e) for e in later if e.type == "observation"), name, language)


def _is_planned(quoted: str, planned: Sequence[str]) -> bool:
    return any(text.endswith(quoted) for text in planned)


def _is_done_or_said(text: str, name: str) -> bool:
    """Return whether a text tells what the one called `name` did, or quotes what a person said."""
    language = language_of(text)
    told = language.with_subject(text, "I")
    first = name.partition(" ")[0]  # of a title, such as "The guard", no name
    called = (name, first) if first.casefold() not in FUNCTION_WORDS else (name,)
    who = next((f"{who} " for who in ("I", "We", *called) if told.startswith(f"{who} ")), "")
    return quoted_speaker(text) != "" or (who != "" and not language.tells_state(told[len(who) :]))


def _is_settled(entry: Entry, seen: Sequence[Entry], name: str, language: str) -> bool:
    """Return whether an entry matters little beside an earlier one about the same."""
    if entry.importance >= IMPORTANT:
        return False
    said = ((TERMS.of(entry.text), entry),)
    before = seen[: bisect_left(seen, BY_TIME(entry), key=BY_TIME)]
    return any(one.importance > entry.importance and _is_answered(one.text, said, name, language) for one in before)


def _is_answered(matter: str, later: Iterable[tuple[Collection[str], Entry]], name: str, language: str) -> bool:
    """Return whether a later observation, here with its words, is about a matter.

    An observation of no trouble needs fewer shared words: half of its own words but for its owner's `name`, and two or
    half of the matter's, or what both begin with.
    """
    words, subject, called = frozenset(TERMS.of(matter)), _subject(matter), frozenset(TERMS.of(name))
    enough, least = 2 * _ALIKE * len(words), min(4, len(words))
    for said, entry in later:
        shared = 2 * len(words.intersection(said))
        if shared >= enough > 0:
            return True
        is_near = shared >= least and shared >= len(frozenset(said) - called)
        is_near = is_near or _subject(entry.text) == subject != ""
        if shared and is_near and not tells_trouble(entry.text, language):
            return True
    return False


@lru_cache(maxsize=65_536)
def _subject(text: str) -> str:
    """Return an article and the noun behind it with which a text begins, or ""."""
    first, _, rest = text.partition(" ")
    noun = rest.partition(" ")[0]
    return f"{first} {noun}" if noun.islower() and 0 < len(first) <= _LONGEST_ARTICLE else ""
