"""From settings to the rules of a run: which model a kind asks, what an attempt may cost, when its result is due."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence
from difflib import get_close_matches

from memory.clock import DAY
from memory.errors import quoted
from memory.profile import Location
from scheduler.briefs import Brief, checked_brief, checked_tier
from scheduler.budget import BudgetView, Guarantee
from scheduler.controls import FULL
from scheduler.due_ticks import Bounds
from scheduler.endpoints import Model, ModelSettings
from scheduler.facts import Facts
from scheduler.prices import upper_bound
from scheduler.settings import ConfigurationError, Settings
from scheduler.throttle import ThrottleRules
from scheduler.tiers import TIERS, Offer, Tier, TierRule, usual_tier
from scheduler.turn import Rules
from tasks.job import Cost
from tasks.kind import Kind, bounds
from tasks.registry import register_builtin

ASKED_AHEAD = ("plan",)  # kinds that ask on the evening before, where due ticks follow the models
LEAST_PROMPT = 1_000  # tokens; the longest of our templates takes about as much without any memories


def rules_of(settings: Settings, kinds: Sequence[Kind], brief: Brief, tier_of: TierRule = usual_tier) -> Rules:
    """How a run with these settings turns requests into jobs."""
    models = settings.model_table()

    def offers(kind: Kind, tier: Tier) -> Sequence[Offer]:
        if settings.llm != "openai" or not kind.output_cap:
            return (Offer("", kind.prompt_cap, Cost()),)
        named = settings.tier_models(kind.name)
        names = [named["strong"], named["routine"]] if tier == "strong" else [named["routine"]]
        return tuple(_offer(kind, models[name]) for name in dict.fromkeys(names))

    table = {(kind.name, tier): offers(kind, tier) for kind in kinds for tier in TIERS}

    def latency_of(kind: Kind) -> int:
        default = kind.latency
        if kind.name == "summarise" and "cells" in {settings.policy, *settings.policies.values()}:
            default = min(default, settings.cells)  # as many memories can wait, at one a tick, before a cell is needed
        return settings.latency.get(kind.name, default)

    table_of_bounds = {kind.name: _bounds(kind, settings) for kind in kinds}

    return Rules(
        kinds=kinds,
        offers_of=lambda kind, tier: table[kind.name, tier],
        latency_of=latency_of,
        bounds_of=lambda kind: table_of_bounds[kind.name],
        brief=checked_brief(brief, kinds),
        tier_of=checked_tier(tier_of),
        disabled=frozenset(settings.disable),
        rate_share=settings.rate_share if settings.llm == "openai" and "rate" not in settings.disable else 0.0,
        repair_from=settings.repair_from if settings.llm == "openai" else 1440,
        coalesce=settings.coalesce,
        max_text=settings.max_text,
        waits=settings.wait_seconds() > 0,
        throttle=throttle_rules(settings),
    )


def _bounds(kind: Kind, settings: Settings) -> Bounds | None:
    """Between which ticks a kind's results may be due; None: they are due after a fixed number."""
    if not settings.adapts() or not kind.output_cap or kind.name in settings.latency:
        return None
    least, most = (minutes / settings.minutes_per_tick for minutes in bounds(kind))
    if kind.name == "act" and settings.act_interval:
        most = min(most, settings.act_interval / 2)
    ticks = max(1, math.ceil(least))
    return Bounds(ticks, max(ticks, int(most)))


def _offer(kind: Kind, model: Model) -> Offer:
    """What a kind may ask of a model: the usual prompt, or what the answer leaves of the model's context."""
    prompt_cap = min(kind.prompt_cap, model.context - kind.output_cap) if model.context else kind.prompt_cap
    return Offer(model.name, prompt_cap, upper_bound(model, prompt_cap, kind.output_cap))


def view_of(settings: Settings) -> BudgetView:
    """An empty view of the limits in force."""
    # What is asked for on the evening before is of that evening's budget: no last call leaves its share to others.
    ahead = ASKED_AHEAD if settings.adapts() else ()
    guarantees = {
        kind: Guarantee(share, DAY if kind in ahead else settings.last_call.get(kind, DAY))
        for kind, share in settings.guarantees.items()
    }
    return BudgetView(settings.limit_table(), retry_share=settings.retry_share, guarantees=guarantees)


def throttle_rules(settings: Settings) -> ThrottleRules:
    """How a run with these settings throttles reflections."""
    return ThrottleRules(
        auto=settings.throttle_auto, interval=settings.throttle_interval, least=round(settings.throttle_least * FULL)
    )


