"""The rules of a run, derived from its settings: each kind's models, the cost of an attempt, when a result is due."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cogitate.memory.clock import DAY
from cogitate.memory.entry import MAX_TEXT
from cogitate.scheduler.budget.briefs import Brief, checked_brief, checked_tier, no_brief
from cogitate.scheduler.budget.budget import BudgetView, Guarantee
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.endpoints import Model, upper_bound
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tiers import TIERS, ModelOption, Tier, TierRule, usual_tier
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.tasks.job import Cost, Request, added, ticks_of
from cogitate.tasks.kind import Kind, Moment
from cogitate.tasks.registry import UnknownKind


@dataclass(frozen=True, kw_only=True)
class ThrottleRules:
    """The rules of the throttle."""

    auto: bool = True  # the controller sets the cadence; False: only operators do
    interval: int = 60  # game minutes between steps of the controller
    least: int = FULL // 8  # the controller's slowest cadence, in thousandths


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules by which a run turns requests into jobs."""

    kinds: Sequence[Kind]
    offers_of: Callable[[Kind, Tier], Sequence[ModelOption]]  # at least one: the tier's model, then down the ladder
    #: Returns the option with at least this many tokens for reasoning, as far as the model's context allows.
    with_headroom: Callable[[Kind, ModelOption, int], ModelOption] = lambda kind, option, headroom: option
    latency_of: Callable[[Kind], int]  # fixed ticks from admission to the due tick
    brief: Callable[[str], Mapping[str, object]]
    briefed: bool = True  # whether the host gives briefs; without them, kinds that need a brief are never due
    bounds_of: Callable[[Kind], Bounds | None] = lambda kind: None  # of due ticks that follow the model's latency
    turn_of: Callable[[str], int] = lambda kind: 1  # ticks between turns that all owners share; 1: none are shared
    tier_of: TierRule = usual_tier
    disabled: frozenset[str] = frozenset()  # kinds that are never due and refused on request
    rate_share: float = 0.0  # share of unrated entries that a model rates
    repair_from: int = 1440  # minutes after 00:00 at which repairs begin; 1440: never
    throttle: ThrottleRules = ThrottleRules()
    coalesce: bool = True  # count a repeated observation on the first entry instead of storing it
    max_text: int = MAX_TEXT  # characters of an observation
    unpriced: tuple[str, ...] = ()  # models of the run without a known price
    by_value: bool = False  # admission paces the limits of a day by the expected value of calls
    waits: bool = True  # boundaries wait for due results, so outcomes never depend on worker speed

    def kind_of(self, name: str) -> Kind:
        """Return the kind of that name.

        Raises:
            UnknownKind: if the run has jobs of a kind that this process has not registered.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownKind(f"this run has jobs of kind {name!r}: register it before you open the run") from None

    @cached_property
    def _by_name(self) -> Mapping[str, Kind]:
        return {kind.name: kind for kind in self.kinds}

    def kinds_due(self) -> list[Kind]:
        """Return the kinds whose cadence may make them due."""
        return [
            kind for kind in self.kinds if kind.name not in self.disabled and (self.briefed or not kind.needs_brief)
        ]

    def model_of(self, kind: Kind) -> str:
        """Return the routine model of a kind; empty: it uses its heuristic."""
        return self.offers_of(kind, "routine")[0].model

    def tier(self, request: Request, moment_of: Callable[[str], Moment]) -> Tier:
        """Return the tier whose options admission tries for a request; the strong one if the kind has no choice."""
        return self.tier_of(request, moment_of(request.owner)) if request.kind in self._choosing else "strong"

    @cached_property
    def _choosing(self) -> frozenset[str]:
        return frozenset(kind.name for kind in self.kinds if len(self.offers_of(kind, "strong")) > 1)

    def models_of(self, name: str) -> Sequence[str]:
        """Return the models that a kind may use; an empty name is the heuristic."""
        kind = self.kind_of(name)
        return tuple(dict.fromkeys(offer.model for tier in TIERS for offer in self.offers_of(kind, tier)))

    def latency(self, name: str) -> int:
        """Return a kind's fixed latency: ticks from admission to the due tick, at least 1."""
        return max(1, self.latency_of(self.kind_of(name)))


ASKED_AHEAD = ("plan",)  # kinds requested the evening before if due ticks follow the model's latency
LEAST_PROMPT = 1_000  # tokens; about the longest built-in template without memories


