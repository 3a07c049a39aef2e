"""The permit for a call to an endpoint, the report of how the call ended, and its verdict on the endpoint.

One thread per process sends the reports to Redis in batches, so that no caller waits for them. Reports that affect
other calls (a failure, a slot or tokens to return) leave at once; those of successful calls at an endpoint without
limits are merged and leave a few times a second. If the worker is killed or Redis is unreachable, reports are lost. The
counters and the breaker are then slightly off; spending is not, since the ledger records it.

The class of a failure is a guess from its status and text. The evidence decides (`leave.lua`): a model is set aside
once it has refused different prompts and answered none, and the endpoint once a second model has done so. So a refused
prompt costs only its own job, and a model that the key may not use costs only the jobs that ask it.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.connect import read_hash
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.llm.replies.failures import CLASSES, Failure, ModelAnswer
from cogitate.workers.processes.failed_calls import CALLS
from cogitate.workers.processes.lazy_thread import LazyThread

EVERY = 0.2  # seconds between two batches of reports that are not urgent
SECOND = 1_000_000  # microseconds
FLEX_REFUSED = "flex_refused"  # counts an endpoint's refusals that fell back to the standard service tier
_MARGIN = 1.005  # requests leave half a percent slower than allowed, since the server's clock differs from ours

_LIMITED = "every model asked since the last answer hit a limit: check the account's limits and quota"

_ANSWERED = (b"failures:unusable", b"failures:" + FLEX_REFUSED.encode())  # failures of calls that got an answer

Verdict = Literal[
    "fine",  # the model answered, usably or not
    "silent",  # the call says nothing about the endpoint
    "failing",  # the endpoint or the model may be down: enough of these in a row set it aside
    "limited",  # as failing, and fewer calls may be in flight
    "refused",  # the endpoint refuses the prompt, the model, the key or the account
]

#: What an operator must check, by the failure for which an endpoint or a model is set aside.
WHAT_TO_CHECK: dict[str, str] = {kind: failure.check for kind, failure in CLASSES.items() if failure.check}

log = structlog.get_logger()


class Spacing(NamedTuple):
    """The spacing of calls that an endpoint's limits require, in microseconds; 0: no limit."""

    pace: float  # between two requests
    ahead: float  # by which a request may leave early to make up for one that left late
    per_token: float  # for each token of a call

    @classmethod
    def of(cls, limits: Endpoint) -> Spacing:
        """Return the spacing of an endpoint. A request may be ahead by half of the endpoint's burst.

        The other half absorbs delays on the way.
        """
        pace = _MARGIN * 60 * SECOND / limits.requests_per_minute if limits.requests_per_minute else 0.0
        per_token = 60 * SECOND / limits.tokens_per_minute if limits.tokens_per_minute else 0.0
        return cls(pace, pace * limits.burst / 2, per_token)


@dataclass(frozen=True, kw_only=True)
class Entered:
    """A permit to call an endpoint once. The caller reports the end of the call to `Gate.leave`."""

    endpoint: str
    model: str  # the endpoint's name for it
    token: str
    began: float  # `time.monotonic()`
    left: float  # microseconds of Redis's clock
    first: bool  # whether it is this process's first call to this endpoint
    tokens: int  # taken from the tokens per minute
    slow: bool = False  # the call asks in a service tier that answers later than others
    tries_aside: bool  # the model was set aside
    probes: bool  # the breaker was open
    spacing: Spacing
    limited: bool  # the endpoint has limits, so others may wait for what the call returns
    holds: bool = False  # it holds what this process must renew until it ends


@dataclass(frozen=True, kw_only=True)
class Report:
    """The end of a call."""

    call: Entered
    answer: ModelAnswer | None  # None: unknown
    took: float  # microseconds
    prompt: str = ""  # digest of the prompt
    where: Mapping[str, object] = field(default_factory=dict)  # the calling job and attempt, as logged

    @property
    def retry_after(self) -> float | None:
        """Return the pause that the endpoint asked for, in seconds, or None."""
        failure = self.answer.failure if self.answer is not None else None
        if failure is None or failure.of_tier:
            return None
        return failure.retry_after if failure.retryable else None

    @property
    def is_plain(self) -> bool:
        """Return whether no other call depends on this report: a success at an endpoint without limits."""
        answered = self.answer is not None and self.answer.failure is None
        return answered and not (self.call.limited or self.call.tries_aside)


