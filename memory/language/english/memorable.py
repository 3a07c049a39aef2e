"""Estimates how memorable a text is before any rating: by groups of words, and by life-changing events.

Which groups of words matter, and how much, was tuned on two recorded days of a simulated town, rated by two different
models. They only order texts; what a rating of a run means is learned in the run. The streams design rates
life-changing events 10 ("got married", "discovered a secret"). Words alone do not show them: "my phone died" and "the
secret ingredient" are ordinary. So each pattern requires that something happened to a person.
"""

from __future__ import annotations

import re
from functools import cache

from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import stems

LONGEST = 2_000  # characters searched: texts mention life-changing events early


def leaning(stemmed: frozenset[str], of_itself: bool) -> float:
    """Return how memorable a text seems by its stems and whether it is about its owner; 2.9 is neutral."""
    said = {name: len(stemmed & _stems_of(name)) for name in ("body", "hygiene", "chores", "social", "mind", "heart")}
    return (
        2.9
        - 0.9 * bool(said["body"])
        - 0.5 * bool(said["hygiene"])
        - 0.5 * bool(said["chores"])
        + 0.6 * min(2, said["social"])
        + 0.6 * min(2, said["mind"])
        + 0.4 * min(2, said["heart"])
        + 0.5 * of_itself
    )


def changes_a_life(text: str) -> bool:
    """Return whether a text tells of an event that people remember for life."""
    said = text[:LONGEST]
    return any(pattern.search(said) for pattern in _TURNING_POINTS)


@cache
def _stems_of(name: str) -> frozenset[str]:
    return frozenset(stems(read_table("english")[name]))


def _read_turning_points() -> tuple[re.Pattern[str], ...]:
    table = read_table("english")["turning_points"]
    parts = {f"<{name}>": pattern for name, pattern in table["parts"].items()}

    def filled(pattern: str) -> str:
        return re.sub(r"<[a-z]+>", lambda part: filled(parts[part[0]]), pattern)

    return tuple(re.compile(filled(pattern)) for pattern in table["patterns"])


_TURNING_POINTS = _read_turning_points()
