"""A journal of twelve ticks, for tests of who reads it, takes parts of it into files and removes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fakeredis import FakeRedis

from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.journal.checkpoint import JournalCheckpoint, content_hash, write_checkpoint
from cogitate.scheduler.journal.exported import ExportedJournal, exported_entry
from cogitate.scheduler.journal.lines import Core, TickNotes, unpack_line, write_line
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen

LENGTH, NONCE = 12, "0123456789abcdef"


def stream(owner: str, *texts: str) -> Stream:
    made = Stream(owner)
    for text in texts:
        made.append(seen(text), 1)
    return made


STREAMS = {owner: stream(owner, "A tree.") for owner in (ANN, BOB)}


def checkpoint(
    tick: int,
    digest: str,
    chain: str,
    retired: Mapping[str, str] | None = None,
    streams: Mapping[str, Stream] = STREAMS,
) -> JournalCheckpoint:
    hashes = {owner: content_hash(dump(one)) for owner, one in streams.items()}
    return JournalCheckpoint(
        v=SCHEMA,
        tick=tick,
        digest=digest,
        after=chain,
        totals=RunTotals(tick=tick),
        streams=hashes,
        retired=dict(retired or {}),
    )


class Journal:
    """A journal of twelve ticks with checkpoints behind some of them, as a ledger or as files hold it."""

    def __init__(
        self,
        marked: Sequence[int] = (4, 8),
        retired: Mapping[str, str] | None = None,
        streams: Mapping[str, Stream] = STREAMS,
    ) -> None:
        self.lines: list[bytes] = []
        self.checkpoints: dict[int, bytes] = {}
        self.chains: list[str] = []
        digest = chain = ""
        for tick in range(1, LENGTH + 1):
            line, digest, chain = write_line(Core(tick=tick, minute=tick), TickNotes(epoch=1), digest, chain, SCHEMA)
            self.lines.append(line)
            if tick in marked:
                self.checkpoints[tick], chain = write_checkpoint(checkpoint(tick, digest, chain, retired, streams))
            self.chains.append(chain)

    def store(self, trimmed: int = 0) -> RunStore:
        client = FakeRedis()
        client.sadd(RUNS, "town")
        client.set(incarnation_key("town"), NONCE)
        store = RunStore.of(client, "town", NONCE)
        client.hset(store.key("state"), mapping={"tick": LENGTH, "schema": SCHEMA, "trimmed": trimmed})
        if trimmed < LENGTH:
            client.rpush(store.key("journal"), *self.lines[trimmed:])
        for tick, entry in self.checkpoints.items():
            if tick >= trimmed:
                client.hset(store.key("journal_checkpoints"), str(tick), entry)
        return store

    def entries(self, first: int, last: int) -> list[bytes]:
        found = []
        for tick in range(first, last + 1):
            found.append(exported_entry(*unpack_line(self.lines[tick - 1]), "line"))
            if tick in self.checkpoints:
                chain, _, body = self.checkpoints[tick].partition(b" ")
                found.append(exported_entry(chain.decode(), body, "checkpoint"))
        return found

    def files(self, folder: Path, *parts: tuple[int, int]) -> ExportedJournal:
        exported = ExportedJournal(folder)
        for first, last in parts:
            exported.write(first, last, self.entries(first, last))
        return exported
