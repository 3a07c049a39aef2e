"""Constraints of a job's data on its answer, such as the places and people in its prompt.

They narrow the schema of the request. The kind checks the answer as well: many servers ignore schemas, and some
accept only a plain part (`cogitate.workers.llm.requests.dialect`).
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHOICES = 250  # values of one field; above this, OpenAI limits their total length


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """The values that one field of an answer may have."""

    field: str  # names joined by dots, past lists: "activities.location"
    choices: tuple[str, ...] = ()  # for a text; empty: any. Gemini rejects an empty text as a value
    least: int | None = None  # bounds of a number, or of a list's length
    most: int | None = None
