"""What `cogitate memory` notes beside an entry."""

from __future__ import annotations

from types import SimpleNamespace

from cogitate.memory.entry import Entry, Marks
from cogitate.memory.stream import Stream
from cogitate.ops.commands.memory import _notes


def test_repeats_and_uses_are_told() -> None:
    stream = Stream("agent:ada")
    stream.append(Entry(type="observation", text="The stove is idle.", minute=480), 1)
    kept = SimpleNamespace(stream=stream)
    (entry,) = stream.entries.values()
    assert _notes(kept, entry) == ""
    stream.mark(1, Marks(repeats=2, last_repeat=600, accesses=1))
    assert _notes(kept, entry) == "3 times, last at 10:00 AM, used once"
