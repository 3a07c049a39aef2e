"""Constraints of a job's data on its answer, such as the places and people in its prompt.

They narrow the schema of the request. The job's kind checks the answer too: many servers ignore schemas, and some
accept only a plain part (`cogitate.workers.llm.requests.dialect`).
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
