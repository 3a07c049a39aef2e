"""The rules of a run, from its settings: the models of each kind, the cost of an attempt, when a result is due."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cogitate.memory.clock import DAY, DAY_SECONDS, STANDARD
from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import quoted
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.retrieval import DEFAULT
from cogitate.scheduler.budget.briefs import Brief, checked_brief, checked_tier, no_brief
from cogitate.scheduler.budget.budget import AT_ONCE, MILLION, BudgetView, Guarantee, Release
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.endpoints import DEFAULT as OF_SHORT_SETTINGS
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.prices import upper_bound
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.tiers import TIERS, ModelOption, Tier, TierRule, usual_tier
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.tasks.job import Cost, Request, ticks_of
from cogitate.tasks.kind import Kind, Moment
from cogitate.tasks.registry import UnknownKind, register_builtin


@dataclass(frozen=True, kw_only=True)
class ThrottleRules:
    """The rules of throttling."""

    auto: bool = True  # the controller sets the cadence; otherwise only operators do
    interval: int = 60  # game minutes between steps of the controller
    least: int = FULL // 8  # the controller's slowest cadence, in thousandths


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules by which a run turns requests into jobs."""

    kinds: Sequence[Kind]
    offers_of: Callable[[Kind, Tier], Sequence[ModelOption]]  # at least one: the tier's model, then down the ladder
    #: A kind's option with at least so many tokens for reasoning, as far as the model's context has them.
    with_headroom: Callable[[Kind, ModelOption, int], ModelOption] = lambda kind, option, headroom: option
    latency_of: Callable[[Kind], int]  # fixed ticks from admission to due
    brief: Callable[[str], Mapping[str, object]]
    briefed: bool = True  # the host gives a brief; kinds that need one are never due without it
    bounds_of: Callable[[Kind], Bounds | None] = lambda kind: None  # of due ticks that adapt to the model's latency
    tier_of: TierRule = usual_tier
    disabled: frozenset[str] = frozenset()  # kinds that are never due and refused on request
    rate_share: float = 0.0  # share of unrated entries that a model rates
    repair_from: int = 1440  # minutes after 00:00 from which provisional entries are repaired; 1440: never
    throttle: ThrottleRules = ThrottleRules()
    coalesce: bool = True  # count a repeated observation on the first entry instead of storing it
    max_text: int = MAX_TEXT  # characters of an observation
    unpriced: tuple[str, ...] = ()  # models of the run without a known price
    waits: bool = True  # boundaries wait for due results, so outcomes never depend on worker speed

    def kind_of(self, name: str) -> Kind:
        """Return the kind of that name.

        Raises:
            UnknownKind: if the run has jobs of a kind that this process has not registered.
        """
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise UnknownKind(f"this run has jobs of kind {name!r}: register it before you open the run")

    def kinds_due(self) -> list[Kind]:
        """Return the kinds whose cadence may make them due."""
        return [
            kind for kind in self.kinds if kind.name not in self.disabled and (self.briefed or not kind.needs_brief)
        ]

    def model_of(self, kind: Kind) -> str:
        """Return the routine model of a kind; empty: it uses its heuristic."""
        return self.offers_of(kind, "routine")[0].model

    def offers(self, request: Request, moment_of: Callable[[str], Moment]) -> Sequence[ModelOption]:
        """Return the options of a request, best first.

        Args:
            moment_of: returns an owner's current state.
        """
        kind = self.kind_of(request.kind)
        if len(strong := self.offers_of(kind, "strong")) == 1:
            return strong
        tier = self.tier_of(request, moment_of(request.owner))
        return strong if tier == "strong" else self.offers_of(kind, "routine")

    def models_of(self, name: str) -> Sequence[str]:
        """Return the models that a kind may use; an empty name is the heuristic."""
        kind = self.kind_of(name)
        return tuple(dict.fromkeys(offer.model for tier in TIERS for offer in self.offers_of(kind, tier)))

    def latency(self, name: str) -> int:
        """Return a kind's fixed ticks from enqueue to due."""
        return max(1, self.latency_of(self.kind_of(name)))


