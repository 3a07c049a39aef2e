"""A journal in Redis page by page, its checkpoints, and what was taken out of it into files: all of it, or an error."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cogitate.memory.snapshot import dump
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.journal import history
from cogitate.scheduler.journal.checkpoint import (
    check_streams,
    content_hash,
    load_base,
    load_checkpoint_streams,
    packed,
    read_checkpoint,
    write_checkpoint,
)
from cogitate.scheduler.journal.exported import ExportedJournal, all_lines, journal_folder, remove_exported
from cogitate.scheduler.journal.history import JournalTrimmed, pass_journal, read_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.journal_case import LENGTH, NONCE, STREAMS, Journal, checkpoint, stream
from tests.unit.scheduler.scheduler_case import ANN, BOB


@pytest.fixture
def journal() -> Journal:
    return Journal()


def test_an_export_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    exported = ExportedJournal(tmp_path / "run-1")
    exported.folder.mkdir()
    left = exported.folder / "0000000001-0000000002.part"
    left.write_bytes(b"of a host that was killed")
    left.chmod(0o644)
    exported.write(1, 2, [b"line"])
    (file,) = exported.folder.iterdir()
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"line", 0o600)
    other = ExportedJournal(tmp_path / "run-2")
    other.write(1, 2, [b"line"])
    assert stat.S_IMODE(other.folder.stat().st_mode) == 0o700


# -- in the ledger -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [1, 3, 4, 50])
@pytest.mark.parametrize("trimmed", [0, 4, 8])
def test_a_journal_is_read_between_any_ticks_in_any_pages(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, page: int, trimmed: int
) -> None:
    monkeypatch.setattr(history, "PAGE", page)
    store = journal.store(trimmed)
    for first in range(trimmed + 1, LENGTH + 1):
        for last in (first - 1, first, min(first + 4, LENGTH), LENGTH):
            passed = [*pass_journal(store, first, last)]
            assert [one.line.core.tick for one in passed] == [*range(first, last + 1)]
            assert [one.chain for one in passed] == journal.chains[first - 1 : last]
            marked = [one.line.core.tick for one in passed if one.checkpoint is not None]
            assert marked == [tick for tick in (4, 8) if first <= tick <= last]


def test_removed_and_missing_lines_are_told_apart(journal: Journal) -> None:
    store = journal.store(4)
    with pytest.raises(JournalTrimmed, match=r"tick 4: .* up to tick 4"):
        next(read_journal(store, 4, LENGTH))
    lines = read_journal(store, LENGTH, LENGTH + 1)
    assert next(lines).core.tick == LENGTH
    with pytest.raises(JournalError, match=f"tick {LENGTH + 1}: the journal has no line"):
        next(lines)
    with pytest.raises(JournalError, match="tick 20: the journal has no line"):
        next(read_journal(store, 21, 22))


def test_reading_continues_behind_a_concurrent_trim(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PAGE", 6)
    store = journal.store()
    lines = read_journal(store, 1, LENGTH)
    found = [next(lines).core.tick for _ in range(6)]
    trim(store, 4)
    assert [*found, *(line.core.tick for line in lines)] == [*range(1, LENGTH + 1)]
    lines = read_journal(store, 5, LENGTH)
    next(lines)
    for _ in range(5):
        next(lines)
    trim(store, 8, 4)
    assert [line.core.tick for line in lines] == [11, 12]
    monkeypatch.setattr(history, "PAGE", 1)
    lines = read_journal(store, 9, LENGTH)
    next(lines)
    trim(store, 11, 8)
    with pytest.raises(JournalTrimmed, match="tick 10"):
        next(lines)


class Interrupted:
    """A run's store whose journal is trimmed between two commands of a pipeline."""

    def __init__(self, store: RunStore) -> None:
        self._store, self.trimmed = store, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def pipeline(self) -> Any:
        found = self._store.pipeline()
        execute, asked = found.execute, found.hget

        def hget(*given: Any) -> Any:
            asked(*given)
            first = execute()
            trim(self._store, 4)
            found.execute = lambda: [*first, *execute()]  # type: ignore[misc]
            return found

        found.hget = hget
        return found


def test_how_far_a_journal_is_trimmed_is_read_with_its_lines(journal: Journal) -> None:
    store: Any = Interrupted(journal.store())
    assert [line.core.tick for line in read_journal(store, 1, LENGTH)] == [*range(1, LENGTH + 1)]


def trim(store: RunStore, upto: int, before: int = 0) -> None:
    store.client.ltrim(store.key("journal"), upto - before, -1)
    store.client.hset(store.key("state"), "trimmed", str(upto))


