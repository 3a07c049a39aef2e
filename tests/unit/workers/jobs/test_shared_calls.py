"""Identical calls in flight: one is made, its answer is everybody's, and nobody is held up by another's misfortune."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import cogitate.workers.jobs.shared_calls
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.shared_calls import CallRefused, CallResult, SharedCalls
from cogitate.workers.llm.answer import ModelAnswer
from cogitate.workers.llm.replies.failures import Failure

GOOD = ModelAnswer(usage=Cost(calls=1, tokens=7))
LATE = CallRefused("late")
FAR = 60.0  # seconds


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Released by each thread that begins to wait for another's answer."""
    begun = threading.Semaphore(0)

    class Awaited(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            begun.release()
            return super().result(timeout)

    monkeypatch.setattr(cogitate.workers.jobs.shared_calls, "Future", Awaited)
    return begun


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def all_asking(
    pool: ThreadPoolExecutor,
    waiting: threading.Semaphore,
    call: Callable[[], ModelAnswer | CallRefused],
    sharers: int = 2,
) -> tuple[CallResult | CallRefused | BaseException, list[CallResult | CallRefused]]:
    """What the first gets whose call ends as `call` does, and what those get who ask meanwhile; their own calls go
    well."""
    shared, begun = SharedCalls(), threading.Event()

    def first() -> ModelAnswer | CallRefused:
        begun.set()
        for _ in range(sharers):
            assert waiting.acquire(timeout=FAR)
        return call()

    leading = pool.submit(shared.ask, "q", time.monotonic() + FAR, first)
    assert begun.wait(FAR)
    others = [pool.submit(shared.ask, "q", time.monotonic() + FAR, lambda: GOOD) for _ in range(sharers)]
    return leading.exception() or leading.result(), [other.result() for other in others]


@pytest.mark.parametrize("failure", [None, Failure(kind="wrong_schema"), Failure(kind="server")])
def test_an_answer_is_everybodys_and_so_is_a_failure(
    pool: ThreadPoolExecutor, waiting: threading.Semaphore, failure: Failure | None
) -> None:
    answer = ModelAnswer(usage=Cost(calls=1), failure=failure)
    mine, others = all_asking(pool, waiting, lambda: answer)
    assert mine == CallResult(answer, saved=False)
    assert others == [CallResult(answer, saved=True)] * 2


def away() -> ModelAnswer:
    raise RuntimeError("closed")


@pytest.mark.parametrize(
    "call",
    [lambda: CallRefused("no_slot"), lambda: ModelAnswer(usage=Cost(), failure=Failure(kind="timeout")), away],
    ids=["refused", "its deadline", "raised"],
)
def test_what_stands_in_anothers_way_stands_in_nobody_elses(
    pool: ThreadPoolExecutor, waiting: threading.Semaphore, call: Callable[[], ModelAnswer | CallRefused]
) -> None:
    mine, others = all_asking(pool, waiting, call, sharers=1)
    assert isinstance(mine, RuntimeError | CallRefused) or (
        isinstance(mine, CallResult) and mine.answer.failure is not None
    )
    assert others == [CallResult(GOOD, saved=False)]


def test_nobody_waits_beyond_its_deadline(pool: ThreadPoolExecutor) -> None:
    shared, begun, end = SharedCalls(), threading.Event(), threading.Event()

    def first() -> ModelAnswer:
        begun.set()
        assert end.wait(FAR)
        return GOOD

    leading = pool.submit(shared.ask, "q", time.monotonic() + FAR, first)
    assert begun.wait(FAR)
    assert shared.ask("q", time.monotonic(), lambda: LATE) == LATE
    end.set()
    assert leading.result() == CallResult(GOOD, saved=False)


def test_different_questions_do_not_wait_for_each_other(pool: ThreadPoolExecutor) -> None:
    shared = SharedCalls()
    meeting = threading.Barrier(3)

    def call() -> ModelAnswer:
        meeting.wait(FAR)
        return GOOD

    asked = [pool.submit(shared.ask, question, time.monotonic() + FAR, call) for question in "abc"]
    assert [one.result() for one in asked] == [CallResult(GOOD, saved=False)] * 3
