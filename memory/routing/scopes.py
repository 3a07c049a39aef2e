"""Scoped memories: which messages of the world's stream a location, an NPC or the world has not recounted yet.

A scope is an owner: "location:<id>", "npc:<id>" or "world". A cursor in its head is the number of the last message of
the world's stream that its memories cover, so each message is summarised once. An NPC has a cursor for each place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from cogitate.memory.entry import Entry, Head
from cogitate.memory.language.text import words
from cogitate.memory.routing.history import is_statement
from cogitate.memory.stream import Stream

WORLD = "world"  # the owner whose stream holds all statements and observations
CURSOR = "world"  # of the world and of a location; an NPC's for a place is "world:<id of the location>"
CONTEXT = 1  # messages shown before and after a mention


def location_owner(location: str) -> str:
    """Return the owner of a location's memories."""
    return f"location:{location}"


def cursor_of(scope: str, location: str) -> str:
    """Return the name of a scope's cursor over the messages at a location; "" stands for the whole world."""
    return f"{CURSOR}:{location}" if location and scope not in (WORLD, location_owner(location)) else CURSOR


def place_of(cursor: str) -> str:
    """Return the id of the location whose messages an NPC's cursor passes; "" for any other cursor."""
    name, _, location = cursor.partition(":")
    return location if name == CURSOR else ""


def covered(head: Head, cursor: str) -> int:
    """Return the last number that a cursor has passed; an NPC's cursor without a place counts for every place."""
    return max(head.cursors.get(cursor, 0), head.cursors.get(CURSOR, 0))


def messages_since(world: Stream, start: int, end: int, location: str = "") -> list[Entry]:
    """Return the messages numbered above `start` and up to `end`, of one location if it is given, in order of number.

    It includes messages that the history's limit has archived, as long as they are retained.
    """
    newer = takewhile(lambda entry: entry.number > start, reversed(world.entries.values()))
    messages = [e for e in newer if e.number <= end and is_statement(e) and (not location or e.location == location)]
    return messages[::-1]


def mentions(text: str, name: str) -> bool:
    """Return whether a name occurs in a text as whole words, ignoring case.

    Names written without spaces (Chinese, Japanese) are found anywhere within a run of characters.
    """
    words_of_name = words(name)
    if not words_of_name:
        return False
    if len(name) == 1 and not name.isascii():  # `words` pairs a Han character with its neighbours
        return name in _words_in_line(text)
    return f" {' '.join(words_of_name)} " in _words_in_line(text)


@lru_cache(maxsize=1_024)  # each NPC at a location searches the same messages
def _words_in_line(text: str) -> str:
    """Return the words of a text with spaces between and around them."""
    return f" {' '.join(words(text))} "


def is_about(entry: Entry, owner: str, name: str) -> bool:
    """Return whether a message mentions an NPC: by name in its text, or among its subjects."""
    return owner in entry.subjects or name in entry.subjects or mentions(entry.text, name)


def around_mentions(messages: Sequence[Entry], owner: str, name: str) -> list[Entry]:
    """Return the messages that mention an NPC, with one before and one after each; none if no message does."""
    kept: set[int] = set()
    for at, entry in enumerate(messages):
        if is_about(entry, owner, name):
            kept.update(range(max(0, at - CONTEXT), min(len(messages), at + CONTEXT + 1)))
    return [messages[at] for at in sorted(kept)]