@pytest.mark.parametrize("tick", [1, 5, 9, LENGTH])
def test_a_line_in_the_place_of_another_is_found(journal: Journal, tick: int) -> None:
    journal.lines[tick - 1] = journal.lines[tick % LENGTH]
    with pytest.raises(JournalError, match=f"tick {tick}: "):
        list(read_journal(journal.store(), 1, LENGTH))


# -- checkpoints -------------------------------------------------------------------------------------


def test_a_checkpoint_is_that_of_its_tick_behind_its_line(journal: Journal) -> None:
    entry = journal.checkpoints[4]
    found, chain = read_checkpoint(entry, 4)
    assert (found.tick, chain) == (4, journal.chains[3])
    assert read_checkpoint(entry, 4, found.after) == (found, chain)
    for tick, before in ((5, None), (4, journal.chains[4])):
        with pytest.raises(JournalError, match="checkpoint was changed"):
            read_checkpoint(entry, tick, before)
    with pytest.raises(JournalError, match="checkpoint was changed"):
        read_checkpoint(entry.replace(b'"minute":0', b'"minute":1'), 4)
    with pytest.raises(JournalError, match="cannot be read"):
        read_checkpoint(entry[:-1], 4)


@pytest.mark.parametrize(("newer", "told"), [(0, None), (1, "upgrade Cogitate")])
def test_a_newer_checkpoint_is_refused_by_version(newer: int, told: str | None) -> None:
    entry, chain = write_checkpoint(msgspec.structs.replace(checkpoint(4, "", ""), v=SCHEMA + newer))
    if told is None:
        assert read_checkpoint(entry, 4)[1] == chain
    else:
        with pytest.raises(JournalError, match=told):
            read_checkpoint(entry, 4)


def test_a_trimmed_journal_starts_with_its_mandatory_checkpoint(journal: Journal) -> None:
    assert load_base(journal.store()) is None
    base = load_base(journal.store(4))
    assert base is not None
    assert base.tick == 4
    store = journal.store(4)
    store.client.hdel(store.key("journal_checkpoints"), "4")
    with pytest.raises(JournalError, match=r"tick 4: .* its checkpoint is missing"):
        load_base(store)


@pytest.mark.parametrize("page", [1, 2, 100])
def test_the_streams_of_a_checkpoint_are_read_back_whole_or_not_at_all(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("cogitate.scheduler.journal.checkpoint.PAGE", page)
    store, base = journal.store(4), checkpoint(4, "", "")
    parts = {owner: packed(dump(one)) for owner, one in STREAMS.items()}
    store.client.hset(store.checkpoint_streams_key(4), mapping=parts)
    found = load_checkpoint_streams(store, base)
    assert {owner: dump(one) for owner, one in found.items()} == {owner: dump(one) for owner, one in STREAMS.items()}
    for harm in (packed(dump(STREAMS[ANN])), b"odd", None):
        if harm is None:
            store.client.hdel(store.checkpoint_streams_key(4), BOB)
        else:
            store.client.hset(store.checkpoint_streams_key(4), BOB, harm)
        with pytest.raises(JournalError, match=f"tick 4: the stream of '{BOB}'"):
            load_checkpoint_streams(store, base)


def test_rebuilt_streams_include_those_of_former_owners() -> None:
    gone, older = stream("agent:cy", "A bee."), stream("agent:di", "An owl.")
    hashes = {one.owner: content_hash(dump(one)) for one in (gone, older)}
    base = msgspec.structs.replace(checkpoint(4, "", ""), retired={"agent:di": hashes["agent:di"]})
    later = msgspec.structs.replace(checkpoint(8, "", ""), retired=hashes)
    check_streams(later, STREAMS, {"agent:cy": gone}, base)
    for streams, retired, known, owner in (
        (STREAMS | {BOB: stream(BOB, "A cow.")}, {"agent:cy": gone}, base, BOB),
        ({ANN: STREAMS[ANN]}, {"agent:cy": gone}, base, BOB),
        (STREAMS | {"agent:new": stream("agent:new")}, {"agent:cy": gone}, base, "agent:new"),
        (STREAMS, {}, base, "agent:cy"),
        (STREAMS, {"agent:cy": stream("agent:cy", "A cow.")}, base, "agent:cy"),
        (STREAMS, {"agent:cy": gone}, None, "agent:di"),
        ({owner: stream(owner, "A cow.") for owner in (BOB, "agent:zoe", ANN)}, {"agent:cy": gone}, base, ANN),
    ):
        with pytest.raises(JournalError, match=f"tick 8: the stream of '{owner}'"):
            check_streams(later, streams, retired, known)


# -- in files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [[(1, 12)], [(1, 4), (5, 8), (9, 12)], [(1, 5), (6, 12)]])
@pytest.mark.parametrize("last", [1, 4, 5, 11, 12])
def test_exports_hold_trimmed_lines_and_checkpoints(
    journal: Journal, tmp_path: Path, parts: list[tuple[int, int]], last: int
) -> None:
    passed = [*journal.files(tmp_path / "of", *parts).passed(last)]
    assert [one.line.core.tick for one in passed] == [*range(1, last + 1)]
    assert [one.chain for one in passed] == journal.chains[:last]
    assert [one.line.core.tick for one in passed if one.checkpoint] == [tick for tick in (4, 8) if tick <= last]


def test_a_file_counts_when_all_of_it_is_there(journal: Journal, tmp_path: Path) -> None:
    exported = journal.files(tmp_path, (1, 4))

    def breaks_off() -> Iterator[bytes]:
        yield journal.entries(5, 5)[0]
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        exported.write(5, 8, breaks_off())
    assert [path.name for path in tmp_path.iterdir()] == ["0000000001-0000000004.jsonl"], "no part is left"
    assert (exported.covers(4), exported.covers(5)) == (True, False)
    exported.write(5, 8, journal.entries(5, 8))
    assert exported.covers(8)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "0000000001-0000000004.jsonl",
        "0000000005-0000000008.jsonl",
    ]


