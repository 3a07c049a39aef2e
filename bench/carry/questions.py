"""Questions with known answers: what a memory is asked, and which of its entries contain the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cogitate.memory.entry import Entry


@dataclass(frozen=True)
class Question:
    """A question, and the numbers of the entries that an answer needs."""

    text: str
    kind: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class Asked:
    """One memory, in order of number, and the questions about it."""

    name: str
    entries: Sequence[Entry]
    questions: tuple[Question, ...]

    @property
    def now(self) -> int:
        """Return the game time at which the questions are asked."""
        return self.entries[-1].minute
