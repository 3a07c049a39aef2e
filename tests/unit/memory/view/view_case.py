"""A view of a stream that a test builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cogitate.memory.clock import USUAL, Clock
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.retrieval.similarity import Similarity
from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView

ADA, BEN, CY = "agent:ada", "agent:ben", "agent:cy"
NAMES = {ADA: "Ada Smith", BEN: "Ben Cole", CY: "Cy Dale", "inn": "The Inn"}


@dataclass
class StreamSource:
    """A stream at a game time."""

    kept: Stream
    at: int = 1_000
    choice: ProfileChoice = "default"
    known: Mapping[str, str] = field(default_factory=lambda: NAMES)

    def stream(self) -> Stream:
        return self.kept

    def minute(self) -> int:
        return self.at

    def clock(self) -> Clock:
        return USUAL

    def names(self) -> Mapping[str, str]:
        return self.known

    def profile(self) -> ProfileChoice:
        return self.choice


def view_of(
    stream: Stream, minute: int = 1_000, *, choice: ProfileChoice = "default", similarity: Similarity | None = None
) -> MemoryView:
    """A view at a game time of a run with this retrieval profile."""
    return MemoryView(stream.owner, StreamSource(stream, minute, choice), similarity)
