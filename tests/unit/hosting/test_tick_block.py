"""A tick as a block, for hosts that own their loop."""

from __future__ import annotations

from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate import CogitateError, TickLoop
from cogitate.errors import LedgerError, UsageError
from cogitate.scheduler.inspection.audit.audit import audit
from tests.unit.hosting.short_loop_case import LAST, Loops, live, opened


def committed(loop: TickLoop) -> int:
    """The last tick that the ledger holds."""
    return int(loop.ledger.client.hget(loop.ledger.store.key("state"), "tick") or 0)


def test_every_block_commits_its_changes_at_its_end(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        while not loop.over:
            before = loop.tick
            with loop.next_tick() as tick:
                assert tick.number == before + 1
                assert committed(loop) == before
                live(loop, tick)
            assert loop.tick == committed(loop) == tick.number
    assert loop.tick == LAST
    straight = opened(cogitate_loop)
    for tick in straight:
        live(straight, tick)
    assert loop.digest == straight.digest


def test_a_failed_block_is_not_committed_and_another_host_resumes(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    with loop.next_tick() as tick:
        live(loop, tick)
    with pytest.raises(ZeroDivisionError), loop.next_tick() as tick:
        live(loop, tick._replace(minute=tick.minute // 0))
    assert loop.over
    assert committed(loop) == 1
    with pytest.raises(LedgerError), loop.next_tick():
        raise AssertionError("a loop that has failed opened a tick")
    loop.close()
    client = loop.ledger.client
    with opened(cogitate_loop, client=client, owners={}, exist="resume") as resumed:
        for tick in resumed:
            if not tick.replayed or tick.number == 1:
                live(resumed, tick)
    assert resumed.tick == LAST
    assert audit(client, "test") == []


def test_a_tick_that_cannot_be_committed_ends_the_loop(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = opened(cogitate_loop)

    def refuse(*_: object) -> object:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(loop.ledger, "advance", refuse)
    with pytest.raises(RedisConnectionError), loop.next_tick() as tick:
        live(loop, tick)
    assert loop.over
    with pytest.raises(LedgerError), loop.next_tick():
        raise AssertionError("a loop that has failed opened a tick")


def test_a_block_within_a_block_is_refused(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        with loop.next_tick() as tick:
            with pytest.raises(UsageError, match="tick 1 is open"), loop.next_tick():
                raise AssertionError("a second tick was opened")
            live(loop, tick)
        assert loop.tick == 1


def test_a_finished_run_says_so_and_refuses_another_tick(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop, ticks=2) as loop:
        for _ in range(2):
            assert not loop.over
            with loop.next_tick():
                pass
        assert loop.over
        with pytest.raises(UsageError, match=r"over at tick 2: check `loop\.over`"), loop.next_tick():
            raise AssertionError("a tick after the last one was opened")


def test_stop_in_a_block_ends_the_run_with_it(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        while not loop.over:
            with loop.next_tick() as tick:
                if tick.number == 3:
                    loop.stop()
    assert committed(loop) == 3
    assert loop.ledger.client.hget(loop.ledger.store.key("state"), "status") == b"stopped"


def test_calls_between_two_blocks_are_refused(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        with loop.next_tick() as tick:
            live(loop, tick)
        with pytest.raises(UsageError):
            live(loop, tick)


def test_a_resumed_host_gets_the_ticks_since_its_checkpoint_again(cogitate_loop: Loops) -> None:
    first = opened(cogitate_loop)
    for _ in range(3):
        with first.next_tick() as tick:
            live(first, tick)
            if tick.number == 1:
                first.checkpoint(b"1")
    first.close()
    with opened(cogitate_loop, client=first.ledger.client, owners={}, exist="resume") as resumed:
        seen = []
        while not resumed.over:
            with resumed.next_tick() as tick:
                live(resumed, tick)
                seen.append((tick.number, tick.replayed))
            with pytest.raises(CogitateError):
                live(resumed, tick)
    assert seen[:3] == [(2, True), (3, True), (4, False)]
    assert seen[-1] == (LAST, False)


def test_former_calls_name_the_new_ones(cogitate_loop: Loops) -> None:
    loop: Any = opened(cogitate_loop, ticks=2)
    with pytest.raises(AttributeError, match=r"no attribute 'ask': `loop\.apply\(effect\)` applies an effect"):
        loop.ask("agent:ada")
    with pytest.raises(AttributeError, match=r"^'TickLoop' object has no attribute 'aks'$"):
        loop.aks  # noqa: B018
