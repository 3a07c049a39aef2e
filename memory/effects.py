"""What a job asks to be changed. Each effect states its precondition; `memory.apply` checks and applies them.

A job is a pure function from (job, memories) to a tuple of these. A job with one failing precondition
is not applied at all and ends `stale`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from memory.entry import Character, Entry, PlanStatus


class Append(msgspec.Struct, frozen=True, tag="append", omit_defaults=True):
    """Append an entry (its number and tick are given at the boundary).

    Precondition: `replaces`, if given, is a live provisional entry; it is archived into the new one.
    """

    owner: str
    entry: Entry
    replaces: int = 0


class Archive(msgspec.Struct, frozen=True, tag="archive", omit_defaults=True):
    """Archive entries, into this job's latest appended entry of the same owner if `into_appended`, or into the
    long-term summary if `into_summary`.

    Precondition: each is live.
    """

    owner: str
    numbers: tuple[int, ...]
    into_appended: bool = False
    into_summary: bool = False


class ReplaceSummary(msgspec.Struct, frozen=True, tag="summary", omit_defaults=True):
    """Replace the long-term summary. Precondition: its version is still `version`."""

    owner: str
    text: str
    version: int
    cut: int = 0  # tokens of its oldest part that had to be left out, compressed as it is


class TakeWaiting(msgspec.Struct, frozen=True, tag="take", omit_defaults=True):
    """Append the oldest entries that wait in the head. Precondition: so many wait."""

    owner: str
    count: int


class ForgetWaiting(msgspec.Struct, frozen=True, tag="forget", omit_defaults=True):
    """Drop entries that wait in the head, from position `start` on. Precondition: so many wait there."""

    owner: str
    count: int
    start: int = 0


class SetCharacter(msgspec.Struct, frozen=True, tag="character", omit_defaults=True):
    """Replace what is known of an owner. No precondition."""

    owner: str
    character: Character
    cut: int = 0  # tokens of it that the owner's limit has no room for


class SetPlanStatus(msgspec.Struct, frozen=True, tag="plan_status", omit_defaults=True):
    """Change the status of a plan item. Precondition: the item is in a live plan, with status `expects` or `status`."""

    owner: str
    item: str
    status: PlanStatus
    expects: PlanStatus


class AdvanceCursor(msgspec.Struct, frozen=True, tag="cursor", omit_defaults=True):
    """Move a cursor. Precondition: it stands at `start` (0 if never set) and `end` is not behind it."""

    owner: str
    name: str
    start: int
    end: int


class SetCounter(msgspec.Struct, frozen=True, tag="counter", omit_defaults=True):
    """Set a counter of the head. No precondition."""

    owner: str
    name: str
    value: int


class MarkAccessed(msgspec.Struct, frozen=True, tag="accessed", omit_defaults=True):
    """Count that these entries were read at game time `minute`. No precondition: entries gone are passed over."""

    owner: str
    numbers: tuple[int, ...]
    minute: int


class Rate(msgspec.Struct, frozen=True, tag="rate", omit_defaults=True):
    """Rate entries that are not rated yet. Precondition: a rating from 1 to 10 for each number.

    Entries gone, and those rated meanwhile, are passed over.
    """

    owner: str
    numbers: tuple[int, ...]
    ratings: tuple[int, ...]
    paid: bool = False  # a model gave them: the run learns from them


class Tell(msgspec.Struct, frozen=True, tag="tell", omit_defaults=True):
    """A message to the host's world: a relationship change, a chosen action. Memory is not touched."""

    owner: str
    topic: str  # "relationship", "action", …
    data: dict[str, Any]  # JSON values only


Effect = (
    Append
    | Archive
    | ReplaceSummary
    | TakeWaiting
    | ForgetWaiting
    | SetCharacter
    | SetPlanStatus
    | AdvanceCursor
    | SetCounter
    | MarkAccessed
    | Rate
    | Tell
)


class Loss(NamedTuple):
    """That something was given up which no summary tells."""

    name: str  # of the warning that it deserves
    owner: str
    amount: int


def losses(effects: Iterable[Effect]) -> Iterator[Loss]:
    """What effects give up: memories forgotten for want of a summary, summaries of which even the core did not fit."""
    for effect in effects:
        if isinstance(effect, ForgetWaiting) and effect.count:
            yield Loss("memory.forgotten", effect.owner, effect.count)
        elif isinstance(effect, ReplaceSummary) and effect.cut:
            yield Loss("memory.summary_cut", effect.owner, 1)
        elif isinstance(effect, SetCharacter) and effect.cut:
            yield Loss("memory.character_cut", effect.owner, 1)
