"""Determine the due ticks of jobs. Admission decides them, and the journal records them.

If boundaries wait for results, a job is due its kind's `latency` in ticks after admission. On a real clock, such a
constant would have to hold for an unknown machine and model. There, a job that asks a model is due when its answer will
almost certainly have arrived, by the samples of `cogitate.scheduler.latency.latencies`, but not before the kind's
`latency_least` and not after its `latency_most`. Admission refuses a job with a later answer as `TOO_SLOW`, a job with
an answer after the run's last tick as `RUN_ENDS`, and spends nothing on either.

To notice that a model has become faster, admission admits single trials of a kind that is too slow, due after
`latency_most`: at once if the model's newest answers (to other kinds, or to the previous trial) were fast enough,
otherwise after `PAUSE`, or after `LONG_PAUSE` once two consecutive trials were late. It never admits two at a time.
Jobs for an unknown model are due after `latency_most`; admission refuses a job that may wait less than another such job
has already waited without an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from cogitate.memory.clock import USUAL, Clock
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.latencies import Latencies, LatencyPrior
from cogitate.tasks.job import Job, JobKey, Request

TOO_SLOW = "too_slow"  # refusal of a request, and reason of its job's end
RUN_ENDS = "run_ends"  # refusal of a request whose answer would arrive after the run's last tick
UNTIMELY = (TOO_SLOW, RUN_ENDS)
PAUSE, LONG_PAUSE = 360, 1_440  # game minutes until the next trial of a kind that is too slow
EARLY = 2  # factor of the needed ticks for a result that is needed at a fixed tick


class Bounds(NamedTuple):
    """The least and the most ticks from admission to the due tick of a kind."""

    least: int
    most: int


class JobInFlight(Protocol):
    """The properties of an open job that determine due ticks."""

    @property
    def job(self) -> Job: ...

    @property
    def admitted(self) -> bool: ...


class DueTicks:
    """The due ticks of one run.

    Args:
        fixed: returns a kind's fixed ticks from admission to the due tick.
        bounds_of: returns the bounds of a kind whose due ticks follow its model's latency; None: they are fixed.
        models_of: returns the models that a kind may use.
        jobs: the run's open jobs.
        clock: of the run.
    """

    def __init__(
        self,
        *,
        fixed: Callable[[str], int],
        bounds_of: Callable[[str], Bounds | None],
        models_of: Callable[[str], Sequence[str]],
        known: Latencies,
        jobs: Mapping[JobKey, JobInFlight],
        clock: Clock = USUAL,
    ) -> None:
        self._fixed = fixed
        self._bounds_of = bounds_of
        self._models_of = models_of
        self._known = known
        self._jobs = jobs
        self._pauses = (max(1, clock.ticks(PAUSE)), max(1, clock.ticks(LONG_PAUSE)))
        self.last: int | None = None  # the run's last tick, if known; results due after it are useless
        self._tick = -1
        self._flight: Counter[tuple[str, str]] = Counter()  # unanswered jobs by kind and model
        self._oldest: dict[str, int] = {}  # the tick that admitted the first of them, by model

    def due_of(self, request: Request, tick: int, offer: ModelOption) -> int | str:
        """Return the due tick of a job with this option, or a refusal if its answer would be late."""
        bounds = self._bounds_of(request.kind) if offer.model else None
        if bounds is None:
            return self._not_before(request, tick + self._within(request, self._fixed(request.kind)))
        most = self._within(request, bounds.most)
        need = self._known.need(request.kind, offer.model, self.ahead(request.kind, offer.model, tick))
        if need is None and tick - self._oldest.get(offer.model, tick) > most:
            return TOO_SLOW
        ticks = most if need is None else min(max(need, bounds.least), most)
        if need is not None and need > most and self._is_too_slow(request.kind, offer.model, bounds, most, tick):
            return TOO_SLOW
        due = self._not_before(request, tick + ticks)
        return RUN_ENDS if self.last is not None and due > self.last else due

    def follows(self, kind: str, model: str) -> bool:
        """Return whether the due ticks of a kind that asks this model follow its latency."""
        return bool(model) and self._bounds_of(kind) is not None

    def fallback_due(self, request: Request, tick: int, why: str) -> int:
        """Return the due tick of the heuristic that replaces a refused model.

        Args:
            why: the refusal.
        """
        bounds = self._bounds_of(request.kind) if why in UNTIMELY else None
        wanted = self._fixed(request.kind) if bounds is None else bounds.least
        return self._not_before(request, tick + self._within(request, wanted))

    def ahead(self, kind: str, model: str, tick: int) -> int:
        """Return the number of admitted jobs of a kind and model without an answer."""
        self._count(tick)
        return self._flight[kind, model]

    def record_admission(self, kind: str, model: str, tick: int) -> None:
        """Record the admission of a job."""
        if self.follows(kind, model):
            self._count(tick)
            self._flight[kind, model] += 1
            self._known.record_request(kind, model, tick)

    def lead(self, kind: str, crowd: int) -> int:
        """Return how many ticks in advance a kind should request a result; 0 with fixed due ticks.

        Args:
            crowd: number of owners that may request the kind at the same tick.
        """
        bounds = self._bounds_of(kind)
        if bounds is None or not any(models := self._models_of(kind)):
            return 0
        if any(self._known.is_assumed(model) for model in models):
            return bounds.most
        needs = [EARLY * (self._known.need(kind, model, max(0, crowd - 1)) or bounds.most) for model in models]
        return min(max(*needs, bounds.least), bounds.most)

    @staticmethod
    def _within(request: Request, ticks: int) -> int:
        return min(ticks, request.within) if request.within else ticks

    @staticmethod
    def _not_before(request: Request, due: int) -> int:
        return max(due, request.at)

    def _is_too_slow(self, kind: str, model: str, bounds: Bounds, most: int, tick: int) -> bool:
        ahead = self.ahead(kind, model, tick)
        if not self._known.is_too_slow(kind, model, ahead, most):
            return False
        if ahead or most < bounds.most:
            return True
        since = self._known.since(kind, model)
        pause = self._pauses[self._known.slow_in_turn(kind, model, most) >= 2]
        return bool(since) and tick - since < pause and not self._known.is_fast(kind, model, most)

    def _count(self, tick: int) -> None:
        """Count the open jobs, once per tick."""
        if tick == self._tick:
            return
        self._tick = tick
        self._flight.clear()
        self._oldest.clear()
        for key, item in self._jobs.items():
            model = item.job.model
            if item.admitted and model and not self._known.is_answered(key):
                self._flight[key.kind, model] += 1
                self._oldest[model] = min(key.tick, self._oldest.get(model, key.tick))


ASSUMED = 2.0  # seconds of a call to an unknown endpoint, about the latency of hosted models


def prior_of(settings: Settings, usual: Mapping[str, float], tick_rate: float | None = None) -> LatencyPrior:
    """Return the latencies that a run with these settings assumes until it has samples; the run stores them.

    Args:
        usual: endpoint -> usual seconds of a call, for endpoints that were called before; others get `ASSUMED`.
        tick_rate: ticks per second; None: the setting.
    """
    slots = settings.concurrency * max(1, settings.workers)
    rate = settings.tick_rate if tick_rate is None else tick_rate
    if rate is None:
        return LatencyPrior(slots=slots)  # ticks have no real duration
    ticks, queue, assumed = {}, {}, []
    endpoints = settings.endpoint_table()
    for model in settings.asked_models():
        endpoint = endpoints.get(model.endpoint, Endpoint())
        paces = []
        if endpoint.requests_per_minute is not None:
            paces.append(60 * rate / endpoint.requests_per_minute)
        if model.endpoint not in usual:
            assumed.append(model.name)
        ticks[model.name] = usual.get(model.endpoint, ASSUMED) * rate
        paces.append(ticks[model.name] / min(slots, endpoint.concurrency or slots))
        queue[model.name] = max(paces)
    return LatencyPrior(usual=ticks, queue=queue, slots=slots, assumed=assumed, tick_rate=rate)
