"""Lines of talk that name a future day or hour, in any language. Each entry is read once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from cogitate.memory.clock import DAY, Clock, clock_in_force, day_of
from cogitate.memory.entry import Entry, is_dialogue, resolve_name
from cogitate.memory.language.commitments import MAX_WHAT, Doer, Person
from cogitate.memory.language.language import Language
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, function_words_of, languages_of
from cogitate.memory.language.packs import Pack, forget_with_packs, pack_of
from cogitate.memory.language.port import language_called
from cogitate.memory.language.sentences import CLAUSES, QUESTIONS, split_sentences
from cogitate.memory.language.tables import english
from cogitate.memory.language.text import is_unspaced, stem
from cogitate.memory.language.times import (
    Time,
    anchor_days,
    days_named,
    find_times,
    in_part,
    is_bare_hour,
    is_of_evening,
    names_date,
)
from cogitate.memory.language.truncation import shorten
from cogitate.memory.summaries.conversations import parse_line
from cogitate.tasks.heuristics.reading import FoundOnce

_FEW_WORDS, _FEW_CHARACTERS, _FEWEST_CHARACTERS = 2, 6, 3  # beside an hour, in a text that adds nothing to it
_BEFORE, _BEHIND = 16, 5  # characters around an hour in which a word makes it a deadline
SHOWS_NONE = (UNDETERMINED, OTHER)  # codes for a text of unknown language
_GIVEN_NAMES = english("hers") | english("his")
_LATER = 10 * DAY  # shift for a second reading, in which days before the first get a number


class Mention(NamedTuple):
    """A sentence of a line that names a future day or hour."""

    text: str
    day: int | None
    time: int | None  # minutes after midnight
    is_due: bool  # the hour is a deadline
    persons: frozenset[Person]
    proposed: Doer  # the one who is to do what it proposes
    asks: bool
    moves: bool  # it moves something to this time
    is_bare: bool  # the part of the day is open
    is_late: bool | None  # it names the evening or night; None: no part of the day
    is_short: bool  # it says little else
    is_apart: bool  # the clause with the hour says little else
    accepts: bool
    denies: bool  # it says that this does not happen
    words: frozenset[str]
    at: int  # index of the sentence in its line


@dataclass(frozen=True, eq=False)  # by identity: the lines of a talk are a key
class Line:
    """A line of a talk."""

    speaker: str
    people: tuple[str, ...]  # by name, the speaker among them
    called: frozenset[str]  # others whom it addresses by name, or else mentions
    named: frozenset[str]  # others to whom it gives a part, such as "Dev clerks"
    text: str
    language: str  # ISO 639 code
    minute: int
    number: int
    mentions: tuple[Mention, ...]
    denials: tuple[Mention, ...]  # sentences that deny something at a day or hour
    is_of_absent: bool  # it names an owner who does not take part


class Reply(NamedTuple):
    """The reaction of a line to the lines before it."""

    refuses: bool
    calls_off: bool
    joins: bool  # it opens with "we"
    accepts: bool
    offers: bool  # its speaker offers to do something
    deed: str  # the sentence in which its speaker offers to do something; "" if none does
    question: str  # the last one; "" if there is none
    asks_little: bool  # the question does not name its matter: "When?"


def _line(entry: Entry, owner: str, names: Mapping[str, str]) -> Line | None:
    if not is_dialogue(entry):
        return None
    said = parse_line(entry, names)
    people = {resolve_name(one, names) for one in (owner, *entry.subjects)}
    if said.speaker not in people:
        return None
    found = mentions_in(said.text, said.minute, clock_in_force())
    others = people - {said.speaker}
    called = frozenset(name for name in others if _calls(said.text, name))
    is_of_absent = False
    if found:
        text = " ".join(one.text for one in found)
        called = called or frozenset(name for name in others if names_first(text, name))
        absent = {name for one, name in names.items() if name not in people and ":" in one}
        is_of_absent = any(names_first(text, name) for name in absent) or _names_stranger(text, others)
    stated, denied = (tuple(one for one in found if one.denies is denies) for denies in (False, True))
    people_named = tuple(sorted(people))
    named = frozenset(name for name in others - called if found and names_first(said.text, name))
    shown = languages_of(said.text)[0]
    return Line(
        speaker=said.speaker,
        people=people_named,
        called=called,
        named=named,
        text=said.text,
        language=shown,
        minute=said.minute,
        number=entry.number,
        mentions=stated,
        denials=denied,
        is_of_absent=is_of_absent,
    )


#: The line of each entry; None if the entry is no line of a talk.
LINES = FoundOnce(_line)


def _names_stranger(text: str, people: Iterable[str]) -> bool:
    """Return whether a text has a given name that none of these people has."""
    known = {word.casefold() for name in people for word in name.split()}
    return any(word[0].isupper() and word.casefold() in _GIVEN_NAMES - known for word in re.findall(r"[^\W\d]+", text))


def names_first(text: str, name: str) -> bool:
    """Return whether a text has somebody's first name."""
    first = _first_name(name)
    return (
        first != ""
        and first in text
        and (is_unspaced(first[0]) or re.search(rf"\b{re.escape(first)}\b", text) is not None)
    )


