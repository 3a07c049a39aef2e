"""Who keeps a journal short: when a checkpoint is due, which lines go, and that none goes before it is on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cogitate.memory.snapshot import dump
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.journal.checkpoint import content_hash, packed, read_checkpoint
from cogitate.scheduler.journal.exported import ExportedJournal
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.tick import trimming
from cogitate.scheduler.tick.commit import Position
from cogitate.scheduler.tick.trimming import JournalTrimmer
from tests.unit.scheduler.journal_case import LENGTH, STREAMS, Journal
from tests.unit.scheduler.scheduler_case import ANN, BOB

FOUR_A_DAY = Facts(minutes_per_tick=360)  # tick 4 is the first of day 1, tick 8 of day 2, tick 12 of day 3


class Ledger:
    """A host's ledger, over a store whose lines it removes as the script does."""

    run = "town"

    def __init__(self, journal: Journal, trimmed: int = 0) -> None:
        self.store = journal.store(trimmed)
        self.steps: list[tuple[Any, ...]] = []
        self._trimmed = trimmed

    def checkpoint(self, tick: int, streams: Mapping[str, bytes], *, entry: bytes = b"", chain: str = "") -> None:
        self.steps.append(("checkpoint", tick, dict(streams), entry, chain))
        if entry:
            self.store.client.hset(self.store.key("journal_checkpoints"), str(tick), entry)

    def trim(self, upto: int) -> None:
        self.steps.append(("trim", upto))
        self.store.client.ltrim(self.store.key("journal"), upto - self._trimmed, -1)
        self.store.client.hset(self.store.key("state"), "trimmed", str(upto))
        self._trimmed = upto

    def trims(self) -> list[int]:
        return [step[1] for step in self.steps if step[0] == "trim"]


class Host:
    """A host of a run that has lived twelve ticks, six hours each."""

    def __init__(
        self,
        journal: Journal,
        *,
        keep: int = 1,
        folder: Path | None = None,
        trimmed: int = 0,
        facts: Facts = FOUR_A_DAY,
    ) -> None:
        self.journal, self.ledger = journal, Ledger(journal, trimmed)
        self.exported = None if folder is None else ExportedJournal(folder)
        state: Any = SimpleNamespace(facts=facts, streams=STREAMS, retired=set())
        self.state = state
        ledger: Any = self.ledger
        self.trimmer = JournalTrimmer(ledger, state, keep=keep, exported=self.exported)

    def trim(self, tick: int, world: int = LENGTH) -> str:
        return self.trimmer.trim(Position(tick, f"digest{tick}", self.journal.chains[tick - 1], world), ["run:0"])


@pytest.mark.parametrize("tick", range(1, LENGTH + 1))
def test_a_checkpoint_is_written_at_the_first_tick_of_a_day(tick: int) -> None:
    host = Host(Journal(marked=()))
    chain = host.trim(tick)
    assert [step[1] for step in host.ledger.steps] == ([tick] if tick >= 4 else [])
    if tick < 4:
        assert chain == host.journal.chains[tick - 1]
        return
    ((_, _, streams, entry, told),) = host.ledger.steps
    found, after = read_checkpoint(entry, tick, host.journal.chains[tick - 1])
    assert after == told == chain
    assert (found.digest, found.totals.tick, found.totals.minute) == (f"digest{tick}", tick, tick)
    assert found.streams == {owner: content_hash(dump(one)) for owner, one in STREAMS.items()}
    assert streams == {owner: packed(dump(one)) for owner, one in STREAMS.items()}
    assert host.trim(tick) == host.journal.chains[tick - 1], "once a day"
    assert len(host.ledger.steps) == 1


def test_unexported_is_false_before_the_first_refusal() -> None:
    assert not Host(Journal(marked=())).trimmer.unexported


def test_the_first_day_of_a_run_has_no_checkpoint() -> None:
    host = Host(Journal(marked=()), facts=Facts(minutes_per_tick=360, start_minute=1440))
    assert host.trimmer.trim(Position(0, "", "", 0), []) == "", "nothing has happened"
    for tick in (1, 3, 4):
        host.trim(tick)
    assert [step[1] for step in host.ledger.steps] == [4]


def test_large_streams_take_separate_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {owner: len(packed(dump(one))) for owner, one in STREAMS.items()}
    for bound, steps in ((sizes[ANN], [{ANN}, {BOB}, set()]), (sizes[ANN] + 1, [{ANN, BOB}, set()])):
        monkeypatch.setattr(trimming, "STEP_BYTES", bound)
        host = Host(Journal(marked=()))
        host.trim(4)
        assert [{*step[2]} for step in host.ledger.steps] == steps
        assert [bool(step[3]) for step in host.ledger.steps] == [*[False] * (len(steps) - 1), True]


