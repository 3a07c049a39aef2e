"""The source of an insight: what its owner remembers, and how it tells an entry of it in the first person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from memory.entry import Entry
from memory.language.courtesies import is_small_talk
from memory.language.endings import with_end
from memory.language.grammar import is_past
from memory.language.languages import ENGLISH
from memory.language.own_view import in_own_words, told_to
from memory.language.references import leans_on_others
from memory.language.sentences import clean, split_sentences, without_own_name
from memory.language.speakers import Speakers
from memory.language.text import stems, words
from memory.language.times import anchor_days
from memory.language.truncation import shorten
from memory.profile import Location
from memory.summaries.conversations import parse_line, resolve_name
from memory.summaries.statements import news_of
from memory.summaries.votes import OwnVotes
from tasks.heuristics.promises import is_vow

LONGEST = 240  # characters of one sentence
_AGAIN_TOLD = re.compile(r"\bconversing about (?:(?:[\w' ]{1,60} (?:is|are) )?conversing about )+")
_WHO_TALKED = re.compile(r"(?: talked\b|^Conversation with ).*\bon day \d+, ")  # opens a summary of a talk
_INTRODUCES = re.compile(r"^(?:I (?:work (?:as|at|in|for)|live (?:at|in|on)|come from|was born)|My name is)\b")
_PLACED = re.compile(r"^I was at .{1,120}? when ")
_NOT_PAST = frozenset(words("is are am will shall has have can may must does do"))
#: Words with which a sentence opens that are no names.
_OPENS = frozenset(
    words(
        "a an the this that these those his her their our its it there they we some every each all both many one two "
        "three four five six seven somebody someone nobody everybody something nothing"
    )
)
Kind = Literal["changed", "ahead"]


@dataclass(frozen=True, kw_only=True)
class PlanOutcome:
    """An item of a plan that is over: what it was, and whether it was done."""

    description: str
    done: bool
    usual: bool = False  # it stands in other plans too


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The source of an insight: entries since the last reflection, by importance, and those before."""

    owner: str
    recent: Sequence[Entry]
    before: Sequence[Entry]
    names: Mapping[str, str]
    minute: int  # game time of the reflection
    repeats: Mapping[int, int]  # how often entries were observed again, by number
    places: Sequence[Location] = ()
    plan: Sequence[PlanOutcome] = ()
    summary: str = ""  # of the long term
    delay: int = 0  # game minutes until the owner has it
    language: str = ENGLISH  # in which the owner thinks

    @property
    def name(self) -> str:
        """Return the owner's name."""
        return resolve_name(self.owner, self.names)

    @cached_property
    def name_words(self) -> frozenset[str]:
        """Return the words of all names, as written."""
        return frozenset(word for name in self.names.values() for word in name.split() if word[:1].isupper())

    @cached_property
    def own_votes(self) -> OwnVotes:
        """Return the owner's part in what was voted on."""
        return OwnVotes(self.name, [*self.before, *self.recent])

    def of(self, subject: str) -> str:
        """Return the name of somebody or of a place."""
        return resolve_name(subject, self.names)


class Finding(NamedTuple):
    """One sentence that may be told, and the numbers of the entries that show it."""

    worth: float
    kind: Kind
    text: str
    evidence: tuple[int, ...]


def as_told(recalled: Recalled, entry: Entry) -> str:
    """Return the sentence of an entry that says most, as the owner tells it; "" if none can stand alone."""
    told = parse_line(entry, recalled.names)
    if not told.speaker:
        text = in_first_person(recalled, anchor_days(news_of(entry), entry.minute))
        sentences = [s for s in split_sentences(text) if not s.endswith("?") and not _WHO_TALKED.search(s)]
        return sentences[0] if sentences and not leans_on_others(sentences[0]) else ""
    others = [recalled.of(s) for s in entry.subjects if recalled.of(s) != told.speaker]
    only = others[0] if len(others) == 1 and recalled.name in (told.speaker, others[0]) else ""
    speakers = Speakers([told.speaker, *others])
    best = ""
    for spoken in split_sentences(anchor_days(told.text, entry.minute)):
        called = speakers.addressee(spoken, told.speaker)
        sentence = without_own_name(clean(spoken, filter(None, (*others, called))), told.speaker)
        sentence = clean(sentence, (told.speaker,))
        if sentence.endswith("?") or is_small_talk(sentence, speakers) or leans_on_others(sentence):
            continue
        if is_vow(sentence):
            continue  # told as a promise
        if told.speaker == recalled.name and _INTRODUCES.search(sentence):
            continue  # who one is oneself is no news
        reported = told_to(sentence, told.speaker, called or only, recalled.name, recalled.name_words)
        if reported and len(stems(reported)) > max(3, len(stems(best))):
            best = reported
    return best


def in_first_person(recalled: Recalled, text: str) -> str:
    """Return an observation in the first person."""
    text = _AGAIN_TOLD.sub("conversing about ", text)
    text = re.sub(r" (?:is|was) conversing about ", " talked about ", in_own_words(text, recalled.name))
    return re.sub(r"^I am (?=\w+ing\b)", "I was ", text)


def is_person(subject: str, recalled: Recalled) -> bool:
    """Return whether a subject of an entry is somebody."""
    return subject in recalled.names or subject.startswith("agent:")


def number_word(count: int) -> str:
    """Return a number from three on as it stands in a sentence."""
    words = ("three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[count - 3] if count <= 10 else str(count)


def uncapital(text: str, recalled: Recalled) -> str:
    """Return a sentence that follows a colon: small, unless it opens with a name or "I"."""
    first = text.split(maxsplit=1)[0] if text else ""
    common = first.lower() in ("the", "a", "an", "my", "our", "his", "her", "their", "this", "there", "it", "we", "at")
    return text[:1].lower() + text[1:] if common else text


def placed(place: str, following: str) -> str:
    """Return an event with where its owner was then."""
    return f"I was at {place} when {following}"


def unplaced(text: str) -> str:
    """Return a sentence without where its owner was."""
    return _PLACED.sub("", text)


def after_when(text: str, recalled: Recalled) -> str:
    """Return a sentence in the past as it stands after "when"; "" for another, or where its opening may be a name."""
    said = re.findall(r"[^\W\d_]+", text.lower())
    past = next((at for at, word in enumerate(said) if word in ("was", "were") or is_past(word)), 0)
    opening = text.partition(" ")[0]
    if not past or _NOT_PAST.intersection(said[:past]):
        return ""
    if opening.lower() in _OPENS:
        return text[:1].lower() + text[1:]
    return text if opening in recalled.name_words else ""


def ended(text: str) -> str:
    """Return a sentence of at most `LONGEST` characters with a mark at its end."""
    return with_end(shorten(text, LONGEST, "…"))
