"""The choice of a retrieval profile: by name, or as a table of weights.

A choice is plain data, which a run can store; `profile_of` builds the profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cogitate.memory.errors import InputError, quoted
from cogitate.memory.retrieval import measures
from cogitate.memory.retrieval.candidates import Candidates
from cogitate.memory.retrieval.retrieval import DEFAULT, DIALOGUE, SPEC, Component, RetrievalProfile

MAX_WEIGHT = 1_000.0
CUSTOM = "custom"  # the name of a profile from a table

ProfileChoice = str | dict[str, float]

PROFILES: Mapping[str, RetrievalProfile] = MappingProxyType({one.name: one for one in (DEFAULT, DIALOGUE, SPEC)})

#: The components that a table of weights may name. "keyword_overlap", "plain_importance" and "half_life_recency" are
#: those of the streams design; "relevance", "importance" and "recency" measure the same better.
MEASURES: Mapping[str, Callable[[Candidates], list[float]]] = MappingProxyType(
    {
        "relevance": measures.relevance,
        "importance": measures.scaled_importance,
        "support": measures.support,
        "recency": measures.scaled_recency,
        "similarity": measures.similarity,
        "keyword_overlap": measures.keyword_overlap,
        "plain_importance": measures.plain_importance,
        "half_life_recency": measures.half_life_recency,
        "neighbours": measures.neighbours,
        "scene": measures.scene,
        "speaker": measures.speaker,
        "statement": measures.statement,
        "information": measures.information,
    }
)


def check_choice(what: str, value: object) -> ProfileChoice:
    """Return the choice of a profile; a table is a copy, in the order of `MEASURES`.

    Raises:
        InputError: for an unknown profile or component, or an invalid weight.
    """
    if isinstance(value, str):
        if value not in PROFILES:
            raise InputError(f"{what}: unknown profile {quoted(value)}; use one of {', '.join(PROFILES)}")
        return str.__str__(value)
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {quoted(value)}: give {', '.join(map(repr, PROFILES))} or a table of weights")
    if len(value) > len(MEASURES) or any(not isinstance(name, str) or name not in MEASURES for name in value):
        raise InputError(f"{what} is {quoted(value)}: components are {', '.join(MEASURES)}")
    weights = {name: _weight(f"{what}: {name}", value[name]) for name in MEASURES if name in value}
    if not any(weights.values()):
        raise InputError(f"{what} is {quoted(value)}: give at least one weight above 0")
    return weights


def profile_of(choice: ProfileChoice) -> RetrievalProfile:
    """Return the profile of a choice that `check_choice` has returned."""
    if isinstance(choice, str):
        return PROFILES[choice]
    components = tuple(Component(name, weight, MEASURES[name]) for name, weight in choice.items())
    return RetrievalProfile(name=CUSTOM, components=components, matching=DEFAULT.matching)


def _weight(what: str, value: Any) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 <= number <= MAX_WEIGHT:
        raise InputError(f"{what} is {quoted(value)}: give a number from 0 to {MAX_WEIGHT:,.0f}")
    return float(number)
