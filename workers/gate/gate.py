"""The gate before every endpoint: limits a minute, calls in flight and a circuit breaker, shared by all workers.

One script lets a call in, one hears how it ended; both are in `workers/lua`. A call costs one round trip: how it ended
is told by a thread of the gate's own, many ends at a time. What the gate decides reaches a run only as a call that
fails, like any other: its job ends by heuristic and costs nothing.

The breaker follows Nygard, "Release It!" (2nd edition, section 5.2): closed; open after failures in a row or a share of
the latest calls, when nothing is sent; half-open when a pause is over, when exactly one call tries the endpoint. A
success closes it, a failure doubles the pause. What only a change of settings mends (a refused key, an empty account)
opens it at once, for the longest pause; a worker that was started since tries once without waiting.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError

from scheduler.config.endpoints import Endpoint
from scheduler.config.settings import Settings
from scheduler.ledger.keys import ENDPOINTS, endpoint_keys, new_nonce
from workers.gate.endpoint_reports import Report, Reports
from workers.gate.verdict import verdict_of
from workers.llm.answer import ModelAnswer
from workers.llm.failures import Failure

SECOND = 1_000_000  # microseconds
_MARGIN = 1.005  # requests leave half a percent slower than allowed: a server's clock is not ours
_EARLY = 0.003  # seconds; so much before its time a call that waited asks again, to leave on the instant
_PROBE_NAP = 0.05  # seconds between two looks whether another worker's probe has ended
_NAP = 0.02  # seconds; of a longer wait for tokens half is slept, since others give back what they did not use

Why = Literal["breaker_open", "rate_limited_here", "no_slot", "gate_away", "stopping"]

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The endpoint must not be called now; nothing was spent."""

    why: Why
    wait: float = 0.0  # seconds that it would have been
    because: str = ""  # class of the failure that opened the breaker


@dataclass(frozen=True, kw_only=True)
class Entered:
    """Leave to call an endpoint once. `Gate.leave` must be told how that ended."""

    endpoint: str
    model: str  # as the endpoint calls it
    token: str
    began: float  # `time.monotonic()`
    left: float  # microseconds of Redis's clock
    first: bool  # of this process at this endpoint
    tokens: int  # taken from the tokens a minute
    tries_missing: bool  # the endpoint did not know the model before
    probes: bool  # the breaker was open


