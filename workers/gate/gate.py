"""The gate in front of every endpoint: rate limits, concurrency and a circuit breaker, shared by all workers.

One script admits a call, another records its end; both are in `workers/lua`. A call costs one round trip, since a
thread sends the ends in batches. A run sees the gate's refusals only as failed calls: the job ends by heuristic and
costs nothing.

The breaker follows Nygard, "Release It!" (2nd edition, section 5.2). It opens after several failures in a row or a
share of failures among the latest calls; while it is open, the gate admits no call. After a pause it is half-open:
exactly one call tries the endpoint. A success closes it, a failure doubles the pause. The gate sets aside in the same
way a model whose calls fail while others succeed, or that refuses prompts; a worker started since then tries the model
once without waiting.

The state belongs to the endpoint's name and the address of its latest callers: the first call of a process that names
another address forgets what was learned at the old one.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import structlog
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError
from structlog.contextvars import get_contextvars

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import ENDPOINTS, Reply, endpoint_keys, new_nonce
from cogitate.workers.gate.caller import Caller, Held
from cogitate.workers.gate.endpoint_reports import SECOND, Entered, Report, Reports, Spacing, verdict_of
from cogitate.workers.llm.replies.failures import CLASSES, Failure, ModelAnswer
from cogitate.workers.llm.requests.address import servers_of
from cogitate.workers.lua import source

_EARLY = 0.003  # seconds by which a waiting call asks again early, so that it leaves on time
_PROBE_NAP = 0.05  # seconds between two checks of another worker's probe
_NAP = 0.02  # seconds; a call sleeps through half of a longer wait, since other calls may return unused tokens

Why = Literal["breaker_open", "rate_limited_here", "no_slot", "no_time", "gate_away", "stopping"]
MayWait = Literal["nothing", "endpoint", "model"]  # "model" includes the endpoint
_LATE: dict[bytes, Why] = {b"requests": "rate_limited_here", b"slot": "no_slot", b"time": "no_time"}
_MAY_WAIT: dict[MayWait, int] = {"nothing": 0, "endpoint": 1, "model": 2}

log = structlog.get_logger()


class Refused(NamedTuple):
    """The refusal of a call; nothing was spent."""

    why: str  # class of the failure; the gate's are `Why`
    because: str = ""  # class of the failure that opened the breaker, if the breaker refused the call
    wait: float = 0.0  # seconds that the call would have waited
    of_model: bool = False  # only the model is refused; the endpoint's other models may be called


@dataclass
class _Entering:
    """A call at the gate, from its arrival until it is admitted or refused."""

    endpoint: str
    model: str
    token: str
    tokens: int
    deadline: float
    may_wait: MayWait
    again: bool
    slow: bool
    limits: Endpoint
    spacing: Spacing
    began: float  # instant of `time.monotonic()` of its arrival
    server: str = ""  # the endpoint's address, as long as the gate may not know it
    first: bool = False  # whether it is this process's first call to the endpoint
    waited: bool = False
    places: list[str] = field(default_factory=lambda: ["", ""])  # in the queues, once it has waited

    def arguments(self, now: float) -> list[str | int | float]:
        """Return the arguments of `enter.lua`."""
        return [
            self.token,
            max(0, int((self.deadline - now) * SECOND)),
            self.spacing.pace,
            self.tokens * self.spacing.per_token,
            self.limits.concurrency or 0,
            *self.places,
            max(1, int((now - self.began) * SECOND)) if self.waited else 0,
            int(self.first),
            self.model,
            self.spacing.ahead,
            _MAY_WAIT[self.may_wait],
            int(self.again),
            int(self.slow),
            self.server,
        ]


def _refusal(answer: Reply) -> Refused:
    """Return the refusal in an answer of `enter.lua`."""
    if answer[0] == b"late":
        return Refused(_LATE[answer[2]], wait=answer[1] / SECOND, of_model=answer[3] == b"1")
    return Refused("breaker_open", answer[2].decode(), answer[1] / SECOND, answer[0] == b"aside")


class Gate:
    """The gate of one process. Thread-safe."""

    def __init__(self, client: Redis, settings: Settings, stopping: threading.Event) -> None:
        """Create the gate. `stopping` is set when the process is about to exit, and ends every wait."""
        self._client = client
        self._endpoints = settings.endpoint_table()
        self._spacing = {name: Spacing.of(endpoint) for name, endpoint in self._endpoints.items()}
        self._enter = _script(client, "enter")
        self._probe = _script(client, "probe")
        self._failures = settings.tuning.breaker_failures
        self._caller = Caller(_script(client, "renew"))
        self._reports = Reports(client, _script(client, "leave"), settings, self._free)
        self._called: set[str] = set()  # endpoints that this process has called
        self._servers = servers_of(settings)
        self._met: set[str] = set()  # endpoints whose address the gate knows from this process
        self._lock = threading.Lock()
        self._stopping = stopping

    def enter(
        self,
        endpoint: str,
        *,
        model: str,
        tokens: int,
        deadline: float,
        may_wait: MayWait = "nothing",
        again: bool = False,
        slow: bool = False,
    ) -> Entered | Refused:
        """Wait until a call may leave, and return its permit, or a refusal.

        Args:
            model: the endpoint's name for it.
            tokens: the most that the call may use; it returns unused ones when it ends.
            deadline: the instant of `time.monotonic()` by which the call must have ended. If the wait plus twice the
                usual duration of a call would exceed it, the gate refuses the call at once.
            may_wait: what the call waits for within its deadline if that is set aside and has answered before.
            again: whether an attempt of the job has failed before. Then the gate refuses the call as `no_time` if less
                time is left than a call usually takes.
            slow: whether the call asks in a service tier that answers later than others. Then its duration says nothing
                about other calls, and it does not try an endpoint whose breaker is open.
        """
        limits, spacing = self._endpoints[endpoint], self._spacing[endpoint]
        token, began = f"{self._caller.name}:{new_nonce()}", time.monotonic()
        call = _Entering(endpoint, model, token, tokens, deadline, may_wait, again, slow, limits, spacing, began)
        admitted: Entered | None = None
        try:
            call.first = endpoint not in self._called and self._is_first(endpoint)
            while True:
                now = time.monotonic()
                call.server = "" if endpoint in self._met else self._servers[endpoint]
                answer: Reply = self._enter(keys=endpoint_keys(endpoint), args=call.arguments(now))
                self._met.add(endpoint)  # only now, since calls of other threads may overtake the first
                if answer[0] == b"go":
                    admitted = self._admit(call, now, answer)
                    return admitted
                if answer[0] != b"wait":
                    return _refusal(answer)
                if self._wait(call, answer):
                    return Refused("stopping")
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=endpoint, error=type(error).__name__)
            return Refused("gate_away")
        finally:
            if call.waited and (admitted is None or not admitted.holds):
                self._caller.forget(call.token)

    def _admit(self, call: _Entering, now: float, answer: Reply) -> Entered:
        """Return the permit of a call that asked at `now`, when it may leave: a few milliseconds later at most.

        Until the call ends, this process renews what it holds.
        """
        _, left, delay, tries_aside, probes, has_limits = answer
        if delay:  # even a sleep of zero yields the CPU
            time.sleep(delay / SECOND)
        concurrency = call.limits.concurrency or 0
        entered = Entered(
            endpoint=call.endpoint,
            model=call.model,
            token=call.token,
            began=now + delay / SECOND,
            left=float(left),
            first=call.first,
            tokens=call.tokens,
            slow=call.slow,
            tries_aside=tries_aside == b"1",
            probes=probes == b"1",
            spacing=call.spacing,
            limited=has_limits == b"1" or call.limits.concurrency is not None or any(call.spacing),
            holds=b"1" in (has_limits, tries_aside, probes) or concurrency > 0,
        )
        if entered.holds:
            free_at = entered.left + (call.deadline - now + 1.0) * SECOND
            self._caller.hold(call.token, Held(call.endpoint, call.model, concurrency, free_at))
        return entered

    def _wait(self, call: _Entering, answer: Reply) -> bool:
        """Keep a call's places until it should ask again; return True if the process is about to exit."""
        wait, call.places = answer[1] / SECOND, [place.decode() for place in answer[2:4]]
        if not call.waited:
            log.info("endpoint.waiting", endpoint=call.endpoint, seconds=round(wait, 3))
            self._caller.hold(call.token, Held(call.endpoint))
        call.waited = True
        sleep = max(wait / 2, _NAP) if call.limits.tokens_per_minute and wait > _NAP else wait - _EARLY
        return self._stopping.wait(max(sleep, 0.0005))

    def leave(self, entered: Entered, answer: ModelAnswer | None, prompt: str = "") -> None:
        """Report how a call ended; `answer` is None if unknown.

        The report is sent in the background, except after a probe or a failure that requests a wait.

        Args:
            prompt: its digest, which tells refusals of different prompts apart.
        """
        if entered.holds:
            self._caller.forget(entered.token)
        report = Report(
            call=entered,
            answer=answer,
            took=(time.monotonic() - entered.began) * SECOND,
            prompt=prompt,
            where=get_contextvars(),
        )
        # Other calls must know this before they start.
        urgent = entered.probes or entered.tries_aside or report.retry_after is not None
        (self._reports.send if urgent else self._reports.add)(report)

    def probe(self, endpoint: str, find: Callable[[float], Failure | None], deadline: float) -> None:
        """Probe an endpoint whose breaker is open, and close the breaker if the endpoint answers.

        Only one worker probes; the others wait for its result.

        Args:
            find: returns why the endpoint does not answer by a deadline, or None; it must cost nothing.
            deadline: the instant of `time.monotonic()` by which this returns, give or take a moment.
        """
        keys, token = endpoint_keys(endpoint), new_nonce()
        patience = int(max(0.0, deadline - time.monotonic()) * SECOND) + SECOND
        try:
            waited, server = False, self._servers[endpoint]
            begin: list[str | float] = ["begin", token, patience, self._spacing[endpoint].pace]
            while (answer := self._probe(keys=keys, args=[*begin, int(waited), server]))[0] != b"go":
                left = deadline - time.monotonic()
                if answer[0] == b"done" or left <= 0 or self._stopping.wait(min(answer[1] / SECOND, _PROBE_NAP, left)):
                    return
                waited |= answer[0] == b"busy"
            failure = find(deadline)
            answers = failure is None or CLASSES[failure.kind].scope in ("prompt", "parameter", "model")
            verdict = "fine" if answers else verdict_of(failure)
            kind = failure.kind if failure is not None else ""
            became = self._probe(keys=keys, args=["end", token, verdict, kind, self._failures])
        except RedisError as error:
            log.warning("endpoint.gate_away", endpoint=endpoint, error=type(error).__name__)
            return
        if became[0] == b"closed":
            log.warning("endpoint.closed", endpoint=endpoint, seconds=round(became[1] / SECOND, 3))
        else:
            log.info("endpoint.probed", endpoint=endpoint, failure=kind)

    def count_unusable(self, endpoint: str) -> None:
        """Count a successful call's unusable answer among the endpoint's failures; the breaker ignores it."""
        counters = endpoint_keys(endpoint)[2]
        with contextlib.suppress(RedisError):  # only a figure for operators
            self._client.hincrby(counters, "failures:unusable", 1)

    def close(self) -> None:
        """Send the pending reports, and free what calls still hold. Drops the reports of calls that end later."""
        self._reports.close()
        self._caller.close()

    def _free(self, calls: Sequence[Entered]) -> None:
        holding = (call for call in calls if call.limited or call.probes or call.tries_aside)
        self._caller.free([(call.endpoint, call.token) for call in holding])

    def _is_first(self, endpoint: str) -> bool:
        with self._lock:
            if endpoint in self._called:
                return False
            self._called.add(endpoint)
        self._client.sadd(ENDPOINTS, endpoint)
        return True


def _script(client: Redis, name: str) -> Script:
    return client.register_script(source(name))
