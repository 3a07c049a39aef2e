"""Constraints that a job's data puts on its answer, such as the places and people in its prompt.

The prompt lists them, and a worker checks the answer against them. The schema leaves them out: it is the same for all
jobs of a kind, so that a provider can cache the common prefix. Only a weak model's schema lists the choices.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHOICES = 250  # values of one field


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """The values that one field of an answer may have."""

    field: str  # a dotted path without the indexes of lists: "activities.location"
    choices: tuple[str, ...] = ()  # for a text; empty: any text
    least: int | None = None  # bounds of a number, or of a text's or a list's length
    most: int | None = None