def rules_of(settings: Settings, kinds: Sequence[Kind], brief: Brief, tier_of: TierRule = usual_tier) -> Rules:
    models, embeddings = settings.model_table(), settings.embedding_model()

    def offer(kind: Kind, model: Model, learned: int = 0) -> ModelOption:
        vectors = Cost()
        if embeddings is not None and kind.recalls and model.batch == "off":  # see `Vectors.of`
            vectors = embeddings.bound
        return _offer(kind, model, learned, vectors)

    def offers(kind: Kind, tier: Tier) -> Sequence[ModelOption]:
        if settings.llm != "openai" or not kind.output_cap:
            return (ModelOption("", kind.prompt_cap, Cost()),)
        named = settings.tier_models(kind.name)
        names = [named["strong"], named["routine"]] if tier == "strong" else [named["routine"]]
        return tuple(offer(kind, models[name]) for name in dict.fromkeys(names))

    table = {(kind.name, tier): offers(kind, tier) for kind in kinds for tier in TIERS}

    def with_headroom(kind: Kind, option: ModelOption, headroom: int) -> ModelOption:
        return option if headroom <= option.headroom else offer(kind, models[option.model], headroom)

    def latency_of(kind: Kind) -> int:
        usual = kind.latency if settings.game_clock().has_times else 1  # a round's minutes mean nothing
        latency = settings.latency.get(kind.name, usual)
        ticks = ticks_of(latency, tick_rate=settings.tick_rate, clock=settings.game_clock())
        given = kind.name in settings.latency
        if kind.name == "summarise" and not given and "cells" in {settings.policy, *settings.policies.values()}:
            return min(ticks, settings.cells)  # at one memory a tick, the cells fill up in so many ticks
        return ticks

    latencies = {kind.name: latency_of(kind) for kind in kinds}
    adapts = settings.adapts()
    turns = {kind.name: settings.shared_turn(kind.name) for kind in kinds if kind.gathers and kind.packs}
    table_of_bounds = {kind.name: adaptive_bounds(kind, settings) if adapts else None for kind in kinds}

    return Rules(
        kinds=kinds,
        offers_of=lambda kind, tier: table[kind.name, tier],
        with_headroom=with_headroom,
        latency_of=lambda kind: latencies[kind.name],
        bounds_of=lambda kind: table_of_bounds[kind.name],
        turn_of=lambda kind: turns.get(kind, 1),
        brief=checked_brief(brief, kinds),
        briefed=brief is not no_brief,
        tier_of=checked_tier(tier_of),
        disabled=frozenset(settings.disable),
        rate_share=settings.tuning.rate_share if settings.llm == "openai" and "rate" not in settings.disable else 0.0,
        repair_from=settings.repair_from if settings.llm == "openai" else 1440,
        coalesce=settings.tuning.coalesce,
        max_text=settings.tuning.max_text,
        unpriced=_unpriced(settings),
        by_value=settings.spending == "value" and settings.llm == "openai",
        waits=settings.wait_seconds() > 0,
        throttle=throttle_rules(settings),
    )


def _unpriced(settings: Settings) -> tuple[str, ...]:
    """Return the models of a run whose price is unknown, including the embedding model."""
    models = [price.model for price in settings.prices() if price.origin == "unknown"]
    vectors = settings.embedding_model()
    return (*models, *([vectors.model] if vectors is not None and not vectors.priced else []))


def adaptive_bounds(kind: Kind, settings: Settings) -> Bounds | None:
    """Return the bounds of a kind's due ticks if they follow the model's latency; None: the latency is fixed."""
    if not kind.output_cap or kind.name in settings.latency:
        return None
    clock = settings.game_clock()
    least = kind.latency_least / clock.minutes_per_tick if clock.has_times else 1
    most = kind.latency_most / clock.minutes_per_tick
    if kind.name == "act" and settings.act_interval:
        most = min(most, settings.act_interval / 2)
    ticks = max(1, math.ceil(least))
    return Bounds(ticks, max(ticks, int(most)))


def _offer(kind: Kind, model: Model, learned: int, vectors: Cost) -> ModelOption:
    """Return a kind's option for a model; its prompt cap is at most the part of the context that the answer leaves.

    Args:
        learned: tokens that its reasoning has needed so far. More than the configured headroom is granted only as far
            as a short prompt still fits.
        vectors: upper bound of the cost of embedding the memories that it retrieves from.
    """
    headroom = model.headroom_of(kind.name)
    left = model.context - kind.output_cap - LEAST_PROMPT if model.context else learned
    headroom = max(headroom, min(learned, left))
    output_cap = kind.output_cap + headroom
    prompt_cap = min(kind.prompt_cap, model.context - output_cap) if model.context else kind.prompt_cap
    cost = added(upper_bound(model, prompt_cap, output_cap), vectors)
    return ModelOption(model.name, prompt_cap, cost, headroom)


def view_of(settings: Settings) -> BudgetView:
    """Return an empty view of the configured limits."""
    # A request made the evening before uses that evening's budget, so its kind's guarantee lasts all day.
    ahead = ASKED_AHEAD if settings.adapts() else ()
    guarantees = {
        kind: Guarantee(share, DAY if kind in ahead else settings.tuning.last_call.get(kind, DAY))
        for kind, share in settings.guarantees.items()
    }
    return BudgetView(
        settings.limit_table(),
        retry_share=settings.tuning.retry_share,
        guarantees=guarantees,
    )


def throttle_rules(settings: Settings) -> ThrottleRules:
    return ThrottleRules(
        auto=settings.tuning.throttle_auto,
        interval=settings.tuning.throttle_interval,
        least=round(settings.tuning.throttle_least * FULL),
    )