class Reports:
    """The queue of reports, sent in order. Thread-safe.

    Args:
        leave: the script `leave`.
        lost: receives the calls whose reports may not have reached Redis.
    """

    def __init__(
        self, client: Redis, leave: Script, settings: Settings, lost: Callable[[Sequence[Entered]], None]
    ) -> None:
        self._client = client
        self._leave = leave
        self._lost = lost
        self._breaker = (
            settings.tuning.breaker_failures,
            settings.tuning.breaker_share,
            settings.tuning.breaker_window,
            int(settings.tuning.breaker_pause * SECOND),
            int(settings.tuning.breaker_longest_pause * SECOND),
        )
        self._waiting: list[Report] = []
        self._urgent = False
        self._closed = False
        self._changed = threading.Condition()
        self._thread = LazyThread(self._run, "endpoint-reports")

    def add(self, report: Report) -> None:
        """Queue a report; the thread sends it soon."""
        with self._changed:
            if self._closed:
                return
            self._waiting.append(report)
            self._urgent |= not report.is_plain
            if self._urgent or len(self._waiting) == 1:  # the first report that is not urgent starts the interval
                self._changed.notify()
            if not self._thread.started:  # each call passes here
                self._thread.start()

    def send(self, report: Report) -> None:
        """Send a report immediately, in the caller's thread."""
        self._send([[report]])

    def close(self) -> None:
        """Send the queued reports and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(lambda: self._urgent or self._closed, timeout=EVERY)
                reports, self._waiting, self._urgent = self._waiting, [], False
                if not reports and self._closed:
                    return
            self._send(batches_of(reports))

    def _send(self, batches: list[list[Report]]) -> None:
        try:
            self._run_scripts(batches)
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=batches[0][0].call.endpoint, error=type(error).__name__)
            self._lost([report.call for batch in batches for report in batch])

    def _run_scripts(self, batches: list[list[Report]]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for batch in batches:
            args = arguments_of(batch, self._breaker)
            self._leave(keys=endpoint_keys(batch[0].call.endpoint), args=args, client=pipeline)
        for batch, answer in zip(batches, pipeline.execute(), strict=True):
            _log_change(batch[0], answer)
            self._record(batch[0])

    def _record(self, report: Report) -> None:
        """Record for the heartbeat whether the endpoint answered a call."""
        failure = report.answer.failure if report.answer is not None else None
        verdict, endpoint = verdict_of(failure) if report.answer is not None else "silent", report.call.endpoint
        if verdict == "fine":
            CALLS.answered(endpoint)
        elif failure is not None and verdict in ("failing", "refused"):
            CALLS.failed(endpoint, failure.kind, lambda: self._answered(endpoint))

    def _answered(self, endpoint: str) -> int:
        """Return how many calls of all workers an endpoint has answered, with usable answers or not."""
        counts = read_hash(self._client, endpoint_keys(endpoint)[2])
        failed = (name for name in counts if name.startswith(b"failures:") and name not in _ANSWERED)
        return int(counts.get(b"calls", 0)) - sum(int(counts[name]) for name in failed)


def batches_of(reports: list[Report]) -> list[list[Report]]:
    """Return the reports in order, with neighbouring plain ones of a model in one batch."""
    batches = groupby(reports, lambda it: (it.call.endpoint, it.call.model) if it.is_plain else it.call.token)
    return [[*batch] for _, batch in batches]


def arguments_of(batch: list[Report], breaker: tuple[float, ...]) -> list[str | int | float]:
    """Return the arguments of `leave.lua` for one call, or for several plain ones."""
    first, call = batch[0], batch[0].call
    answers = [report.answer for report in batch if report.answer is not None]
    failure = answers[0].failure if answers else None
    used = sum(answer.usage.tokens for answer in answers)
    tiers = Counter(answer.service_tier for answer in answers if answer.service_tier)
    return [
        call.token if len(batch) == 1 else "",
        verdict_of(failure) if answers else "silent",
        "" if failure is None else FLEX_REFUSED if failure.of_tier else failure.kind,
        len(batch),
        sum(answer.usage.calls for answer in answers),
        used,
        sum(report.took for report in batch) / len(batch),
        (call.tokens - used) * call.spacing.per_token if answers else 0.0,
        -1 if first.retry_after is None else math.ceil(first.retry_after * SECOND),
        call.spacing.pace,
        int(call.first),
        call.model,
        int(call.tries_aside),
        *breaker,
        call.spacing.ahead,
        sum(answer.usage.tokens for answer in answers if answer.estimated),
        sum(answer.reasoning for answer in answers),
        ",".join(str(int(report.took)) for report in batch) if answers and failure is None and not call.slow else "",
        first.prompt,
        call.left,
        int(call.slow),
        ",".join(f"{tier}={count}" for tier, count in sorted(tiers.items())),
        sum(answer.discount for answer in answers),
    ]


def _log_change(report: Report, answer: list[Any]) -> None:
    what = answer[0].decode()
    where = {"endpoint": report.call.endpoint, **report.where}
    if what in ("opened", "aside"):
        failure, pause = answer[1].decode(), answer[2] / SECOND
        check = WHAT_TO_CHECK.get(failure)
        known = (
            where | {"model": report.call.model, "why": failure, "seconds": pause} | ({"check": check} if check else {})
        )
        if what == "opened":
            (log.error if check else log.warning)("endpoint.opened", **known)
        elif answer[3] == b"1":
            (log.error if check else log.warning)("endpoint.model_set_aside", **known)
        else:
            log.info("endpoint.model_set_aside", **known)
    elif what == "limited":
        log.warning("endpoint.account_limited", **where, check=_LIMITED)
    elif what == "closed":
        log.warning("endpoint.closed", **where, seconds=round(answer[1] / SECOND, 3))


def verdict_of(failure: Failure | None) -> Verdict:
    """Return what a call's outcome says about its endpoint.

    A 429 with a `Retry-After` does not indicate an outage: all calls of its model wait until then.
    """
    if failure is None:
        return "fine"
    if failure.of_tier or failure.kind in ("unsupported", "no_time"):
        return "silent"  # a part of the request is at fault, or the worker sent nothing
    if failure.kind == "rate_limited":
        return "limited" if failure.retry_after is None else "silent"
    if failure.kind == "overloaded" and failure.retry_after is None:
        return "limited"
    known = CLASSES[failure.kind]
    if known.scope == "network":
        return "failing"  # for any request
    if known.again == "never" and failure.kind != "context_overflow" and failure.status is not None:
        return "refused"
    return "failing" if known.scope == "endpoint" else "fine"
