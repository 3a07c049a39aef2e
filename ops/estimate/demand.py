"""Demand of agents per day and usage per call, as measured in earlier runs of the data folder, or by default.

The first game day of a run differs from later ones: it has no yesterday to summarise. The defaults were measured in the
built-in town (25 and 8 agents for three days, 5 for seven), by heuristics and with the stand-in of `cogitate fake-llm`.
Their tokens are those of OpenAI's vocabulary o200k for prompt, schema and answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec
from redis import Redis
from redis.exceptions import ResponseError

from cogitate.memory.clock import DAY
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.outline import read_outline
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.tasks.job import Cost, added

MOST_RUNS = 3  # the most runs to sample
DAYS = 3  # days to sample of each run
_MARGIN = 0.15  # margin at both ends of a measured range


class Range(msgspec.Struct, frozen=True):
    """A likely value, and bounds for the expected one."""

    low: float
    likely: float
    high: float

    @classmethod
    def of(cls, samples: Iterable[float]) -> Range:
        """Return the mean of samples, and their range with a margin.

        Raises:
            ValueError: without a sample.
        """
        ordered = sorted(samples)
        if not ordered:
            raise ValueError("a range needs a sample")
        likely = sum(ordered) / len(ordered)
        return cls(ordered[0] * (1 - _MARGIN), likely, ordered[-1] * (1 + _MARGIN))

    def times(self, factor: float) -> Range:
        """Return the range multiplied by a factor."""
        return Range(self.low * factor, self.likely * factor, self.high * factor)

    def plus(self, other: Range) -> Range:
        """Return the sum of both ranges."""
        return Range(self.low + other.low, self.likely + other.likely, self.high + other.high)


NOTHING = Range(0.0, 0.0, 0.0)


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """The known demand of one kind."""

    first: Range = NOTHING  # requests of an agent on the first day
    later: Range = NOTHING  # requests of an agent on a later day
    crowd: bool = False  # both are for 25 agents, and grow with the square root of their number, up to 50
    tokens: Range | None = None  # per attempt; None: only the kind's caps are known
    output: float = 0.1  # the output's share of the tokens
    attempts: float = 1.0  # per job, including repairs and other further attempts
    share: float = 1.0  # calls per attempt; less than 1 if jobs share requests to the model
    origin: str = "default"  # origin of the requests: names of runs, "settings" or "default"
    tokens_origin: str = "caps"


def _usual(likely: float) -> Range:
    return Range(0.75 * likely, likely, 1.4 * likely)


DEFAULTS: Mapping[str, Demand] = {
    "plan": Demand(tokens=_usual(1420), output=0.16, tokens_origin="default"),
    "reflect": Demand(tokens=_usual(1230), output=0.06, tokens_origin="default"),
    "act": Demand(
        first=Range(6, 7.2, 8.2), later=Range(6, 7.1, 8.2), tokens=_usual(910), output=0.04, tokens_origin="default"
    ),
    "summarise": Demand(
        later=Range(1.8, 3.1, 4.6), crowd=True, tokens=_usual(590), output=0.06, tokens_origin="default"
    ),
    "prune": Demand(first=Range(0, 0.1, 0.5), later=Range(0.7, 3.5, 6.6), crowd=True),
}  # for an `act_interval` of 120 minutes


def demand_of(client: Redis, settings: Settings) -> dict[str, Demand]:
    """Return the demand of each kind, as measured in earlier runs that thought with the same settings."""
    demand = dict(DEFAULTS)
    samples = [
        sample for run in _similar_runs(client, settings)[:MOST_RUNS] if (sample := _sample(client, run)) is not None
    ]
    kinds = sorted({kind for sample in samples for day in sample.days for kind in day})
    names = ", ".join(sample.run for sample in samples)
    for kind in kinds:
        known = demand.get(kind, Demand())
        first = [sample.per_agent(0, kind) for sample in samples]
        later = [sample.per_agent(day, kind) for sample in samples for day in range(1, len(sample.days))]
        calls = [use for sample in samples if (use := sample.per_attempt(kind)) is not None]
        known = msgspec.structs.replace(known, first=Range.of(first), crowd=False, origin=names)
        if later:
            known = msgspec.structs.replace(known, later=Range.of(later))
        elif kind not in DEFAULTS:
            known = msgspec.structs.replace(known, later=known.first)
        if calls and settings.llm == "openai":
            known = msgspec.structs.replace(
                known,
                tokens=Range.of(tokens for tokens, _ in calls),
                tokens_origin=names,
                output=sum(share for _, share in calls) / len(calls),
                attempts=sum(sample.attempts(kind) for sample in samples) / len(samples),
                share=sum(sample.share(kind) for sample in samples) / len(samples),
            )
        demand[kind] = known
    return demand


class _Used(msgspec.Struct):
    """Requests and usage of one kind on one day of a run."""

    requests: int = 0
    jobs: int = 0  # jobs that called a model
    cost: Cost = Cost()  # sum over all their attempts


class _Sample(msgspec.Struct):
    """The first full days of a run."""

    run: str
    agents: int
    model: Model
    days: list[dict[str, _Used]]

    def per_agent(self, day: int, kind: str) -> float:
        return self.days[day].get(kind, _Used()).requests / self.agents

    def per_attempt(self, kind: str) -> tuple[float, float] | None:
        """Return the tokens per attempt, and the output's share of them, derived from the prices."""
        used = [day[kind] for day in self.days if kind in day]
        tokens, attempts = sum(one.cost.tokens for one in used), max(self._calls_and_jobs(kind))
        if not tokens or not attempts:  # a retry at the end of the sample has tokens and no job yet
            return None
        dearer = self.model.output_price - self.model.input_price
        paid = sum(one.cost.usd_micros for one in used) * 1e6 - tokens * self.model.input_price
        return tokens / attempts, min(1.0, max(0.0, paid / (dearer * tokens))) if dearer else 0.1

    def attempts(self, kind: str) -> float:
        """Return the attempts per job that called a model; jobs that share requests count as one attempt each."""
        calls, jobs = self._calls_and_jobs(kind)
        return max(1.0, calls / jobs) if jobs else 1.0

    def share(self, kind: str) -> float:
        """Return the calls per attempt."""
        calls, jobs = self._calls_and_jobs(kind)
        return min(1.0, calls / jobs) if jobs else 1.0

    def _calls_and_jobs(self, kind: str) -> tuple[int, int]:
        used = [day[kind] for day in self.days if kind in day]
        return sum(one.cost.calls for one in used), sum(one.jobs for one in used)


