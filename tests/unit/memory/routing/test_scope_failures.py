"""Scoped memories: the state after a failure."""

from __future__ import annotations

import pytest

from cogitate.memory.effects import AdvanceCursor, Append
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.routing.scopes import cursor_of
from cogitate.tasks.job import Request
from tests.unit.memory.scope_case import ANSWER, BOB, INN, RECOUNT, TALK, Realm


def test_failure_records_nothing_and_the_cursor_stays() -> None:
    realm = Realm()
    realm.say(*TALK)
    realm.leave()
    assert realm.settle(INN, fails=True) == ()
    assert realm.memories(INN) == []
    assert realm.cursor(INN) == 0
    realm.say("Second visit.")
    assert realm.leave() == [INN]
    realm.settle(INN)
    assert realm.told == {INN: [1, 2, 3, 4, 5, 6]}


def test_one_scopes_failure_does_not_touch_another() -> None:
    realm = Realm()
    realm.say(*TALK)
    realm.leave(BOB)
    realm.settle(INN, fails=True)
    realm.settle(BOB)
    assert (realm.cursor(INN), realm.cursor(BOB)) == (0, 5)


def test_failure_may_be_configured_to_fall_back_to_the_heuristic() -> None:
    realm = Realm(MemoryLimits(recount_on_failure="heuristic"))
    realm.say(*TALK)
    realm.leave()
    realm.settle(INN, fails=True)
    assert len(realm.memories(INN)) == 1
    assert realm.cursor(INN) == 5


def test_a_run_without_a_model_keeps_memories() -> None:
    realm = Realm()
    realm.say("Bob: I will bring the map to the mill at noon.", subjects=(BOB,))
    realm.leave(BOB)
    append, cursor = RECOUNT.heuristic(realm.open[BOB])
    assert isinstance(append, Append)
    assert "map" in append.entry.text
    assert cursor == AdvanceCursor(owner=BOB, name=cursor_of(BOB, "inn"), start=0, end=1)


def test_an_answer_without_messages_is_refused_and_an_empty_request_has_no_effect() -> None:
    realm = Realm()
    case = realm.case(Request(kind="recount", owner=INN, numbers=()))
    assert RECOUNT.heuristic(case) == ()
    with pytest.raises(ValueError, match="none of the messages"):
        RECOUNT.effects(case, ANSWER, ())
