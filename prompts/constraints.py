"""Constraints that a job's own material puts on its answer: the places and people that its prompt shows, for example.

They narrow the schema that is sent. Whatever comes back is checked by the job's kind all the same: many servers accept
a schema and ignore it, and some accept no more than its plain part (`cogitate.workers.llm.requests.dialect`).
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_CHOICES = 250  # values of one field; OpenAI limits their total length from there on


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """The values that one field of an answer may have."""

    field: str  # names joined by dots, past lists: "activities.location"
    choices: tuple[str, ...] = ()  # of a text; none: any. An empty text is no choice: Gemini refuses it
    least: int | None = None  # of a number, or of the length of a list
    most: int | None = None
