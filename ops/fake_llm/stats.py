"""Counts of the requests and responses of the stand-in endpoint, readable from any thread."""

from __future__ import annotations

import threading
from collections import Counter
from copy import copy
from dataclasses import dataclass, field

from cogitate.ops.fake_llm.completions import FakeResponse

_REMEMBERED = 10_000  # answers whose order the counts report


@dataclass
class Stats:
    """The counts so far."""

    requests: int = 0  # for chat completions, including refused and failed ones
    by_status: Counter[str] = field(default_factory=Counter)  # of complete responses; "none": the others
    by_fault: Counter[str] = field(default_factory=Counter)
    answers: int = 0  # responses that report their usage
    prompt_tokens: int = 0  # of these answers
    completion_tokens: int = 0  # of these answers
    requests_by_model: Counter[str] = field(default_factory=Counter)  # of valid requests
    tokens_by_model: Counter[str] = field(default_factory=Counter)  # of these answers
    tokens_by_service_tier: Counter[str] = field(default_factory=Counter)  # of these answers
    in_flight: int = 0
    most_in_flight: int = 0
    batches: int = 0  # created batches
    batch_requests: int = 0  # requests in batches
    batch_answers: int = 0  # answers in batches that report their usage
    batch_tokens: int = 0  # tokens of these answers
    completed: list[str] = field(default_factory=list)  # content digests of the latest 10,000 answers, in order


class Tally:
    """A counter of requests and responses. `changed` is notified when a request arrives or ends."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._counts = Stats()

    def stats(self) -> Stats:
        with self.changed:
            return Stats(**{name: copy(value) for name, value in vars(self._counts).items()})

    def came(self) -> None:
        """Count a request; the caller must call `went` at its end."""
        with self.changed:
            self._counts.requests += 1
            self._counts.in_flight += 1
            self._counts.most_in_flight = max(self._counts.most_in_flight, self._counts.in_flight)
            self.changed.notify_all()

    def went(self) -> None:
        with self.changed:
            self._counts.in_flight -= 1
            self.changed.notify_all()

    def understood(self, model: str, fault: str | None) -> None:
        """Count a request's model and fault."""
        with self.changed:
            self._counts.requests_by_model[model] += 1
            if fault is not None:
                self._counts.by_fault[fault] += 1

    def batched(self, requests: int, fault: str | None) -> None:
        """Count a batch and its fault."""
        with self.changed:
            self._counts.batches += 1
            self._counts.batch_requests += requests
            if fault is not None:
                self._counts.by_fault[fault] += 1
            self.changed.notify_all()

    def batch_answered(self, usage: tuple[int, int] | None) -> None:
        """Count a line of a batch, and the usage that it reports."""
        with self.changed:
            if usage is not None:
                self._counts.batch_answers += 1
                self._counts.batch_tokens += sum(usage)

    def sent(self, model: str, digest: str, response: FakeResponse | None) -> None:
        """Count a response that was sent in full; None: one that was not."""
        with self.changed:
            self._counts.by_status[str(response.status) if response is not None else "none"] += 1
            if response is not None and response.usage is not None:
                self._counts.answers += 1
                self._counts.prompt_tokens += response.usage[0]
                self._counts.completion_tokens += response.usage[1]
                self._counts.tokens_by_model[model] += sum(response.usage)
                self._counts.tokens_by_service_tier[response.service_tier] += sum(response.usage)
                self._counts.completed.append(digest)
                del self._counts.completed[:-_REMEMBERED]
