"""Identical calls in flight: one is made, its answer is everybody's, and nobody is held up by another's misfortune."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cogitate.tasks.job import Cost
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs import call_layers
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.call_layers import Sharing
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from tests.integration.workers.llm_case import MODEL, PROMPT
from tests.patience import LONGEST

GOOD = ModelAnswer(usage=Cost(calls=1, tokens=7))
LATE = Refused("late")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Released by each thread that begins to wait for another's answer."""
    begun = threading.Semaphore(0)

    class Awaited(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            begun.release()
            return super().result(timeout)

    monkeypatch.setattr(call_layers, "Future", Awaited)
    return begun


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def call_of(question: str = "q", seconds: float = LONGEST, **claimed: Any) -> Call:
    job = SimpleNamespace(run="town", id="town/job", key=SimpleNamespace(kind="plan"), due=claimed.pop("due", 3))
    claim: Any = SimpleNamespace(
        **{"job": job, "incarnation": "now", "number": 1, "response_cache": False, "case": None} | claimed
    )
    model = msgspec.structs.replace(MODEL, name=claimed.get("model", "default"))
    return Call(claim, replace(PROMPT, user=question), model, 50, time.monotonic() + seconds)


@pytest.mark.parametrize(
    ("other", "shares"),
    [
        ({"case": "hungry Bob"}, True),
        ({"case": "tired Bob"}, False),
        ({"case": "unlike"}, False),
        ({"case": "broken"}, False),
        ({"case": "hungry Bob", "due": 4}, False),
        ({"case": "hungry Bob", "number": 2}, False),
        ({"case": "hungry Bob", "model": "large"}, False),
        ({"case": "hungry Bob", "incarnation": "later"}, False),
        ({"case": "hungry Bob", "response_cache": True}, False),
    ],
)
def test_cases_that_a_kind_declares_alike_share_an_answer(
    monkeypatch: pytest.MonkeyPatch, pool: ThreadPoolExecutor, waiting: threading.Semaphore, other: Any, shares: bool
) -> None:
    def alike(case: str) -> str | None:
        if case == "broken":
            raise KeyError(case)
        return None if case == "unlike" else case.split()[0]

    monkeypatch.setattr(call_layers, "kind_of", lambda name: SimpleNamespace(alike=alike))
    sharing, begun, end = Sharing(), threading.Event(), threading.Event()

    def first(call: Call) -> ModelAnswer:
        begun.set()
        assert end.wait(LONGEST)
        return GOOD

    own = ModelAnswer(usage=Cost(calls=1, tokens=9))
    leading = pool.submit(sharing.ask, call_of("of Ann", case="hungry Ann"), first)
    assert begun.wait(LONGEST)
    second = pool.submit(sharing.ask, call_of("of Bob", **other), lambda _: own)
    if shares:
        assert waiting.acquire(timeout=LONGEST)
        end.set()
    assert second.result(LONGEST) == (replace(GOOD, saved=True) if shares else own)
    end.set()
    assert leading.result(LONGEST) == GOOD


def all_asking(
    pool: ThreadPoolExecutor, waiting: threading.Semaphore, following: Ask, sharers: int = 2
) -> tuple[ModelAnswer | Refused | BaseException, list[ModelAnswer | Refused]]:
    """Return the result of a first call, which ends as `following` does, and those of calls that begin meanwhile."""
    sharing, begun = Sharing(), threading.Event()

    def first(call: Call) -> ModelAnswer | Refused:
        begun.set()
        for _ in range(sharers):
            assert waiting.acquire(timeout=LONGEST)
        return following(call)

    leading = pool.submit(sharing.ask, call_of(), first)
    assert begun.wait(LONGEST)
    others = [pool.submit(sharing.ask, call_of(), lambda _: GOOD) for _ in range(sharers)]
    return leading.exception() or leading.result(), [other.result() for other in others]


@pytest.mark.parametrize("failure", [None, Failure(kind="wrong_schema"), Failure(kind="server")])
def test_equal_calls_share_an_answer_or_a_failure(
    pool: ThreadPoolExecutor, waiting: threading.Semaphore, failure: Failure | None
) -> None:
    answer = ModelAnswer(usage=Cost(calls=1), failure=failure)
    mine, others = all_asking(pool, waiting, lambda _: answer)
    assert mine == answer
    assert others == [replace(answer, saved=True)] * 2


def away(call: Call) -> ModelAnswer:
    raise RuntimeError("closed")


@pytest.mark.parametrize(
    "following",
    [
        lambda _: Refused("no_slot"),
        lambda _: ModelAnswer(usage=Cost(), failure=Failure(kind="timeout")),
        lambda _: ModelAnswer(usage=Cost(), failure=Failure(kind="no_time")),
        away,
    ],
    ids=["refused", "its deadline", "no time", "raised"],
)
def test_a_callers_refusal_does_not_affect_others(
    pool: ThreadPoolExecutor, waiting: threading.Semaphore, following: Ask
) -> None:
    mine, others = all_asking(pool, waiting, following, sharers=1)
    assert isinstance(mine, RuntimeError | Refused) or (isinstance(mine, ModelAnswer) and mine.failure is not None)
    assert others == [GOOD]


def test_no_wait_exceeds_the_deadline(pool: ThreadPoolExecutor) -> None:
    sharing, begun, end = Sharing(), threading.Event(), threading.Event()

    def first(call: Call) -> ModelAnswer:
        begun.set()
        assert end.wait(LONGEST)
        return GOOD

    leading = pool.submit(sharing.ask, call_of(), first)
    assert begun.wait(LONGEST)
    assert sharing.ask(call_of(seconds=0.0), lambda _: LATE) == LATE
    end.set()
    assert leading.result() == GOOD


def test_different_questions_do_not_wait_for_each_other(pool: ThreadPoolExecutor) -> None:
    sharing, meeting = Sharing(), threading.Barrier(3)

    def meet(call: Call) -> ModelAnswer:
        meeting.wait(LONGEST)
        return GOOD

    asked = [pool.submit(sharing.ask, call_of(question), meet) for question in "abc"]
    assert [one.result() for one in asked] == [GOOD] * 3
