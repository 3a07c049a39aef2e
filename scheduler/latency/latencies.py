"""Learn the latencies of models during a run: ticks from a job's admission to the boundary that may apply its answer.

For each answer of a model, workers note the tick at which it was staged or arrived late (`lua/settle.lua`). The host
subtracts waits for missing workers and for its own absence (`cogitate.scheduler.tick.pace`), takes these facts at the
next boundary, journals them, and learns only from them, so a resumed run knows the same. It keeps the newest `WINDOW`
samples of each kind and model; a sample is the latency of an answer and the number of jobs of its kind and model that
were ahead of it.

A new job needs a high quantile of these samples, plus a margin that is wider for few samples, plus the time for its
place in the queue. A job that may wait that long is almost always in time. For a job that may wait less, the model is
too slow if more than one in `TOLERATED` samples would have been late, unless the newest `RECENT` consecutive answers
were all in time.

A job that ends late while a worker runs it counts at once, with twice its age. This guess stays until the true latency
replaces it, no worker has the job any more, or `RECENT` later answers arrive. So the host believes at once that a model
has become slower, but only after `RECENT` consecutive answers that it has become faster.

Keys under the run's prefix:
    latencies  hash  "kind/model" -> `Known`, JSON
    timed      list  facts that no boundary has taken yet; see `cogitate.scheduler.ledger.answer_times`
    job:<key>  field "answered": a boundary has taken the fact of this open job
    state      field "times": "1" while workers note them; field "latency_prior": `LatencyPrior`, JSON
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from statistics import fmean as mean
from statistics import median
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey

WINDOW = 64  # samples of one kind and model
PASSED = 64  # one answer in 64 may take longer than a job needs by the samples
TOLERATED = 20  # one answer in 20, plus one, may be late before the model counts as too slow
TWICE = 2  # without samples, a job must be able to wait so many times the usual latency
ENOUGH = 5  # samples of a kind; with fewer, it borrows from the model's other kinds
BORROWED = 16  # newest samples of each of these kinds
RECENT = 6  # consecutive answers; if all are in the fastest quarter of the earlier samples, those are forgotten
OLD = 3  # fewest earlier samples for this comparison
CROWD = 8  # jobs ahead of a sample from which on it shows the effect of the queue
CROWDS = 4  # number of such samples from which on they determine the queue's effect instead of the prior
SAYING = 6  # newest answers of a model that decide whether it is fast again; the fastest of a crowd arrive first


class Sample(NamedTuple):
    """The latency of one job."""

    ticks: int
    ahead: int
    at: int  # tick at which the host learned the latency
    awaited: str = ""  # key of a job that ended without its answer; the ticks are a guess until the answer arrives


class Known(msgspec.Struct, omit_defaults=True):
    """The samples of one kind and model."""

    samples: list[Sample] = msgspec.field(default_factory=list)  # oldest first
    asked: int = 0  # tick that admitted the newest job; 0: none


class LatencyPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host's knowledge before the run began. It is an input of the run, and the run stores it."""

    usual: dict[str, float] = msgspec.field(default_factory=dict)  # model -> usual ticks of a call
    queue: dict[str, float] = msgspec.field(default_factory=dict)  # model -> ticks that each job ahead adds
    slots: int = 1  # concurrent calls of the run's workers
    assumed: list[str] = msgspec.field(default_factory=list)  # models whose `usual` is a guess
    tick_rate: float | None = None  # ticks per second from which the ticks above were computed


