"""The latencies of models: the ticks from a job's admission until a boundary may apply its answer, learned in a run.

With each answer of a model workers note the tick at which it was staged, or came too late (`lua/settle.lua`). The host
leaves out what jobs waited because workers or the host itself were missing (`cogitate.scheduler.tick.pace`),
takes these facts at the next boundary, journals them, and learns from them alone, so a resumed run knows the same. It
keeps the newest `WINDOW` samples of each kind and model; a sample holds the latency of an answer, and how many jobs of
its kind and model were ahead of it.

A new job needs a high quantile of these samples with a margin, which is wider for few samples, and the time of its
place in the queue: a job that may wait so long is nearly always in time. For a job that may wait less long the model is
too slow if more than one of `TOLERATED` samples would have been late, and not all of the newest `RECENT` in turn were
in time.

A job that ends late while a worker has it counts at once with twice its age, until the true figure replaces this
guess, no worker has the job, or `RECENT` later answers come: the host believes at once that a model becomes
slower, but only after `RECENT` answers in turn that it becomes faster.

Keys under the run's prefix:
    latencies  hash  "kind/model" -> `Known`, JSON
    timed      list  facts that no boundary has taken yet; see `cogitate.scheduler.ledger.answer_times`
    job:<key>  field "answered": the fact of this open job was taken
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
PASSED = 64  # of so many answers one may take longer than a job's need
TOLERATED = 20  # of so many answers one may come too late, and one more; otherwise the model is too slow
TWICE = 2  # times the usual latency are too long for a kind of a model without samples
ENOUGH = 5  # samples of a kind's own; with fewer it borrows from the model's other kinds
BORROWED = 16  # newest samples of each of them
RECENT = 6  # consecutive answers, all faster than three quarters of the earlier ones, make those forgotten
OLD = 3  # earlier samples, below which none are forgotten
CROWD = 8  # jobs ahead, from which a sample counts for the queue
CROWDS = 4  # such samples, from which they decide about the queue
SAYING = 6  # newest answers of a model that show whether it is fast again; the fastest of a crowd come first


class Sample(NamedTuple):
    """The latency of one job."""

    ticks: int
    ahead: int
    at: int  # the tick at which the host learned it
    awaited: str = ""  # key of a job that ended without its answer: the ticks are a guess until the answer comes


class Known(msgspec.Struct, omit_defaults=True):
    """The samples of one kind and model."""

    samples: list[Sample] = msgspec.field(default_factory=list)  # the oldest first
    asked: int = 0  # the tick that admitted the newest job; 0: none


class LatencyPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host's knowledge before its run began: an input of the run, kept with it."""

    usual: dict[str, float] = msgspec.field(default_factory=dict)  # model -> usual ticks of a call
    queue: dict[str, float] = msgspec.field(default_factory=dict)  # model -> ticks that each job ahead adds
    slots: int = 1  # concurrent calls of the run's workers
    assumed: list[str] = msgspec.field(default_factory=list)  # models whose `usual` is a guess
    tick_rate: float | None = None  # ticks a second on which all of this is based


