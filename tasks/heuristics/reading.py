"""Readings of entries, each made once: on observation, in a paced host's idle time, or when a heuristic first asks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from cogitate.memory.appointments import calls_off, names_time
from cogitate.memory.entry import Entry, is_dialogue, is_of_event, rating, resolve_name
from cogitate.memory.language.markup import prose
from cogitate.memory.language.packs import forget_with_packs
from cogitate.memory.language.port import is_courtesy, language_of
from cogitate.memory.language.talk import Speakers, Utterance
from cogitate.memory.language.text import normal
from cogitate.memory.summaries.conversations import first_person, parse_line
from cogitate.memory.summaries.statements import news_of
from cogitate.memory.summaries.transcripts import without_directions
from cogitate.tasks.heuristics.themes import Sentence, parts_of, sentence_of

Found = TypeVar("Found")
_NOT_SO = " Otherwise: "  # the text after it tells what did not happen
_NO_SPEAKERS = Speakers(())
BY_TIME = attrgetter("minute", "number")


class _Kept(NamedTuple, Generic[Found]):
    """The readings of an owner's entries under one set of display names."""

    names: Mapping[str, str]
    entries: Sequence[Entry]
    found: Sequence[Found]


class FoundOnce(Generic[Found]):
    """A thread-safe cache of what `find` returns for each entry, kept for the most recently read owners.

    Args:
        find: gets the entry, its owner and the display names. Callers share its result and must not change it.
        most: number of entries to keep; each takes about a kilobyte.
    """

    def __init__(self, find: Callable[[Entry, str, Mapping[str, str]], Found], most: int = 100_000) -> None:
        self._find = find
        self._most = most
        self._kept: OrderedDict[tuple[str, int], _Kept[Found]] = OrderedDict()  # by owner and id of the names
        self._size = 0  # entries kept
        self._lock = Lock()
        forget_with_packs(self._forget)

    def _forget(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0

    def of(self, entries: Sequence[Entry], owner: str, names: Mapping[str, str]) -> Sequence[Found]:
        """Return the reading of each of an owner's entries, in their order. Only new entries are read."""
        known = self._kept.get((owner, id(names))) or _Kept[Found](names, [], [])
        at = len(known.entries)
        if entries[:at] == known.entries:
            if len(entries) == at:
                return known.found
            found = [*known.found, *(self._find(entry, owner, names) for entry in entries[at:])]
        else:  # entries were archived or rated, or the job reads fewer
            before = dict(zip(map(id, known.entries), known.found, strict=True))
            if all(id(entry) in before for entry in entries):
                return [before[id(entry)] for entry in entries]
            found = [before[id(e)] if id(e) in before else self._find(e, owner, names) for e in entries]
        with self._lock:
            replaced = self._kept.pop((owner, id(names)), None)
            self._size += len(found) - (len(replaced.found) if replaced else 0)
            self._kept[owner, id(names)] = _Kept(names, [*entries], found)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1].found)
        return found


class Told(NamedTuple):
    """What a reflection may tell of an entry."""

    key: str  # that exact repeats share
    line: Utterance
    sentences: tuple[Sentence, ...]  # without courtesies
    says_i: int  # 1: a note that calls its owner "I" rather than by its name; -1: by its name; 0: neither, or both


def _told(entry: Entry, owner: str, names: Mapping[str, str]) -> Told:
    says_i = 0
    if entry.type == "observation" and not is_of_event(entry):
        says_i = language_of(entry.text).says_i(entry.text) - (resolve_name(owner, names) in entry.text)
    line = parse_line(entry, names)
    return Told(normal(entry.text), line, sentences_of(entry, line, entry.type == "observation"), says_i)


def sentences_of(entry: Entry, line: Utterance, whole: bool) -> tuple[Sentence, ...]:
    """Return the sentences of an entry without courtesies; all of it if it is short and `whole` is set.

    They exclude the speaker's name or the event's label before them.
    """
    said = prose(line.text if line.speaker else news_of(entry).partition(_NOT_SO)[0])
    if is_dialogue(entry):
        said = without_directions(said)
    return tuple(
        sentence_of(part, entry.number, rating(entry))
        for part in parts_of(said, whole)
        if not (is_dialogue(entry) and is_courtesy(part.text, _NO_SPEAKERS))
    )


def _timed(entry: Entry, owner: str, names: Mapping[str, str]) -> Entry | None:
    said = parse_line(entry, names).text if is_dialogue(entry) else entry.text  # a label would hide the language
    return first_person(entry, owner, names) if names_time(said) or calls_off(said) else None


class Said(NamedTuple):
    """What an owner observed, or what somebody said."""

    speaker: str  # "": the owner observed it
    text: str


def _said(entry: Entry, owner: str, names: Mapping[str, str]) -> Said | None:
    if entry.type not in ("observation", "message"):
        return None
    if not is_dialogue(entry) and not is_of_event(entry):  # as most observations: nobody speaks
        return Said("", entry.text)
    line = parse_line(entry, names)
    return Said(line.speaker, line.text) if line.speaker or not is_dialogue(entry) else None


#: What was observed or said in each entry; None for thoughts, and for lines of unknown speakers.
SAID = FoundOnce(_said)
#: What a reflection may tell of each entry.
TOLD = FoundOnce(_told)
#: Each entry that names a clock time or calls an appointment off, in its owner's words; None for all others.
TIMED = FoundOnce(_timed)
