"""Readers of a whole run: a replay from its journal, and a snapshot of its accounts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.memory.entry import Marks
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.snapshot import TRIES, take_snapshot
from cogitate.scheduler.journal.checkpoint import packed
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from tests.unit.scheduler.journal_case import LENGTH, Journal, stream
from tests.unit.scheduler.scheduler_case import ANN, BOB


def run(journal: Journal, trimmed: int = 0) -> RunStore:
    """A run whose state says where its journal ends."""
    store = journal.store(trimmed)
    *_, last = read_journal(journal.store(), 1, LENGTH)
    store.client.hset(store.key("state"), mapping={"digest": last.digest, "chain": journal.chains[-1]})
    return store


@pytest.fixture
def whole() -> Journal:
    return Journal(marked=())


def test_a_replay_reaches_the_state_of_its_run(whole: Journal) -> None:
    store = run(whole)
    found = replay(store.client, "town", FakeRedis())
    assert (found.ticks, found.first, found.chain) == (LENGTH, 1, whole.chains[-1])
    assert found.digest == (store.field("state", "digest") or b"").decode()


def test_a_replay_needs_an_empty_database(whole: Journal) -> None:
    full = FakeRedis()
    full.set("x", 1)
    with pytest.raises(ValueError, match="empty"):
        replay(run(whole).client, "town", full)


@pytest.mark.parametrize("field", ["digest", "chain"])
def test_a_run_with_another_state_does_not_agree(whole: Journal, field: str) -> None:
    store = run(whole)
    store.client.hset(store.key("state"), field, "0" * 32)
    with pytest.raises(JournalError, match=f"tick {LENGTH}: the journal ends with digest"):
        replay(store.client, "town", FakeRedis())


def test_a_journal_longer_than_its_run_does_not_agree(whole: Journal) -> None:
    store = run(whole)
    store.client.rpush(store.key("journal"), whole.lines[0])
    with pytest.raises(JournalError, match=f"has {LENGTH + 1} lines"):
        replay(store.client, "town", FakeRedis())


def test_links_to_other_files_are_not_taken_for_trimmed_lines(whole: Journal, tmp_path: Path) -> None:
    checkpointed = Journal(marked=(4,), streams={})
    exported = checkpointed.files(tmp_path / "own", (1, 4))
    store = run(checkpointed, trimmed=4)
    assert replay(store.client, "town", FakeRedis(), exported).first == 1
    assert replay(store.client, "town", FakeRedis()).first == 5
    assert replay(store.client, "town", FakeRedis(), whole.files(tmp_path / "part", (1, 3))).first == 5
    with pytest.raises(JournalError, match="tick 4: the exported lines do not match"):
        replay(store.client, "town", FakeRedis(), whole.files(tmp_path / "other", (1, 4)))


def checkpointed_store(streams: Mapping[str, Stream]) -> RunStore:
    """A run that was trimmed to a checkpoint with these streams, and whose memory is still the same."""
    journal = Journal(marked=(4,), streams=streams)
    store = run(journal, trimmed=4)
    bodies = {owner: packed(dump(one)) for owner, one in streams.items()}
    store.client.hset(store.key("journal_checkpoint") + ":4", mapping=bodies)  # type: ignore[arg-type]
    for one in streams.values():
        one.note_all()
    write_streams(store, streams.values())
    return store


def test_a_replay_starts_with_the_memory_of_the_checkpoint() -> None:
    streams = {owner: stream(owner, "A tree.", "Rain.") for owner in (ANN, BOB)}
    streams[ANN].archive(1, 2)
    store = checkpointed_store(streams)
    found = replay(store.client, "town", FakeRedis())
    assert (found.first, found.owners, found.entries) == (5, 2, 4)


@pytest.mark.parametrize("part", ["entries", "archive", "archived", "marks", "head"])
def test_a_memory_unlike_the_journal_is_named_with_its_part(part: str) -> None:
    streams = {ANN: stream(ANN, "A tree.", "Rain.")}
    streams[ANN].archive(1, 2)
    streams[ANN].mark(2, Marks(repeats=1))
    store = checkpointed_store(streams)
    key = store.owner_key(part, ANN) if part != "head" else ""  # type: ignore[arg-type]
    if part == "head":
        store.client.hset(store.key("heads"), ANN, b"{}")
    elif part == "archived":
        store.client.zadd(key, {"1": 9})
    else:
        store.client.hdel(key, *store.client.hkeys(key))
    with pytest.raises(JournalError, match=f"the stream of 'agent:ann' differs from the journal in its {part}"):
        replay(store.client, "town", FakeRedis())


# -- a snapshot --------------------------------------------------------------------------------------


def test_a_snapshot_includes_the_checkpoint_being_written() -> None:
    store = run(Journal(), trimmed=4)
    assert take_snapshot(store).checkpoints == {"4", "8"}
    store.client.hset(store.key("state"), "checkpointing", 12)
    found = take_snapshot(store)
    assert (found.checkpoints, found.trimmed, found.tick, found.lines) == ({"4", "8", "12"}, 4, LENGTH, LENGTH - 4)


class Advancing:
    """A run's store that gets another open job between the first reads and each of the first transactions."""

    def __init__(self, store: RunStore, times: int) -> None:
        self._store, self.left = store, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read_at_once(self, queue: Any) -> Any:
        if self.left:
            self.left -= 1
            self._store.client.sadd(self._store.key("jobs"), f"1/plan/agent:ann/{self.left}/0")
        return self._store.read_at_once(queue)


@pytest.mark.parametrize(("times", "whole"), [(0, True), (1, True), (TRIES - 1, True), (TRIES, False)])
def test_a_live_run_is_read_at_one_instant_or_not_at_all(times: int, whole: bool) -> None:
    store: Any = Advancing(run(Journal(marked=())), times)
    if whole:
        assert len(take_snapshot(store).jobs) == times
    else:
        with pytest.raises(TimeoutError, match="pause it"):
            take_snapshot(store)
