"""The journal read back: verified lines, what they changed, and what they say of unreadable entries."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from redis import Redis
from redis.client import Pipeline

from cogitate.memory.apply import apply, unmet
from cogitate.memory.entry import Entry
from cogitate.memory.routing.repeats import count_repeat
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import LeftOut, leave_out, unreadable
from cogitate.scheduler.journal.checkpoint import (
    JournalCheckpoint,
    load_base,
    load_checkpoint_streams,
    read_checkpoint,
    trimmed_tick,
)
from cogitate.scheduler.journal.ends import Change, changes_of_end
from cogitate.scheduler.journal.lines import Core, JournalError, ReadLine, read_hashes, read_line
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, load_streams
from cogitate.tasks.job import JobKey

PAGE = 50  # lines a round trip: a busy hour of a town of hundreds takes 40 KB each


class JournalTrimmed(JournalError):
    """The journal was trimmed, so the requested lines are no longer in Redis; read the exported files instead."""

    def __init__(self, tick: int, trimmed: int) -> None:
        super().__init__(
            f"tick {tick}: the journal was trimmed, its lines up to tick {trimmed} are no longer in the ledger; "
            "exported lines are in the data folder of the host that ran it, under journal/"
        )


class JournalStep(NamedTuple):
    """A line of the journal, and the checkpoint that stands behind it, if there is one."""

    line: ReadLine
    checkpoint: JournalCheckpoint | None
    chain: str  # after both


def read_journal(store: RunStore, first: int, last: int) -> Iterator[ReadLine]:
    """Yield the verified lines of ticks `first` to `last`, read page by page."""
    return (passed.line for passed in pass_journal(store, first, last))


def pass_journal(store: RunStore, first: int, last: int) -> Iterator[JournalStep]:
    """Yield the same lines with the verified checkpoints between them."""
    if first > last:
        return
    trimmed = trimmed_tick(store)
    digest, chain = hashes_before(store, first, trimmed)
    tick = first
    while tick <= last:
        found, page, checkpoints = _read_page(store, tick - 1 - trimmed, min(tick - 1 + PAGE, last) - 1 - trimmed)
        if int(found or 0) != trimmed:
            trimmed = int(found)
            if tick <= trimmed:
                raise JournalTrimmed(tick, trimmed)
            continue  # the list has moved under this read
        if not page:
            raise JournalError(f"tick {tick}: the journal has no line for it")
        marked = {int(key) for key in checkpoints}
        for stored in page:
            line = read_line(stored, tick, digest, chain)
            digest, chain = line.digest, line.chain
            checkpoint = None
            if tick in marked:
                entry = store.field("journal_checkpoints", str(tick))
                if entry is not None:  # otherwise it is the next page that finds the journal trimmed
                    checkpoint, chain = read_checkpoint(entry, tick, chain)
            yield JournalStep(line, checkpoint, chain)
            tick += 1


def _read_page(store: RunStore, first: int, last: int) -> list[Any]:
    """Return up to where the journal is trimmed, a range of its list, and the ticks of its checkpoints."""

    def queue(pipeline: Pipeline) -> None:
        pipeline.hget(store.key("state"), "trimmed")
        pipeline.lrange(store.key("journal"), first, last)
        pipeline.hkeys(store.key("journal_checkpoints"))

    return store.read_at_once(queue)


def hashes_before(store: RunStore, first: int, trimmed: int) -> tuple[str, str]:
    """Return digest and chain before the line of a tick, in a journal that was trimmed to `trimmed`."""
    tick = first - 1
    if tick < trimmed:
        raise JournalTrimmed(first, trimmed)
    entry = store.field("journal_checkpoints", str(tick))
    if entry is not None:
        checkpoint, chain = read_checkpoint(entry, tick)
        return checkpoint.digest, chain
    if tick == 0:
        return "", ""
    return read_hashes(store.item("journal", tick - 1 - trimmed), tick)


def redo(line: ReadLine, streams: dict[str, Stream]) -> list[Stream]:
    """Apply one tick of the journal to streams, in the order in which it happened.

    Returns the streams of owners that left with this tick; they are removed from `streams`.

    Raises:
        JournalError: when a precondition has another outcome than before, or the journal changes what does not exist.
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
    """Return the streams of all owners as they were at the end of a tick, those of owners that had left included.

    Raises:
        JournalTrimmed: when the journal begins later.
        JournalError: when it was changed.
    """
    base = load_base(store)
    begun = base.tick if base is not None else 0
    if tick < begun:
        raise JournalTrimmed(tick, begun)
    streams = load_checkpoint_streams(store, base) if base is not None else {}
    left = load_streams(store, [owner.decode() for owner, at in store.mapping("retired").items() if int(at) <= begun])
    for line in read_journal(store, begun + 1, tick):
        left.update((stream.owner, stream) for stream in redo(line, streams))
    return left | streams


def changes_of(line: ReadLine) -> Iterator[Change]:
    """Return the changes that a tick handed to the world, equal to those of its first handing over."""
    for ended, note in line.ends:
        yield from changes_of_end(ended, note, line.core.tick)


def observed_again(seen: Iterable[tuple[str, Entry]], core: Core) -> bool:
    """Return whether these observations are a tick's, each as it was taken in or counted as a repeat."""
    appended, waiting, repeated = deque(core.observed), deque(core.waiting), deque(core.repeated)
    for owner, entry in seen:
        if appended and appended[0] == (owner, entry):
            appended.popleft()
        elif waiting and waiting[0] == (owner, entry):
            waiting.popleft()
        elif repeated and (repeated[0].owner, repeated[0].minute) == (owner, entry.minute):
            repeated.popleft()
        else:
            return False
    return not (appended or waiting or repeated)


def note_served(streams: Mapping[str, Stream], key: JobKey) -> None:
    """Remember when an owner was last served, for the order in which scarce budget is given out."""
    streams[key.owner].set_counter(f"served:{key.kind}", key.tick)


def unreadable_entries_of(client: Redis, run: str) -> list[LeftOut]:
    """Return the unreadable entries of a run, including those of owners that have left.

    Streams with other damage are skipped; the commands that need them report it.
    """
    store = RunStore.open(client, run)
    owners = {*store.fields("owners"), *store.fields("retired")}
    found: list[LeftOut] = []
    for owner in sorted(name.decode() for name in owners):
        with suppress(*UNREADABLE):
            found += unreadable(load_streams(store, [owner]).values())
    return found


def check_kind_wrote(store: RunStore, owner: str, entry: Entry) -> None:
    """Check that an unreadable entry matches its journal: a kind wrote it that way, and nothing changed it since.

    Raises:
        ValueError: when the entry differs.
    """
    if _plain(_as_written(store, owner, entry)) != _plain(entry):
        raise ValueError(f"entry {entry.number} of {owner} differs from the journal")


def _as_written(store: RunStore, owner: str, entry: Entry) -> Entry | None:
    """Return the entry from the line of its tick, or from the checkpoint of a journal that begins later."""
    if entry.tick <= trimmed_tick(store):
        base = load_base(store)
        streams = load_checkpoint_streams(store, base) if base is not None else {}
        return streams[owner].entries.get(entry.number) if owner in streams else None
    for line in read_journal(store, entry.tick, entry.tick):
        for change in changes_of(line):
            if change.entry is not None and (change.owner, change.entry.number) == (owner, entry.number):
                return change.entry
    return None


def _plain(entry: Entry | None) -> object:
    """Return the entry without its later rating."""
    return entry and msgspec.to_builtins(msgspec.structs.replace(entry, importance=0, rated=0))
