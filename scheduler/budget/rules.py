"""The rules of a run, from its settings: which model a kind asks, what an attempt may cost, when its result is due."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cogitate.memory.clock import DAY
from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import quoted
from cogitate.memory.profile import Location
from cogitate.memory.retrieval.retrieval import DEFAULT
from cogitate.scheduler.budget.briefs import Brief, checked_brief, checked_tier, no_brief
from cogitate.scheduler.budget.budget import MILLION, BudgetView, Guarantee, Release
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
    """The rules by which a run throttles."""

    auto: bool = True  # the controller sets the cadence; otherwise only operators do
    interval: int = 60  # game minutes between two steps of the controller
    least: int = FULL // 8  # the slowest cadence that it sets, in thousandths


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules by which a run turns requests into jobs."""

    kinds: Sequence[Kind]
    offers_of: Callable[[Kind, Tier], Sequence[ModelOption]]  # at least one, the tier's own first, then down the ladder
    latency_of: Callable[[Kind], int]  # fixed ticks from admission to due
    brief: Callable[[str], Mapping[str, object]]
    briefed: bool = True  # the host gives a brief; without one, kinds that need one are never due
    bounds_of: Callable[[Kind], Bounds | None] = lambda kind: None  # of due ticks that follow the model's latency
    tier_of: TierRule = usual_tier
    disabled: frozenset[str] = frozenset()  # kinds that are never due and refused on request
    rate_share: float = 0.0  # share of unrated entries that a model rates
    repair_from: int = 1440  # minutes after 00:00 from which provisional entries are repaired; 1440: never
    throttle: ThrottleRules = ThrottleRules()
    coalesce: bool = True  # count a repeated observation on the first entry instead of storing it
    max_text: int = MAX_TEXT  # characters of an observation
    unpriced: tuple[str, ...] = ()  # models that the run may ask and whose price is not known
    waits: bool = True  # boundaries wait for due results, so nothing depends on a worker's progress

    def kind_of(self, name: str) -> Kind:
        """Return the kind of that name.

        Raises:
            UnknownKind: when this process has not registered it, although the run has jobs of it.
        """
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise UnknownKind(f"this run has jobs of kind {name!r}: register that kind before the run is opened")

    def kinds_due(self) -> list[Kind]:
        """Return the kinds that may be due by their own cadence."""
        return [
            kind for kind in self.kinds if kind.name not in self.disabled and (self.briefed or not kind.needs_brief)
        ]

    def model_of(self, kind: Kind) -> str:
        """Return the model that a kind usually asks; empty: it uses its heuristic."""
        return self.offers_of(kind, "routine")[0].model

    def offers(self, request: Request, moment_of: Callable[[str], Moment]) -> Sequence[ModelOption]:
        """Return the options of a request, the best first.

        Args:
            moment_of: returns an owner's present state.
        """
        kind = self.kind_of(request.kind)
        if len(strong := self.offers_of(kind, "strong")) == 1:
            return strong
        tier = self.tier_of(request, moment_of(request.owner))
        return strong if tier == "strong" else self.offers_of(kind, "routine")

    def models_of(self, name: str) -> Sequence[str]:
        """Return the models that the kind of that name may ask; an empty name stands for the heuristic."""
        kind = self.kind_of(name)
        return tuple(dict.fromkeys(offer.model for tier in TIERS for offer in self.offers_of(kind, tier)))

    def latency(self, name: str) -> int:
        """Return the fixed ticks from enqueue to due of the kind of that name."""
        return max(1, self.latency_of(self.kind_of(name)))


