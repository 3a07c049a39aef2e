"""Reports of how calls ended, which one thread per process sends to Redis in batches, so that no caller waits for it.

The thread sends reports that affect other calls (a failure, a slot or tokens to return) immediately. It merges those of
successful calls at an endpoint without limits and sends them a few times a second. A killed worker loses its unsent
reports, which leaves the counters and the breaker slightly stale: spending is in the ledger.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.gate.verdict import WHAT_TO_CHECK, Verdict

EVERY = 0.2  # seconds between two batches of reports that are not urgent
_SECOND = 1_000_000  # microseconds

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The end of a call, or of several successful calls. Times are microseconds."""

    endpoint: str
    model: str
    token: str  # "" for merged reports
    verdict: Verdict
    failure: str  # its class, or ""
    calls: int = 1
    requests: int  # actually sent
    tokens: int  # actually used
    estimated: int  # of these, the tokens that the endpoint did not report
    reasoning: int  # of these, the tokens of reasoning
    took: float
    times: tuple[int, ...] = ()  # durations of the answered calls
    give_back: float  # of unused tokens, as time
    retry_after: int  # -1: the endpoint did not ask for a pause
    pace: float  # between two requests
    ahead: float  # by which a request may leave early
    first: bool  # whether it is its process's first call to this endpoint
    tries_aside: bool  # the model was set aside
    prompt: str = ""  # its digest
    left: float = 0.0  # when the call left, on Redis's clock
    where: Mapping[str, object] = field(default_factory=dict)  # the calling job and attempt, as logged
    limited: bool  # the endpoint has limits, so others may wait for what this call returns


class Reports:
    """The queue of reports, sent in order. Thread-safe."""

    def __init__(self, client: Redis, leave: Script, settings: Settings) -> None:
        self._client = client
        self._leave = leave
        self._breaker = (
            settings.tuning.breaker_failures,
            settings.tuning.breaker_share,
            settings.tuning.breaker_window,
            int(settings.tuning.breaker_pause * _SECOND),
            int(settings.tuning.breaker_longest_pause * _SECOND),
        )
        self._waiting: list[Report] = []
        self._urgent = False
        self._closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, report: Report) -> None:
        """Queue a report; the thread sends it soon."""
        with self._changed:
            if self._closed:
                return
            self._waiting.append(report)
            self._urgent |= not _plain(report)
            if self._urgent or len(self._waiting) == 1:  # the first report that is not urgent starts the interval
                self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="endpoint-reports", daemon=True)
                self._thread.start()

    def send(self, report: Report) -> None:
        """Send a report immediately, in the caller's thread."""
        self._send([report])

    def close(self) -> None:
        """Send the queued reports and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(lambda: self._urgent or self._closed, timeout=EVERY)
                reports, self._waiting, self._urgent = self._waiting, [], False
                if not reports and self._closed:
                    return
            self._send(added_up(reports))

    def _send(self, reports: list[Report]) -> None:
        try:
            self._run_scripts(reports)
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=reports[0].endpoint, error=type(error).__name__)

    def _run_scripts(self, reports: list[Report]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for one in reports:
            self._leave(
                keys=endpoint_keys(one.endpoint),
                args=[
                    one.token,
                    one.verdict,
                    one.failure,
                    one.calls,
                    one.requests,
                    one.tokens,
                    one.took,
                    one.give_back,
                    one.retry_after,
                    one.pace,
                    int(one.first),
                    one.model,
                    int(one.tries_aside),
                    *self._breaker,
                    one.ahead,
                    one.estimated,
                    one.reasoning,
                    ",".join(map(str, one.times)),
                    one.prompt,
                    one.left,
                ],
                client=pipeline,
            )
        answers = pipeline.execute()
        for one, answer in zip(reports, answers, strict=True):
            _log_change(one, answer)


def added_up(reports: list[Report]) -> list[Report]:
    """Return the reports, with neighbouring successes of a model without limits merged; `took` is their mean."""
    merged: list[Report] = []
    for one in reports:
        last = merged[-1] if merged else None
        if (
            last is None
            or not (_plain(one) and _plain(last))
            or (last.endpoint, last.model) != (one.endpoint, one.model)
        ):
            merged.append(one)
            continue
        calls = last.calls + one.calls
        merged[-1] = replace(
            last,
            token="",
            calls=calls,
            requests=last.requests + one.requests,
            tokens=last.tokens + one.tokens,
            estimated=last.estimated + one.estimated,
            reasoning=last.reasoning + one.reasoning,
            times=last.times + one.times,
            took=(last.took * last.calls + one.took * one.calls) / calls,
        )
    return merged


def _plain(report: Report) -> bool:
    return report.verdict == "fine" and not (report.failure or report.limited or report.tries_aside)


def _log_change(report: Report, answer: list[Any]) -> None:
    what = answer[0].decode()
    where = {"endpoint": report.endpoint, **report.where}
    if what in ("opened", "aside"):
        failure, pause = answer[1].decode(), answer[2] / _SECOND
        check = WHAT_TO_CHECK.get(failure)
        known = where | {"model": report.model, "why": failure, "seconds": pause} | ({"check": check} if check else {})
        if what == "opened":
            (log.error if check else log.warning)("endpoint.opened", **known)
        elif answer[3] == b"1":
            (log.error if check else log.warning)("endpoint.model_set_aside", **known)
        else:
            log.info("endpoint.model_set_aside", **known)
    elif what == "closed":
        log.warning("endpoint.closed", **where, seconds=round(answer[1] / _SECOND, 3))
