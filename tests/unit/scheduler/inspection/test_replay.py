"""A replay: what it needs, what it comes to, and which disagreement it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.inspection.replay import Replayed, replay
from cogitate.scheduler.journal.exported import ExportedJournal
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.kept_run_case import changed, hashes, kept_run, thought
from tests.unit.scheduler.run_lines_case import ANN, BOB, CY


def replayed(store: RunStore, exported: Path | None = None) -> Replayed:
    return replay(store.client, "town", FakeRedis(), None if exported is None else ExportedJournal(exported))


def ends(store: RunStore, first: int) -> Replayed:
    """Return what a replay of the sound run comes to."""
    digest, chain = (raw.decode() for raw in store.state("digest", "chain") if raw is not None)
    return Replayed(ticks=6, digest=digest, chain=chain, owners=3, entries=5, first=first)


@pytest.mark.parametrize("marked", [(), (2,), (2, 4), (6,)])
def test_a_whole_journal_is_replayed_from_its_first_line(marked: tuple[int, ...]) -> None:
    store = kept_run(marked=marked)
    assert replayed(store) == ends(store, 1)


@pytest.mark.parametrize(("marked", "trimmed"), [((2,), 2), ((2, 4), 2), ((2, 4), 4), ((6,), 6)])
def test_a_trimmed_journal_is_replayed_from_its_checkpoint_or_with_its_exports(
    marked: tuple[int, ...], trimmed: int, tmp_path: Path
) -> None:
    store = kept_run(marked=marked, trimmed=trimmed, into=tmp_path)
    whole, part = ends(store, 1), ends(store, trimmed + 1)
    if trimmed == 6:  # who has left before is not rebuilt from a checkpoint
        part = part._replace(owners=2, entries=3)
    assert replayed(store) == part
    assert replayed(store, tmp_path) == whole
    assert replayed(store, tmp_path / "nothing there") == part


def test_a_replay_leaves_its_streams_in_the_empty_database() -> None:
    store, into = kept_run(marked=(2,), trimmed=2), FakeRedis()
    replay(store.client, "town", into)
    for owner, numbers in ((ANN, [b"1", b"2"]), (BOB, [b"1"]), (CY, [b"1", b"2"])):
        assert sorted(into.hkeys(store.owner_key("entries", owner))) == numbers
    with pytest.raises(ValueError, match="a replay needs an empty database"):
        replay(store.client, "town", into)


HARM: list[tuple[Callable[[RunStore, Any], object], str]] = [
    (lambda s, c: c.rpush(s.key("journal"), "more"), "tick 6: the journal has 5 lines, but the run is at tick 6 and"),
    (lambda s, c: c.hset(s.key("state"), "digest", "0"), "tick 6: the journal ends with digest .*, the run with 0$"),
    (lambda s, c: c.hset(s.key("state"), "chain", "0"), "tick 6: the journal ends with digest"),
    (lambda s, c: c.hset(s.owner_key("entries", ANN), "1", "{}"), f"the stream of '{ANN}' differs .* entries"),
    (lambda s, c: c.hset(s.owner_key("entries", CY), "2", "{}"), f"the stream of '{CY}' differs .* entries"),
    (lambda s, c: c.hset(s.key("heads"), BOB, "{}"), f"the stream of '{BOB}' differs .* head"),
    (lambda s, c: c.lset(s.key("journal"), 0, "x"), "tick 3"),
    (lambda s, c: c.hdel(s.key("journal_checkpoints"), "2"), "tick 2: .* its checkpoint is missing|no line for it"),
]


@pytest.mark.parametrize(("harm", "told"), HARM, ids=[told for _, told in HARM])
def test_the_first_disagreement_is_named(harm: Callable[[RunStore, Any], object], told: str) -> None:
    store = kept_run(marked=(2,), trimmed=2)
    harm(store, store.client)
    with pytest.raises(JournalError, match=told):
        replayed(store)


def test_a_later_checkpoint_is_held_against_the_streams_that_were_rebuilt() -> None:
    wrong = kept_run(marked=(4,), of_checkpoints={"streams": hashes({})})
    with pytest.raises(JournalError, match="tick 4: the stream of 'agent:ann' is not what the journal's checkpoint"):
        replayed(wrong)


def test_exports_of_another_run_do_not_fit(tmp_path: Path) -> None:
    other = tmp_path / "other"
    kept_run(changed(2, {"world_effects": (thought(BOB, "Somebody else."),)}), marked=(2,), trimmed=2, into=other)
    with pytest.raises(JournalError, match="tick 2: the exported lines do not match the ledger's"):
        replayed(kept_run(marked=(2,), trimmed=2), other)