class Latencies:
    """The latencies of models that one run has learned."""

    def __init__(self) -> None:
        self.prior = LatencyPrior()
        self._known: dict[tuple[str, str], Known] = {}
        self._answered: set[JobKey] = set()  # open jobs
        self._newly: set[JobKey] = set()  # answered jobs that the ledger does not mark as such yet
        self._changed: set[tuple[str, str]] = set()
        self._needs: dict[tuple[str, str], tuple[float, float] | None] = {}  # a cache; a change of samples clears it
        self._taken = 0  # facts that the next commit removes from the list
        self._wanted = False  # whether workers should note facts
        self._wanted_in_ledger: bool | None = None  # None: unknown
        self._anew = False  # whether the ledger still holds forgotten samples

    # -- learning ------------------------------------------------------------------------------------

    def take(self, timed: Sequence[Timed | None], tick: int, is_open: Container[JobKey]) -> tuple[Timed, ...]:
        """Learn from facts at a boundary, and return the new ones."""
        self._taken += len(timed)
        return tuple(fact for fact in timed if fact is not None and self._learn(fact, tick, fact.key in is_open))

    def ended(self, key: JobKey) -> None:
        """Forget a job that has ended."""
        self._answered.discard(key)
        self._newly.discard(key)

    def overdue(self, fact: Overdue, model: str, ahead: int, tick: int) -> None:
        """Record that a job ended at a boundary while a worker ran it."""
        self._add((fact.key.kind, model), Sample(2 * max(1, fact.ticks), ahead, tick, fact.key.text()))

    def awaited(self) -> set[JobKey]:
        """Return the jobs that ended late and whose latency is a guess."""
        samples = (sample for known in self._known.values() for sample in known.samples)
        return {JobKey.parse(sample.awaited) for sample in samples if sample.awaited}

    def give_up(self, key: JobKey) -> bool:
        """Forget the guess for a job whose answer will not arrive; return whether there was a guess."""
        text = key.text()
        for pair, known in sorted(self._known.items()):
            left = [sample for sample in known.samples if sample.awaited != text]
            if pair[0] == key.kind and len(left) < len(known.samples):
                known.samples[:] = left
                self._changed.add(pair)
                self._needs.clear()
                return True
        return False

    def record_request(self, kind: str, model: str, tick: int) -> None:
        """Record the admission of a job of a kind for a model."""
        pair = (kind, model)
        self._known.setdefault(pair, Known()).asked = tick
        self._changed.add(pair)

    def _learn(self, fact: Timed, tick: int, is_open: bool) -> bool:
        pair = (fact.key.kind, fact.model)
        if is_open:
            self._answered.add(fact.key)
            self._newly.add(fact.key)
        text = fact.key.text()
        samples = self._known[pair].samples if pair in self._known else []
        for at, sample in enumerate(samples):
            if sample.awaited == text:
                del samples[at]
                break
        else:
            if not is_open:
                return False
        self._add(pair, Sample(fact.ticks, fact.ahead, tick))
        self._give_up_guesses(self._known[pair].samples)
        return True

    def _add(self, pair: tuple[str, str], sample: Sample) -> None:
        samples = self._known.setdefault(pair, Known()).samples
        samples.append(sample)
        self._forget_slower(samples)
        del samples[:-WINDOW]
        self._changed.add(pair)
        self._needs.clear()

    @staticmethod
    def _give_up_guesses(samples: list[Sample]) -> None:
        """Forget guesses after which `RECENT` answers were requested and have arrived."""
        asked = sorted(sample.at - sample.ticks for sample in samples if not sample.awaited)
        since = asked[-RECENT] if len(asked) >= RECENT else -1
        samples[:] = [sample for sample in samples if not sample.awaited or sample.at > since]

    @staticmethod
    def _forget_slower(samples: list[Sample]) -> None:
        """Forget the older samples of a model that has become faster."""
        recent = _in_turn(samples)
        older = sorted(sample.ticks for sample in samples[:recent])
        if recent is not None and len(older) >= OLD:
            first_quartile = older[len(older) // 4]
            if all(sample.ticks < first_quartile and not sample.awaited for sample in samples[recent:]):
                del samples[:recent]

    # -- queries -------------------------------------------------------------------------------------

    def need(self, kind: str, model: str, ahead: int) -> int | None:
        """Return the ticks within which an answer almost always arrives; None for an unknown model."""
        pair = (kind, model)
        if pair not in self._needs:
            self._needs[pair] = self._line(kind, model)
        line = self._needs[pair]
        return None if line is None else max(1, math.ceil(line[0] + line[1] * ahead) + 1)

    def has_answered(self, model: str) -> bool:
        """Return whether the run has a sample of a model's latency."""
        return any(samples for _, samples in self._of_model(model))

    def is_assumed(self, model: str) -> bool:
        """Return whether a model's latency is only a guess of the prior."""
        return model in self.prior.assumed and not self.has_answered(model)

    def is_too_slow(self, kind: str, model: str, ahead: int, most: int) -> bool:
        """Return whether too many answers would take longer than `most` ticks; the prior decides without samples."""
        samples, queue = self._samples(kind, model), self._queue(model)
        if not samples:
            return TWICE * self.prior.usual.get(model, 0.0) + queue * ahead > most
        late = [sample.ticks + queue * (ahead - sample.ahead) > most for sample in samples]
        if sum(late) <= _tolerated(len(samples)):
            return False
        own = self.samples(kind, model)
        recent = _in_turn(own)
        return recent is None or any(late[recent : len(own)])

    def nearly_all_within(self, kind: str, model: str) -> int | None:
        """Return the ticks within which all answers arrived but those that `is_too_slow` tolerates; None: no answer."""
        ticks = sorted(sample.ticks for sample in self._samples(kind, model))
        return ticks[-1 - _tolerated(len(ticks))] if ticks else None

    def slow_in_turn(self, kind: str, model: str, most: int) -> int:
        """Return how many of a kind's newest consecutive answers took longer than `most` ticks."""
        count, begin = 0, None
        for sample in reversed(self.samples(kind, model)):
            if sample.ticks <= most:
                break
            if begin is None or sample.at <= begin:
                count, begin = count + 1, sample.at - sample.ticks
        return count

    def is_answered(self, key: JobKey) -> bool:
        """Return whether the answer to an open job has arrived."""
        return key in self._answered

    def since(self, kind: str, model: str) -> int:
        """Return the tick that admitted the newest job of a kind for a model; 0: there was none."""
        known = self._known.get((kind, model))
        return known.asked if known is not None else 0

    def is_fast(self, kind: str, model: str, ticks: int) -> bool:
        """Return whether a model's newest answer to a kind, or all its newest answers, took at most so many ticks.

        Answers from before the admission of the kind's newest job do not count.
        """
        since, own = self.since(kind, model), self.samples(kind, model)
        if own and own[-1].at > since and own[-1].ticks <= ticks:
            return True
        newest = sorted(
            (sample.at, -at, other, sample)
            for other, samples in self._of_model(model)
            for at, sample in enumerate(reversed(samples[-SAYING:]))
        )[-SAYING:]
        latest = [sample for *_, sample in newest]
        in_time = all(sample.ticks <= ticks and not sample.awaited for sample in latest)
        return bool(latest) and latest[-1].at > since and in_time

    def samples(self, kind: str, model: str) -> Sequence[Sample]:
        """Return the samples of one kind and model, oldest first, without borrowed ones."""
        known = self._known.get((kind, model))
        return tuple(known.samples) if known is not None else ()

    def _line(self, kind: str, model: str) -> tuple[float, float] | None:
        """Return the ticks that a job needs in an empty queue, and the ticks that each job ahead adds."""
        samples = self._samples(kind, model)
        queue = self._queue(model)
        if not samples:
            usual = self.prior.usual.get(model)
            return None if usual is None else (_margin(1) * usual, queue)
        alone = sorted(sample.ticks - queue * sample.ahead for sample in samples)
        longest = alone[-1 - len(alone) // PASSED]
        return max(0.0, longest) * _margin(len(alone)), queue

    def _samples(self, kind: str, model: str) -> list[Sample]:
        """Return the samples of the kind and, if they are too few, of the model's other kinds."""
        own = self._known.get((kind, model))
        samples = list(own.samples) if own is not None else []
        if len(samples) < ENOUGH:
            for other, lent in self._of_model(model):
                samples += lent[-BORROWED:] if other != kind else []
        return samples

    def _queue(self, model: str) -> float:
        """Return the ticks that each job ahead adds: from the samples of crowds if there are enough, or from the prior.

        The result is the slope of a least-squares line through the samples, with each kind centred on its own mean.
        """
        by_kind = [samples for _, samples in self._of_model(model) if samples]
        if sum(sample.ahead >= CROWD for samples in by_kind for sample in samples) < CROWDS:
            prior = self.prior.queue.get(model)
            ticks = [sample.ticks for samples in by_kind for sample in samples]
            usual = median(ticks) if ticks else self.prior.usual.get(model, 0.0)
            return prior if prior is not None else usual / self.prior.slots
        covariance = variance = 0.0
        for samples in by_kind:
            ahead, ticks = [sample.ahead for sample in samples], [sample.ticks for sample in samples]
            means = mean(ahead), mean(ticks)
            covariance += sum((a - means[0]) * (t - means[1]) for a, t in zip(ahead, ticks, strict=True))
            variance += sum((a - means[0]) ** 2 for a in ahead)
        return max(0.0, covariance / variance) if variance else 0.0

    def _of_model(self, model: str) -> Iterator[tuple[str, list[Sample]]]:
        return ((kind, known.samples) for (kind, name), known in sorted(self._known.items()) if name == model)

    # -- with the ledger -----------------------------------------------------------------------------

    def want(self, wanted: bool) -> None:
        """Set whether this run's workers should note facts."""
        self._wanted = wanted

    def begin_anew(self, prior: LatencyPrior) -> None:
        """Forget all samples, because they are in ticks and the run continues at another tick rate."""
        self.prior, self._anew = prior, True
        self._known.clear()
        self._changed.clear()
        self._needs.clear()

    def take_writes(self) -> list[Write]:
        """Return the commands that bring the ledger up to date."""
        writes = []
        if self._anew:
            writes.append(Write("DEL", "latencies", ()))
            writes.append(Write("HSET", "state", ("latency_prior", msgspec.json.encode(self.prior))))
            self._anew = False
        if self._taken:
            writes.append(Write("LTRIM", "timed", (self._taken, -1)))
        if self._wanted != bool(self._wanted_in_ledger):
            writes.append(Write("HSET", "state", ("times", "1" if self._wanted else "0")))
            writes += [] if self._wanted else [Write("DEL", "timed", ())]
        for kind, model in sorted(self._changed):
            known = msgspec.json.encode(self._known[kind, model])
            writes.append(Write("HSET", "latencies", (f"{kind}/{model}", known)))
        writes += [Write("HSET", f"job:{key.text()}", ("answered", 1)) for key in sorted(self._newly)]
        self._newly.clear()
        self._taken, self._wanted_in_ledger = 0, self._wanted
        self._changed.clear()
        return writes

    def load(self, store: RunStore, jobs: Iterable[JobKey]) -> None:
        """Read back the samples from the ledger."""
        pipeline, keys = store.pipeline(), sorted(jobs)
        for key in keys:
            pipeline.hexists(store.job_key(key.text()), "answered")
        self._answered = {key for key, there in zip(keys, pipeline.execute(), strict=True) if there}
        kept = store.mapping("latencies")
        for field, raw in sorted(kept.items()):
            kind, _, model = field.decode().partition("/")
            self._known[kind, model] = typed_json.decode(raw, Known)
        state = store.state("times", "latency_prior")
        self._wanted_in_ledger = state[0] == b"1"
        if state[1] is not None:
            self.prior = typed_json.decode(state[1], LatencyPrior)


def _in_turn(samples: Sequence[Sample]) -> int | None:
    """Return the index from which on the samples contain `RECENT` consecutive requests; None if there are fewer.

    Requests are consecutive if each was made after the previous answer. Only these show a model's present latency,
    because the fastest answers of a crowd arrive first.
    """
    begin, count = samples[-1].at if samples else 0, 0
    for at in range(len(samples) - 1, -1, -1):
        if samples[at].at <= begin:
            begin, count = samples[at].at - samples[at].ticks, count + 1
            if count == RECENT:
                return at
    return None


def _tolerated(samples: int) -> int:
    """Return how many of these samples may be late before the model counts as too slow."""
    return 1 + samples // TOLERATED if samples >= ENOUGH else 0


def _margin(samples: int) -> float:
    """Return the factor for a high quantile of few samples: 3 for one, 1.5 for 16, 1.25 for 64."""
    return 1 + 2 / math.sqrt(samples)
