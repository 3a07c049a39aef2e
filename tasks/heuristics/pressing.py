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
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.port import knows_trouble, language_called, language_of, tells_trouble
from cogitate.memory.language.sentences import QUESTIONS, SPACED, UNSPACED, split_sentences
from cogitate.memory.language.text import FUNCTION_WORDS
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import GAP, parse_line, quoted_speaker
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
    least = NOTABLE if knows_trouble(language) else IMPORTANT
    recent = [e for e in entries if e.minute > since]
    seen = [e for e in recent if e.type == "observation" and e.source == "perception"]
    found = [e for e in seen if e.importance >= least and e.number not in agreed and tells_trouble(e.text, language)]
    if not found:
        return []
    recent.sort(key=BY_TIME)
    seen.sort(key=BY_TIME)
    found.sort(key=lambda e: (-e.importance, -e.minute, -e.number))
    planned = [item.description for plan in entries if plan.type == "plan" for item in plan.items]

    def is_open(entry: Entry) -> bool:
        return (
            not _is_done_or_said(entry.text, name)
            and not is_answered(
                entry.text,
                entry.minute,
                recent[bisect_right(recent, BY_TIME(entry), key=BY_TIME) :],
                name,
                names,
                language,
            )
            and not _is_settled(entry, seen, name, names, language)
            and not (planned and _is_planned(quote(entry, names, language), planned))
            and not appointments([entry], places, entry.minute - DAY, entry.minute + _AHEAD)
        )

    open_ = islice(filter(is_open, found), MOST_PRESSING)
    return [entry for at, entry in enumerate(open_) if at == 0 or entry.importance >= IMPORTANT]


def quote(entry: Entry, names: Mapping[str, str], language: str = ENGLISH) -> str:
    """Return an entry as a plan quotes it, in which another's words stand in a frame of a language."""
    line = parse_line(entry, names)
    if line.speaker:
        return language_called(language).quoted(shorten(line.text, LONGEST_QUOTE, "…"), line.speaker, "", False, None)
    text = anchor_days(line.text, entry.minute)
    return shorten(
        language_of(line.text, language).with_subject(text, "I").rstrip(SPACED + UNSPACED), LONGEST_QUOTE, "…"
    )


def is_seen_to(
    matter: str, planned: int, later: Sequence[Entry], name: str, names: Mapping[str, str], language: str
) -> bool:
    """Return whether an entry after a plan is about a matter that the plan saw to: it presses anew or is over.

    Args:
        planned: game minute of the plan.
    """
    return is_answered(matter, planned, later, name, names, language)


def _is_planned(quoted: str, planned: Sequence[str]) -> bool:
    return any(text.endswith(quoted) for text in planned)


def _is_done_or_said(text: str, name: str) -> bool:
    """Return whether a text tells what the one called `name` did, or quotes what a person said."""
    return quoted_speaker(text) != "" or did(language_of(text).with_subject(text, "I"), name)


@lru_cache(maxsize=65_536)
def did(text: str, name: str) -> bool:
    """Return whether a text tells what the one called `name` did, as "I" or by this name, rather than its state."""
    first = name.partition(" ")[0]  # of a title, such as "The guard", no name
    called = (name, first) if first.casefold() not in FUNCTION_WORDS else (name,)
    who = next((f"{who} " for who in ("I", "We", *called) if text.startswith(f"{who} ")), "")
    return who != "" and not language_of(text).tells_state(text[len(who) :])


def _is_settled(entry: Entry, seen: Sequence[Entry], name: str, names: Mapping[str, str], language: str) -> bool:
    """Return whether an entry matters little beside an earlier one about the same."""
    if entry.importance >= IMPORTANT:
        return False
    before = seen[: bisect_left(seen, BY_TIME(entry), key=BY_TIME)]
    return any(
        one.importance > entry.importance and is_answered(one.text, one.minute, (entry,), name, names, language)
        for one in before
    )


def is_answered(
    matter: str, raised: int, later: Iterable[Entry], name: str, names: Mapping[str, str], language: str
) -> bool:
    """Return whether something later is about a matter (`find_answer`)."""
    return find_answer(matter, raised, later, name, names, language) is not None


def find_answer(
    matter: str, raised: int, later: Iterable[Entry], name: str, names: Mapping[str, str], language: str
) -> Entry | None:
    """Return the first later observation or line that is about a matter, if any.

    One that tells of no trouble needs fewer shared words: half of its own words but for its owner's `name`, and two or
    half of the matter's, or the noun with which it begins; what tells of its owner's deed needs one.

    Args:
        raised: game minute of the matter. The talk that follows it at once raises it too.
    """
    words, subject, called = frozenset(TERMS.of(matter)), subject_of(matter), frozenset(TERMS.of(name))
    enough, least, is_known = 2 * _ALIKE * len(words), min(4, len(words)), knows_trouble(language)
    for entry in later:
        is_said = is_dialogue(entry)
        if is_said and entry.minute <= raised + (GAP if clock_in_force().has_times else 0):
            continue
        for text in _told(entry, names):
            said = TERMS.of(text)
            shared = 2 * len(words.intersection(said))
            if not shared:
                continue
            if shared >= enough and not is_said:
                return entry
            is_deed = not is_said and did(text, name) and not called.issuperset(words.intersection(said))
            is_near = is_deed or (shared >= least and shared >= len(frozenset(said) - called))
            is_near = is_near or subject_of(text) == subject != ""
            if is_near and (is_deed or not is_known or not tells_trouble(text, language)):
                return entry
    return None


def _told(entry: Entry, names: Mapping[str, str]) -> Iterable[str]:
    """Return the text of an observation, or the sentences that somebody says, but questions."""
    if is_dialogue(entry):
        return [s for s in split_sentences(parse_line(entry, names).text) if not s.endswith(QUESTIONS)]
    return (entry.text,) if entry.type == "observation" and entry.source == "perception" else ()


@lru_cache(maxsize=65_536)
def subject_of(text: str) -> str:
    """Return an article and the noun behind it with which a text begins, or ""."""
    first, _, rest = text.partition(" ")
    noun = rest.partition(" ")[0]
    return f"{first} {noun}" if noun.islower() and 0 < len(first) <= _LONGEST_ARTICLE else ""