def test_former_owners_are_in_each_later_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = STREAMS[BOB]
    read: list[list[str]] = []

    def load(store: Any, owners: list[str]) -> dict[str, Any]:
        read.append([*owners])
        return dict.fromkeys(owners, gone)

    monkeypatch.setattr(trimming, "load_streams", load)
    host = Host(Journal(marked=(4,), retired={BOB: "as it was"}), keep=2)
    since = [f"agent:{name}" for name in ("abe", "cy", "dee", "eve", "fay")]
    host.state.retired = {BOB, *since}
    host.trim(8)
    ((_, _, _, entry, _),) = host.ledger.steps
    hashes = {BOB: "as it was"} | dict.fromkeys(since, content_hash(dump(gone)))
    assert read_checkpoint(entry, 8)[0].retired == hashes
    assert read == [since], "a stream that no longer changes is read once, and in an order that any host has"


@pytest.mark.parametrize(
    ("tick", "world", "keep", "trimmed"),
    [
        (7, 12, 1, []),
        (8, 12, 1, [4]),
        (8, 4, 1, [4]),
        (8, 3, 1, []),
        (8, 0, 1, []),
        (11, 12, 2, []),
        (12, 12, 2, [4]),
        (12, 12, 1, [8]),
        (12, 7, 1, [4]),
        (12, 12, 3, []),
    ],
)
def test_lines_go_when_whole_days_and_a_checkpoint_of_the_world_lie_behind_them(
    tick: int, world: int, keep: int, trimmed: list[int]
) -> None:
    host = Host(Journal(), keep=keep)
    host.trim(tick, world)
    assert host.ledger.trims() == trimmed
    host.trim(tick, world)
    assert host.ledger.trims() == trimmed, "once"


@pytest.mark.parametrize("page", [1, 3, 50])
def test_trimmed_lines_are_exported_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(trimming, "PAGE", page)
    host = Host(Journal(), folder=tmp_path)
    assert host.exported is not None
    host.trim(8)
    assert [path.name for path in tmp_path.iterdir()] == ["0000000001-0000000004.jsonl"]
    host.trim(12)
    assert host.ledger.trims() == [4, 8]
    assert min(host.trimmer._checkpoints) == 8, "those before it are forgotten"
    assert [one.chain for one in host.exported.passed(8)] == host.journal.chains[:8]
    assert [line.core.tick for line in read_journal(host.ledger.store, 9, LENGTH)] == [9, 10, 11, 12]


def test_a_resumed_host_continues_behind_trimmed_lines(tmp_path: Path) -> None:
    host = Host(Journal(), folder=tmp_path, trimmed=4)
    host.trim(11)
    assert host.ledger.trims() == []
    host.trim(12)
    assert host.ledger.trims() == [8]
    assert [path.name for path in tmp_path.iterdir()] == ["0000000005-0000000008.jsonl"]


def test_lines_that_cannot_be_exported_stay_until_the_next_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(Journal(), folder=tmp_path)
    asked: list[int] = []

    def full(first: int, last: int, entries: Any) -> None:
        asked.append(last)
        raise OSError("full")

    monkeypatch.setattr(host.exported, "write", full)
    for tick in (8, 9, 10, 12):
        host.trim(tick)
    assert (asked, host.ledger.trims()) == ([4, 8], [])


@pytest.mark.parametrize(("tick", "told"), [(1, 1), (3, 3), (4, 4)])
def test_altered_lines_are_not_trimmed(tmp_path: Path, tick: int, told: int) -> None:
    journal = Journal()
    journal.lines[tick - 1] = journal.lines[8]
    host = Host(journal, folder=tmp_path)
    with pytest.raises(JournalError, match=rf"tick {told}: .* not removed"):
        host.trim(8)
    assert host.ledger.trims() == []


def test_a_line_that_follows_a_changed_checkpoint_stays(tmp_path: Path) -> None:
    journal = Journal()
    journal.checkpoints[4] = journal.checkpoints[8]
    host = Host(journal, folder=tmp_path)
    with pytest.raises(JournalError, match=r"tick 4: .* not removed"):
        host.trim(8)
    resumed = Host(journal, folder=tmp_path, trimmed=4)
    with pytest.raises(JournalError):
        resumed.trim(12)
    assert resumed.ledger.trims() == []


def test_lines_without_their_checkpoint_are_not_trimmed(tmp_path: Path) -> None:
    host = Host(Journal(), folder=tmp_path)
    host.ledger.store.client.hdel(host.ledger.store.key("journal_checkpoints"), "4")
    with pytest.raises(JournalError, match=r"tick 4: .* not removed"):
        host.trim(8)
    assert host.ledger.trims() == []
