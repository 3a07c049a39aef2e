"""How many ticks a model's answers take, from admission until a boundary may apply them: learned while a run goes on.

Workers note with each answer of a model at which tick it was staged, or came too late to be (`lua/settle.lua`). The
host takes these facts at the next boundary, journals them, and learns from them alone, so that whoever resumes the run
knows the same. For each kind and model the newest `WINDOW` samples are kept; a sample says how long the answer took and
how many jobs of its kind and model were ahead of it.

What a new job needs is a high quantile of these samples and a margin, wider while few are known, and its place in the
queue: a job that may wait so long is in time, nearly always. Where it may wait only less long, the model is too slow if
more than one of `TOLERATED` samples would have been late, and not all of the newest `RECENT` in turn were in time.

A job that ends late before its answer is known counts at once with twice its age, until the true figure replaces that
or `RECENT` later answers are there: a model that becomes slower is believed at once. One that becomes faster is
believed after `RECENT` answers in turn.

Kept under the run's prefix:
    latencies  hash  "kind/model" -> `Known`, JSON
    timed      list  facts that no boundary has taken yet, see `scheduler.ledger.answer_times`
    job:<key>  field "answered": the fact of this open job was taken
    state      field "times": "1" while workers are to note them; field "latency_prior": `LatencyPrior`, JSON
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean as mean
from statistics import median
from typing import Any, NamedTuple

import msgspec
from redis import Redis

from scheduler.ledger.answer_times import Timed
from scheduler.ledger.ledger import Write
from tasks.job import JobKey

WINDOW = 64  # samples of one kind and model
PASSED = 64  # of so many answers one may take longer than what is needed
TOLERATED = 20  # of so many answers one may come too late, and one more: otherwise the model is too slow
TWICE = 2  # times the usual are too long for a kind of whose model nothing else is known
ENOUGH = 5  # samples of a kind's own; with fewer it borrows from the model's other kinds
BORROWED = 16  # newest samples of each of them
RECENT = 6  # answers in turn that must all be faster than three quarters of those before, which are then forgotten
OLD = 3  # samples, below which nothing is forgotten
CROWD = 8  # jobs ahead, from which a sample says something of the queue
CROWDS = 4  # such samples, before the queue is judged by them
SAYING = 6  # newest answers of a model that say whether it is fast again; of a crowd the fastest come first


class Sample(NamedTuple):
    """What one job took."""

    ticks: int
    ahead: int
    at: int  # the tick that learned it
    awaited: str = ""  # key of a job that ended without its answer: the ticks are a guess until that is known


class Known(msgspec.Struct, omit_defaults=True):
    """What is known of one kind and model."""

    samples: list[Sample] = msgspec.field(default_factory=list)  # the oldest first
    asked: int = 0  # the tick that admitted its newest job; 0: none


class LatencyPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a host knew before its run began. An input of the run, kept with it."""

    usual: dict[str, float] = msgspec.field(default_factory=dict)  # model -> ticks that a call usually takes
    queue: dict[str, float] = msgspec.field(default_factory=dict)  # model -> ticks that each job ahead adds
    slots: int = 1  # calls that the run's workers make at once
    assumed: list[str] = msgspec.field(default_factory=list)  # models whose `usual` is a guess
    tick_rate: float | None = None  # at which all of this is meant, ticks a second


