"""Read the journal back: its verified lines, and the changes that each of them handed to the world."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from redis.client import Pipeline

from cogitate.memory.entry import Entry
from cogitate.scheduler.journal.checkpoint import (
    JournalCheckpoint,
    read_checkpoint,
    trimmed_tick,
)
from cogitate.scheduler.journal.ends import Change, changes_of_end
from cogitate.scheduler.journal.lines import Core, JournalError, ReadLine, read_hashes, read_line
from cogitate.scheduler.ledger.run_store import RunStore

PAGE = 50  # lines per round trip; in a busy hour of a town of hundreds, each has 40 KB


class JournalTrimmed(JournalError):
    """The requested lines are no longer in Redis because the journal was trimmed; read the exported files instead."""

    def __init__(self, tick: int, trimmed: int) -> None:
        super().__init__(
            f"tick {tick}: the journal was trimmed, its lines up to tick {trimmed} are no longer in the ledger; "
            "exported lines are in the data folder of the host that ran it, under journal/"
        )


class JournalStep(NamedTuple):
    """A line of the journal, and the checkpoint that follows it, if any."""

    line: ReadLine
    checkpoint: JournalCheckpoint | None
    chain: str  # after both


def read_journal(store: RunStore, first: int, last: int) -> Iterator[ReadLine]:
    """Yield the verified lines of ticks `first` to `last`, read page by page."""
    return (passed.line for passed in pass_journal(store, first, last))


def pass_journal(store: RunStore, first: int, last: int) -> Iterator[JournalStep]:
    """Yield the verified lines of ticks `first` to `last`, each with the verified checkpoint after it."""
    if first > last:
        return
    trimmed = trimmed_tick(store)
    digest, chain = hashes_before(store, first, trimmed)
    tick = first
    while tick <= last:
        trimmed_now, page, checkpoints = _read_page(store, tick - 1 - trimmed, min(tick - 1 + PAGE, last) - 1 - trimmed)
        if int(trimmed_now or 0) != trimmed:
            trimmed = int(trimmed_now)
            if tick <= trimmed:
                raise JournalTrimmed(tick, trimmed)
            continue  # the indexes of the list have shifted
        if not page:
            raise JournalError(f"tick {tick}: the journal has no line for it")
        marked = {int(key) for key in checkpoints}
        for stored in page:
            line = read_line(stored, tick, digest, chain)
            digest, chain = line.digest, line.chain
            checkpoint = None
            if tick in marked:
                entry = store.field("journal_checkpoints", str(tick))
                if entry is not None:  # None: the next page finds that the journal was trimmed
                    checkpoint, chain = read_checkpoint(entry, tick, chain)
            yield JournalStep(line, checkpoint, chain)
            tick += 1


def _read_page(store: RunStore, first: int, last: int) -> list[Any]:
    """Return the trimmed tick of the journal, a range of its list, and the ticks of its checkpoints."""

    def queue(pipeline: Pipeline) -> None:
        pipeline.hget(store.key("state"), "trimmed")
        pipeline.lrange(store.key("journal"), first, last)
        pipeline.hkeys(store.key("journal_checkpoints"))

    return store.read_at_once(queue)


def hashes_before(store: RunStore, first: int, trimmed: int) -> tuple[str, str]:
    """Return digest and chain before the line of a tick.

    Args:
        trimmed: last tick whose line was removed.
    """
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


def changes_of(line: ReadLine) -> Iterator[Change]:
    """Yield the changes that a tick handed to the world, equal to the original ones."""
    for ended, note in line.ends:
        yield from changes_of_end(ended, note, line.core.tick)


def observed_again(seen: Iterable[tuple[str, Entry]], core: Core) -> bool:
    """Return whether these observations equal those of a tick, whether appended, waiting or counted as repeats."""
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
