"""Sharing of identical calls in flight: a thread whose question is being asked already waits for that answer.

Only jobs of one run share: two runs that ask the same are two samples of the model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import NamedTuple

from cogitate.workers.llm.answer import ModelAnswer


class CallResult(NamedTuple):
    """The answer to a call."""

    answer: ModelAnswer
    saved: bool  # another call brought this answer, so it cost nothing


class CallRefused(NamedTuple):
    """The reason why no call was made; nothing was spent."""

    why: str  # class of the failure
    because: str = ""  # class of the failure that opened the endpoint's breaker, if that is the reason


class SharedCalls:
    """The calls of a process in flight. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[ModelAnswer | CallRefused]] = {}

    def ask(
        self, question: Hashable, deadline: float, call: Callable[[], ModelAnswer | CallRefused]
    ) -> CallResult | CallRefused:
        """Make the call, or share the answer of an identical one.

        If the other caller got no answer for a reason of its own (its deadline, a limit), this thread calls after all.

        Args:
            question: the identity of a call, its run included.
            deadline: the instant of `time.monotonic()` until which to wait for the other answer.
            call: makes the call, or returns why none was made.
        """
        while True:
            with self._lock:
                shared = self._under_way.get(question)
                mine: Future[ModelAnswer | CallRefused] = Future()
                if shared is None:
                    self._under_way[question] = mine
            if shared is None:
                return self._call(question, mine, call)
            try:
                answer = shared.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                return _result_of(call())  # it reports that its time is over
            if isinstance(answer, ModelAnswer) and (answer.failure is None or answer.failure.kind != "timeout"):
                return CallResult(answer, saved=True)

    def _call(
        self, question: Hashable, mine: Future[ModelAnswer | CallRefused], call: Callable[[], ModelAnswer | CallRefused]
    ) -> CallResult | CallRefused:
        answer: ModelAnswer | CallRefused = CallRefused("")
        try:
            answer = call()
            return _result_of(answer)
        finally:
            with self._lock:
                del self._under_way[question]
            mine.set_result(answer)


def _result_of(answer: ModelAnswer | CallRefused) -> CallResult | CallRefused:
    return CallResult(answer, saved=False) if isinstance(answer, ModelAnswer) else answer
