"""Files with the removed lines of a journal: JSON Lines in `<data_dir>/journal/<run>-<incarnation>/`.

A file is named after its ticks. Each of its lines is an object with the `chain` after an entry and the entry itself,
the `line` of a tick or a `checkpoint`, byte for byte as it was chained. So the files alone can be verified from tick 1
on.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.journal.checkpoint import read_checkpoint, trimmed_tick
from cogitate.scheduler.journal.history import PAGE, JournalStep, read_journal
from cogitate.scheduler.journal.lines import JournalError, ReadLine, read_line, unpack_line
from cogitate.scheduler.journal.private_files import PART, private_file
from cogitate.scheduler.ledger.run_store import RunStore

FOLDER = "journal"  # in the data folder
_NAME = re.compile(r"(\d{10})-(\d{10})\.jsonl")
_NONCE = re.compile(r"[0-9a-f]{16}")


class ExportedEntry(msgspec.Struct, frozen=True):
    """One line of a file: the line of a tick or a checkpoint, and the chain after it."""

    chain: str
    line: msgspec.Raw = msgspec.Raw()
    checkpoint: msgspec.Raw = msgspec.Raw()

    def raw(self) -> bytes:
        """Return the entry in its written form, without the end of the line."""
        kind = "checkpoint" if bytes(self.checkpoint) else "line"
        return exported_entry(self.chain, bytes(self.checkpoint) or bytes(self.line), kind)[:-1]


_ENTRY = typed_json.decoder(ExportedEntry)


def journal_folder(data_dir: Path, run: str, incarnation: str) -> Path:
    """Return the folder for the removed lines of a run's journal."""
    return data_dir / FOLDER / f"{run}-{incarnation}"


def exported_journal(client: Redis, data_dir: Path, run: str) -> ExportedJournal:
    """Return the exported journal of a run's present incarnation."""
    incarnation = RunStore.open(client, run).incarnation
    return ExportedJournal(journal_folder(data_dir, run, incarnation))


def all_lines(client: Redis, data_dir: Path, run: str) -> Iterator[ReadLine]:
    """Yield the verified lines of a run, including trimmed ones if its files are complete."""
    store = RunStore.open(client, run)
    tick = store.tick()
    trimmed = trimmed_tick(store)
    removed = exported_journal(client, data_dir, run)
    if removed.covers(trimmed):
        yield from (passed.line for passed in removed.passed(trimmed))
    yield from read_journal(store, trimmed + 1, tick)


def remove_exported(data_dir: Path, run: str) -> int:
    """Remove the exported lines of a run and its earlier incarnations, and return the number of files."""
    removed = 0
    for folder in sorted((data_dir / FOLDER).glob(f"{run}-*")):
        if _NONCE.fullmatch(folder.name.removeprefix(f"{run}-")):
            removed += len(list(folder.iterdir()))
            shutil.rmtree(folder)
    return removed


def read_entry(raw: bytes) -> ExportedEntry:
    """Decode one line of a file without verifying it.

    Raises:
        msgspec.DecodeError: when it cannot be read.
    """
    return _ENTRY.decode(raw)


def steps_of(entries: Iterable[ExportedEntry]) -> Iterator[JournalStep]:
    """Yield the verified lines of a journal from tick 1 on, each with the checkpoint after it.

    Raises:
        JournalError: at the first entry that does not follow from those before it.
    """
    digest = chain = ""
    tick = 0
    waiting: JournalStep | None = None  # the last step, whose checkpoint may follow
    for entry in entries:
        if bytes(entry.checkpoint) and waiting is not None:
            checkpoint, chain = read_checkpoint(_stored(entry.chain, entry.checkpoint), tick, chain)
            waiting = JournalStep(waiting.line, checkpoint, chain)
            continue
        if waiting is not None:
            yield waiting
        tick += 1
        line = read_line(_stored(entry.chain, entry.line), tick, digest, chain)
        digest, chain = line.digest, line.chain
        waiting = JournalStep(line, None, chain)
    if waiting is not None:
        yield waiting


def entries_of(client: Redis, data_dir: Path, run: str, last: int) -> Iterator[ExportedEntry]:
    """Yield the unverified entries of a run's journal from tick 1 to `last`; trimmed ones come from its files.

    Raises:
        JournalError: if the journal was trimmed and its files are incomplete.
    """
    store = RunStore.open(client, run)
    if trimmed := trimmed_tick(store):
        yield from exported_journal(client, data_dir, run).entries(trimmed)
    marks = {int(tick) for tick in store.fields("journal_checkpoints") if int(tick) > trimmed}
    for first in range(trimmed, last, PAGE):
        page = store.items("journal", first - trimmed, min(first + PAGE, last) - 1 - trimmed)
        if trimmed_tick(store) != trimmed:
            raise JournalError(f"tick {first + 1}: the journal was trimmed during the reading; read it again")
        for tick, stored in enumerate(page, first + 1):
            chain, body = unpack_line(stored)
            yield ExportedEntry(chain, line=msgspec.Raw(body))
            if tick in marks and (kept := store.field("journal_checkpoints", str(tick))) is not None:
                chain, body = unpack_line(kept)
                yield ExportedEntry(chain, checkpoint=msgspec.Raw(body))


def exported_entry(chain: str, body: bytes, kind: str) -> bytes:
    """Return a chained entry as a line of a file.

    Args:
        body: the entry's JSON.
        kind: "line" or "checkpoint".
    """
    return b'{"chain":"%b","%b":%b}\n' % (chain.encode(), kind.encode(), body)


class ExportedJournal:
    """The exported journal of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, first: int, last: int, entries: Iterable[bytes]) -> None:
        """Write the entries of some ticks to a file, which gets its name once all of them are on disk.

        Raises:
            OSError: if they cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / f"{first:010d}-{last:010d}.jsonl"
        for unfinished in self.folder.glob(f"*{PART}"):  # of a host that was killed
            unfinished.unlink()
        with private_file(path) as file:
            file.writelines(entries)
        for folder in (self.folder, self.folder.parent):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def covers(self, last: int) -> bool:
        """Return whether every tick from 1 to `last` is in a file."""
        tick = 0
        for first, end, _ in self._files():
            if first != tick + 1:
                return False
            tick = end
        return tick >= last

    def passed(self, last: int) -> Iterator[JournalStep]:
        """Yield the verified lines of ticks 1 to `last`, with the checkpoints between them."""
        yield from steps_of(self.entries(last))

    def entries(self, last: int) -> Iterator[ExportedEntry]:
        """Yield the unverified entries of ticks 1 to `last`.

        Raises:
            JournalError: if a file cannot be read, or no file has a tick.
        """
        tick = 0
        for _, _, path in self._files():
            with path.open("rb") as file:
                for raw in file:
                    try:
                        entry = read_entry(raw)
                    except msgspec.DecodeError as error:
                        raise JournalError(f"tick {tick + 1}: {path} cannot be read: {error}") from error
                    if not bytes(entry.checkpoint):
                        if tick == last:
                            return
                        tick += 1
                    yield entry
        if tick < last:
            raise JournalError(f"tick {tick + 1}: no file in {self.folder} has it")

    def _files(self) -> list[tuple[int, int, Path]]:
        files = []
        for path in sorted(self.folder.glob("*.jsonl")):
            name = _NAME.fullmatch(path.name)
            if name is not None:
                files.append((int(name[1]), int(name[2]), path))
        return files


def _stored(chain: str, body: msgspec.Raw) -> bytes:
    return chain.encode() + b" " + bytes(body)
