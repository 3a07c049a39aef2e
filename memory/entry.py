"""One memory: an immutable, numbered entry of an owner's stream, and the mutable marks kept beside it.

Fields follow the memory types of the streams design (task 1) and the scopes design's data model.
There is no wall-clock field: two runs with the same inputs must hold identical bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

EntryType = Literal["observation", "message", "reflection", "plan", "summary"]
EntrySource = Literal["perception", "dialogue", "internal", "social"]
PlanStatus = Literal["pending", "active", "completed", "cancelled"]

ENTRY_TYPES: tuple[EntryType, ...] = ("observation", "message", "reflection", "plan", "summary")
#: Types that count against the limit of live observations (summaries and dialogue do, by the streams design).
OBSERVED_TYPES: frozenset[EntryType] = frozenset({"observation", "message", "summary"})

INTO_SUMMARY = -1  # `Archived.into`: what the entry said is in the owner's long-term summary
MAX_TEXT = 4_000  # characters; the API refuses longer text and never cuts it silently
UNRATED = 0
ORDINARY = 3  # the importance of an unrated entry: the median of recorded ratings of ordinary events


class PlanItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One timed item of a daily plan."""

    id: str  # unique within the owner's stream: "<tick>-<index>"
    description: str
    location: str | None = None  # id of a known location
    minute: int | None = None  # scheduled game time, total minutes
    priority: int = 3  # 1 to 5, 5 is highest
    status: PlanStatus = "pending"  # initial; the current status is in the head


class PresentItems(NamedTuple):
    """The current item of a plan, and the next one."""

    now: PlanItem | None
    later: PlanItem | None


def present_items(items: Iterable[PlanItem], minute: int) -> PresentItems:
    """Return the latest item that has begun, unless it is completed or cancelled, and the first pending one to come.

    Earlier items are over. An item without a time counts as begun. If no item has a time, they follow one another, and
    the first open one is current.
    """
    items = list(items)
    if all(item.minute is None for item in items):
        left = [item for item in items if item.status in ("pending", "active")]
        return PresentItems(*[*left, None, None][:2])
    timed = [(item, item.minute or 0) for item in items]
    begun = [(item, at) for item, at in timed if at <= minute]
    coming = [(item, at) for item, at in timed if at > minute and item.status == "pending"]
    last = max(begun, key=lambda pair: pair[1])[0] if begun else None
    under_way = last is not None and last.status in ("pending", "active")
    return PresentItems(last if under_way else None, min(coming, key=lambda pair: pair[1])[0] if coming else None)


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One memory; the stream sets its `number` when it appends the entry (1, 2, 3, …).

    Immutable except for its rating: an entry without one may be rated once. `rated` holds the tick of the rating, so
    that an entry can be read as of any tick (`as_known`).
    """

    type: EntryType
    text: str
    minute: int  # game time of the event, total minutes
    number: int = 0  # 0: not appended yet
    tick: int = 0  # the tick whose boundary appended it
    location: str = ""
    subjects: tuple[str, ...] = ()  # owners or names involved, in the order given
    keywords: tuple[str, ...] = ()  # given by the host; otherwise taken from the text when scored
    importance: int = UNRATED  # 1 to 10; 0: not rated yet
    rated: int = 0  # tick at which it was rated later; 0: never
    source: EntrySource = "perception"
    source_id: str = ""  # conversation, event, …
    evidence: tuple[int, ...] = ()  # entries of this stream that it rests on or replaces
    items: tuple[PlanItem, ...] = ()  # plans only
    valid_until: int = 0  # plans only: game time at which the plan ends
    provisional: bool = False  # a heuristic wrote it because budget, time or model failed
    tags: tuple[str, ...] = ()
    quest_id: str = ""
    encounter_id: str = ""
    since_minute: int | None = None  # first minute of the span that a summary covers
    since_number: int | None = None  # last entry number that a summary covers


def rating(entry: Entry) -> int:
    """Return the entry's importance, 1 to 10; an unrated entry has that of an ordinary event."""
    return entry.importance or ORDINARY


def resolve_name(subject: str, names: Mapping[str, str]) -> str:
    """Return the display name of an owner or place; without one, the part of its id after the colon."""
    return names.get(subject) or subject.partition(":")[2] or subject


def is_of_event(entry: Entry) -> bool:
    """Return whether the entry reports an event that a rule for its type routed."""
    return bool(entry.tags) and any(tag.startswith("event:") for tag in entry.tags)


def is_dialogue(entry: Entry) -> bool:
    """Return whether the entry is a line of a conversation, and no summary of one."""
    return entry.type == "message" or (entry.type == "observation" and entry.source == "dialogue")


def shared(entry: Entry, **changes: int) -> Entry:
    """Return the entry with its strings interned and with the given fields changed.

    Most texts occur often: both sides remember a line of dialogue, many agents see the same thing, and every entry
    names its place and people again. Interning shrinks the streams of a town by two fifths.
    """
    fields: dict[str, Any] = {"text": sys.intern(entry.text), **changes}
    if entry.location:
        fields["location"] = sys.intern(entry.location)
    if entry.source_id:
        fields["source_id"] = sys.intern(entry.source_id)
    if entry.subjects:
        fields["subjects"] = _interned(entry.subjects)
    if entry.keywords:
        fields["keywords"] = _interned(entry.keywords)
    if entry.tags:
        fields["tags"] = _interned(entry.tags)
    return msgspec.structs.replace(entry, **fields)


@lru_cache(maxsize=8_192)  # the same few people meet again and again: their entries share the tuple too
def _interned(strings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(sys.intern, strings))


def as_known(entry: Entry, tick: int) -> Entry:
    """Return the entry as of the end of `tick`: without its rating if that came later."""
    return msgspec.structs.replace(entry, importance=UNRATED, rated=0) if entry.rated > tick else entry


class Archived(msgspec.Struct, frozen=True, gc=False):
    """The archive record of an entry: when, and into which entry (0: none; -1: the long-term summary)."""

    tick: int
    into: int = 0


class Marks(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Counters of an entry that change after it was written."""

    accesses: int = 0
    last_accessed: int = 0  # game time, total minutes
    repeats: int = 0  # how often the same text was observed again and counted here
    last_repeat: int = 0  # game time, total minutes


class Character(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that a host states about an owner, which no compaction may drop (window design: character facts)."""

    names: tuple[str, ...] = ()  # of people it knows, and its own
    objectives: tuple[str, ...] = ()
    relationships: dict[str, str] = msgspec.field(default_factory=dict)  # name -> in words
    inventory: tuple[str, ...] = ()


def format_character(character: Character) -> str:
    """Return the character facts of an owner as text, a line for each field that is not empty."""
    bonds = [f"{name} ({words})" for name, words in sorted(character.relationships.items())]
    parts = (
        ("Objectives", character.objectives),
        ("Relationships", bonds),
        ("Names", character.names),
        ("Inventory", character.inventory),
    )
    return "\n".join(f"{title}: {', '.join(values)}" for title, values in parts if values)


class Head(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The small mutable part of a stream; the tick that changes it writes it whole."""

    last_number: int = 0
    summary: str = ""  # long-term summary (cells and window designs)
    summary_version: int = 0
    cursors: dict[str, int] = msgspec.field(default_factory=dict)  # scope -> last entry number summarised
    plan_status: dict[str, PlanStatus] = msgspec.field(default_factory=dict)  # changed items of live plans
    counters: dict[str, int] = msgspec.field(default_factory=dict)  # cadence: last reflection, trigger, …
    waiting: list[Entry] = msgspec.field(default_factory=list)  # observed entries that wait for a free cell (cells)
    character: Character = Character()