ASKED_AHEAD = ("plan",)  # kinds requested the evening before, if due ticks adapt
LEAST_PROMPT = 1_000  # tokens; about the longest built-in template without memories


def rules_of(settings: Settings, kinds: Sequence[Kind], brief: Brief, tier_of: TierRule = usual_tier) -> Rules:
    """Return the rules of a run with these settings."""
    models = settings.model_table()

    def offers(kind: Kind, tier: Tier) -> Sequence[ModelOption]:
        if settings.llm != "openai" or not kind.output_cap:
            return (ModelOption("", kind.prompt_cap, Cost()),)
        named = settings.tier_models(kind.name)
        names = [named["strong"], named["routine"]] if tier == "strong" else [named["routine"]]
        return tuple(_offer(kind, models[name]) for name in dict.fromkeys(names))

    table = {(kind.name, tier): offers(kind, tier) for kind in kinds for tier in TIERS}

    def with_headroom(kind: Kind, option: ModelOption, headroom: int) -> ModelOption:
        return option if headroom <= option.headroom else _offer(kind, models[option.model], headroom)

    def latency_of(kind: Kind) -> int:
        usual = kind.latency if settings.game_clock().has_times else 1  # a round's minutes mean nothing
        latency = settings.latency.get(kind.name, usual)
        ticks = ticks_of(latency, tick_rate=settings.tick_rate, clock=settings.game_clock())
        given = kind.name in settings.latency
        if kind.name == "summarise" and not given and "cells" in {settings.policy, *settings.policies.values()}:
            return min(ticks, settings.cells)  # at one memory a tick, the cells fill up in so many ticks
        return ticks

    table_of_bounds = {kind.name: _bounds(kind, settings) for kind in kinds}

    return Rules(
        kinds=kinds,
        offers_of=lambda kind, tier: table[kind.name, tier],
        with_headroom=with_headroom,
        latency_of=latency_of,
        bounds_of=lambda kind: table_of_bounds[kind.name],
        brief=checked_brief(brief, kinds),
        briefed=brief is not no_brief,
        tier_of=checked_tier(tier_of),
        disabled=frozenset(settings.disable),
        rate_share=settings.tuning.rate_share if settings.llm == "openai" and "rate" not in settings.disable else 0.0,
        repair_from=settings.repair_from if settings.llm == "openai" else 1440,
        coalesce=settings.tuning.coalesce,
        max_text=settings.tuning.max_text,
        unpriced=tuple(price.model for price in settings.prices() if price.origin == "unknown"),
        waits=settings.wait_seconds() > 0,
        throttle=throttle_rules(settings),
    )


def _bounds(kind: Kind, settings: Settings) -> Bounds | None:
    """Return the bounds of a kind's due ticks; None: its latency is fixed."""
    return adaptive_bounds(kind, settings) if settings.adapts() else None


def adaptive_bounds(kind: Kind, settings: Settings) -> Bounds | None:
    """Return a kind's bounds in a run whose due ticks adapt; None: this kind's latency is fixed."""
    if not kind.output_cap or kind.name in settings.latency:
        return None
    clock = settings.game_clock()
    least = kind.latency_least / clock.minutes_per_tick if clock.has_times else 1
    most = kind.latency_most / clock.minutes_per_tick
    if kind.name == "act" and settings.act_interval:
        most = min(most, settings.act_interval / 2)
    ticks = max(1, math.ceil(least))
    return Bounds(ticks, max(ticks, int(most)))


def _offer(kind: Kind, model: Model, learned: int = 0) -> ModelOption:
    """Return a kind's option for a model, with the prompt reduced to what the answer leaves of the model's context.

    Args:
        learned: tokens that its reasoning was seen to need; beyond the configured ones, it gets what leaves room for
            a short prompt.
    """
    headroom = model.headroom_of(kind.name)
    left = model.context - kind.output_cap - LEAST_PROMPT if model.context else learned
    headroom = max(headroom, min(learned, left))
    output_cap = kind.output_cap + headroom
    prompt_cap = min(kind.prompt_cap, model.context - output_cap) if model.context else kind.prompt_cap
    return ModelOption(model.name, prompt_cap, upper_bound(model, prompt_cap, output_cap), headroom)


