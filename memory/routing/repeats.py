"""Repeats: an observation that an owner already holds is counted on the earlier entry instead of stored again.

It counts only on the game day of that entry, so each day keeps a first record of its events. A repeat with a higher
importance than the first entry is stored.

Recorded simulations show that 45 to 70 percent of an agent's memories repeat an earlier one word for word. A repeat
counts only while nothing newer is known of its subject, which its first word other than an article names: after "The
gate is open" and "The gate is closed", a second "The gate is open" is news, and is stored.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from cogitate.memory.clock import day_of
from cogitate.memory.entry import Entry, Marks
from cogitate.memory.language.text import is_unspaced, normal, words
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream

#: Words before the one that names what an observation is about.
_ARTICLES = frozenset(words("a an the der die das ein eine le la les un une el los las una o os um uma il lo"))

#: Characters of a text in which its first word stands.
_OPENING = 80

#: Counter of a stream's head: the importance of all repeats ever counted instead of stored, summed.
REPEATED = "repeated"


Subject = tuple[str | tuple[str, ...], ...]  # what an entry is about: its first word, subjects and circumstances


class RepeatKey(NamedTuple):
    """What two repeats share."""

    subject: Subject
    text: str


def repeat_key(entry: Entry) -> RepeatKey | None:
    """Return the key that two repeats share; None for entries that are never coalesced.

    Only perceptions and thoughts are: two equal statements or votes are two events.
    Subjects, place, quest, encounter and tags must agree as well: observations of two owners are two memories.
    """
    if entry.type != "observation" or entry.source in ("dialogue", "social") or entry.since_minute is not None:
        return None
    if INTEGRATE in entry.tags:
        return None
    subjects = tuple(sorted(set(entry.subjects))) if entry.subjects else ()
    text = normal(entry.text).rstrip(".。")
    subject: Subject = (_first_word(text), subjects, entry.location, entry.quest_id, entry.encounter_id, *entry.tags)
    return RepeatKey(subject, text)


def _first_word(text: str) -> str:
    """Return the first word that is no article; of a script without spaces, the first character."""
    for first in words(text[:_OPENING]):
        if first not in _ARTICLES:
            break
    else:
        first = text
    return first if first[:1].isascii() or not is_unspaced(first[:1]) else first[:1]


class RepeatIndex:
    """An index that finds the live entry of one stream that a new one repeats, and follows the stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._newest: dict[Subject, int] = {}  # entry about each subject
        self._seen = 0  # highest number indexed
        self._asked: RepeatKey | None = None  # the key of the entry that was looked for last

    def find(self, entry: Entry) -> int | None:
        """Return the number of the newest live entry about the same subject if `entry` repeats it, else None."""
        key = self._asked = repeat_key(entry)
        if key is None:
            return None
        self._catch_up()
        number = self._newest.get(key.subject)
        if number is not None and not self._stream.is_live(number):
            self._start_over()
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
        """Index the entry that was looked for last and has been appended since, without computing its key again."""
        newest = self._stream.head.last_number
        if self._asked is not None and self._seen == newest - 1:
            self._newest[self._asked.subject] = newest
            self._seen = newest

    def _start_over(self) -> None:
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