ASKED_AHEAD = ("plan",)  # kinds requested on the evening before, if due ticks follow the models
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

    def latency_of(kind: Kind) -> int:
        latency = settings.latency.get(kind.name, kind.latency)
        ticks = ticks_of(latency, tick_rate=settings.tick_rate, minutes_per_tick=settings.minutes_per_tick)
        given = kind.name in settings.latency
        if kind.name == "summarise" and not given and "cells" in {settings.policy, *settings.policies.values()}:
            return min(ticks, settings.cells)  # as many memories can wait, at one a tick, before a cell is needed
        return ticks

    table_of_bounds = {kind.name: _bounds(kind, settings) for kind in kinds}

    return Rules(
        kinds=kinds,
        offers_of=lambda kind, tier: table[kind.name, tier],
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
    """Return the ticks between which a kind's results may be due; None: they are due after a fixed number."""
    return adaptive_bounds(kind, settings) if settings.adapts() else None


def adaptive_bounds(kind: Kind, settings: Settings) -> Bounds | None:
    """Return a kind's bounds in a run whose due ticks follow its models; None: this kind's are fixed all the same."""
    if not kind.output_cap or kind.name in settings.latency:
        return None
    least, most = (minutes / settings.minutes_per_tick for minutes in (kind.latency_least, kind.latency_most))
    if kind.name == "act" and settings.act_interval:
        most = min(most, settings.act_interval / 2)
    ticks = max(1, math.ceil(least))
    return Bounds(ticks, max(ticks, int(most)))


def _offer(kind: Kind, model: Model) -> ModelOption:
    """Return a kind's option of a model: the usual prompt, or the rest of the model's context after the answer."""
    headroom = model.headroom_of(kind.name)
    output_cap = kind.output_cap + headroom
    prompt_cap = min(kind.prompt_cap, model.context - output_cap) if model.context else kind.prompt_cap
    return ModelOption(model.name, prompt_cap, upper_bound(model, prompt_cap, output_cap), headroom)


def view_of(settings: Settings) -> BudgetView:
    """Return an empty view of the limits in force."""
    # Requests on the evening before use that evening's budget: no last call leaves its share to others.
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
    """Return how the limits of a day are released: from the morning until repairs begin, or the day's last tick."""
    last = DAY - settings.minutes_per_tick
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


CROWD = 50  # agents that plan in one game minute, where `spread` is not set
LONGEST_SPREAD = 120  # game minutes, in that case


def facts_of(settings: Settings, locations: Sequence[Location], start_minute: int, owners: Iterable[str] = ()) -> Facts:
    """Return the constants of a run with these settings.

    Args:
        owners: who is there at its start.
    """
    agents = sum(owner.startswith("agent:") for owner in owners)
    spread = min(agents // CROWD, LONGEST_SPREAD) if settings.tuning.spread is None else settings.tuning.spread
    return Facts(
        locations=tuple(locations),
        limits=settings.memory_limits(),
        minutes_per_tick=settings.minutes_per_tick,
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
    """Have the built-in kinds of this process read the settings' own templates first, if there are any.

    Raises:
        TemplateError: when the folder is missing, or a template is broken.
    """
    if settings.prompts is not None:
        register_builtin(settings.prompts)


def check_limits(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that limits, guarantees and due ticks are for existing kinds; others would have no effect, unnoticed.

    Raises:
        ConfigurationError: naming the setting, the kind and the existing kinds.
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
                f"{name} names the kind {quoted(unknown)}, which is not known; there are "
                f"{', '.join(sorted(known))}{near}"
            )
    recalling = [kind.name for kind in kinds if kind.recalls]
    for named in settings.tuning.kind_retrieval:
        if named not in recalling:
            raise ConfigurationError(
                f"kind_retrieval names the kind {quoted(named)}, which chooses no memories by their scores; these do: "
                f"{', '.join(recalling)}"
            )
    windows = sorted({settings.policy, *settings.policies.values()} & {"cells", "tokens"})
    if "summarise" in settings.disable and windows:
        raise ConfigurationError(
            f"disable names summarise, without which nothing is ever compressed by policy {windows[0]!r}: "
            'use the policy "stream", or leave summarise on'
        )


def strangers(settings: Settings, owners: Container[str]) -> list[str]:
    """Return the owners that limits and policies name and that are not among `owners`, each with its setting."""
    limited = (name.owner for name, _ in settings.limit_table() if name.owner)
    own = (name for name in settings.policies if ":" in name)
    named = [*(("limits", owner) for owner in limited), *(("policies", owner) for owner in own)]
    return sorted({f"{setting}: {owner}" for setting, owner in named if owner not in owners})


def check_models(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that tiers name kinds that exist, and that models are large enough for their kinds.

    Raises:
        ConfigurationError: naming the kind and the model.
    """
    known = {kind.name for kind in kinds}
    for unknown in sorted(settings.kind_tiers.keys() - known):
        raise ConfigurationError(
            f"kind_tiers names the kind {unknown!r}, which is not known; there are {', '.join(sorted(known))}"
        )
    models = settings.model_table()
    for name, kind_name in sorted((name, kind) for name, model in models.items() for kind in model.kinds):
        if kind_name not in known:
            raise ConfigurationError(
                f"models.{name}.kinds names the kind {kind_name!r}, which is not known; there are "
                f"{', '.join(sorted(known))}"
            )
    for kind in kinds if settings.llm == "openai" else ():
        for name in sorted({*settings.tier_models(kind.name).values()}):
            context, answer = models[name].context, kind.output_cap + models[name].headroom_of(kind.name)
            if kind.output_cap and context and context < answer + LEAST_PROMPT:
                raise ConfigurationError(
                    f"model {name!r} has a context of {context} tokens: a {kind.name} may take {answer} for "
                    f"its answer and needs {LEAST_PROMPT} for its prompt; give it another model in kind_tiers"
                )


def check_spending(settings: Settings) -> None:
    """Check that a run that calls a model has a limit for the whole run.

    Raises:
        ConfigurationError: when there is none.
    """
    table = settings.limit_table()
    if settings.llm == "openai" and not table.limited("run", "run"):
        raise ConfigurationError(
            "llm = 'openai' needs a limit for the whole run: set limit_usd or limit_tokens, or limits with one such as "
            "'run.tokens'"
        )


def check_prices(settings: Settings) -> None:
    """Check that each model which a run may ask has a price, if anything limits money: others would be free.

    Raises:
        ConfigurationError: naming the limits, each such model, and the settings of its price.
    """
    limits = sorted({name.text() for name, _ in settings.limit_table() if name.unit == "usd_micros"})
    if settings.limit_usd is not None:
        limits[limits.index("run.run.usd_micros")] = "limit_usd"
    if settings.real_day_usd is not None:
        limits.append("real_day_usd")
    unpriced = [price for price in settings.prices() if price.origin == "unknown"]
    if limits and unpriced:
        raise ConfigurationError(
            f"{', '.join(limits)} cannot limit models whose price is not known: "
            f"{'; '.join(map(_price_settings, unpriced))} (micro-dollars per million tokens; 0 if it costs nothing)"
        )


def _price_settings(price: ModelPrice) -> str:
    """Return which settings state a model's price."""
    fields = [name for name, one in (("input_price", price.input), ("output_price", price.output)) if one is None]
    variables = [f"COGITATE_{field.upper()}" for field in fields] if price.name == OF_SHORT_SETTINGS else []
    named = " and ".join(variables or [f"models.{price.name}.{field}" for field in fields])
    return f"set {named} for {quoted(price.model)}"
