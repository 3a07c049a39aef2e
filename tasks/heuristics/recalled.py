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
from cogitate.memory.language.endings import QUESTIONS, has_end, with_end
from cogitate.memory.language.languages import ENGLISH, is_english
from cogitate.memory.language.port import language_of
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location
from cogitate.memory.summaries.conversations import parse_line, resolve_name
from cogitate.tasks.heuristics.promises import MOST_QUOTED

_ACTIVITY = re.compile(r"\w+ing\b")
_DOING = re.compile(r"^I am (?=\w+ing\b)")  # when it was observed, not now
#: Recorded agents note what they talk about with who talks about it: "Ada is conversing about Ada and Bo are …".
_TALK = re.compile(
    r"(?P<who>[\w'’ ]{1,60}) (?:is|are) conversing about (?:conversing about )?(?P<gist>\w.*)", re.DOTALL
)
_WHOLE = re.compile(r"This is a conversation\b|The conversation\b|[\w'’ ]{1,60} (?:is|are) conversing ")
_DOERS = re.compile(r"(?P<who>(?:(?!discussing\b)[\w'’,]+ ){1,12})(?=discussing\b)")


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
        sentence = _retold_talk(recalled, sentence)
        noted = language_of(sentence).in_own_words(sentence, recalled.name, recalled.names.values())
        noted = _DOING.sub("I was ", noted) if noted != sentence else _of_others(recalled, noted)
        return ended(anchor_days(noted, entry.minute))
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


def _retold_talk(recalled: Recalled, text: str) -> str:
    """Return a note of what a talk was about as a sentence: "Ada and Bo discussing goats" with its verb.

    Who is noted to talk is told only where the note itself has no subject.
    """
    found = _TALK.fullmatch(text) if " conversing about " in text else None
    if found is None:
        return text
    gist, who = found["gist"], found["who"]
    if _WHOLE.match(gist):
        return gist
    doers = _DOERS.match(gist)
    if doers:
        named = doers["who"].replace(",", "").split()
        known = {word for name in recalled.names.values() for word in name.split()}
        if known.issuperset(word for word in named if word != "and"):
            return f"{doers['who']}{'were' if 'and' in named else 'was'} {gist[doers.end() :]}"
    return f"{'I' if who == recalled.name else who} talked about {gist}"


def ended(text: str) -> str:
    """Return a sentence of at most `MOST_QUOTED` characters with a mark at its end."""
    text = shorten(text, MOST_QUOTED)
    return text if has_end(text) else with_end(text)