def view_of(settings: Settings) -> BudgetView:
    """Return an empty view of the configured limits."""
    # Requests made the evening before use that evening's budget, so their guarantee lasts all day.
    ahead = ASKED_AHEAD if settings.adapts() else ()
    guarantees = {
        kind: Guarantee(share, DAY if kind in ahead else settings.tuning.last_call.get(kind, DAY))
        for kind, share in settings.guarantees.items()
    }
    return BudgetView(
        settings.limit_table(),
        retry_share=settings.tuning.retry_share,
        guarantees=guarantees,
        release=release_of(settings),
    )


def release_of(settings: Settings) -> Release:
    """Return how a day's limits are released: from the morning until repairs begin or the last tick of the day.

    Where ticks are so long that a day may have none after its morning, all is released at 00:00.
    """
    last = DAY - math.ceil(settings.game_clock().minutes_per_tick)
    if last < settings.morning:
        return AT_ONCE
    return Release(
        start=round(settings.day_start * MILLION),
        begins=settings.morning,
        ends=max(settings.morning + 1, min(settings.repair_from, last)),
    )


def throttle_rules(settings: Settings) -> ThrottleRules:
    """Return the rules of throttling of a run with these settings."""
    return ThrottleRules(
        auto=settings.tuning.throttle_auto,
        interval=settings.tuning.throttle_interval,
        least=round(settings.tuning.throttle_least * FULL),
    )


CROWD = 50  # agents that plan in one game minute, unless `spread` is set
LONGEST_SPREAD = 120  # game minutes, unless `spread` is set