def _first_name(name: str) -> str:
    return next(iter(name.split()), "")


def _calls(text: str, name: str) -> bool:
    first = _first_name(name)
    if not first or first not in text:
        return False
    first = re.escape(first)
    return re.search(rf"(?:^|[,，、.!?。！？…] ?){first}(?:[,，、!！:：]|[.?!。？！]?$)", text) is not None


@lru_cache(maxsize=32_768)  # both speakers remember the same line
def mentions_in(text: str, minute: int, clock: Clock, language: str = "") -> tuple[Mention, ...]:
    """Return the sentences of a line, said at game time `minute`, that name a future day or hour.

    Args:
        language: ISO 639 code to read the line in; "": its own.
    """
    if not clock.counts_days:
        return ()
    known, pack = _known(language or languages_of(text)[0])
    if not (find_times(text, pack) or names_date(text) or days_named(anchor_days(text, 0, pack), pack)):
        return ()
    parts = ((at, part) for at, s in enumerate(split_sentences(text)) for part in _parts(s, known, pack))
    found = (_mention(part, at, minute, known, pack) for at, part in parts)
    return tuple(one for one in found if one is not None)


def _parts(sentence: str, known: Language, pack: Pack) -> Sequence[str]:
    """Return a sentence in two halves if it names an hour for each of two people, else whole."""
    for comma in CLAUSES.finditer(sentence) if len(find_times(sentence, pack)) > 1 else ():
        halves = sentence[: comma.start()], sentence[comma.end() :]
        persons = [known.persons(half) for half in halves]
        if all(find_times(half, pack) for half in halves) and all(persons) and persons[0] != persons[1]:
            return halves
    return (sentence,)


def _mention(sentence: str, place: int, minute: int, known: Language, pack: Pack) -> Mention | None:
    dated = anchor_days(sentence, minute, pack)
    if known.names_other_day(dated):  # an hour of that day is no hour of the plan's
        dated = ", ".join(c for c in CLAUSES.split(dated) if not known.names_other_day(c)) or dated
    days, times = days_named(dated, pack), find_times(dated, pack)
    moved, asks = known.moved_to(sentence, minute), sentence.endswith(QUESTIONS)
    if not (days or times):
        return None
    denies = moved is None and (
        known.is_called_off(sentence) or (not asks and _is_denied(known, sentence, minute, pack))
    )
    day, time, is_due, is_bare = days[-1] if days else None, None, False, False
    if moved is not None:
        time, is_bare = moved[0], bool(times) and is_bare_hour(dated, times[-1], pack)
        day = day if moved[1] is None else moved[1]
    elif times:
        at = next((one for one in times if not _is_deadline(dated, one, known, pack)), times[0])
        time, is_due, is_bare = at.minute, _is_deadline(dated, at, known, pack), is_bare_hour(dated, at, pack)
    timed = [c for c in CLAUSES.split(dated) if days_named(c, pack) or find_times(c, pack)]  # not "Good night, …"
    is_late = is_of_evening(", ".join(timed), pack) if len(set(days)) < 2 else None
    if is_bare and is_late is not None and time is not None:
        time, is_bare = in_part(time, is_late), False
    today = day_of(minute)
    if day is not None and (day < today or (day == today and time is not None and time <= minute % DAY)):
        return None
    if day is None and known.names_other_day(sentence):
        return None
    if day is None and any(one < today + 10 for one in days_named(anchor_days(sentence, minute + _LATER, pack), pack)):
        return None  # "yesterday", on the first day
    words = known.deed_words(dated) - _small_words(languages_of(sentence)[0])
    return Mention(
        text=shorten(sentence, MAX_WHAT, "…"),
        day=day,
        time=time,
        is_due=is_due,
        persons=_persons(known, sentence),
        proposed=known.proposes(sentence),
        asks=asks,
        moves=moved is not None,
        is_bare=is_bare,
        is_late=is_late,
        is_short=not words or _adds_little(known, dated, times, pack),
        is_apart=_is_said_apart(known, dated, pack),
        accepts=known.accepts(sentence),
        denies=denies,
        words=words,
        at=place,
    )


@cache
def _small_words(code: str) -> frozenset[str]:
    return frozenset(map(stem, function_words_of(code)))


