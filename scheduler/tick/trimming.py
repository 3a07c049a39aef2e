"""Trim the journal: write checkpoints, export lines, remove them. All steps are fenced and happen between two ticks.

At the first tick of each game day, the trimmer writes a checkpoint (`cogitate.scheduler.journal.checkpoint`). It
removes the lines up to a checkpoint once `keep` whole game days have passed since and the world has given a later
checkpoint of its own, because a resumed world gets the ticks since its last checkpoint again. So the journal of a world
without checkpoints is never trimmed. Unless export is off, lines are exported to files
(`cogitate.scheduler.journal.exported`) before their removal.

A host may die between any two steps: the next host rewrites the checkpoint of the same tick, exports the same bytes
again, or finds everything done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import structlog
from redis.exceptions import RedisError

from cogitate.memory.clock import day_of
from cogitate.memory.snapshot import dump
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.checkpoint import (
    JournalCheckpoint,
    content_hash,
    load_checkpoint,
    packed,
    trimmed_tick,
    write_checkpoint,
)
from cogitate.scheduler.journal.exported import ExportedJournal, exported_entry
from cogitate.scheduler.journal.history import PAGE, read_journal
from cogitate.scheduler.journal.lines import JournalError, unpack_line, verified
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.scheduler.tick.commit import Position

log = structlog.get_logger()

STEP_BYTES = 1_000_000  # approximate size of the streams in one step


class JournalTrimmer:
    """Trims one run's journal.

    Args:
        keep: whole game days whose lines stay in the ledger, at least 1.
        exported: destination of removed lines; None: no export.
    """

    def __init__(self, ledger: HostLedger, state: RunState, *, keep: int, exported: ExportedJournal | None) -> None:
        self._ledger = ledger
        self._state = state
        self._keep = keep
        self._exported = exported
        self._trimmed = trimmed_tick(ledger.store)
        kept = ledger.store.fields("journal_checkpoints")
        self._checkpoints = sorted(int(tick) for tick in kept)
        self._refused = 0  # tick of a checkpoint whose lines could not be exported; the next checkpoint retries

    @property
    def unexported(self) -> bool:
        """Return whether lines remain in the ledger because their export failed."""
        return self._refused > self._trimmed

    def trim_reachable(self, at: Position, windows: Collection[str]) -> str:
        """Trim, unless the ledger is away, or unreadable memories were left out and no tick has journalled this yet."""
        ledger = self._ledger
        if not (ledger.away or self._state.left_out):
            try:
                return self.trim(at, windows)
            except RedisError as error:
                if ledger.outage is None:
                    raise
                ledger.outage.missed(error)  # a later tick retries
        return at.chain

    def trim(self, at: Position, windows: Collection[str]) -> str:
        """Write a checkpoint or remove lines, whichever is due, and return the chain after it.

        Raises:
            Fenced: if another host has taken the run.
            JournalError: if a line was altered; it is not removed.
        """
        day = self._day(at.tick)
        behind = (t for t in self._checkpoints if t <= at.checkpoint_tick and self._day(t) + self._keep <= day)
        base = max(behind, default=0)
        if base > self._trimmed and base != self._refused:
            self._remove(base)  # first, to free memory before writing
        if day > self._day(max(self._checkpoints, default=0)):
            return self._write_checkpoint(at, windows)
        return at.chain

    def _day(self, tick: int) -> int:
        return day_of(self._state.facts.minute(tick))

    def _write_checkpoint(self, at: Position, windows: Collection[str]) -> str:
        store, tick = self._ledger.store, at.tick
        before = load_checkpoint(store, max(self._checkpoints, default=0))
        totals = before.totals if before is not None else RunTotals()
        for line in read_journal(store, totals.tick + 1, tick):
            totals.add(line)
        totals.forget(windows)
        retired = dict(before.retired) if before is not None else {}
        left = sorted(self._state.retired - retired.keys())
        retired |= {owner: content_hash(dump(s)) for owner, s in load_streams(store, left).items()}
        streams: dict[str, str] = {}
        part: dict[str, bytes] = {}
        for owner, stream in sorted(self._state.streams.items()):
            body = dump(stream)
            streams[owner], part[owner] = content_hash(body), packed(body)
            if sum(map(len, part.values())) >= STEP_BYTES:
                self._ledger.checkpoint(tick, part)
                part = {}
        entry, chain = write_checkpoint(
            JournalCheckpoint(
                v=SCHEMA, tick=tick, digest=at.digest, after=at.chain, totals=totals, streams=streams, retired=retired
            )
        )
        self._ledger.checkpoint(tick, part, entry=entry, chain=chain)
        self._checkpoints.append(tick)
        log.info("journal.checkpoint", run=self._ledger.run, tick=tick)
        return chain

    def _remove(self, base: int) -> None:
        if self._exported is not None:
            try:
                self._exported.write(self._trimmed + 1, base, self._entries(base))
            except OSError as error:
                self._refused = base
                log.warning("journal.not_exported", run=self._ledger.run, upto=base, error=str(error))
                return
        self._ledger.trim(base)
        log.info("journal.trimmed", run=self._ledger.run, first=self._trimmed + 1, upto=base)
        self._trimmed = base
        self._checkpoints = [at for at in self._checkpoints if at >= base]

    def _entries(self, base: int) -> Iterator[bytes]:
        """Yield the entries to remove, in order, after verifying their chain."""
        store = self._ledger.store
        before = load_checkpoint(store, self._trimmed)
        check = _chain_check("" if before is None else unpack_line(self._checkpoint(self._trimmed))[0])
        for start in range(self._trimmed, base, PAGE):
            page = store.items("journal", start - self._trimmed, min(start + PAGE, base) - 1 - self._trimmed)
            for tick, stored in enumerate(page, start + 1):
                yield exported_entry(*check(tick, stored), "line")
                if tick in self._checkpoints:
                    yield exported_entry(*check(tick, self._checkpoint(tick)), "checkpoint")

    def _checkpoint(self, tick: int) -> bytes:
        return self._ledger.store.field("journal_checkpoints", str(tick)) or b""


def _chain_check(chain: str) -> Callable[[int, bytes], tuple[str, bytes]]:
    """Return a function that checks that each entry follows the previous one in the chain, beginning with `chain`."""

    def check(tick: int, stored: bytes) -> tuple[str, bytes]:
        nonlocal chain
        try:
            chain, body = verified(stored, chain)
        except JournalError as error:
            raise JournalError(f"tick {tick}: {error}; its lines up to here are not removed") from error
        return chain, body

    return check
