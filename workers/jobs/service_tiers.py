"""The layer that asks in the provider's flex tier if the answer may come late.

Flex processing serves a request on spare capacity at a reduced price: later, or not at all. A provider's service tiers
are not the two models of a kind (`cogitate.scheduler.config.tiers`). This layer chooses after admission: a job reserves
the price of the standard tier, and is charged at the price of the tier that the response names.

A first attempt asks in flex if it has more time than the standard tier usually needs. The time left depends on the
host:

* If ticks follow a real clock, it is the time until the boundary of the job's due tick.
* If the host waits at boundaries, it is the host's wait: a late answer costs only wall-clock time.
* Otherwise it follows from the run's pace, measured by the ticks at which workers claim its jobs.

Flex gets this time, within the attempt's deadline, less what the standard tier needs. If the provider refuses flex at
no charge (no capacity, not for this model, an unknown parameter), the same attempt asks in the standard tier. A flex
request that times out may have been charged, so the next attempt asks in the standard tier and reserves again. Neither
counts towards the endpoint's breaker. After a refusal the process skips flex for a while.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import structlog

from cogitate.scheduler.config.endpoints import FLEX, Model
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.claims import Claim
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.llm.replies.failures import FailureKind, ModelAnswer

LEAST = 10.0  # fewest seconds for which flex is worth a request
ANSWER = 5.0  # seconds that an answer of the standard tier takes, until one is measured
SPARED = 3.0  # time left for the standard tier after flex, in usual durations of its answers
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds without flex after it had no capacity; doubles with each refusal
UNKNOWN_PAUSE = 3_600.0  # seconds without flex after a model turns out not to have it
MEASURED = 5.0  # fewest seconds over which a pace is measured

#: Failures that may concern flex alone, while the standard tier answers.
_OF_CAPACITY: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "quota_exhausted", "server", "timeout", "no_time"}
)
_OF_REQUEST: frozenset[FailureKind] = frozenset({"unsupported", "bad_request", "model_missing", "forbidden"})

log = structlog.get_logger()


def marked(answer: ModelAnswer) -> ModelAnswer:
    """Return the answer to a flex request; mark its failure if the tier may have caused it."""
    failure = answer.failure
    if failure is None or failure.kind not in _OF_CAPACITY | _OF_REQUEST:
        return answer
    return replace(answer, failure=replace(failure, of_tier=True))


class ServiceTiers:
    """Chooses the service tier of calls to models whose `service_tier` is "auto". Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._tick_rate, self._wait = settings.tick_rate, settings.wait_seconds()
        self._paces = _Paces()
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _TierState] = {}  # by endpoint and its name for the model

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask in the flex tier if there is time; after a refusal that cost nothing, in the standard tier."""
        if '"service_tier"' in call.model.parameters:
            return following(call)
        state, began = self._known_of(call.model), time.monotonic()
        seconds = self._seconds_for_flex(call, state, began)
        if seconds is None:
            return self._in_standard(call, following, state)
        answer = following(call._replace(service_tier=FLEX, deadline=began + seconds))
        if isinstance(answer, Refused):
            stops = answer.why in ("stopping", "gate_away")
            return answer if stops else self._in_standard(call, following, state)
        if answer.failure is None or not answer.failure.of_tier:
            if answer.failure is None:
                with self._lock:
                    state.answered(time.monotonic() - began)
            return answer
        kind, wait = answer.failure.kind, answer.failure.retry_after
        log.info("job.flex_refused", job=call.claim.job.id, model=call.model.name, failure=kind)
        if answer.usage.tokens:  # perhaps charged: no further request fits this attempt's reservation
            self._pause(state, wait)
            return answer
        second = self._in_standard(call, following, state)
        failed = second.failure.kind if isinstance(second, ModelAnswer) and second.failure is not None else ""
        if kind not in _OF_REQUEST:
            self._pause(state, wait)
        elif failed != kind:  # otherwise every tier refuses the prompt or the key
            self._pause(state, UNKNOWN_PAUSE)
        return second

    def _in_standard(self, call: Call, following: Ask, state: _TierState) -> ModelAnswer | Refused:
        began = time.monotonic()
        answer = following(call)
        if isinstance(answer, ModelAnswer) and answer.failure is None:
            with self._lock:
                state.standard = _smoothed(state.standard, time.monotonic() - began)
        return answer

    def _seconds_for_flex(self, call: Call, state: _TierState, now: float) -> float | None:
        """Return the seconds that flex may take; None: ask in the standard tier at once."""
        claim = call.claim
        left = self._seconds_left(claim, now)
        if left is None or claim.number > 1 or claim.last:
            return None
        with self._lock:
            if now < state.until:
                return None
            spare = min(left, call.deadline - now) - SPARED * (state.standard or ANSWER)
            return spare if spare >= max(LEAST, 1.5 * state.flex) else None

    def _seconds_left(self, claim: Claim, now: float) -> float | None:
        """Return the seconds until the boundary that applies the result; None if unknown."""
        ticks = claim.job.due - max(claim.tick, claim.job.key.tick) - 1
        if self._tick_rate is not None:
            return ticks / self._tick_rate + self._wait
        if self._wait > 0:
            return self._wait
        pace = self._paces.measure(claim, now)
        return ticks / pace if pace else None

    def _known_of(self, model: Model) -> _TierState:
        with self._lock:
            return self._known.setdefault((model.endpoint, model.model), _TierState())

    def _pause(self, state: _TierState, wait: float | None) -> None:
        with self._lock:
            state.refused(time.monotonic(), wait or 0.0)


class _TierState:
    """One process's measurements of a model's service tiers."""

    def __init__(self) -> None:
        self.flex = 0.0  # smoothed seconds of an answer; 0: unknown
        self.standard = 0.0
        self.until = 0.0  # instant of `time.monotonic()` until which flex is skipped
        self._refusals = 0  # since flex last answered

    def answered(self, seconds: float) -> None:
        self.flex, self._refusals = _smoothed(self.flex, seconds), 0

    def refused(self, now: float, wait: float) -> None:
        pause = min(FIRST_PAUSE * 2.0**self._refusals, LONGEST_PAUSE)
        self._refusals = min(self._refusals + 1, 30)
        self.until = max(self.until, now + max(pause, wait))


def _smoothed(usual: float, seconds: float) -> float:
    return usual + (seconds - usual) / 8 if usual else seconds


class _Paces:
    """The paces of runs, measured by the ticks at which workers claim their jobs. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, int, float]] = {}  # run -> incarnation, tick and instant of an earlier claim

    def measure(self, claim: Claim, now: float) -> float:
        """Record a claim, and return the pace of its run, in ticks a second; 0 if unknown."""
        with self._lock:
            incarnation, tick, at = self._seen.setdefault(claim.job.run, (claim.incarnation, claim.tick, now))
            if incarnation != claim.incarnation or now - at > 60 * MEASURED:
                self._seen[claim.job.run] = claim.incarnation, claim.tick, now
            if incarnation != claim.incarnation or now - at < MEASURED:
                return 0.0
            return max(0, claim.tick - tick) / (now - at)
