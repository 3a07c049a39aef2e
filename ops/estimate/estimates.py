"""Estimates of a run before it starts: calls, tokens and money per day and kind, and requests that limits refuse.

Each agent plans once a day, all at the same tick. If agents reflect at an interval, the settings determine how often;
all other demand is measured (`cogitate.ops.estimate.demand`). The limits then cut the demand in this order: per tick
for plans, per kind, and for all kinds together, of the run and of each agent. The estimate ignores limits of single
owners and the shares of kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import msgspec

from cogitate.memory.clock import DAY
from cogitate.ops.estimate.demand import NOTHING, Demand, Range
from cogitate.scheduler.budget.budget import retry_pool
from cogitate.scheduler.config.endpoints import FLEX, call_cost, upper_bound
from cogitate.scheduler.config.limits import LIMIT_UNITS, LimitTable, Period
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost, added
from cogitate.tasks.kind import Kind

KEPT = "estimate"  # name of the estimate in a run's description
_CROWD = 25  # agents in the runs that measured a demand that grows with the number of agents
_REPAIRED = 1.15  # the most calls per job
_SPREAD = 6  # an agent's first reflection is delayed by up to a sixth of the interval


class KindDay(msgspec.Struct, frozen=True, kw_only=True):
    """The estimate for one kind on one day, for all agents together."""

    kind: str
    requests: Range
    jobs: Range = NOTHING  # admitted requests
    calls: Range  # model calls of these jobs, including further attempts
    attempts: float = 1.0  # per job: admission pays for the first, the retry pool for the others
    tokens: Range
    usd_micros: Range
    limits: tuple[str, ...] = ()  # names of limits that refuse some likely requests
    origin: str = ""
    tokens_origin: str = ""

    @property
    def refused(self) -> float:
        """Return the number of requests that limits are likely to refuse."""
        return max(0.0, self.requests.likely - (self.jobs.likely or self.calls.likely))


class RunEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimate of a run."""

    agents: int
    days: int  # the last one may be partial
    llm: str
    first: tuple[KindDay, ...]
    later: tuple[KindDay, ...]  # each further day

    def of_day(self, day: int) -> tuple[KindDay, ...]:
        """Return the estimates of a day of the run, counted from 0."""
        return self.later if day else self.first

    def total(self, what: str) -> Range:
        """Return the total of all days and kinds; `what` is "requests", "jobs", "calls", "tokens" or "usd_micros"."""
        total = NOTHING
        for day in range(self.days):
            for kind in self.of_day(day):
                total = total.plus(getattr(kind, what))
        return total


def estimate(
    settings: Settings, kinds: Sequence[Kind], demand: Mapping[str, Demand], *, agents: int, days: int
) -> RunEstimate:
    """Estimate the demand and the cost of agents over game days from midnight."""
    table = settings.limit_table()
    rows: list[list[KindDay]] = [[], []]
    for kind in sorted((kind for kind in kinds if kind.name not in settings.disable), key=lambda kind: kind.order):
        known = demand.get(kind.name, Demand())
        for day in (0, 1):
            per_agent, origin = _requests(kind, known, settings, day, agents)
            asked = per_agent.times(agents)
            if asked.high:
                rows[day].append(_kind_day(kind, known, settings, table, asked, origin))
    first, later = (_within_all(row, table, settings, agents, days) for row in rows)
    return RunEstimate(agents=agents, days=days, llm=settings.llm, first=tuple(first), later=tuple(later))


def _requests(kind: Kind, known: Demand, settings: Settings, day: int, agents: int) -> tuple[Range, str]:
    """Return the requests of one agent on a day, and their origin."""
    if kind.name == "plan":
        return Range(1.0, 1.0, 1.0), "settings"
    if kind.name == "reflect" and settings.reflection_trigger == "interval":
        due = _reflections(settings, day + 1) - _reflections(settings, day)
        return Range(
            due * settings.tuning.throttle_least if settings.tuning.throttle_auto else due, due, due + 0.1
        ), "settings"
    requests = known.later if day else known.first
    return (requests.times(sqrt(min(agents, 2 * _CROWD) / _CROWD)) if known.crowd else requests), known.origin