class Gate:
    """The gate of one process. Thread-safe."""

    def __init__(self, client: Redis, settings: Settings, stopping: threading.Event) -> None:
        """`stopping` is set when the process is about to end: every wait ends with it."""
        self._client = client
        self._endpoints = settings.endpoint_table()
        self._longest_pause = int(settings.breaker_longest_pause * SECOND)
        self._enter = _script(client, "enter")
        self._probe = _script(client, "probe")
        self._failures = settings.breaker_failures
        self._reports = Reports(client, _script(client, "leave"), settings)
        self._called: set[str] = set()  # endpoints that this process has called
        self._lock = threading.Lock()
        self._stopping = stopping

    def enter(self, endpoint: str, *, model: str, tokens: int, deadline: float) -> Entered | Refused:
        """Wait until the endpoint may be called, or say why it may not be.

        Args:
            model: as the endpoint calls it.
            tokens: the most that the call may use; what it did not use is given back when it ends.
            deadline: the instant of `time.monotonic()` by which the call must have ended. Where the wait and twice what
                a call usually takes would pass it, the answer is `Refused`, at once.
        """
        limits = self._endpoints[endpoint]
        token, began, places, waited = new_nonce(), time.monotonic(), ["", ""], False
        try:
            fresh = self._is_first(endpoint)
            while True:
                now = time.monotonic()
                args: list[str | int | float] = [
                    token, max(0, int((deadline - now) * SECOND)), pace(limits), tokens * per_token(limits),
                    limits.concurrency or 0, *places, max(1, int((now - began) * SECOND)) if waited else 0,
                    int(fresh), model, self._longest_pause, ahead(limits),
                ]  # fmt: skip
                answer: list[Any] = self._enter(keys=endpoint_keys(endpoint), args=args)
                match answer[0]:
                    case b"go":
                        leaves = now + answer[2] / SECOND
                        if answer[2]:  # a few milliseconds at most; even a sleep of nothing gives the processor away
                            time.sleep(answer[2] / SECOND)
                        return Entered(
                            endpoint=endpoint, model=model, token=token, began=leaves, left=float(answer[1]),
                            first=fresh, tokens=tokens, tries_missing=answer[3] == b"1",
                            probes=answer[4] == b"1",
                        )  # fmt: skip
                    case b"open":
                        return Refused(why="breaker_open", wait=answer[1] / SECOND, because=answer[2].decode())
                    case b"late":
                        why: Why = "no_slot" if answer[2] == b"slot" else "rate_limited_here"
                        return Refused(why=why, wait=answer[1] / SECOND)
                wait, places = answer[1] / SECOND, [place.decode() for place in answer[2:4]]
                if not waited:
                    log.info("endpoint.waiting", endpoint=endpoint, seconds=round(wait, 3))
                waited = True
                sleep = max(wait / 2, _NAP) if limits.tokens_per_minute and wait > _NAP else wait - _EARLY
                if self._stopping.wait(max(sleep, 0.0005)):
                    return Refused(why="stopping")
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=endpoint, error=type(error).__name__)
            return Refused(why="gate_away")

    def leave(self, entered: Entered, answer: ModelAnswer | None) -> None:
        """Say how a call ended; None when it is not known. Returns at once, but for a probe: its end is told first."""
        limits, failure = self._endpoints[entered.endpoint], answer.failure if answer is not None else None
        used = answer.usage.tokens if answer is not None else 0
        retry_after = failure.retry_after if failure is not None and failure.kind == "rate_limited" else None
        verdict = "silent" if answer is None else verdict_of(failure, sent=answer.usage.calls)
        tell = self._reports.tell if entered.probes or entered.tries_missing else self._reports.add
        tell(
            Report(
                endpoint=entered.endpoint,
                model=entered.model,
                token=entered.token,
                verdict=verdict,
                failure=failure.kind if failure is not None else "",
                requests=answer.usage.calls if answer is not None else 0,
                tokens=used,
                estimated=used if answer is not None and answer.estimated else 0,
                took=(time.monotonic() - entered.began) * SECOND,
                give_back=(entered.tokens - used) * per_token(limits) if answer is not None else 0.0,
                retry_after=-1 if retry_after is None else math.ceil(retry_after * SECOND),
                pace=pace(limits),
                ahead=ahead(limits),
                first=entered.first,
                tries_missing=entered.tries_missing,
                limited=limits.concurrency is not None or bool(pace(limits) or per_token(limits)),
            )
        )

    def probe(self, endpoint: str, find: Callable[[float], Failure | None], deadline: float) -> None:
        """Try an endpoint whose breaker is open, and close it where the endpoint answers.

        Of all workers only one tries; the others wait for what comes of it.

        Args:
            find: returns why the endpoint does not answer by a deadline; must cost nothing.
            deadline: the instant of `time.monotonic()` by which this returns, or a little later.
        """
        keys, token = endpoint_keys(endpoint), new_nonce()
        patience = int(max(0.0, deadline - time.monotonic()) * SECOND) + SECOND
        try:
            waited, apart = False, pace(self._endpoints[endpoint])
            while (answer := self._probe(keys=keys, args=["begin", token, patience, apart, int(waited)]))[0] != b"go":
                left = deadline - time.monotonic()
                if answer[0] == b"done" or left <= 0 or self._stopping.wait(min(answer[1] / SECOND, _PROBE_NAP, left)):
                    return
                waited |= answer[0] == b"busy"
            failure = find(deadline)
            verdict = verdict_of(failure, sent=1)
            kind = failure.kind if failure is not None else ""
            became = self._probe(keys=keys, args=["end", token, verdict, kind, self._failures])
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=endpoint, error=type(error).__name__)
            return
        if became[0] == b"closed":
            log.warning("endpoint.closed", endpoint=endpoint, seconds=round(became[1] / SECOND, 3))
        else:
            log.info("endpoint.probed", endpoint=endpoint, failure=kind)

    def close(self) -> None:
        """Tell what has not been told yet. Calls that leave later are not told."""
        self._reports.close()

    def _is_first(self, endpoint: str) -> bool:
        with self._lock:
            if endpoint in self._called:
                return False
            self._called.add(endpoint)
        self._client.sadd(ENDPOINTS, endpoint)
        return True


def pace(limits: Endpoint) -> float:
    """Microseconds between two requests; 0 without a limit."""
    return _MARGIN * 60 * SECOND / limits.requests_per_minute if limits.requests_per_minute else 0.0


def ahead(limits: Endpoint) -> float:
    """Microseconds by which a request may leave early to make good for one that left late.

    Half of what the endpoint allows: the other half is for what happens on the way.
    """
    return pace(limits) * limits.burst / 2


def per_token(limits: Endpoint) -> float:
    """Microseconds that a token takes; 0 without a limit."""
    return 60 * SECOND / limits.tokens_per_minute if limits.tokens_per_minute else 0.0


def _script(client: Redis, name: str) -> Script:
    registered: Any = client.register_script((resources.files("workers.lua") / f"{name}.lua").read_text())
    return registered  # type: ignore[no-any-return]
