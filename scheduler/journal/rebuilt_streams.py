"""Rebuild the streams of owners from the lines of a journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cogitate.memory.apply import apply, unmet
from cogitate.memory.routing.repeats import count_repeat
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out
from cogitate.scheduler.journal.checkpoint import JournalCheckpoint, check_streams, load_base, load_checkpoint_streams
from cogitate.scheduler.journal.history import JournalStep, JournalTrimmed, read_journal
from cogitate.scheduler.journal.lines import Core, JournalError, ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.tasks.job import JobKey


@dataclass
class RebuiltStreams:
    """The streams that result from the lines of a journal."""

    here: dict[str, Stream] = field(default_factory=dict)  # of present owners
    base: JournalCheckpoint | None = None  # the checkpoint at which the rebuilding began; None: it began at tick 1
    left: dict[str, Stream] = field(default_factory=dict)  # of owners that left after the base

    def all(self) -> dict[str, Stream]:
        """Return the streams of present and former owners."""
        return self.left | self.here

    def add(self, step: JournalStep) -> list[Stream]:
        """Apply the next tick, compare with its checkpoint, and return the streams of owners that left with it.

        Raises:
            JournalError: if the tick does not follow from those before it.
        """
        gone = redo(step.line, self.here)
        self.left |= {stream.owner: stream for stream in gone}
        if step.checkpoint is not None:
            check_streams(step.checkpoint, self.here, self.left, self.base)
        return gone


def redo(line: ReadLine, streams: dict[str, Stream]) -> list[Stream]:
    """Apply one tick of the journal to streams, in the original order.

    Returns:
        The streams of owners that left with this tick; they are removed from `streams`.

    Raises:
        JournalError: if a precondition has another outcome than in the run, or the journal changes a missing object.
    """
    try:
        return _redo(line.core, streams)
    except LookupError as error:
        raise JournalError(f"tick {line.core.tick}: the journal changes what does not exist: {error!r}") from error


def _redo(core: Core, streams: dict[str, Stream]) -> list[Stream]:
    for owner, numbers in core.unread:
        leave_out(streams[owner], numbers, core.tick)
    for ended in core.ends:
        failed = unmet(streams, ended.effects)
        if (failed is not None) != (ended.end == "stale"):
            raise JournalError(
                f"tick {core.tick}: job {ended.key.text()} ended {ended.end}, but: {failed or 'all holds'}"
            )
        if failed is None:
            apply(streams, ended.effects, core.tick)
    for owner, _ in core.joined:
        streams[owner] = Stream(owner)
    apply(streams, core.world_effects, core.tick)
    for owner, entry in core.observed:
        streams[owner].append(entry, core.tick)
    for owner, entry in core.waiting:
        streams[owner].wait(entry)
    for repeat in core.repeated:
        count_repeat(streams[repeat.owner], repeat.number, repeat.minute, repeat.importance)
    for rated in core.rated:
        streams[rated.owner].rate(rated.number, rated.importance, core.tick)
    apply(streams, core.cuts, core.tick)
    for owner, numbers in core.deleted:
        streams[owner].delete(numbers)
    for decided in core.decided:
        if decided.decision == "admitted":
            note_served(streams, decided.key)
    return [streams.pop(owner) for owner in core.left]


def streams_at(store: RunStore, tick: int) -> dict[str, Stream]:
    """Return the streams of all owners at the end of a tick, including those of owners that had left.

    Raises:
        JournalTrimmed: if the journal begins later.
        JournalError: if it was altered.
    """
    base = load_base(store)
    begun = base.tick if base is not None else 0
    if tick < begun:
        raise JournalTrimmed(tick, begun)
    streams = load_checkpoint_streams(store, base)
    left = load_streams(store, [owner.decode() for owner, at in store.mapping("retired").items() if int(at) <= begun])
    for line in read_journal(store, begun + 1, tick):
        left.update((stream.owner, stream) for stream in redo(line, streams))
    return left | streams


def note_served(streams: Mapping[str, Stream], key: JobKey) -> None:
    """Record when an owner was last served; admission serves the least recently served owner first."""
    streams[key.owner].set_counter(f"served:{key.kind}", key.tick)