def _reflections(settings: Settings, days: int) -> float:
    """Return the mean number of an agent's reflections in the first days."""
    if not days:
        return 0.0
    every, left = settings.reflection_interval, days * DAY - settings.morning
    offsets = [every / _SPREAD * n / 20 for n in range(21)]
    return sum(max(0, int((left - offset) // every)) for offset in offsets) / len(offsets)


def _kind_day(kind: Kind, known: Demand, settings: Settings, table: LimitTable, asked: Range, origin: str) -> KindDay:
    """Return the estimate of one kind within its own limits."""
    likely, limits = asked.likely, []
    bounds: list[tuple[float, str]] = []
    tokens, money, tokens_origin = _per_call(kind, known, settings)
    asks = settings.llm == "openai" and kind.output_cap > 0
    needs = {"calls": float(asks), "tokens": tokens.likely, "usd_micros": money.likely, "jobs": 1.0}
    bounds += _bounds(table, settings, "day", f"kind:{kind.name}", needs)
    if kind.name == "plan":  # all at one tick
        model = settings.model_table()[settings.tier_models(kind.name)["routine"]]
        output = kind.output_cap + model.headroom_of(kind.name) if settings.llm == "openai" else 0
        most = added(upper_bound(model, kind.prompt_cap, output), _vectors(kind, settings))
        reserved = {
            "calls": float(asks),
            "tokens": float(most.tokens),
            "usd_micros": float(most.usd_micros),
            "jobs": 1.0,
        }
        for scope in ("run", "kind:plan"):
            bounds += _bounds(table, settings, "tick", scope, reserved)
    room = min((bound for bound, _ in bounds), default=asked.high)
    if room < likely:
        limits = [name for bound, name in bounds if bound == room]
    jobs = Range(min(asked.low, room), min(likely, room), min(asked.high, room))
    attempts = known.attempts if asks else 1.0
    tried = jobs.times(attempts) if asks else NOTHING
    if attempts == 1.0:  # repairs are unknown: assume that some answers need one
        tried = msgspec.structs.replace(tried, high=_REPAIRED * tried.high)
    return KindDay(
        kind=kind.name,
        requests=asked,
        jobs=jobs,
        calls=tried.times(known.share),
        attempts=attempts,
        limits=tuple(limits),
        origin=origin,
        tokens_origin=tokens_origin,
        tokens=_product(tried, tokens),
        usd_micros=_product(tried, money),
    )


def _per_call(kind: Kind, known: Demand, settings: Settings) -> tuple[Range, Range, str]:
    """Return tokens and micro-dollars per call, and the origin of the tokens."""
    if settings.llm != "openai" or not kind.output_cap:
        return NOTHING, NOTHING, ""
    names, models = settings.tier_models(kind.name), settings.model_table()
    routine, strong = models[names["routine"]], models[names["strong"]]
    cap = kind.prompt_cap + kind.output_cap + max(model.headroom_of(kind.name) for model in (routine, strong))
    vectors, is_measured = _vectors(kind, settings), known.tokens_origin not in ("caps", "default")
    most = cap + vectors.tokens * is_measured  # the usage of earlier runs includes their vectors
    tokens = known.tokens or Range(0.1 * cap, 0.5 * cap, cap)
    tokens = Range(min(tokens.low, most), min(tokens.likely, most), min(tokens.high, most))

    def price(amount: float, model_is_strong: bool, percent: int = 100) -> float:
        model = strong if model_is_strong else routine
        written = round(amount * known.output)
        return float(call_cost(model, round(amount) - written, written, percent=percent).usd_micros)

    usual = kind.name == "plan"
    both = [price(tokens.high, False), price(tokens.high, True)]
    least = min(100, routine.percent_of(FLEX)) if routine.service_tier == "auto" else 100
    money = Range(price(tokens.low, False, least), price(tokens.likely, usual), max(both))
    if not is_measured:
        tokens = msgspec.structs.replace(tokens, high=tokens.high + vectors.tokens)
        money = msgspec.structs.replace(money, high=money.high + vectors.usd_micros)
    return tokens, money, known.tokens_origin


def _vectors(kind: Kind, settings: Settings) -> Cost:
    """Return the most that a job's vectors may cost; the job reserves it in addition to its call."""
    embeddings = settings.embedding_model()
    return embeddings.bound if embeddings is not None and kind.recalls else Cost()


def _bounds(
    table: LimitTable, settings: Settings, period: Period, scope: str, needs: Mapping[str, float]
) -> list[tuple[float, str]]:
    """Return the limits of a cell, each as the number of jobs that it allows, with its name."""
    bounds = []
    for unit in LIMIT_UNITS:
        limit = table.of(period, scope, unit)
        if limit is not None and needs[unit]:
            room = (limit - retry_pool(unit, limit, settings.tuning.retry_share)) / needs[unit]
            bounds.append((room if unit not in ("calls", "jobs") else float(int(room)), f"{period}.{scope}.{unit}"))
    return bounds


def _within_all(row: list[KindDay], table: LimitTable, settings: Settings, agents: int, days: int) -> list[KindDay]:
    """Return the estimates within the limits on all kinds together; each kind loses the same share."""
    share, limits = 1.0, []
    cells: tuple[tuple[Period, str, float], ...] = (
        ("day", "run", 1),
        ("run", "run", days),
        ("day", "owner:*", 1 / agents),
        ("run", "owner:*", days / agents),
    )
    for period, scope, times in cells:
        for unit in LIMIT_UNITS:
            limit = table.of(period, scope, unit)
            wanted = times * sum(getattr(one, unit).likely / (one.attempts if unit != "jobs" else 1) for one in row)
            if limit is None or not wanted:
                continue
            room = (limit - retry_pool(unit, limit, settings.tuning.retry_share)) / wanted
            if room < 1:
                limits.append(f"{period}.{scope}.{unit}")
            share = min(share, room)
    if share >= 1:
        return row
    return [
        msgspec.structs.replace(
            one,
            jobs=_cut(one.jobs, share),
            calls=_cut(one.calls, share),
            tokens=_cut(one.tokens, share),
            usd_micros=_cut(one.usd_micros, share),
            limits=(*one.limits, *limits),
        )
        for one in row
    ]


def _cut(wanted: Range, share: float) -> Range:
    """Return the range capped at a share of its likely value."""
    most = wanted.likely * share
    return Range(min(wanted.low, most), most, min(wanted.high, most))


def _product(one: Range, other: Range) -> Range:
    return Range(one.low * other.low, one.likely * other.likely, one.high * other.high)
