"""A host's read-only view of an owner's memory while its run is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cogitate.memory.clock import Clock
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.run_state import RunState


@dataclass(frozen=True)
class LiveMemory:
    """The stream of one owner in the state of an open run."""

    state: RunState
    owner: str
    boundary: Callable[[], int]  # the tick of the last boundary; it refuses a fork of the process

    def stream(self) -> Stream:
        """Return the stream; an empty one until the tick with which the owner joins is committed.

        Raises:
            InputError: when the owner has left, and its memory with it.
        """
        self.boundary()
        if self.owner in self.state.retired:
            raise InputError(
                f"owner {quoted(self.owner)} has left this run: its memory is in the ledger (`cogitate memory`)"
            )
        return self.state.streams.get(self.owner) or Stream(self.owner)

    def minute(self) -> int:
        """Return the game time of the last boundary."""
        return self.state.facts.minute(self.boundary())

    def clock(self) -> Clock:
        """Return the clock of the run."""
        return self.state.facts.clock

    def names(self) -> Mapping[str, str]:
        """Return the display names of owners and places."""
        return self.state.world().display_names

    def profile(self) -> ProfileChoice:
        """Return the retrieval profile that the run keeps."""
        return self.state.facts.profile