class Latencies:
    """What one run has learned of its models' latencies."""

    def __init__(self) -> None:
        self.prior = LatencyPrior()
        self._known: dict[tuple[str, str], Known] = {}
        self._answered: set[JobKey] = set()  # open jobs
        self._newly: set[JobKey] = set()  # of these, what the ledger does not have
        self._changed: set[tuple[str, str]] = set()
        self._needs: dict[tuple[str, str], tuple[float, float] | None] = {}  # computed since the last change
        self._taken = 0  # facts of the list that the next commit removes
        self._wanted = False  # whether workers are to note facts
        self._told: bool | None = None  # the same, as the ledger has it
        self._anew = False  # whether the ledger knows what was forgotten

    # -- learning ------------------------------------------------------------------------------------

    def take(self, timed: Sequence[Timed | None], tick: int, is_open: Mapping[JobKey, Any]) -> tuple[Timed, ...]:
        """Learn from facts at a boundary; returns those that said something.

        Args:
            timed: as the ledger showed them; None for what cannot be read.
            is_open: the jobs that had no end before this boundary.
        """
        self._taken += len(timed)
        return tuple(fact for fact in timed if fact is not None and self._learn(fact, tick, fact.key in is_open))

    def ended(self, key: JobKey) -> None:
        """Forget a job that has its end."""
        self._answered.discard(key)
        self._newly.discard(key)

    def overdue(self, key: JobKey, model: str, ahead: int, tick: int) -> None:
        """Note that a job has ended at a boundary without its answer."""
        self._add((key.kind, model), Sample(2 * max(1, tick - key.tick), ahead, tick, key.text()))

    def asked(self, kind: str, model: str, tick: int) -> None:
        """Note that a job of a kind was admitted to a model."""
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
        """Forget guesses since which `RECENT` answers were asked for and are there.

        Of a job that nobody claimed, or whose call failed, no answer ever comes.
        """
        asked = sorted(sample.at - sample.ticks for sample in samples if not sample.awaited)
        since = asked[-RECENT] if len(asked) >= RECENT else -1
        samples[:] = [sample for sample in samples if not sample.awaited or sample.at > since]

    @staticmethod
    def _forget_slower(samples: list[Sample]) -> None:
        """Forget what was known of a model that has become faster."""
        recent = _in_turn(samples)
        older = sorted(one.ticks for one in samples[:recent])
        if recent is not None and len(older) >= OLD:
            usual_least = older[len(older) // 4]
            if all(one.ticks < usual_least and not one.awaited for one in samples[recent:]):
                del samples[:recent]

    # -- what is known -------------------------------------------------------------------------------

    def need(self, kind: str, model: str, ahead: int) -> int | None:
        """The ticks within which an answer will be there, nearly always; None: nothing is known of the model.

        Args:
            ahead: jobs of this kind and model that are in flight.
        """
        pair = (kind, model)
        if pair not in self._needs:
            self._needs[pair] = self._line(kind, model)
        line = self._needs[pair]
        return None if line is None else max(1, math.ceil(line[0] + line[1] * ahead) + 1)

    def is_assumed(self, model: str) -> bool:
        """Return whether what is known of a model is only the prior's guess."""
        return model in self.prior.assumed and not any(samples for _, samples in self._of_model(model))

    def is_too_slow(self, kind: str, model: str, ahead: int, most: int) -> bool:
        """Whether more answers than may be would take longer than `most` ticks; not where nothing is known."""
        samples, queue = self._samples(kind, model), self._queue(model)
        if not samples:
            return TWICE * self.prior.usual.get(model, 0.0) + queue * ahead > most
        late = [sample.ticks + queue * (ahead - sample.ahead) > most for sample in samples]
        if sum(late) <= (1 + len(samples) // TOLERATED if len(samples) >= ENOUGH else 0):
            return False
        own = self.samples(kind, model)
        recent = _in_turn(own)
        return recent is None or any(late[recent : len(own)])

    def tries_in_vain(self, kind: str, model: str, most: int) -> int:
        """Return how many of a kind's newest answers, asked for one after the other, took longer than `most` ticks."""
        found, begin = 0, None
        for sample in reversed(self.samples(kind, model)):
            if sample.ticks <= most:
                break
            if begin is None or sample.at <= begin:
                found, begin = found + 1, sample.at - sample.ticks
        return found

    def is_answered(self, key: JobKey) -> bool:
        """Whether the answer to an open job is there."""
        return key in self._answered

    def since(self, kind: str, model: str) -> int:
        """The tick at which the newest job of a kind was admitted to a model; 0: none was."""
        known = self._known.get((kind, model))
        return known.asked if known is not None else 0

    def is_fast(self, kind: str, model: str, ticks: int) -> bool:
        """Whether a model's newest answer to a kind took no more than so many ticks, or its newest of any kind all did.

        What was known already when the kind's newest job was admitted says nothing.
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
        """What is known of one kind and model itself, the oldest first."""
        known = self._known.get((kind, model))
        return tuple(known.samples) if known is not None else ()

    def _line(self, kind: str, model: str) -> tuple[float, float] | None:
        """What a job needs with nobody ahead of it, and what each one ahead adds."""
        samples = self._samples(kind, model)
        queue = self._queue(model)
        if not samples:
            usual = self.prior.usual.get(model)
            return None if usual is None else (_margin(1) * usual, queue)
        alone = sorted(sample.ticks - queue * sample.ahead for sample in samples)
        longest = alone[-1 - len(alone) // PASSED]
        return max(0.0, longest) * _margin(len(alone)), queue

    def _samples(self, kind: str, model: str) -> list[Sample]:
        """Those of the kind, with those of the model's other kinds while they are too few."""
        own = self._known.get((kind, model))
        samples = list(own.samples) if own is not None else []
        if len(samples) < ENOUGH:
            for other, lent in self._of_model(model):
                samples += lent[-BORROWED:] if other != kind else []
        return samples

    def _queue(self, model: str) -> float:
        """The ticks that each job ahead adds: as seen where many were, otherwise as the prior has it.

        What was seen is a least-squares line through the samples, each kind's about its own mean.
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
        """Say whether this run's workers are to note facts."""
        self._wanted = wanted

    def begin_anew(self, prior: LatencyPrior) -> None:
        """Forget what was learned, as where a run goes on at another tick rate: all of it is in ticks."""
        self.prior, self._anew = prior, True
        self._known.clear()
        self._changed.clear()
        self._needs.clear()

    def writes(self) -> list[Write]:
        """Return the commands that bring the ledger up to date."""
        writes = []
        if self._anew:
            writes.append(Write("DEL", "latencies", ()))
            writes.append(Write("HSET", "state", ("latency_prior", msgspec.json.encode(self.prior))))
            self._anew = False
        if self._taken:
            writes.append(Write("LTRIM", "timed", (self._taken, -1)))
        if self._wanted != bool(self._told):
            writes.append(Write("HSET", "state", ("times", "1" if self._wanted else "0")))
            writes += [] if self._wanted else [Write("DEL", "timed", ())]
        for kind, model in sorted(self._changed):
            known = msgspec.json.encode(self._known[kind, model])
            writes.append(Write("HSET", "latencies", (f"{kind}/{model}", known)))
        writes += [Write("HSET", f"job:{key.text()}", ("answered", 1)) for key in sorted(self._newly)]
        self._newly.clear()
        self._taken, self._told = 0, self._wanted
        self._changed.clear()
        return writes

    def load(self, client: Redis, prefix: str, jobs: Iterable[JobKey]) -> None:
        """Know again what the ledger keeps.

        Args:
            jobs: the run's open jobs.
        """
        pipeline, keys = client.pipeline(transaction=False), sorted(jobs)
        for key in keys:
            pipeline.hexists(f"{prefix}job:{key.text()}", "answered")
        self._answered = {key for key, there in zip(keys, pipeline.execute(), strict=True) if there}
        kept: Any = client.hgetall(prefix + "latencies")
        for field, raw in sorted(kept.items()):
            kind, _, model = field.decode().partition("/")
            self._known[kind, model] = msgspec.json.decode(raw, type=Known)
        state: Any = client.hmget(prefix + "state", ["times", "latency_prior"])
        self._told = state[0] == b"1"
        if state[1] is not None:
            self.prior = msgspec.json.decode(state[1], type=LatencyPrior)


def _in_turn(samples: Sequence[Sample]) -> int | None:
    """Return where the newest answers begin of which `RECENT` were asked for one after the other; None: there are none.

    Only such say something of a model's present latency: of a crowd the fastest come first.
    """
    begin, found = samples[-1].at if samples else 0, 0
    for at in range(len(samples) - 1, -1, -1):
        if samples[at].at <= begin:
            begin, found = samples[at].at - samples[at].ticks, found + 1
            if found == RECENT:
                return at
    return None


def _margin(samples: int) -> float:
    """What a high quantile of so few samples is to be multiplied with: 3 for one, 1.5 for 16, 1.25 for 64."""
    return 1 + 2 / math.sqrt(samples)
