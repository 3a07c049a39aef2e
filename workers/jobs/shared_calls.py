"""Identical requests in flight are made once: whoever asks what is being asked waits for that answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import NamedTuple

from workers.llm.answer import ModelAnswer


class CallResult(NamedTuple):
    """What came of a question."""

    answer: ModelAnswer
    saved: bool  # another's call was answered so: this one cost nothing


class NotAsked(NamedTuple):
    """Why a question was not put; nothing was spent."""

    why: str  # class of the failure
    because: str = ""  # class of the failure that opened the endpoint's breaker, where that is why


class SharedCalls:
    """The calls of a process that are under way. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[ModelAnswer | NotAsked]] = {}

    def ask(
        self, question: Hashable, deadline: float, call: Callable[[], ModelAnswer | NotAsked]
    ) -> CallResult | NotAsked:
        """Make the call, or have part in the same one.

        What kept another from its answer (its own deadline, a limit) need not stand in the way here: then it is called
        after all.

        Args:
            question: what tells calls apart.
            deadline: the instant of `time.monotonic()` until which to wait for another's answer.
            call: makes the call, or says why that may not be.
        """
        while True:
            with self._lock:
                shared = self._under_way.get(question)
                mine: Future[ModelAnswer | NotAsked] = Future()
                if shared is None:
                    self._under_way[question] = mine
            if shared is None:
                return self._call(question, mine, call)
            try:
                answer = shared.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                return _asked(call())  # which says that its time is over
            if isinstance(answer, ModelAnswer) and (answer.failure is None or answer.failure.kind != "timeout"):
                return CallResult(answer, saved=True)

    def _call(
        self, question: Hashable, mine: Future[ModelAnswer | NotAsked], call: Callable[[], ModelAnswer | NotAsked]
    ) -> CallResult | NotAsked:
        answer: ModelAnswer | NotAsked = NotAsked("")
        try:
            answer = call()
            return _asked(answer)
        finally:
            with self._lock:
                del self._under_way[question]
            mine.set_result(answer)


def _asked(answer: ModelAnswer | NotAsked) -> CallResult | NotAsked:
    return CallResult(answer, saved=False) if isinstance(answer, ModelAnswer) else answer
