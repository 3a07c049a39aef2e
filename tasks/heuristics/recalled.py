"""The source of an insight: what its owner remembers, and how it tells a sentence of it.

What was said is quoted with who said it to whom, never retold: a paraphrase by rule takes the wrong part of too many
sentences. What was seen is told as it was noted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cogitate.memory.clock import day_of, on_date
from cogitate.memory.entry import Entry
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.language.languages import ENGLISH, is_english
from cogitate.memory.language.own_view import in_own_words
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.summaries.conversations import parse_line, resolve_name
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.talk_notes import ended, quoted, retold

_ACTIVITY = re.compile(r"\w+ing\b")
_DOING = re.compile(r"^I am (?=\w+ing\b)")  # when it was observed, not now


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
    delay: int = 0  # game minutes until the owner has it
    language: str = ENGLISH  # in which the owner thinks

    @property
    def name(self) -> str:
        """Return the owner's name."""
        return resolve_name(self.owner, self.names)

    @property
    def people(self) -> list[str]:
        """Return the names of all agents."""
        return [name for owner, name in self.names.items() if owner.startswith("agent:")]

    def of(self, subject: str) -> str:
        """Return the name of somebody or of a place."""
        return resolve_name(subject, self.names)


class Finding(NamedTuple):
    """What may be told, and the numbers of the entries that show it."""

    text: str
    evidence: tuple[int, ...]
    is_outcome: bool = False  # of a promise: it has the words of the promise


def tell(recalled: Recalled, entry: Entry, sentence: str) -> str:
    """Return a sentence of an entry as its owner tells it: what was said as a quote, all else as it was noted."""
    line = parse_line(entry, recalled.names)
    if not line.speaker:
        parties = [recalled.of(s) for s in entry.subjects]
        talk = retold(sentence, recalled.name, parties, (e.text for e in recalled.recent), recalled.people)
        if talk != sentence:
            return anchor_days(talk, entry.minute)
        noted = in_own_words(sentence, recalled.name, recalled.names.values())
        noted = _DOING.sub("I was ", noted) if noted != sentence else _of_others(recalled, noted)
        noted = anchor_days(noted, entry.minute)
        names_me = recalled.name in noted and is_english(sentence)  # it is not certain who does what
        return f"I noted: {quoted(ended(noted))}" if names_me else ended(f"{noted[:1].upper()}{noted[1:]}")
    said = shorten(sentence, MOST_QUOTED).replace('"', "'")
    day = ""
    if anchor_days(said, entry.minute) != said and day_of(entry.minute) != day_of(recalled.minute):
        day = f" {on_date(entry.minute)}"  # on which "tomorrow" was said
    if not is_english(sentence):
        return f'{line.speaker}: "{said}"'
    mine, others = line.speaker == recalled.name, [s for s in entry.subjects if recalled.of(s) != line.speaker]
    speaker, verb = ("I" if mine else line.speaker), "asked" if sentence.endswith(QUESTIONS) else "told"
    listener = "" if len(others) != 1 else "me" if others[0] == recalled.owner else recalled.of(others[0])
    return f'{speaker} {f"{verb} {listener}" if listener else "asked" if verb == "asked" else "said"}{day}: "{said}"'


def _of_others(recalled: Recalled, noted: str) -> str:
    """Return what another was seen doing as it is told later: "Ada is baking" as "Ada was baking"."""
    who, _, doing = noted.partition(" is ")
    is_activity = _ACTIVITY.match(doing) is not None and who in recalled.names.values()
    return f"{who} was {doing}" if is_activity else noted
