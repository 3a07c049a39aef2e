"""Repeats: an observation that an owner already holds is counted on the earlier entry instead of stored again.

It counts only on the game day of that entry, so each day keeps a first record of its events. A repeat with a higher
importance than the first entry is stored.

Recorded simulations show that 45 to 70 percent of an agent's memories repeat an earlier one word for word. A repeat
counts only while no newer entry has its subject, which is the first word other than an article: after "The gate is
open" and "The gate is closed", a second "The gate is open" is news, and is stored.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cogitate.memory.clock import day_of
from cogitate.memory.entry import Entry, Marks
from cogitate.memory.language.text import is_unspaced, normal, words
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream

#: Words before the one that names the subject of an observation.
_ARTICLES = frozenset(words("a an the der die das ein eine le la les un une el los las una o os um uma il lo"))

#: Characters of a text that hold its first word.
_OPENING = 80

#: Counter of a stream's head: the total importance of all repeats that were counted instead of stored.
REPEATED = "repeated"


Subject = tuple[str | tuple[str, ...], ...]  # what an entry is about: its first word, subjects and circumstances


class RepeatKey(NamedTuple):
    """The key that an entry and its repeats share."""

    subject: Subject
    text: str


def repeat_key(entry: Entry) -> RepeatKey | None:
    """Return the key that an entry shares with its repeats; None for entries that are never coalesced.

    Subjects, place, quest, encounter and tags must agree as well: observations of two owners are two memories.
    """
    text = _repeatable_text(entry)
    if text is None:
        return None
    subjects = tuple(sorted(set(entry.subjects))) if entry.subjects else ()
    subject: Subject = (_first_word(text), subjects, entry.location, entry.quest_id, entry.encounter_id, *entry.tags)
    return RepeatKey(subject, text)


def _repeatable_text(entry: Entry) -> str | None:
    """Return the text that an entry shares with its repeats; None for entries that are never coalesced.

    Only perceptions and thoughts are coalesced: two equal statements or votes are two events.
    """
    if entry.type != "observation" or entry.source in ("dialogue", "social") or entry.since_minute is not None:
        return None
    return None if INTEGRATE in entry.tags else normal(entry.text).rstrip(".。")


def _first_word(text: str) -> str:
    """Return the first word that is not an article, or the first character in a script without spaces."""
    for first in words(text[:_OPENING]):
        if first not in _ARTICLES:
            break
    else:
        first = text
    return first if first[:1].isascii() or not is_unspaced(first[:1]) else first[:1]


class RepeatIndex:
    """An index of one stream, kept up to date, that finds the live entry that a new entry repeats.

    It computes subjects only once a text occurred before: most texts are new, and finding the first word takes longer
    than all the rest.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._texts: set[int] = set()  # hashes of the texts of all live entries, and of some archived ones
        self._read = 0  # highest number whose text is in `_texts`
        self._newest: dict[Subject, int] = {}  # number of the newest entry about each subject
        self._seen = 0  # highest number whose subject is in `_newest`
        self._asked: int | None = None  # hash of the text searched last

    def find(self, entry: Entry) -> int | None:
        """Return the number of the newest live entry about the same subject if `entry` repeats it, else None."""
        text = _repeatable_text(entry)
        self._asked = None if text is None else hash(text)
        if self._asked is None or not self._may_hold(self._asked):
            return None
        key = repeat_key(entry)
        assert key is not None
        self._catch_up()
        number = self._newest.get(key.subject)
        if number is not None and not self._stream.is_live(number):
            self._rebuild()
            number = self._newest.get(key.subject)
        return number if number is not None and repeat_key(self._stream.entries[number]) == key else None

    def repeated(self, entry: Entry) -> int | None:
        """Return the number of the entry that counts `entry` as a repeat; None if `entry` is to be stored."""
        number = self.find(entry)
        if number is None:
            return None
        earlier = self._stream.entries[number]
        if day_of(earlier.minute) != day_of(entry.minute) or earlier.importance < entry.importance:
            return None
        return number

    def note_appended(self) -> None:
        """Record the text searched last as that of the newest entry, without computing it again."""
        newest = self._stream.head.last_number
        if self._asked is not None and self._read == newest - 1:
            self._texts.add(self._asked)
            self._read = newest

    def _may_hold(self, text: int) -> bool:
        """Return whether an entry may have the text with this hash."""
        stream, texts = self._stream, self._texts
        if len(texts) > 2 * len(stream.entries) + 64:  # mostly of deleted entries
            texts.clear()
            self._read = 0
        if self._read < stream.head.last_number:
            for number in reversed(stream.entries):
                if number <= self._read:
                    break
                if stream.is_live(number) and (known := _repeatable_text(stream.entries[number])) is not None:
                    texts.add(hash(known))
            self._read = stream.head.last_number
        return text in texts

    def _rebuild(self) -> None:
        self._newest.clear()
        self._seen = 0
        self._catch_up()

    def _catch_up(self) -> None:
        if self._seen == self._stream.head.last_number:
            return
        if len(self._newest) > 2 * self._stream.count("observation") + 64:  # mostly subjects of archived entries
            self._newest.clear()
            self._seen = 0
        for number in reversed(self._stream.entries):
            if number <= self._seen:
                break
            key = repeat_key(self._stream.entries[number]) if self._stream.is_live(number) else None
            if key is not None and self._newest.get(key.subject, 0) < number:
                self._newest[key.subject] = number
        self._seen = self._stream.head.last_number


def count_repeat(stream: Stream, number: int, minute: int, importance: int) -> None:
    """Count one more repeat of entry `number`, at game time `minute`."""
    marks = stream.marks.get(number, Marks())
    stream.mark(number, msgspec.structs.replace(marks, repeats=marks.repeats + 1, last_repeat=minute))
    stream.set_counter(REPEATED, stream.head.counters.get(REPEATED, 0) + importance)