def _similar_runs(client: Redis, settings: Settings) -> list[str]:
    """Return the runs with untrimmed journals that thought with the same settings, by name in descending order."""
    similar = []
    for run in reversed(run_names(client)):
        try:
            kept_by_run, trimmed = RunStore.open(client, run).state("settings", "trimmed")
            if kept_by_run is None or int(trimmed or 0):
                continue
            kept = kept_settings(kept_by_run)
        except (LedgerError, ResponseError, ValueError, TypeError, AttributeError):
            continue  # deleted meanwhile, of a newer version, or changed by hand
        if _thinking(kept) == _thinking(settings):
            similar.append(run)
    return similar


def _thinking(settings: Settings) -> tuple[object, ...]:
    """Return the settings that two runs must share for one to predict the demand of the other."""
    asks = settings.llm == "openai"
    return (
        settings.llm,
        settings.act_interval * settings.seconds_per_tick,
        settings.model if asks else "",
        sorted({model.pack for model in settings.asked_models()}),
        settings.shared_turn(""),
        settings.embedding_model(),
    )


def _used_model(cost: Cost) -> bool:
    return bool(cost.calls or cost.tokens)


def _sample(client: Redis, run: str) -> _Sample | None:
    """Return the first days of a run; None without a full day. This does not verify the lines."""
    store = RunStore.open(client, run)
    owners = store.fields("owners")
    settings = kept_settings(store.state_field("settings"))
    agents = sum(owner.startswith(b"agent:") for owner in owners)
    clock = settings.game_clock()
    lines = store.items("journal", 0, clock.ticks(DAYS * DAY) - 1)
    full_days = min(DAYS, clock.minutes(len(lines)) // DAY)
    if not full_days or not agents:
        return None
    days: list[dict[str, _Used]] = [{} for _ in range(full_days)]
    for number, stored in enumerate(lines[: clock.ticks(full_days * DAY)]):
        try:
            line = read_outline(stored)
        except ValueError:
            return None  # changed by hand: `cogitate audit` says where
        day = days[min(full_days - 1, clock.minutes(number) // DAY)]
        wanted = Counter(decided.key.kind for decided in line.core.decided if decided.key.trial == 0)
        for kind, count in wanted.items():
            day.setdefault(kind, _Used()).requests += count
        # Jobs that share a request have a part of its tokens each; one of them has the call.
        by_model = [note.key.kind for note in line.notes.ended if _used_model(added(note.spent, note.retried))]
        by_model += [known.key.kind for known in line.notes.corrected if _used_model(known.spent)]
        for kind, count in Counter(by_model).items():
            day.setdefault(kind, _Used()).jobs += count
        for spent in spending(line.notes):
            used = day.setdefault(spent.key.kind, _Used())
            used.cost = added(used.cost, spent.cost)
        for note in line.notes.ended:  # the output's share is derived from the standard price, without discount
            if note.discount:
                used = day.setdefault(note.key.kind, _Used())
                used.cost = added(used.cost, Cost(usd_micros=note.discount))
    model = settings.model_table()[settings.tier_models("")["routine"]]
    return _Sample(run, agents, model, days)
