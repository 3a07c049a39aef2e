"""Repeats: an observation that an owner already holds is counted on the earlier entry instead of stored again.

It counts only on the game day of that entry, so each day keeps a first record of its events. A repeat with a higher
importance than the first entry is stored.

Recorded simulations show that 45 to 70 percent of an agent's memories repeat an earlier one word for word. A near
repeat differs only in articles, possessives and inflection: "checking emails", "is checking her emails". Order,
numbers, negations and particles count, so "turning the TV on" never meets "turning the TV off", "room 3" never
"room 4", and "Ann likes Ben" never "Ben likes Ann".
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from cogitate.memory.clock import day_of
from cogitate.memory.entry import Entry, Marks
from cogitate.memory.language.text import normal, stem, words
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream

#: Words that do not change the meaning of an observation.
_EMPTY = frozenset(words("a an the is are am was were be been his her hers their its my your our s"))

#: Words of a text that only repeats itself word for word: stems of new words take longer than all else about it.
_LONG = 200

#: Counter of a stream's head: the importance of all repeats ever counted instead of stored, summed.
REPEATED = "repeated"

RepeatKey = tuple[str | tuple[str, ...], ...]


def repeat_key(entry: Entry) -> RepeatKey | None:
    """Return the key that two repeats share; None for entries that are never coalesced.

    Only perceptions and thoughts are: two equal statements or votes are two events.
    Subjects, place, quest, encounter and tags must agree as well: observations of two owners are two memories.
    """
    if entry.type != "observation" or entry.source in ("dialogue", "social") or entry.since_minute is not None:
        return None
    if INTEGRATE in entry.tags:
        return None
    subjects = tuple(sorted(set(entry.subjects)))
    return (_key_words(entry.text), subjects, entry.location, entry.quest_id, entry.encounter_id, *entry.tags)


@lru_cache(maxsize=4_096)
def _key_words(text: str) -> str:
    found = words(text)
    if len(found) > _LONG:
        return normal(text)
    return " ".join(stem(w) for w in found if w not in _EMPTY) or normal(text)


class RepeatIndex:
    """An index that finds the live entry of one stream that a new one repeats, and follows the stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._numbers: dict[RepeatKey, list[int]] = {}
        self._seen = 0  # highest number indexed
        self._asked: RepeatKey | None = None  # the key of the entry that was looked for last

    def find(self, entry: Entry) -> int | None:
        """Return the number of the newest live entry that `entry` repeats, exactly or nearly; None if it is new."""
        key = self._asked = repeat_key(entry)
        if key is None:
            return None
        self._catch_up()
        numbers = self._numbers.get(key, [])
        while numbers and not self._stream.is_live(numbers[-1]):
            numbers.pop()
        return numbers[-1] if numbers else None

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
            self._numbers.setdefault(self._asked, []).append(newest)
            self._seen = newest

    def _catch_up(self) -> None:
        if len(self._numbers) > 2 * self._stream.count("observation") + 64:  # mostly keys of archived entries
            self._numbers.clear()
            self._seen = 0
        if self._seen == self._stream.head.last_number:
            return
        fresh: list[Entry] = []
        for number in reversed(self._stream.entries):
            if number <= self._seen:
                break
            if self._stream.is_live(number):
                fresh.append(self._stream.entries[number])
        for entry in reversed(fresh):
            key = repeat_key(entry)
            if key is not None:
                self._numbers.setdefault(key, []).append(entry.number)
        self._seen = self._stream.head.last_number


def count_repeat(stream: Stream, number: int, minute: int, importance: int) -> None:
    """Count one more repeat of entry `number`, at game time `minute`."""
    marks = stream.marks.get(number, Marks())
    stream.mark(number, msgspec.structs.replace(marks, repeats=marks.repeats + 1, last_repeat=minute))
    stream.set_counter(REPEATED, stream.head.counters.get(REPEATED, 0) + importance)
