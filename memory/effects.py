"""Effects: the changes that a job requests. Each states its precondition; `cogitate.memory.apply` checks and applies
them.

A job is a pure function from (job, memories) to a tuple of effects. If one precondition fails, no effect of the job is
applied and the job ends `stale`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from cogitate.memory.entry import Character, Entry, PlanStatus


class Append(msgspec.Struct, frozen=True, tag="append", omit_defaults=True):
    """Append an entry; the boundary sets its number and tick.

    Precondition: `replaces`, if given, is a live provisional entry; it is archived into the new one.
    """

    owner: str
    entry: Entry
    replaces: int = 0
    cut: int = 0  # tokens cut from its text's oldest part, since the model wrote more than the prompt asked for


class Archive(msgspec.Struct, frozen=True, tag="archive", omit_defaults=True):
    """Archive entries, into this job's latest appended entry of the same owner if `into_appended`, or into the
    long-term summary if `into_summary`.

    Precondition: each is live.
    """

    owner: str
    numbers: tuple[int, ...]
    into_appended: bool = False
    into_summary: bool = False
    shown: tuple[int, ...] | None = None  # entries that the prompt showed to their end; None: a heuristic read them
    lost: int = 0  # important ones among them that no summary covers


class ReplaceSummary(msgspec.Struct, frozen=True, tag="summary", omit_defaults=True):
    """Replace the long-term summary. Precondition: its version is still `version`."""

    owner: str
    text: str
    version: int
    cut: int = 0  # tokens cut from its oldest part, which did not fit even after compression


class TakeWaiting(msgspec.Struct, frozen=True, tag="take", omit_defaults=True):
    """Append the oldest entries that wait in the head. Precondition: at least `count` wait."""

    owner: str
    count: int


class ForgetWaiting(msgspec.Struct, frozen=True, tag="forget", omit_defaults=True):
    """Drop entries that wait in the head, from position `start` on. Precondition: at least `count` wait there."""

    owner: str
    count: int
    start: int = 0


class SetCharacter(msgspec.Struct, frozen=True, tag="character", omit_defaults=True):
    """Replace the character facts of an owner. No precondition."""

    owner: str
    character: Character
    cut: int = 0  # tokens left out, which exceed the owner's limit


class SetPlanStatus(msgspec.Struct, frozen=True, tag="plan_status", omit_defaults=True):
    """Change the status of a plan item. Precondition: the item is in a live plan, with status `expects` or `status`."""

    owner: str
    item: str
    status: PlanStatus
    expects: PlanStatus


class AdvanceCursor(msgspec.Struct, frozen=True, tag="cursor", omit_defaults=True):
    """Move a cursor. Precondition: it is at `start` (0 if never set) and `end` is not below it."""

    owner: str
    name: str
    start: int
    end: int
    shown: tuple[int, ...] | None = None  # entries that the prompt showed to their end; None: a heuristic read them


class SetCounter(msgspec.Struct, frozen=True, tag="counter", omit_defaults=True):
    """Set a counter of the head. No precondition."""

    owner: str
    name: str
    value: int


class MarkAccessed(msgspec.Struct, frozen=True, tag="accessed", omit_defaults=True):
    """Count a read of these entries at game time `minute`. No precondition: deleted entries are skipped."""

    owner: str
    numbers: tuple[int, ...]
    minute: int


class Rate(msgspec.Struct, frozen=True, tag="rate", omit_defaults=True):
    """Rate entries that are not rated yet. Precondition: a rating from 1 to 10 for each number.

    Deleted entries and those rated in the meantime are skipped.
    """

    owner: str
    numbers: tuple[int, ...]
    ratings: tuple[int, ...]
    paid: bool = False  # by a model: the run learns from these ratings


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
    """A loss of memories that no summary covers."""

    name: str  # event name of the warning
    owner: str
    amount: int


def losses(effects: Iterable[Effect]) -> Iterator[Loss]:
    """Yield the losses by effects: memories dropped without a summary, summaries and characters cut to their limit."""
    for effect in effects:
        if isinstance(effect, ForgetWaiting) and effect.count:
            yield Loss("memory.forgotten", effect.owner, effect.count)
        elif isinstance(effect, ReplaceSummary | Append) and effect.cut:
            yield Loss("memory.summary_cut", effect.owner, 1)
        elif isinstance(effect, Archive) and effect.lost:
            yield Loss("memory.history_cut", effect.owner, effect.lost)
        elif isinstance(effect, SetCharacter) and effect.cut:
            yield Loss("memory.character_cut", effect.owner, 1)