def test_a_file_is_on_the_disk_before_it_counts_and_so_are_its_folders_after(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bytes]] = []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        flushed.append((path.name, path.read_bytes() if path.is_file() else b""))
        assert (tmp_path / "of" / "town" / "0000000001-0000000004.jsonl").exists() is path.is_dir()

    monkeypatch.setattr("cogitate.scheduler.journal.exported.os.fsync", fsync)
    journal.files(tmp_path / "of" / "town", (1, 4))
    whole = b"".join(journal.entries(1, 4))
    assert flushed == [(f".{os.getpid()}.part", whole), ("town", b""), ("of", b"")]


@pytest.mark.parametrize(
    ("parts", "last", "covered"),
    [
        ([], 0, True),
        ([], 1, False),
        ([(1, 4)], 4, True),
        ([(1, 4)], 5, False),
        ([(1, 4), (6, 8)], 8, False),
        ([(2, 8)], 8, False),
        ([(1, 4), (5, 8)], 6, True),
    ],
)
def test_exports_cover_their_ticks_without_a_gap(
    journal: Journal, tmp_path: Path, parts: list[tuple[int, int]], last: int, covered: bool
) -> None:
    (tmp_path / "notes.jsonl").write_text("of somebody else")
    assert journal.files(tmp_path, *parts).covers(last) is covered


def test_an_export_that_starts_with_a_checkpoint_lacks_its_first_line(journal: Journal, tmp_path: Path) -> None:
    exported = journal.files(tmp_path / "headless", (1, 12))
    (path,) = exported.folder.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if b'"checkpoint":{' in line)
    path.write_bytes(b"".join(lines[first:]))
    with pytest.raises(JournalError, match="tick 1: "):
        list(exported.passed(12))


def test_a_changed_or_missing_line_of_a_file_is_named_by_its_tick(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"tick 5: no file in .* has it"):
        list(journal.files(tmp_path / "short", (1, 4)).passed(5))
    for tick, change in ((6, b'"minute":6'), (1, b'"minute":1')):
        exported = journal.files(tmp_path / f"changed{tick}", (1, 12))
        (path,) = exported.folder.iterdir()
        path.write_bytes(path.read_bytes().replace(change + b"}", b'"minute":7}'))
        with pytest.raises(JournalError, match=f"tick {tick}: the journal was changed"):
            list(exported.passed(12))
    exported = journal.files(tmp_path / "broken", (1, 4))
    (path,) = exported.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(JournalError, match="cannot be read"):
        list(exported.passed(4))


def test_a_runs_lines_come_from_its_files_and_its_ledger_together(journal: Journal, tmp_path: Path) -> None:
    store = journal.store(8)
    folder = journal_folder(tmp_path, "town", NONCE)
    journal.files(folder, (1, 4))
    assert [line.core.tick for line in all_lines(store.client, tmp_path, "town")] == [*range(9, 13)]
    journal.files(folder, (5, 8))
    assert [line.core.tick for line in all_lines(store.client, tmp_path, "town")] == [*range(1, 13)]


def test_with_a_run_go_the_files_of_all_its_incarnations_and_of_no_other_run(journal: Journal, tmp_path: Path) -> None:
    for run, nonce in (("town", NONCE), ("town", "f" * 16), ("town-hall", NONCE), ("town", "notes")):
        journal.files(journal_folder(tmp_path, run, nonce), (1, 2), (3, 4))
    assert remove_exported(tmp_path, "town") == 4
    assert sorted(path.name for path in (tmp_path / "journal").iterdir()) == [f"town-hall-{NONCE}", "town-notes"]
