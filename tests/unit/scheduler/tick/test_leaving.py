"""How a loop is left: which ticks are committed then, and what the run's status says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate import CogitateError, Tick, TickLoop
from cogitate.errors import Fenced, LedgerError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.tick.run_end import let_go
from tests.patience import LONGEST
from tests.unit.hosting.short_loop_case import LAST, Loops, live, opened, status


def break_off(loop: TickLoop) -> None:
    for tick in loop:
        live(loop, tick)
        if tick.number == 3:
            break


def return_from_the_body(loop: TickLoop) -> int:
    for tick in loop:
        live(loop, tick)
        if tick.number == 3:
            return tick.number
    return 0


def zip_with_three(loop: TickLoop) -> None:
    for _, tick in zip(range(3), loop, strict=False):
        live(loop, tick)


def slice_three(loop: TickLoop) -> None:
    for tick in islice(loop, 3):
        live(loop, tick)


def ask_three_times(loop: TickLoop) -> None:
    ticks = iter(loop)
    for _ in range(3):
        live(loop, next(ticks))


def break_off_twice(loop: TickLoop) -> None:
    for tick in loop:
        live(loop, tick)
        if tick.number == 2:
            break
    for tick in loop:
        live(loop, tick)
        break


def fail_and_handle_it_within(loop: TickLoop) -> None:
    for tick in loop:
        with suppress(ZeroDivisionError):
            print(1 / 0)
        live(loop, tick)
        if tick.number == 3:
            break


ENDED = [
    break_off,
    return_from_the_body,
    zip_with_three,
    slice_three,
    ask_three_times,
    break_off_twice,
    fail_and_handle_it_within,
]


@pytest.mark.parametrize("body", ENDED)
def test_a_finished_body_is_committed_and_the_run_continues(
    cogitate_loop: Loops, body: Callable[[TickLoop], object]
) -> None:
    straight = opened(cogitate_loop)
    for tick in straight:
        live(straight, tick)
    with opened(cogitate_loop) as loop:
        body(loop)
        client = loop.ledger.client
    assert status(loop) == ("stopped", 3)
    assert loop.state.streams["agent:ada"].head.last_number == 3
    with opened(cogitate_loop, client=client, owners={}, exist="resume") as resumed:
        for tick in resumed:
            live(resumed, tick)
    assert status(resumed) == ("finished", LAST)
    assert resumed.digest == straight.digest
    assert audit(client, "test") == []


class Broken(Exception):
    pass


def raises(loop: TickLoop) -> None:
    with loop:
        for tick in loop:
            live(loop, tick)
            if tick.number == 3:
                raise Broken


def is_interrupted(loop: TickLoop) -> None:
    with loop:
        for tick in loop:
            live(loop, tick)
            if tick.number == 3:
                raise KeyboardInterrupt


def is_closed_in_the_midst(loop: TickLoop) -> None:
    def handed_on() -> Generator[Tick, None, None]:
        with loop:
            for tick in loop:
                live(loop, tick)
                yield tick

    ticks = handed_on()
    for _ in range(3):
        next(ticks)
    ticks.close()


def is_closed_while_an_error_passes(loop: TickLoop) -> None:
    try:
        for tick in loop:
            live(loop, tick)
            if tick.number == 3:
                raise Broken
    finally:
        loop.close()


def is_closed_by_the_handler(loop: TickLoop) -> None:
    with loop:
        try:
            raises(loop)
        except Broken:
            loop.close()


def is_told(loop: TickLoop) -> None:
    with loop:
        break_off(loop)
        loop.close(commit=False)


FAILED = [
    raises,
    is_interrupted,
    is_closed_in_the_midst,
    is_closed_while_an_error_passes,
    is_closed_by_the_handler,
    is_told,
]


@pytest.mark.parametrize("body", FAILED)
def test_the_tick_of_a_body_that_failed_never_happened(
    cogitate_loop: Loops, body: Callable[[TickLoop], object]
) -> None:
    loop = opened(cogitate_loop)
    with suppress(Broken, KeyboardInterrupt):
        body(loop)
    assert status(loop) == ("stopped", 2)
    with opened(cogitate_loop, client=loop.ledger.client, owners={}, exist="resume") as resumed:
        seen = []
        for tick in resumed:
            live(resumed, tick)
            seen.append((tick.number, tick.replayed))
    assert seen == [(number, number < 3) for number in range(1, LAST + 1)]


def test_an_exception_handled_earlier_is_not_the_bodys(cogitate_loop: Loops) -> None:
    try:
        raise Broken
    except Broken:
        loop = opened(cogitate_loop)
        break_off(loop)
        loop.close()
    assert status(loop) == ("stopped", 3)


def test_no_tick_is_taken_of_a_loop_that_is_closed(cogitate_loop: Loops) -> None:
    for commit in (True, False):
        with opened(cogitate_loop) as loop:
            ticks = iter(loop)
            next(ticks)
            loop.close(commit=commit)
            assert list(ticks) == []
            with pytest.raises(LedgerError, match="this loop is closed"):
                iter(loop)
        assert status(loop) == ("stopped", int(commit))


def test_closing_after_the_last_tick_finishes_the_run(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop, ticks=3) as loop:
        break_off(loop)
    assert status(loop) == ("finished", 3)


def test_a_loop_without_a_tick_releases_its_run(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        assert status(loop) == ("running", 0)
    assert status(loop) == ("stopped", 0)


def test_closing_twice_changes_nothing(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        break_off(loop)
        loop.close()
        client = loop.ledger.client
        with opened(cogitate_loop, client=client, owners={}, exist="resume") as other:
            loop.close()
            assert status(other) == ("running", 3)


def test_redelivered_ticks_are_not_committed_again(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        break_off(loop)
    with opened(cogitate_loop, client=loop.ledger.client, owners={}, exist="resume") as resumed:
        again = next(iter(resumed))
        assert again.replayed
    assert status(resumed) == ("stopped", 3)
    assert audit(loop.ledger.client, "test") == []


def test_closing_reports_another_host(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    break_off(loop)
    other = opened(cogitate_loop, client=loop.ledger.client, owners={}, exist="resume")
    with pytest.raises(Fenced):
        loop.close()
    loop.close(commit=False)  # an error was raised: nothing is left to be said
    assert status(other) == ("running", 2)
    with pytest.raises(LedgerError, match=r"ended by an error in tick .*Fenced"):
        iter(loop)


@contextmanager
def interrupted(loop: TickLoop, *, arrives: bool, error: BaseException) -> Iterator[None]:
    """The next commit fails, before or after the ledger has carried it out."""
    advance = loop.ledger._advance

    def fails(**how: Any) -> Any:
        if arrives:
            advance(**how)
        raise error

    loop.ledger._advance = fails
    yield
    loop.ledger._advance = advance


@pytest.mark.parametrize("arrives", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RedisConnectionError("gone"), OSError("gone")])
def test_an_exception_during_a_commit_reaches_the_host(
    cogitate_loop: Loops, arrives: bool, error: BaseException
) -> None:
    loop = opened(cogitate_loop)

    def until_interrupted() -> None:
        with loop:
            ticks = iter(loop)
            for tick in ticks:
                live(loop, tick)
                if tick.number == 2:
                    with interrupted(loop, arrives=arrives, error=error):
                        next(ticks)

    with pytest.raises(type(error)) as raised:
        until_interrupted()
    assert raised.value is error
    assert status(loop) == ("stopped", 2 if arrives else 1)
    assert audit(loop.ledger.client, "test") == []


def test_a_refusing_ledger_hides_no_exception(cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = opened(cogitate_loop)

    def gone(*_: object) -> None:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(loop.ledger.client, "hmget", gone)
    with pytest.raises(Broken):
        raises(loop)
    monkeypatch.undo()
    assert status(loop) == ("running", 2)


def test_an_error_that_ended_the_loop_and_was_handled_is_named(cogitate_loop: Loops) -> None:
    with opened(cogitate_loop) as loop:
        with interrupted(loop, arrives=False, error=RedisConnectionError("gone")), suppress(RedisConnectionError):
            break_off(loop)
        with pytest.raises(LedgerError, match="ended by an error"):
            iter(loop)
    assert status(loop) == ("stopped", 0)


def test_an_uncommitted_last_tick_leaves_the_run_to_a_resume(cogitate_loop: Loops) -> None:
    asked = {"fails": False}

    def brief(owner: str) -> dict[str, Any]:
        if asked["fails"]:
            raise OSError("the world's database is gone")
        return {}

    def leave_at_a_bad_moment(loop: TickLoop) -> None:
        with loop:
            for tick in loop:
                live(loop, tick)  # so that the agent is asked about at its end
                if tick.number == 3:
                    asked["fails"] = True
                    break

    loop = opened(cogitate_loop, brief=brief)
    with pytest.raises(CogitateError, match="database is gone"):
        leave_at_a_bad_moment(loop)
    assert status(loop)[0] == "stopped"


def test_a_silent_ledger_does_not_block_the_end_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.scheduler.tick.run_end.SAID_SOON", 0.001)
    said, answered = threading.Event(), threading.Event()

    class Silent:
        run = "town"

        def let_go(self, status: str) -> None:
            said.set()
            answered.wait(LONGEST)

    ledger: Any = Silent()
    let_go(ledger, "stopped")
    assert said.wait(LONGEST)
    (saying,) = [thread for thread in threading.enumerate() if thread.name == "leaving"]
    assert saying.daemon
    answered.set()
    saying.join(LONGEST)


def test_a_finished_loop_has_no_more_ticks_and_says_so_once(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    loop = opened(cogitate_loop, ticks=3)
    finish = loop.ledger.finish
    monkeypatch.setattr(loop.ledger, "finish", lambda status: (said.append(status), finish(status)))
    monkeypatch.setattr(loop.ledger, "let_go", said.append)
    for tick in loop:
        live(loop, tick)
    assert [*loop] == [], "no error has ended it"
    loop.close()
    assert (said, status(loop)) == (["finished"], ("finished", 3))
