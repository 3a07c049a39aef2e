"""Tiers: the choice between a kind's two models for a job.

Each kind has a routine and a strong model, which may be the same. A rule chooses one by the subject of the job; a host
can replace the rule. If the budget has no room for the strong model, admission tries the routine one, then the
heuristic. The host decides at admission, and the journal records the model's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, get_args

from cogitate.memory.entry import Entry
from cogitate.tasks.job import Cost, Request
from cogitate.tasks.kind import Moment

Tier = Literal["routine", "strong"]
TIERS: tuple[Tier, ...] = get_args(Tier)
TierRule = Callable[[Request, Moment], Tier]

DECISIVE = 8  # minimum importance of a memory that selects the strong tier
URGENT = 5  # highest priority of built-in kinds; more selects the strong tier
LOOKED_AT = 20  # newest entries that the rule considers if a request names none
_ALWAYS_STRONG = frozenset({"plan"})  # a plan determines a whole day
_ALWAYS_ROUTINE = frozenset({"act", "rate"})  # frequent, and each job matters little


class ModelOption(NamedTuple):
    """A model that a job may get, and the upper bound of the cost of one attempt."""

    model: str  # its name; empty: the heuristic
    prompt_cap: int  # tokens
    cost: Cost
    headroom: int = 0  # tokens for reasoning in addition to the answer


def usual_tier(request: Request, moment: Moment) -> Tier:
    """Return the strong tier for plans, requests of priority above 5 and thoughts about a decisive memory."""
    if request.kind in _ALWAYS_STRONG or request.priority > URGENT:
        return "strong"
    if request.kind in _ALWAYS_ROUTINE:
        return "routine"
    ratings = (entry.importance or moment.estimate(entry) for entry in _about(request, moment))
    return "strong" if any(rating >= DECISIVE for rating in ratings) else "routine"


def _about(request: Request, moment: Moment) -> Iterator[Entry]:
    """Return the entries that a request names, or else the owner's newest observations and messages."""
    entries = moment.stream.entries
    if request.numbers is not None:
        return (entries[number] for number in request.numbers if number in entries)
    lived = (entry for entry in reversed(entries.values()) if entry.type in ("observation", "message"))
    return islice(lived, LOOKED_AT)
