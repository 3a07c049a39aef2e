"""Summarise a run from the ledger and the whole journal, for the command line and for programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import Clock
from cogitate.memory.entry import ENTRY_TYPES
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.scheduler.budget.budget_lines import (
    BudgetLine,
    LimitInForce,
    budget_lines,
    limits_in_force,
    pools_of,
    spent_of,
)
from cogitate.scheduler.budget.call_value import ValueState, read_values
from cogitate.scheduler.budget.rules import adaptive_bounds
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.token_estimates import HEADROOMS
from cogitate.scheduler.inspection.stored_run import Refusal, Refusals, clock_of, limit_name, limits_of, unjournalled
from cogitate.scheduler.inspection.vitals import SteeringStep, SteeringVitals, steering_history, steering_of
from cogitate.scheduler.journal.checkpoint import load_base
from cogitate.scheduler.journal.ends import Shortfalls
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import RunTotals, spending
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.presence import format_state, host_of
from cogitate.scheduler.ledger.run_store import RunStore, check_schema
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.tasks.job import Cost, JobKey, added
from cogitate.tasks.registry import is_kind, kind_of


class SlowKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind with jobs that skipped the model because no answer was expected in time."""

    kind: str
    jobs: int  # that skipped the model
    model: str  # the last option of its jobs
    ticks: int | None  # within which nearly all remembered answers arrived, late ones included; None: no answer yet
    assumed: int | None = None  # ticks that admission assumes for a call as long as no answer has arrived
    most: int  # ticks that a job of the kind may wait
    tick_rate: float | None  # ticks per second; None: unknown


def slow_kinds(store: RunStore, settings: Settings, too_slow: Mapping[str, int]) -> list[SlowKind]:
    """Return the kinds whose model is too slow, in descending order of the number of jobs.

    It omits kinds that this process does not know, and kinds with fixed due ticks.

    Args:
        settings: the run's stored settings.
        too_slow: kind -> jobs that skipped the model.
    """
    counts = sorted(((count, name) for name, count in too_slow.items() if count and is_kind(name)), reverse=True)
    if not counts:
        return []
    latencies = Latencies()
    latencies.load(store, ())
    tick_rate = latencies.prior.tick_rate
    slow = []
    for count, name in counts:
        model = settings.tier_models(name)["routine"]
        bounds, ticks = adaptive_bounds(kind_of(name), settings), latencies.nearly_all_within(name, model)
        if bounds is None or not model:
            continue
        usual = latencies.prior.usual.get(model) if ticks is None else None
        assumed = None if usual is None else math.ceil(usual)
        slow.append(
            SlowKind(
                kind=name, jobs=count, model=model, ticks=ticks, assumed=assumed, most=bounds.most, tick_rate=tick_rate
            )
        )
    return slow


