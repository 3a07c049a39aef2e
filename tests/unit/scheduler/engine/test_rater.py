"""What a run learns of how important texts are, and that a resumed run goes on from the same."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import TickLoop
from cogitate.memory import importance
from cogitate.memory.effects import Rate
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.rating import Rater
from cogitate.scheduler.journal.lines import Rated
from cogitate.scheduler.ledger import streams
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.kind import Backlog
from tests.unit.scheduler.scheduler_case import ANN, BOB

Loops = Callable[..., TickLoop]

TEXTS = ("A fire in the barn.", "The bell rang.", "A cow.", "Rain on the quay.", "Ale is dear.", "The mill stands.")


def said(text: str, **fields: Any) -> Entry:
    return Entry(type="observation", text=text, **({"minute": 1} | fields))


class Run:
    """A rater, its owner's stream, and the ledger that it writes to."""

    def __init__(self, store: RunStore | None = None) -> None:
        self.rater, self.streams = Rater(share=0.0), {ANN: Stream(ANN)}
        self.store = store or RunStore.of(FakeRedis(), "town", "now")
        if store is not None:
            self.rater.load(store)

    def learn(self, *ratings: tuple[str, int], paid: bool = True) -> None:
        numbers = [self.streams[ANN].append(said(text), 1).number for text, _ in ratings]
        rate = Rate(owner=ANN, numbers=tuple(numbers), ratings=tuple(rating for _, rating in ratings), paid=paid)
        self.rater.learn(self.streams, [rate])

    def write(self) -> list[Write]:
        writes = self.rater.take_writes()
        for write in writes:
            self.store.client.execute_command(write.command, self.store.prefix + write.key, *write.args)
        return writes

    def known(self) -> list[int]:
        return [self.rater.estimate(ANN, said(text)) for text in TEXTS]


def test_only_a_models_ratings_are_learned() -> None:
    run, other = Run(), Run()
    run.learn((TEXTS[0], 9), (TEXTS[1], 2))
    other.learn((TEXTS[0], 9), (TEXTS[1], 2), paid=False)
    assert run.known()[:2] == [9, 2]
    assert other.known() == Run().known()


def test_a_rating_holds_for_the_waiting_entries_of_other_owners_with_the_same_text() -> None:
    run = Run()
    run.streams[BOB] = Stream(BOB)
    same, other = (run.streams[BOB].append(said(text), 1).number for text in TEXTS[:2])
    run.learn((TEXTS[0], 9))
    data = SimpleNamespace(streams=run.streams)
    tick: Any = SimpleNamespace(run=data, changed=(), number=5, core={})
    run.rater.end(tick)
    assert tick.core["rated"] == (Rated(ANN, 1, 9), Rated(BOB, same, 9))
    assert run.streams[BOB].unrated() == [other]
    run.rater.end(tick)
    assert tick.core["rated"] == ()


def test_rated_entries_need_no_call_and_are_journalled() -> None:
    run = Run()
    run.learn((TEXTS[0], 9))
    stream = run.streams[ANN]
    stream.take_changes()
    number = stream.append(said(TEXTS[0]), 2).number
    stream.append(said(TEXTS[1], importance=4), 2)
    (rated,) = run.rater.rate(run.streams, [ANN], 2)
    assert (rated.owner, rated.number, rated.importance) == (ANN, number, 9)
    assert not stream.is_unrated(number)
    assert run.rater.rate(run.streams, [ANN], 3) == ()


def test_a_resumed_run_knows_the_same_and_forgets_the_same_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "_MAX_TEXTS", 3)
    run = Run()
    for number, text in enumerate(TEXTS[:3]):
        run.learn((text, number + 3))
        run.write()
    run.learn((TEXTS[0], 3))  # the one that was learned first is the newest now
    run.write()
    resumed = Run(run.store)
    assert resumed.known() == run.known()
    assert resumed.write() == [], "nothing has changed"
    for one in (run, resumed):
        one.learn((TEXTS[3], 8))
    assert resumed.known() == run.known()
    assert run.write() == resumed.write()
    again = Run(run.store)
    assert again.known() == run.known()
    assert run.store.client.hlen(run.store.key("ratings")) == 3


def test_forgotten_texts_leave_the_ledger_in_a_fixed_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "_MAX_TEXTS", 6)
    run = Run()
    run.learn(*((text, 5) for text in TEXTS))
    run.write()
    run.learn(*((f"{text} Again.", 5) for text in TEXTS))
    (gone,) = [write for write in run.write() if write.command == "HDEL"]
    assert [*gone.args] == sorted(gone.args, key=str)
    assert len(gone.args) == 6
    assert run.store.client.hlen(run.store.key("ratings")) == 6


def test_more_texts_than_one_command_holds_are_written_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHUNK", 3)
    run = Run()
    run.learn(*((text, number + 1) for number, text in enumerate(TEXTS)))
    assert [len(write.args) for write in run.write() if write.key == "ratings"] == [6, 6]
    assert Run(run.store).known() == run.known()


def test_a_text_removed_before_the_next_write_never_reaches_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importance, "_MAX_TEXTS", 1)
    run = Run()
    run.learn((TEXTS[0], 5), (TEXTS[1], 6))
    run.write()
    assert run.store.client.hlen(run.store.key("ratings")) == 1
    assert Run(run.store).known()[1] == 6


def test_ratings_for_other_owners_are_reused() -> None:
    run = Run()
    run.learn((TEXTS[0], 9))
    run.streams[BOB] = Stream(BOB)
    number = run.streams[BOB].append(said(TEXTS[0]), 2).number
    (rated,) = run.rater.rate(run.streams, [BOB], 2)
    assert (rated.owner, rated.number, rated.importance) == (BOB, number, 9)
    assert run.rater.estimate(BOB, said(TEXTS[0])) == 9


def test_an_owners_rating_precedes_a_newer_one_of_another_owner() -> None:
    run = Run()
    run.learn((TEXTS[0], 3))
    run.streams[BOB] = Stream(BOB)
    heard = run.streams[BOB].append(said(TEXTS[0]), 2).number
    run.rater.learn(run.streams, [Rate(owner=BOB, numbers=(heard,), ratings=(9,), paid=True)])
    again = {owner: run.streams[owner].append(said(TEXTS[0]), 3).number for owner in (ANN, BOB)}
    rated = {(one.owner, one.number): one.importance for one in run.rater.rate(run.streams, [ANN, BOB], 3)}
    assert [rated[owner, again[owner]] for owner in (ANN, BOB)] == [3, 9]
    assert [run.rater.estimate(owner, said(TEXTS[0])) for owner in (ANN, BOB)] == [3, 9]


def test_a_moment_shows_the_rating_backlog_of_all_owners(cogitate_loop: Loops) -> None:
    with cogitate_loop(owners={ANN: Profile(name="Ann"), BOB: Profile(name="Bob")}, ticks=20) as loop:
        ticks = iter(loop)
        next(ticks), next(ticks)  # owners are there from the first boundary on
        state = loop.state
        assert state.moments(8, 8)(ANN).unrated() == Backlog(0, 0)
        for owner, minute, rating in ((ANN, 5, 0), (ANN, 2, 4), (BOB, 3, 0), (BOB, 4, 0)):
            state.streams[owner].append(said(TEXTS[minute], minute=minute, importance=rating), 9)
        assert [state.moments(9, 9)(owner).unrated() for owner in (ANN, BOB)] == [Backlog(3, 3)] * 2
        state.streams[BOB].rate(1, 7, 10)
        assert state.moments(10, 10)(ANN).unrated() == Backlog(2, 4)
