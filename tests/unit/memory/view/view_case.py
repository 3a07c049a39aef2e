"""A view of a stream that a test builds."""

from __future__ import annotations

from cogitate.memory.clock import USUAL
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.retrieval.similarity import Similarity
from cogitate.memory.stream import Stream
from cogitate.memory.view import MemoryView, Present

ADA, BEN, CY = "agent:ada", "agent:ben", "agent:cy"
NAMES = {ADA: "Ada Smith", BEN: "Ben Cole", CY: "Cy Dale", "inn": "The Inn"}


def view_of(
    stream: Stream, minute: int = 1_000, *, choice: ProfileChoice = "default", similarity: Similarity | None = None
) -> MemoryView:
    """A view at a game time of a run with this retrieval profile."""
    return MemoryView(stream.owner, lambda: stream, lambda: Present(minute, USUAL, NAMES, choice), similarity)
