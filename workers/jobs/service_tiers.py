"""The layer that asks for an answer in the provider's flex tier where it may wait.

Flex processing serves a request on spare capacity for a part of the price: later, or not at all. A provider's service
tiers are not the two models of a kind (`cogitate.scheduler.config.tiers`). The choice is made here, after admission: a
job reserves the price of the standard tier, and is charged at the price of the tier that the response names.

A first attempt is asked in flex if its answer may come later than one in the standard tier usually does:

* At a real pace, the time left is that until the boundary of the job's due tick.
* A host that waits at its boundaries loses nothing but time by the clock: the time left is what it waits.
* Otherwise the pace is measured, from the ticks at which jobs of the run were claimed.

Flex gets this time, within the attempt's deadline, less what the standard tier needs. If the provider refuses flex at
no charge (no capacity, not for this model, an unknown parameter), the same attempt asks in the standard tier. A flex
request that runs out of its time may have been charged, so the next attempt asks in the standard tier and reserves
again. Neither counts towards the endpoint's breaker. After a refusal the process skips flex for a while.
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

LEAST = 10.0  # seconds that flex must have to be worth a request
ANSWER = 5.0  # seconds that an answer of the standard tier takes, until some were measured
SPARED = 3.0  # usual durations of an answer that the standard tier is left after flex
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds without flex after it had no capacity; doubles with each refusal
UNKNOWN_PAUSE = 3_600.0  # seconds without flex after a model turned out not to have it
MEASURED = 5.0  # seconds over which a pace is measured at least

#: Refusals that may concern the tier alone, while the standard tier answers.
_OF_CAPACITY: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "quota_exhausted", "server", "timeout", "no_time"}
)
_OF_REQUEST: frozenset[FailureKind] = frozenset({"unsupported", "bad_request", "model_missing", "forbidden"})

log = structlog.get_logger()


def marked(answer: ModelAnswer) -> ModelAnswer:
    """Return the answer to a flex request, its failure marked if the tier may have caused it."""
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
        self._known: dict[tuple[str, str], _Known] = {}  # by endpoint and its name for the model

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        """Ask in the flex tier if there is time; after a refusal that cost nothing, in the standard tier."""
        if '"service_tier"' in call.model.parameters:
            return following(call)
        known, began = self._known_of(call.model), time.monotonic()
        seconds = self._seconds_for_flex(call, known, began)
        if seconds is None:
            return self._in_standard(call, following, known)
        answer = following(call._replace(service_tier=FLEX, deadline=began + seconds))
        if isinstance(answer, Refused):
            stops = answer.why in ("stopping", "gate_away")
            return answer if stops else self._in_standard(call, following, known)
        if answer.failure is None or not answer.failure.of_tier:
            if answer.failure is None:
                with self._lock:
                    known.answered(time.monotonic() - began)
            return answer
        kind, wait = answer.failure.kind, answer.failure.retry_after
        log.info("job.flex_refused", job=call.claim.job.id, model=call.model.name, failure=kind)
        if answer.usage.tokens:  # perhaps charged: no further request fits this attempt's reservation
            self._pause(known, wait)
            return answer
        second = self._in_standard(call, following, known)
        failed = second.failure.kind if isinstance(second, ModelAnswer) and second.failure is not None else ""
        if kind not in _OF_REQUEST:
            self._pause(known, wait)
        elif failed != kind:  # otherwise the prompt or the key is refused, in whatever tier
            self._pause(known, UNKNOWN_PAUSE)
        return second

    def _in_standard(self, call: Call, following: Ask, known: _Known) -> ModelAnswer | Refused:
        began = time.monotonic()
        answer = following(call)
        if isinstance(answer, ModelAnswer) and answer.failure is None:
            with self._lock:
                known.standard = _smoothed(known.standard, time.monotonic() - began)
        return answer

    def _seconds_for_flex(self, call: Call, known: _Known, now: float) -> float | None:
        """Return how long flex may take, or None if the standard tier is asked at once."""
        claim = call.claim
        left = self._seconds_left(claim, now)
        if left is None or claim.number > 1 or claim.last:
            return None
        with self._lock:
            if now < known.until:
                return None
            spare = min(left, call.deadline - now) - SPARED * (known.standard or ANSWER)
            return spare if spare >= max(LEAST, 1.5 * known.flex) else None

    def _seconds_left(self, claim: Claim, now: float) -> float | None:
        """Return the seconds until the boundary that applies the result; None if that is not known."""
        ticks = claim.job.due - max(claim.tick, claim.job.key.tick) - 1
        if self._tick_rate is not None:
            return ticks / self._tick_rate + self._wait
        if self._wait > 0:
            return self._wait
        pace = self._paces.measure(claim, now)
        return ticks / pace if pace else None

    def _known_of(self, model: Model) -> _Known:
        with self._lock:
            return self._known.setdefault((model.endpoint, model.model), _Known())

    def _pause(self, known: _Known, wait: float | None) -> None:
        with self._lock:
            known.refused(time.monotonic(), wait or 0.0)


class _Known:
    """What a process knows of the tiers of one model."""

    def __init__(self) -> None:
        self.flex = 0.0  # seconds that an answer usually takes; 0: not known
        self.standard = 0.0
        self.until = 0.0  # instant of `time.monotonic()` until which flex is left out
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
    """The paces of runs, from the ticks at which their jobs were claimed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, int, float]] = {}  # run -> incarnation, tick and instant of an earlier claim

    def measure(self, claim: Claim, now: float) -> float:
        """Note a claim, and return the ticks a second of its run; 0 if they are not known."""
        with self._lock:
            incarnation, tick, at = self._seen.setdefault(claim.job.run, (claim.incarnation, claim.tick, now))
            if incarnation != claim.incarnation or now - at > 60 * MEASURED:
                self._seen[claim.job.run] = claim.incarnation, claim.tick, now
            if incarnation != claim.incarnation or now - at < MEASURED:
                return 0.0
            return max(0, claim.tick - tick) / (now - at)
