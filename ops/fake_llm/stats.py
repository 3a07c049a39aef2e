"""Counts of what the stand-in endpoint has served, readable from any thread."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import NamedTuple

from cogitate.ops.fake_llm.completions import FakeResponse

_REMEMBERED = 10_000  # completed answers whose order is reported


class Stats(NamedTuple):
    """The counts so far."""

    requests: int  # for chat completions, including refused and failed ones
    by_status: dict[str, int]  # of responses sent in full; "none": no status reached the client
    by_fault: dict[str, int]
    answers: int  # responses that report their usage
    prompt_tokens: int  # of these
    completion_tokens: int  # of these
    requests_by_model: dict[str, int]  # those that could be read
    tokens_by_model: dict[str, int]  # that responses report
    tokens_by_service_tier: dict[str, int]  # that served them
    in_flight: int
    most_in_flight: int
    batches: int  # that were created
    batch_requests: int  # in these
    batch_answers: int  # to these, that report their usage
    batch_tokens: int  # of these answers
    completed: list[str]  # content digests of the latest 10,000 of these, in the order in which they were sent


class Tally:
    """A counter of requests and responses. `changed` is notified when a request arrives or ends."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._status: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._requests_of: Counter[str] = Counter()
        self._tokens_of: Counter[str] = Counter()
        self._tokens_in: Counter[str] = Counter()
        self._requests = self._answers = self._prompt = self._completion = self._in_flight = self._most = 0
        self._batches = self._batch_requests = self._batch_answers = self._batch_tokens = 0
        self._completed: deque[str] = deque(maxlen=_REMEMBERED)

    def stats(self) -> Stats:
        with self.changed:
            return Stats(
                requests=self._requests,
                by_status=dict(self._status),
                by_fault=dict(self._faults),
                answers=self._answers,
                prompt_tokens=self._prompt,
                completion_tokens=self._completion,
                requests_by_model=dict(self._requests_of),
                tokens_by_model=dict(self._tokens_of),
                tokens_by_service_tier=dict(self._tokens_in),
                in_flight=self._in_flight,
                most_in_flight=self._most,
                batches=self._batches,
                batch_requests=self._batch_requests,
                batch_answers=self._batch_answers,
                batch_tokens=self._batch_tokens,
                completed=list(self._completed),
            )

    def came(self) -> None:
        """Count a request; the caller must call `went` at its end."""
        with self.changed:
            self._requests += 1
            self._in_flight += 1
            self._most = max(self._most, self._in_flight)
            self.changed.notify_all()

    def went(self) -> None:
        with self.changed:
            self._in_flight -= 1
            self.changed.notify_all()

    def understood(self, model: str, fault: str | None) -> None:
        """Count a request's model and fault."""
        with self.changed:
            self._requests_of[model] += 1
            if fault is not None:
                self._faults[fault] += 1

    def batched(self, requests: int, fault: str | None) -> None:
        """Count a batch and its fault."""
        with self.changed:
            self._batches += 1
            self._batch_requests += requests
            if fault is not None:
                self._faults[fault] += 1
            self.changed.notify_all()

    def batch_answered(self, usage: tuple[int, int] | None) -> None:
        """Count a line of a batch, and the usage that it reports."""
        with self.changed:
            if usage is not None:
                self._batch_answers += 1
                self._batch_tokens += sum(usage)

    def sent(self, model: str, digest: str, response: FakeResponse | None) -> None:
        """Count a response that was sent in full, or with None one that was not."""
        with self.changed:
            self._status[str(response.status) if response is not None else "none"] += 1
            if response is not None and response.usage is not None:
                self._answers += 1
                self._prompt += response.usage[0]
                self._completion += response.usage[1]
                self._tokens_of[model] += sum(response.usage)
                self._tokens_in[response.service_tier] += sum(response.usage)
                self._completed.append(digest)