def facts_of(settings: Settings, locations: Sequence[Location], start_minute: int, owners: Iterable[str] = ()) -> Facts:
    """Return the constants of a run with these settings.

    Args:
        owners: the owners at the start of the run.
    """
    agents = sum(owner.startswith("agent:") for owner in owners)
    spread = min(agents // CROWD, LONGEST_SPREAD) if settings.tuning.spread is None else settings.tuning.spread
    minutes, seconds = divmod(settings.seconds_per_tick, 60)
    return Facts(
        locations=tuple(locations),
        limits=settings.memory_limits(),
        minutes_per_tick=minutes,
        seconds=seconds,
        day_seconds=None if settings.day_seconds == DAY_SECONDS else settings.day_seconds,
        clock_names=None if settings.clock == STANDARD else settings.clock,
        start_minute=start_minute,
        morning=settings.morning,
        spread=min(spread, DAY - settings.morning),
        act_interval=settings.act_interval,
        retrieval=None if settings.retrieval == DEFAULT.name else settings.retrieval,
        kind_retrieval=settings.tuning.kind_retrieval,
        models=settings.asked_models(),
        ladders=settings.ladders(),
        response_cache=settings.response_cache and settings.llm == "openai",
    )


def use_prompts(settings: Settings) -> None:
    """Register the templates of `settings.prompts`, which override the built-in ones in this process.

    Raises:
        TemplateError: if the folder is missing, or a template is invalid.
    """
    if settings.prompts is not None:
        register_builtin(settings.prompts)


def check_limits(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that limits, guarantees and latencies name existing kinds; otherwise they would silently have no effect.

    Raises:
        ConfigurationError: naming the setting, the unknown kind and the known kinds.
    """
    known = {kind.name for kind in kinds}
    limited = {name.scope.removeprefix("kind:") for name, _ in settings.limit_table() if name.scope.startswith("kind:")}
    given = {
        "limits": limited - {"*"},
        "guarantees": settings.guarantees,
        "last_call": settings.tuning.last_call,
        "latency": settings.latency,
        "disable": settings.disable,
        "kind_retrieval": settings.tuning.kind_retrieval,
    }
    for name, named in given.items():
        for unknown in sorted(set(named) - known):
            near = "".join(f"; did you mean {close!r}?" for close in get_close_matches(unknown, known, 1))
            raise ConfigurationError(
                f"{name} names the unknown kind {quoted(unknown)}; known kinds: {', '.join(sorted(known))}{near}"
            )
    recalling = [kind.name for kind in kinds if kind.recalls]
    for named in settings.tuning.kind_retrieval:
        if named not in recalling:
            raise ConfigurationError(
                f"kind_retrieval names the kind {quoted(named)}, which does not retrieve memories; these kinds do: "
                f"{', '.join(recalling)}"
            )
    windows = sorted({settings.policy, *settings.policies.values()} & {"cells", "tokens"})
    if "summarise" in settings.disable and windows:
        raise ConfigurationError(
            f"disable names summarise, but policy {windows[0]!r} needs summarise to compress memories: "
            'use the policy "stream", or enable summarise'
        )


def strangers(settings: Settings, owners: Container[str]) -> list[str]:
    """Return the owners missing from `owners` that limits and policies name, each with its setting."""
    limited = (name.owner for name, _ in settings.limit_table() if name.owner)
    own = (name for name in settings.policies if ":" in name)
    named = [*(("limits", owner) for owner in limited), *(("policies", owner) for owner in own)]
    return sorted({f"{setting}: {owner}" for setting, owner in named if owner not in owners})


def check_models(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that tiers name existing kinds, and that each model's context is large enough for its kinds.

    Raises:
        ConfigurationError: naming the kind and the model.
    """
    known = {kind.name for kind in kinds}
    for unknown in sorted(settings.kind_tiers.keys() - known):
        raise ConfigurationError(
            f"kind_tiers names the unknown kind {unknown!r}; known kinds: {', '.join(sorted(known))}"
        )
    models = settings.model_table()
    for name, kind_name in sorted((name, kind) for name, model in models.items() for kind in model.kinds):
        if kind_name not in known:
            raise ConfigurationError(
                f"models.{name}.kinds names the unknown kind {kind_name!r}; known kinds: {', '.join(sorted(known))}"
            )
    for kind in kinds if settings.llm == "openai" else ():
        for name in sorted({*settings.tier_models(kind.name).values()}):
            context, answer = models[name].context, kind.output_cap + models[name].headroom_of(kind.name)
            if kind.output_cap and context and context < answer + LEAST_PROMPT:
                raise ConfigurationError(
                    f"model {name!r} has a context of {context} tokens, but {kind.name} needs {answer} for its answer "
                    f"and {LEAST_PROMPT} for its prompt; give {kind.name} another model in kind_tiers"
                )


def check_spending(settings: Settings) -> None:
    """Check that a run that calls a model has a limit for the whole run.

    Raises:
        ConfigurationError: if the run has no such limit.
    """
    table = settings.limit_table()
    if settings.llm == "openai" and not table.limited("run", "run"):
        raise ConfigurationError(
            "llm = 'openai' needs a limit for the whole run: set limit_usd, limit_tokens, or a limit such as "
            "'run.tokens'"
        )


def check_prices(settings: Settings) -> None:
    """Check that each model of a run has a price, if a limit is in money: an unpriced model would count as free.

    Raises:
        ConfigurationError: naming the limits, each unpriced model, and the settings of its price.
    """
    limits = sorted({name.text() for name, _ in settings.limit_table() if name.unit == "usd_micros"})
    if settings.limit_usd is not None:
        limits[limits.index("run.run.usd_micros")] = "limit_usd"
    if settings.real_day_usd is not None:
        limits.append("real_day_usd")
    unpriced = [price for price in settings.prices() if price.origin == "unknown"]
    if limits and unpriced:
        raise ConfigurationError(
            f"{', '.join(limits)} cannot limit models without a known price: "
            f"{'; '.join(map(_price_settings, unpriced))} (micro-dollars per million tokens; 0 if it costs nothing)"
        )


def _price_settings(price: ModelPrice) -> str:
    """Return the settings to set for a model's price."""
    fields = [name for name, one in (("input_price", price.input), ("output_price", price.output)) if one is None]
    variables = [f"COGITATE_{field.upper()}" for field in fields] if price.name == OF_SHORT_SETTINGS else []
    named = " and ".join(variables or [f"models.{price.name}.{field}" for field in fields])
    return f"set {named} for {quoted(price.model)}"