def facts_of(settings: Settings, locations: Sequence[Location], start_minute: int) -> Facts:
    """The constants of a run with these settings."""
    return Facts(
        locations=tuple(locations),
        limits=settings.memory_limits(),
        minutes_per_tick=settings.minutes_per_tick,
        start_minute=start_minute,
        morning=settings.morning,
        act_interval=settings.act_interval,
        models=settings.asked_models(),
    )


#: Settings that a run is created with and keeps: on resume they go before the environment's.
KEPT = frozenset(
    {
        "llm", "model", "models", "tiers", "kind_tiers", "input_price", "output_price", "minutes_per_tick", "morning",
        "apply", "latency", "adaptive_latency", "disable", "limits", "limit_tokens", "limit_usd", "retry_share",
        "guarantees", "last_call",
        "claim_cap", "max_observations", "max_reflections", "max_plans", "importance_threshold", "reflection_interval",
        "summary_threshold", "retention_days", "max_archived", "policy", "policies", "on_failure", "cells",
        "token_limit", "compress_at", "compress_to", "retain", "passes", "act_interval", "act_per_tick",
        "throttle_auto", "throttle_interval", "throttle_least", "rate_share", "repair_from", "coalesce", "max_text",
        "reflection_trigger", "reflection_trigger_max", "public_history_max_length", "recount_on_failure",
        "guidance_style", "statement_max_length", "reasoning_max_length", "enable_truncation",
    }
)  # fmt: skip


def keep_settings(settings: Settings) -> str:
    """The settings that a run keeps, as they are stored with it."""
    return settings.model_dump_json(include=set(KEPT))


def kept_settings(raw: bytes | str, over: Settings | None = None) -> Settings:
    """The settings that a run was created with; everything else as in `over`, or as the environment says."""
    kept = json.loads(raw)
    models = {name: ModelSettings.model_validate(model) for name, model in kept.get("models", {}).items()}
    return (over or Settings()).model_copy(update=kept | {"models": models})


def use_prompts(settings: Settings) -> None:
    """Have the built-in kinds of this process read the settings' own templates first, if there are any.

    Raises:
        prompts.render.TemplateError: when the folder is missing, or a template is broken.
    """
    if settings.prompts is not None:
        register_builtin(settings.prompts)


def check_limits(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that limits, guarantees and due ticks are for kinds that exist: others would be kept in silence for ever.

    Raises:
        ConfigurationError: naming the setting, the kind and those that there are.
    """
    known = {kind.name for kind in kinds}
    limited = {name.scope.removeprefix("kind:") for name, _ in settings.limit_table() if name.scope.startswith("kind:")}
    given = {
        "limits": limited - {"*"}, "guarantees": settings.guarantees, "last_call": settings.last_call,
        "latency": settings.latency, "disable": settings.disable,
    }  # fmt: skip
    for name, named in given.items():
        for unknown in sorted(set(named) - known):
            near = "".join(f"; did you mean {close!r}?" for close in get_close_matches(unknown, known, 1))
            raise ConfigurationError(
                f"{name} names the kind {quoted(unknown)}, which is not known; there are "
                f"{', '.join(sorted(known))}{near}"
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
    """Tiers of a kind that does not exist, and models that are too small for what kinds ask.

    Raises:
        ConfigurationError: naming the kind, and the model.
    """
    known = {kind.name for kind in kinds}
    for unknown in sorted(settings.kind_tiers.keys() - known):
        raise ConfigurationError(
            f"kind_tiers names the kind {unknown!r}, which is not known; there are {', '.join(sorted(known))}"
        )
    models = settings.model_table()
    for kind in kinds if settings.llm == "openai" else ():
        for name in sorted({*settings.tier_models(kind.name).values()}):
            context = models[name].context
            if kind.output_cap and context and context < kind.output_cap + LEAST_PROMPT:
                raise ConfigurationError(
                    f"model {name!r} has a context of {context} tokens: a {kind.name} may take {kind.output_cap} for "
                    f"its answer and needs {LEAST_PROMPT} for its prompt; give it another model in kind_tiers"
                )


def check_spending(settings: Settings) -> None:
    """A model is called only with a limit for the whole run.

    Raises:
        ConfigurationError: when a model is asked for without one.
    """
    table = settings.limit_table()
    if settings.llm == "openai" and not table.limited("run", "run"):
        raise ConfigurationError(
            "llm = 'openai' needs a limit for the whole run: set limit_usd or limit_tokens, or limits with one such as "
            "'run.tokens'"
        )
