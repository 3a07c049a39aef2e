"""Tiers: which of its two models a job deserves, and what its kind asks down the ladder.

Each kind has a routine and a strong model, which may be the same. What a job is about decides which of them it
deserves, by a rule that a host can replace. Where budget has no room for the strong one, admission tries the routine
one before it falls to the heuristic. The decision is made at the boundary and journalled with the model's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, get_args

from memory.entry import Entry
from tasks.job import Cost, Request
from tasks.kind import Moment

Tier = Literal["routine", "strong"]
TIERS: tuple[Tier, ...] = get_args(Tier)
TierRule = Callable[[Request, Moment], Tier]

DECISIVE = 8  # importance from which one memory makes what is thought about it important
URGENT = 5  # the highest priority that our own kinds ask with; a host that asks with more means it
LOOKED_AT = 20  # newest entries, where a request names none
_ALWAYS_STRONG = frozenset({"plan"})  # steers a whole day
_ALWAYS_ROUTINE = frozenset({"act", "rate"})  # many, and each of small consequence


class ModelOption(NamedTuple):
    """A model that a job may get, and what one attempt with it may cost."""

    model: str  # its name; empty: none, the heuristic is what is asked for
    prompt_cap: int  # tokens
    cost: Cost


def usual_tier(request: Request, moment: Moment) -> Tier:
    """Plans, what a host asks for with a priority above 5, and thoughts about a decisive memory: the strong tier.

    Args:
        moment: the owner at the end of the tick that decides.
    """
    if request.kind in _ALWAYS_STRONG or request.priority > URGENT:
        return "strong"
    if request.kind in _ALWAYS_ROUTINE:
        return "routine"
    ratings = (entry.importance or moment.estimate(entry) for entry in _about(request, moment))
    return "strong" if any(rating >= DECISIVE for rating in ratings) else "routine"


def _about(request: Request, moment: Moment) -> Iterator[Entry]:
    """What a request is about: the entries that it names, else the newest that were experienced."""
    entries = moment.stream.entries
    if request.numbers is not None:
        return (entries[number] for number in request.numbers if number in entries)
    lived = (entry for entry in reversed(entries.values()) if entry.type in ("observation", "message"))
    return islice(lived, LOOKED_AT)
