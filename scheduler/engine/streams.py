"""The streams of a run's owners, and those that changed since they were written."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.memory.stream import Stream


class Streams(dict[str, Stream]):
    """A stream for each owner. Each reports that it changes, so that nobody has to look at all of them."""

    def __init__(self, streams: Mapping[str, Stream] | None = None) -> None:
        super().__init__()
        self._changed: set[str] = set()
        for owner, stream in (streams or {}).items():
            self[owner] = stream

    def __setitem__(self, owner: str, stream: Stream) -> None:
        super().__setitem__(owner, stream)
        stream.report_to(self._changed)

    @property
    def changed(self) -> list[str]:
        """The owners of streams that changed since `take_changed`, in order."""
        return sorted(self._changed & self.keys())

    def take_changed(self) -> tuple[Stream, ...]:
        """Return the streams that changed since the last call, by owner."""
        found = tuple(self[owner] for owner in self.changed)
        self._changed.clear()
        return found
