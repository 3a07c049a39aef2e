"""Constraints of a job's data on its answer, such as the places and people in its prompt.

The prompt shows them and the answer is judged by them. They are no part of its schema, which is the same for the jobs
of a kind, so that a provider's prefix cache holds; only for a weak model does the schema hold their choices.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHOICES = 250  # values of one field


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """The values that one field of an answer may have."""

    field: str  # names joined by dots, past lists: "activities.location"
    choices: tuple[str, ...] = ()  # for a text; empty: any
    least: int | None = None  # bounds of a number, or of a text's or a list's length
    most: int | None = None
