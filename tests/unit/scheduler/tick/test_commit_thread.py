"""Commits that are under way while their host goes on: when their replies are read, and what a bad one does."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cogitate import TickLoop
from cogitate.errors import Fenced, LedgerError
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.scheduler.tick.commit import CommitThread, commit_at_once
from tests.patience import LONGEST
from tests.repository import ROOT
from tests.unit.hosting.short_loop_case import Loops, live, opened, status
from tests.unit.scheduler.tick.test_loop import clock_of_loops

FAST = PinnedSettings(tick_rate=1_000.0)


@pytest.fixture
def thread() -> Iterator[CommitThread]:
    made = CommitThread()
    yield made
    made.close()


def paced(loops: Loops, thread: CommitThread, **more: Any) -> TickLoop:
    """Return a loop with a pace, whose commits a thread carries out."""
    loop = opened(loops, **({"settings": FAST} | more))
    loop._loop._committer.send_commit = thread
    return loop


def fail_at(loop: TickLoop, at: int, *, arrives: bool = False) -> None:
    """Have the commit of one tick fail, before or after the ledger has it."""
    advance = loop.ledger.advance

    def failing(commit: Any, *rest: Any) -> Any:
        if commit.tick != at:
            return advance(commit, *rest)
        if arrives:
            advance(commit, *rest)
        raise Fenced("another host has the run")

    loop.ledger.advance = failing  # type: ignore[method-assign]


def live_on(loop: TickLoop, begun: list[int]) -> None:
    """Note the ticks that begin; each is a checkpoint."""
    for tick in loop:
        live(loop, tick)
        loop.checkpoint(b"%d" % tick.number)
        begun.append(tick.number)


def test_replies_come_in_the_order_of_commits(thread: CommitThread) -> None:
    done: list[int] = []

    def commit(number: int) -> Callable[[], int]:
        def carry_out() -> int:
            done.append(number)
            return number

        return carry_out

    replies = [thread(commit(number)) for number in range(5)]
    assert [reply.result() for reply in replies] == done == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("error", [Fenced("gone"), KeyboardInterrupt()])
def test_an_exception_in_a_commit_is_raised_where_its_reply_is_read(thread: CommitThread, error: BaseException) -> None:
    def commit() -> int:
        raise error

    reply = thread(commit)
    for _ in range(2):  # whoever leaves the run after the error asks once more
        with pytest.raises(type(error)):
            reply.result()
    assert thread(lambda: 7).result() == 7, "the thread goes on"


def test_a_commit_that_is_carried_out_at_once_raises_at_once() -> None:
    assert commit_at_once(lambda: 7).result() == 7
    with pytest.raises(Fenced):
        commit_at_once(lambda: (_ for _ in ()).throw(Fenced("gone")))


def test_a_closed_thread_finishes_its_commits() -> None:
    ended = threading.Event()
    known = {*threading.enumerate()}
    thread = CommitThread()
    (living,) = {*threading.enumerate()} - known
    thread(lambda: ended.wait(LONGEST))
    last = thread(lambda: "carried out")
    thread.close()
    ended.set()
    assert last.result() == "carried out"
    living.join(LONGEST)
    assert not living.is_alive()


def test_a_host_with_a_pace_works_ahead_while_its_commit_is_under_way(
    cogitate_loop: Loops, thread: CommitThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_of_loops(monkeypatch)
    working = threading.Event()
    met: list[bool] = []
    loop = paced(cogitate_loop, thread, ticks=3)
    advance, ahead = loop.ledger.advance, loop._loop.engine.work_ahead

    def waiting(*args: Any) -> Any:
        if loop.tick < 3:  # the last reply is read at once
            met.append(working.wait(LONGEST))
        return advance(*args)

    def work_ahead(*args: Any) -> None:
        working.set()
        ahead(*args)

    monkeypatch.setattr(loop.ledger, "advance", waiting)
    monkeypatch.setattr(loop._loop.engine, "work_ahead", work_ahead)
    for tick in loop:
        live(loop, tick)
        working.clear()
    assert met == [True, True]
    assert status(loop) == ("finished", 3)


def test_the_digest_is_that_of_a_host_that_waits(cogitate_loop: Loops, thread: CommitThread) -> None:
    digests = set[str]()
    for loop in (opened(cogitate_loop, ticks=9, settings=FAST), paced(cogitate_loop, thread, ticks=9)):
        live_on(loop, [])
        assert audit(loop.ledger.client, loop.ledger.run) == []
        digests.add(loop.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("arrives", [False, True])
def test_the_next_tick_does_not_begin_after_a_commit_that_failed(
    cogitate_loop: Loops, thread: CommitThread, arrives: bool
) -> None:
    loop = paced(cogitate_loop, thread)
    fail_at(loop, 3, arrives=arrives)
    begun = list[int]()
    with pytest.raises(Fenced):
        live_on(loop, begun)
    assert begun == [1, 2, 3]
    assert (loop.tick, loop._loop.checkpoint_tick) == (2, 2), "what is not known to be committed does not count"
    assert status(loop)[1] == 2 + arrives
    with pytest.raises(LedgerError, match="open the run again"):
        next(iter(loop))


def test_a_host_that_owns_its_loop_meets_the_error_at_its_next_tick(cogitate_loop: Loops, thread: CommitThread) -> None:
    loop = paced(cogitate_loop, thread)
    fail_at(loop, 2)
    for _ in range(2):
        with loop.next_tick() as tick:
            live(loop, tick)
    with pytest.raises(Fenced), loop.next_tick():
        pass
    assert loop.tick == 1


def test_a_turn_reported_by_message_is_answered_at_once(cogitate_loop: Loops, thread: CommitThread) -> None:
    loop = paced(cogitate_loop, thread)
    fail_at(loop, 2)
    next(iter(loop))
    loop._loop.commit("the digest of a message")
    next(iter(loop))
    with pytest.raises(Fenced):
        loop._loop.commit("that of another")
    assert loop.tick == 1


def test_watchers_hear_of_no_tick_whose_reply_is_unread(cogitate_loop: Loops, thread: CommitThread) -> None:
    heard: list[int] = []
    loop = paced(cogitate_loop, thread, watchers=[lambda tick, finished, seconds: heard.append(tick)])
    fail_at(loop, 3)
    with pytest.raises(Fenced):
        live_on(loop, [])
    assert heard == [1, 2]


def test_a_host_that_fails_leaves_its_run_after_the_commit_that_is_under_way(
    cogitate_loop: Loops, thread: CommitThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_of_loops(monkeypatch)
    loop = paced(cogitate_loop, thread)
    order, leaving = list[str](), threading.Event()
    advance, leave = loop.ledger.advance, loop.ledger.let_go

    def slowly(*args: Any) -> Any:
        leaving.wait(LONGEST)
        order.append("committed")
        return advance(*args)

    def let_go(how: Any) -> None:
        order.append("left")
        leave(how)

    def fail(*args: Any) -> None:
        leaving.set()
        raise ZeroDivisionError

    monkeypatch.setattr(loop.ledger, "advance", slowly)
    monkeypatch.setattr(loop.ledger, "let_go", let_go)
    monkeypatch.setattr(loop._loop.engine, "work_ahead", fail)
    with pytest.raises(ZeroDivisionError), loop:
        live_on(loop, [])
    assert order == ["committed", "left"]
    assert status(loop) == ("stopped", 1)


@pytest.mark.parametrize(("rate", "ticks"), [(0.01, 1), (0.149, 1), (0.151, 2), (2.0, 20)])
def test_a_paced_host_works_ahead_for_the_ticks_of_ten_seconds_and_for_one_at_least(
    cogitate_loop: Loops, monkeypatch: pytest.MonkeyPatch, rate: float, ticks: int
) -> None:
    asked: list[int] = []
    loop = opened(cogitate_loop)
    monkeypatch.setattr(loop._loop.engine, "work_ahead", lambda tick, left, horizon: asked.append(horizon))
    soon: Any = SimpleNamespace(rate=rate, due_after=lambda tick: time.monotonic() + 0.05)
    loop._loop._keep(soon)
    assert asked == [ticks]


def test_a_host_that_is_interrupted_waits_for_no_tick(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop)
    in_an_hour: Any = SimpleNamespace(rate=1.0, due_after=lambda tick: time.monotonic() + 3_600)
    loop._loop.interrupt()
    waiting = threading.Thread(target=loop._loop._keep, args=(in_an_hour,), daemon=True)
    waiting.start()
    waiting.join(LONGEST)
    assert not waiting.is_alive()
    assert loop._loop.stopping


def test_a_process_does_not_wait_for_a_commit_that_never_ends() -> None:
    host = (
        "import threading; from cogitate.scheduler.tick.commit import CommitThread;"
        "begun = threading.Event();"
        "CommitThread()(lambda: (begun.set(), threading.Event().wait()));"
        "begun.wait()"
    )
    assert subprocess.run([sys.executable, "-c", host], cwd=ROOT, timeout=LONGEST, check=False).returncode == 0


class Repeating:
    """A source whose every boundary is empty and needs nothing from the ledger."""

    repeats, away = True, False

    def __init__(self, together: int = 1) -> None:
        self.together = together

    def conditions_after(self, *_: object) -> None:
        """Return that nothing changes."""

    def runs_ahead(self, *_: object) -> bool:
        return True

    def boundary(self, *_: object) -> BoundaryInput:
        return BoundaryInput([])


def test_commits_after_a_failed_one_do_not_count(cogitate_loop: Loops, thread: CommitThread) -> None:
    loop = opened(cogitate_loop, ticks=6)
    loop._loop._committer.send_commit = thread
    loop._loop._source = Repeating()  # type: ignore[assignment]
    fail_at(loop, 3, arrives=False)
    begun = list[int]()
    with pytest.raises(Fenced):
        live_on(loop, begun)
    assert begun == [1, 2, 3, 4, 5, 6]
    assert loop.tick == status(loop)[1] == 2


@pytest.mark.parametrize(("together", "steps"), [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6, 7]), (9, [7])])
def test_ticks_that_are_held_back_are_committed_in_one_step(
    cogitate_loop: Loops, together: int, steps: list[int]
) -> None:
    loop, sent, watched = opened(cogitate_loop, ticks=7), list[int](), list[int]()
    loop._loop._watchers = [lambda tick, *_: watched.append(tick)]
    loop._loop._source = Repeating(together)  # type: ignore[assignment]
    advance = loop.ledger.advance

    def counted(commit: Any, *rest: Any) -> Any:
        sent.append(commit.tick)
        return advance(commit, *rest)

    loop.ledger.advance = counted  # type: ignore[method-assign]
    live_on(loop, [])
    assert sent == steps
    assert watched == [1, 2, 3, 4, 5, 6, 7]
    lines = read_journal(loop.ledger.store, 1, 7)
    assert [line.core.tick for line in lines] == watched
    assert status(loop) == ("finished", 7)


@pytest.mark.parametrize(("at", "committed"), [(3, 0), (6, 3)])
def test_no_tick_of_a_step_that_fails_is_committed(
    cogitate_loop: Loops, thread: CommitThread, at: int, committed: int
) -> None:
    loop = opened(cogitate_loop, ticks=6)
    loop._loop._committer.send_commit = thread
    loop._loop._source = Repeating(3)  # type: ignore[assignment]
    fail_at(loop, at)
    with pytest.raises(Fenced):
        live_on(loop, [])
    assert loop.tick == status(loop)[1] == committed


def test_a_body_that_fails_undoes_no_tick_that_was_held_back(cogitate_loop: Loops) -> None:
    loop = opened(cogitate_loop, ticks=6)
    loop._loop._source = Repeating(5)  # type: ignore[assignment]

    def fail_at_four() -> None:
        with loop:
            for tick in loop:
                assert tick.number < 4

    with pytest.raises(AssertionError):
        fail_at_four()
    assert status(loop) == ("stopped", 3)