class Latencies:
    """The latencies of its models that one run has learned."""

    def __init__(self) -> None:
        self.prior = LatencyPrior()
        self._known: dict[tuple[str, str], Known] = {}
        self._answered: set[JobKey] = set()  # open jobs
        self._newly: set[JobKey] = set()  # of these, the ones not yet in the ledger
        self._changed: set[tuple[str, str]] = set()
        self._needs: dict[tuple[str, str], tuple[float, float] | None] = {}  # computed since the last change
        self._taken = 0  # facts that the next commit removes from the list
        self._wanted = False  # whether workers note facts
        self._wanted_in_ledger: bool | None = None  # None: unknown
        self._anew = False  # whether the ledger still holds forgotten samples

    # -- learning ------------------------------------------------------------------------------------

    def take(self, timed: Sequence[Timed | None], tick: int, is_open: Container[JobKey]) -> tuple[Timed, ...]:
        """Learn from facts at a boundary, and return those that were new."""
        self._taken += len(timed)
        return tuple(fact for fact in timed if fact is not None and self._learn(fact, tick, fact.key in is_open))

    def ended(self, key: JobKey) -> None:
        """Forget a job that has its end."""
        self._answered.discard(key)
        self._newly.discard(key)

    def overdue(self, fact: Overdue, model: str, ahead: int, tick: int) -> None:
        """Record that a job ended at a boundary while a worker had it."""
        self._add((fact.key.kind, model), Sample(2 * max(1, fact.ticks), ahead, tick, fact.key.text()))

    def awaited(self) -> set[JobKey]:
        """Return the jobs that ended late and count by a guess."""
        return {JobKey.parse(one.awaited) for known in self._known.values() for one in known.samples if one.awaited}

    def give_up(self, key: JobKey) -> bool:
        """Forget the guess of a job whose answer comes no more; return whether there was one."""
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
        """Record that a job of a kind was admitted to a model."""
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
        """Forget guesses after which `RECENT` answers were requested and have come."""
        asked = sorted(sample.at - sample.ticks for sample in samples if not sample.awaited)
        since = asked[-RECENT] if len(asked) >= RECENT else -1
        samples[:] = [sample for sample in samples if not sample.awaited or sample.at > since]

    @staticmethod
    def _forget_slower(samples: list[Sample]) -> None:
        """Forget the older samples of a model that has become faster."""
        recent = _in_turn(samples)
        older = sorted(one.ticks for one in samples[:recent])
        if recent is not None and len(older) >= OLD:
            usual_least = older[len(older) // 4]
            if all(one.ticks < usual_least and not one.awaited for one in samples[recent:]):
                del samples[:recent]

    # -- queries -------------------------------------------------------------------------------------

    def need(self, kind: str, model: str, ahead: int) -> int | None:
        """Return the ticks within which an answer nearly always comes; None for an unknown model."""
        pair = (kind, model)
        if pair not in self._needs:
            self._needs[pair] = self._line(kind, model)
        line = self._needs[pair]
        return None if line is None else max(1, math.ceil(line[0] + line[1] * ahead) + 1)

    def is_assumed(self, model: str) -> bool:
        """Return whether the prior's guess is all that is known of a model."""
        return model in self.prior.assumed and not any(samples for _, samples in self._of_model(model))

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
        """Return the ticks within which all answers came but the few that `is_too_slow` tolerates; None without any."""
        ticks = sorted(sample.ticks for sample in self._samples(kind, model))
        return ticks[-1 - _tolerated(len(ticks))] if ticks else None

    def tries_in_vain(self, kind: str, model: str, most: int) -> int:
        """Return how many of a kind's newest consecutive answers took longer than `most` ticks."""
        found, begin = 0, None
        for sample in reversed(self.samples(kind, model)):
            if sample.ticks <= most:
                break
            if begin is None or sample.at <= begin:
                found, begin = found + 1, sample.at - sample.ticks
        return found

    def is_answered(self, key: JobKey) -> bool:
        """Return whether the answer to an open job has come."""
        return key in self._answered

    def since(self, kind: str, model: str) -> int:
        """Return the tick that admitted the newest job of a kind to a model; 0: none was."""
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
        said = [sample for *_, sample in newest]
        return bool(said) and said[-1].at > since and all(one.ticks <= ticks and not one.awaited for one in said)

    def samples(self, kind: str, model: str) -> Sequence[Sample]:
        """Return the samples of one kind and model itself, the oldest first."""
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
        """Return the samples of the kind, and of the model's other kinds while they are too few."""
        own = self._known.get((kind, model))
        samples = list(own.samples) if own is not None else []
        if len(samples) < ENOUGH:
            for other, lent in self._of_model(model):
                samples += lent[-BORROWED:] if other != kind else []
        return samples

    def _queue(self, model: str) -> float:
        """Return the ticks that each job ahead adds: by the samples of crowds if enough, else by the prior.

        The samples give a least-squares line, those of each kind about their own mean.
        """
        found = [samples for _, samples in self._of_model(model) if samples]
        if sum(sample.ahead >= CROWD for samples in found for sample in samples) < CROWDS:
            known = self.prior.queue.get(model)
            ticks = [sample.ticks for samples in found for sample in samples]
            usual = median(ticks) if ticks else self.prior.usual.get(model, 0.0)
            return known if known is not None else usual / self.prior.slots
        together = spread = 0.0
        for samples in found:
            ahead, ticks = [one.ahead for one in samples], [one.ticks for one in samples]
            middle = mean(ahead), mean(ticks)
            together += sum((a - middle[0]) * (t - middle[1]) for a, t in zip(ahead, ticks, strict=True))
            spread += sum((a - middle[0]) ** 2 for a in ahead)
        return max(0.0, together / spread) if spread else 0.0

    def _of_model(self, model: str) -> Iterator[tuple[str, list[Sample]]]:
        return ((kind, known.samples) for (kind, name), known in sorted(self._known.items()) if name == model)

    # -- with the ledger -----------------------------------------------------------------------------

    def want(self, wanted: bool) -> None:
        """Set whether this run's workers note facts."""
        self._wanted = wanted

    def begin_anew(self, prior: LatencyPrior) -> None:
        """Forget all samples, as when a run continues at another tick rate: they are in ticks."""
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
        """Restore the samples that the ledger keeps."""
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
    """Return the index from which the newest answers hold `RECENT` consecutive requests; None: there are not so many.

    Only these show a model's present latency: of a crowd the fastest come first.
    """
    begin, found = samples[-1].at if samples else 0, 0
    for at in range(len(samples) - 1, -1, -1):
        if samples[at].at <= begin:
            begin, found = samples[at].at - samples[at].ticks, found + 1
            if found == RECENT:
                return at
    return None


def _tolerated(samples: int) -> int:
    """Return how many of so many answers may come too late before their model is too slow."""
    return 1 + samples // TOLERATED if samples >= ENOUGH else 0


def _margin(samples: int) -> float:
    """Return the factor for a high quantile of so few samples: 3 for one, 1.5 for 16, 1.25 for 64."""
    return 1 + 2 / math.sqrt(samples)