class ShortfallLine(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that one class of failure left without a model's answer. Minutes are game time."""

    endpoint: str  # "" if the run does not know the model
    model: str
    failure: str  # class of the failure
    because: str  # for "breaker_open": class of the failure that opened it
    first: int  # tick
    first_minute: int
    last: int
    last_minute: int
    kinds: dict[str, int]  # kind -> jobs

    @property
    def jobs(self) -> int:
        """Return the number of these jobs."""
        return sum(self.kinds.values())


MOST_REQUESTS = 5  # operators' requests in a summary


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run: its progress, jobs, spending and memories."""

    run: str
    status: str  # that its host set last
    host: str  # the last host that held it: machine and process id
    held: bool  # whether that host appears to be running it
    tick: int
    trimmed: int  # last tick whose line is no longer in the ledger; 0: the journal is complete
    minute: int
    clock: Clock  # by which texts name times
    agents: int
    digest: str
    chain: str
    jobs: dict[str, dict[str, dict[str, int]]]  # kind -> decision, end, source, reason -> value -> count
    open: dict[str, int]  # kind -> open jobs, including those left to the heuristic
    batched: int  # requests that wait for a batch file or are in one
    figures: dict[str, dict[str, dict[str, int]]]  # of the engine's parts, by name: kind -> end -> count
    shortfalls: list[ShortfallLine]  # jobs that no model answered, by endpoint and class of failure
    slow_kinds: list[SlowKind]  # kinds whose model was too slow to call for some of their jobs
    refused: dict[str, int]  # limit, named as in the settings -> requests that it refused
    refusals: list[Refusal]  # refusals by the budget or the run's mode, by limit and its value at the time
    limits: list[LimitInForce]
    prices: tuple[ModelPrice, ...]  # of the models that it may call; empty if it uses heuristics only
    service_tiers: dict[str, int]  # tier that answered, as endpoints report it -> results of jobs
    discount: int  # micro-dollars saved against the standard service tier
    headrooms: dict[str, int]  # model -> learned tokens for reasoning that admission adds to each answer
    budget: list[BudgetLine]
    values: ValueState  # learned estimates of the value of its calls
    memories: dict[str, dict[str, int]]  # type -> live, archived
    warnings: dict[str, int]
    steering: SteeringVitals
    requests: list[SteeringStep]  # operators' newest requests, newest first

    @property
    def state(self) -> str:
        """Return the status for display, marked if the host vanished without leaving the run."""
        return format_state(self.status, self.held)

    @property
    def spent(self) -> Cost:
        """Return the spending of all jobs so far."""
        return spent_of(self.budget)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the models whose price, and so whose spending in money, is unknown."""
        return tuple(price.model for price in self.prices if price.origin == "unknown")


class RunReader:
    """Reads a run's figures; each read after the first reads only the new lines of the journal."""

    def __init__(self, client: Redis, run: str) -> None:
        self._run = run
        self._store = RunStore.open(client, run)
        self._totals = RunTotals()
        self._refusals = Refusals({})

    def read(self) -> RunSummary:
        """Return the current figures."""
        state = self._store.mapping("state")
        if not state:
            raise RunMissing(f"run {self._run!r} was deleted")
        check_schema(self._run, state.get(b"schema"))
        tick = int(state[b"tick"])
        settings = kept_settings(state[b"settings"])
        limits = limits_of(self._store)
        trimmed = int(state.get(b"trimmed", 0))
        if self._totals.tick < trimmed:
            self._totals = totals_at_base(self._store)
            self._refusals = Refusals(dict(self._totals.refused))
        totals = self._totals
        for line in read_journal(self._store, totals.tick + 1, tick):
            totals.add(line)
            self._refusals.add(line, limits)
        refused: Counter[str] = Counter()
        for cell, count in totals.refused.items():
            refused[limit_name(limits.ever, cell)] += count
        pools = pools_of(self._store)
        memories, unreadable = _memories(self._store)
        warnings = Counter(totals.warnings)
        if unreadable:
            warnings["memory.unreadable"] += unreadable
        return RunSummary(
            run=self._run,
            status=state.get(b"status", b"").decode(),
            host=state.get(b"host", b"").decode(),
            held=host_of(self._store) is not None,
            tick=tick,
            trimmed=trimmed,
            minute=totals.minute,
            clock=clock_of(self._store),
            agents=sum(owner.startswith("agent:") for owner in totals.profiles),
            digest=state[b"digest"].decode(),
            chain=state[b"chain"].decode(),
            jobs={
                kind: {fact: dict(sorted(counts.items())) for fact, counts in facts.items()}
                for kind, facts in sorted(totals.jobs.items())
            },
            open=dict(sorted(Counter(JobKey.parse(key).kind for key in totals.open).items())),
            batched=len(self._store.fields("batched")),
            figures={
                name: {kind: dict(sorted(ends.items())) for kind, ends in sorted(kinds.items())}
                for name, kinds in totals.figures.items()
            },
            shortfalls=lines_of_shortfalls(
                totals.shortfalls,
                {model.name: model.endpoint for facts in totals.facts.values() for model in facts.models},
            ),
            slow_kinds=slow_kinds(
                self._store,
                settings,
                {kind: facts["reason"].get("too_slow", 0) for kind, facts in totals.jobs.items()},
            ),
            refused=dict(sorted(refused.items())),
            refusals=self._refusals.by_limit(limits, pools),
            limits=limits_in_force(limits.now, pools),
            prices=settings.prices(),
            service_tiers=dict(sorted(totals.service_tiers.items())),
            discount=totals.discount,
            headrooms=typed_json.decode(state.get(HEADROOMS.encode(), b"{}"), dict[str, int]),
            budget=budget_lines(self._store, limits.last_of),
            values=read_values(self._store),
            memories=memories,
            warnings=dict(sorted(warnings.items())),
            steering=steering_of(self._store),
            requests=steering_history(self._store, totals.tick, totals.minute)[:MOST_REQUESTS],
        )


def lines_of_shortfalls(shortfalls: Shortfalls, endpoints: Mapping[str, str]) -> list[ShortfallLine]:
    """Return shortfalls with their endpoints, earliest first.

    Args:
        endpoints: model -> its endpoint.
    """
    lines = [
        ShortfallLine(
            endpoint=endpoints.get(shortfall.model, ""),
            **msgspec.structs.asdict(shortfall) | {"kinds": dict(sorted(shortfall.kinds.items()))},
        )
        for shortfall in shortfalls.values()
    ]
    return sorted(lines, key=lambda line: (line.first, line.endpoint, line.model, line.failure, line.because))


def totals_at_base(store: RunStore) -> RunTotals:
    """Return the totals of the trimmed lines; empty totals for an untrimmed journal."""
    base = load_base(store)
    return base.totals if base is not None else RunTotals()


def summarise_run(client: Redis, run: str) -> RunSummary:
    """Return a run's figures, from all lines of the journal in the ledger."""
    return RunReader(client, run).read()


def usage_by_owner(client: Redis, run: str) -> dict[str, Cost]:
    """Return the known spending of each owner's jobs, over all attempts."""
    store = RunStore.open(client, run)
    totals = totals_at_base(store)
    for line in read_journal(store, totals.tick + 1, store.tick()):
        totals.add(line)
    usage = dict(totals.usage)
    for spent in spending(unjournalled(store)):
        usage[spent.key.owner] = added(usage.get(spent.key.owner, Cost()), spent.cost)
    return dict(sorted(usage.items()))


def _memories(store: RunStore) -> tuple[dict[str, dict[str, int]], int]:
    """Return the number of entries by type, and the number of unreadable ones."""
    unreadable = 0
    owners = store.fields("heads")
    counts: dict[str, dict[str, int]] = {name: {"live": 0, "archived": 0} for name in ENTRY_TYPES}
    for stream in load_streams(store, sorted(owner.decode() for owner in owners)).values():
        for number, entry in stream.entries.items():
            if isinstance(entry, UnreadableEntry):
                unreadable += 1
                continue
            counts[entry.type]["live" if stream.is_live(number) else "archived"] += 1
    return counts, unreadable