def _is_denied(known: Language, sentence: str, minute: int, pack: Pack) -> bool:
    """Return whether the clause that names the day or hour denies it, or leaves it open.

    "I can't, I'm at the dentist till 11" names an hour that holds. A clause with little beside its time does not count
    alone: then the whole sentence is judged.
    """
    dated = [anchor_days(clause, minute, pack) for clause in CLAUSES.split(sentence)]
    timed = [c for c in dated if not _adds_little(known, c, find_times(c, pack), pack)]
    timed = [c for c in timed if find_times(c, pack) or days_named(c, pack)]
    return any(
        known.leaves_open(clause) or (not find_times(sentence) and known.declines(clause))
        for clause in timed or [sentence]
    )


def _persons(known: Language, sentence: str) -> frozenset[Person]:
    """Return whom a sentence is about; a request is about the listeners alone."""
    asked, found = known.proposes(sentence), known.persons(sentence)
    if not found and known.may_vow(sentence):
        return frozenset({"I"})
    if asked == "we" or asked == "I":
        return found | {asked}
    if asked == "you":
        return found - {"I"} | {"you"}
    return found


def _is_deadline(text: str, time: Time, known: Language, pack: Pack) -> bool:
    """Return whether a time in a text is a deadline."""
    around = text[max(0, time.start - _BEFORE) : time.start], text[time.end : time.end + _BEHIND]
    if pack.is_wide:
        return known.is_deadline(around[1]) or any(map(text[time.start : time.end].endswith, pack.ways("up_to")))
    words = [*around[0].split()[-3:], text[time.start : time.end]]
    return any(known.is_deadline(" ".join(words[at:])) for at in range(len(words)))


def says_little(sentence: str, language: str) -> bool:
    """Return whether a sentence says little beside assent, a day and an hour: "Tomorrow, then." """
    known, pack = _known(language)
    dated = anchor_days(sentence, 0, pack)
    return _adds_little(known, dated, find_times(dated, pack), pack)


def _adds_little(known: Language, sentence: str, times: Sequence[Time], pack: Pack, few: int = _FEW_CHARACTERS) -> bool:
    """Return whether a sentence says little beside assent and an hour.

    Args:
        few: most other characters, in a script without spaces.
    """
    rest = sentence
    for time in reversed(times):
        rest = rest[: time.start] + rest[time.end :]
    if pack.is_wide:
        return sum(map(str.isalnum, rest)) <= few
    said = [word for word in rest.split() if any(map(str.isalpha, word)) and not known.accepts(word)]
    return len(said) <= _FEW_WORDS


def _is_said_apart(known: Language, sentence: str, pack: Pack) -> bool:
    """Return whether the only clause with an hour says little else, but something: "make that eleven, it is late"."""
    timed = [c for c in CLAUSES.split(sentence) if find_times(c, pack)]
    if len(timed) != 1 or not known.deed_words(timed[0]) - _small_words(languages_of(sentence)[0]):
        return False
    few = _FEW_CHARACTERS if known.persons(timed[0]) else _FEWEST_CHARACTERS
    return _adds_little(known, timed[0], find_times(timed[0], pack), pack, few)


@lru_cache(maxsize=32_768)
def read_reply(text: str, minute: int, language: str) -> Reply:
    """Return how a line, said at game time `minute`, reacts to the lines before it.

    Args:
        language: to read the line in.
    """
    known, pack = _known(language)
    sentences = split_sentences(text)
    refuses = accepts = offers = asks_little = False
    deed = question = ""
    for sentence in sentences:
        quoted = shorten(sentence, MAX_WHAT, "…")
        if sentence.endswith(QUESTIONS):
            question = quoted
            asks_little = _adds_little(known, sentence, find_times(sentence, pack), pack)
            refuses = refuses or (not accepts and known.puts_off(sentence))
            accepts = accepts or (not refuses and any(map(known.accepts, CLAUSES.split(sentence)[:-1])))
            continue
        declines = known.declines(sentence)
        if not (refuses or accepts):
            refuses, accepts = declines, known.accepts(sentence) and not declines
        if not (deed or declines) and known.proposes(sentence) in ("I", "we"):
            offers = True
            deed = "" if _adds_little(known, sentence, (), pack) else quoted
    ends = any(known.is_called_off(s) and known.moved_to(s, minute) is None for s in sentences)
    joins = "we" in known.persons(sentences[0]) if sentences and not refuses else False
    return Reply(refuses, ends, joins, accepts, offers, deed, question, asks_little)


def _known(code: str) -> tuple[Language, Pack]:
    return language_called(code), pack_of(ENGLISH if code == UNDETERMINED else code)


forget_with_packs(mentions_in.cache_clear)
forget_with_packs(read_reply.cache_clear)
forget_with_packs(_small_words.cache_clear)
