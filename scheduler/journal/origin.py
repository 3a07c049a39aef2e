"""Read the origin of a fork: its source run, the tick of the fork, and the copied journal of the source.

A fork is a complete run from tick 1 on. Its host repeats the source up to the tick of the fork, so its journal is
complete and can be replayed, audited, trimmed and deleted like any other. The fork has copied all that it needs of its
source, which may continue or be deleted.

Keys under the run's prefix:
    state            field "origin": `Origin`, JSON; field "parted": the last tick that repeats the source
    origin_journal   list  the source's lines from tick 1 to its last one when the fork began; deleted once they part
    origin_answers   hash  question -> answer that the source recorded, JSON: see `ledger.recorded_answers`
    origin_outcomes  hash  key of a job -> its result in the source, JSON, for jobs that end after they part
"""

from __future__ import annotations

import itertools
from collections import deque

from cogitate.memory import typed_json
from cogitate.scheduler.journal.changes import Origin
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.journal.lines import JournalError, ReadLine, read_hashes, read_line
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.run_store import RunStore

PAGE = 200  # lines per round trip


def origin_of(store: RunStore) -> Origin | None:
    """Return the origin of a run; None if it is not a fork."""
    kept = store.field("state", "origin")
    return typed_json.decode(kept, Origin) if kept is not None else None


def check_tick(run: str, tick: int, last: int) -> None:
    """Check that a run has reached the tick of a fork.

    Raises:
        LedgerError: if it has not.
    """
    if not 1 <= tick <= last:
        raise LedgerError(f"run {run!r} cannot be forked at tick {tick}: give a tick from 1 to {last}, its last one")


def find_origin(source: RunStore, run: str, tick: int) -> Origin:
    """Return the origin of a fork of a run after one of its ticks.

    Raises:
        LedgerError: if the run has not reached the tick, or the lines before it are no longer in the ledger.
    """
    check_tick(run, tick, last := source.tick())
    if trimmed := trimmed_tick(source):
        raise LedgerError(
            f"run {run!r} cannot be forked: its journal was trimmed up to tick {trimmed}, and a fork repeats all of "
            "it; run with journal_keep unset to fork later"
        )
    digest, chain = read_hashes(source.item("journal", tick - 1), tick)
    return Origin(run=run, incarnation=source.incarnation, tick=tick, last=last, digest=digest, chain=chain)


class SourceJournal:
    """The copied lines of a fork's source. It reads them in order and verifies them."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.last = store.length("origin_journal")
        self._read: deque[ReadLine] = deque()
        self._before: ReadLine | None = None  # the newest forgotten line
        self._next = 0  # the tick after the last line read; 0: none read yet
        self._hashes = "", ""

    def line(self, tick: int) -> ReadLine | None:
        """Return the line of a tick, and forget the lines before it; None after the last one.

        Raises:
            JournalError: if the copy was altered.
        """
        if tick > self.last:
            return None
        while self._read and self._read[0].core.tick < tick:
            self._before = self._read.popleft()
        if not self._read:
            self._load(tick)
        return self._read[0]

    def digest(self, tick: int) -> str:
        """Return the source's digest after a tick."""
        for line in (self._before, *itertools.islice(self._read, 1)):
            if line is not None and line.core.tick == tick:
                return line.digest
        return read_hashes(self._store.item("origin_journal", tick - 1), tick)[0] if tick else ""

    def _load(self, tick: int) -> None:
        if tick != self._next:
            before = self._store.item("origin_journal", tick - 2) if tick > 1 else None
            self._hashes = read_hashes(before, tick - 1) if tick > 1 else ("", "")
        for at, stored in enumerate(self._store.items("origin_journal", tick - 1, tick + PAGE - 2), tick):
            line = read_line(stored, at, *self._hashes)
            self._hashes = line.digest, line.chain
            self._read.append(line)
        if not self._read:
            raise JournalError(f"tick {tick}: the copy of the source's journal has no line for it")
        self._next = self._read[-1].core.tick + 1
