"""Check a run's settings against its kinds, models and owners: names, contexts and prices.

Each check raises `ConfigurationError`, whose message names the setting and its correction.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from difflib import get_close_matches

from cogitate.memory.errors import quoted
from cogitate.scheduler.budget.rules import LEAST_PROMPT
from cogitate.scheduler.config.endpoints import DEFAULT as OF_SHORT_SETTINGS
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.kind import Kind


def check_limits(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that settings name existing kinds; a setting for an unknown kind would silently have no effect."""
    known = {kind.name for kind in kinds}
    limited = {name.scope.removeprefix("kind:") for name, _ in settings.limit_table() if name.scope.startswith("kind:")}
    given = {
        "limits": limited - {"*"},
        "guarantees": settings.guarantees,
        "last_call": settings.tuning.last_call,
        "latency": settings.latency,
        "disable": settings.disable,
    }
    for name, named in given.items():
        _check_kinds(name, named, known)
    windows = sorted({settings.policy, *settings.policies.values()} & {"cells", "tokens"})
    if "summarise" in settings.disable and windows:
        raise ConfigurationError(
            f"disable names summarise, but policy {windows[0]!r} needs summarise to compress memories: "
            'use the policy "stream", or enable summarise'
        )


def check_cadences(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that no kind is due at a time of day if the run counts rounds, because it has no days.

    Raises:
        ConfigurationError: naming the kind and its cadence.
    """
    if not settings.game_clock().counts_rounds:
        return
    for kind in kinds:
        if kind.time_of_day and kind.name not in settings.disable:
            raise ConfigurationError(
                f"the kind {kind.name!r} is due daily({kind.time_of_day!r}), but clock={settings.clock!r} has no days: "
                f'declare it with due=every("3 ticks"), or switch it off for this run with disable=["{kind.name}"]'
            )


def _check_kinds(setting: str, named: Iterable[str], known: set[str]) -> None:
    for unknown in sorted(set(named) - known):
        near = "".join(f"; did you mean {close!r}?" for close in get_close_matches(unknown, known, 1))
        raise ConfigurationError(
            f"{setting} names the unknown kind {quoted(unknown)}; known kinds: {', '.join(sorted(known))}{near}"
        )


def strangers(settings: Settings, owners: Container[str]) -> list[str]:
    """Return the owners that limits and policies name but `owners` lacks, each with its setting."""
    limited = (name.owner for name, _ in settings.limit_table() if name.owner)
    own = (name for name in settings.policies if ":" in name)
    named = [*(("limits", owner) for owner in limited), *(("policies", owner) for owner in own)]
    return sorted({f"{setting}: {owner}" for setting, owner in named if owner not in owners})


def check_models(settings: Settings, kinds: Sequence[Kind]) -> None:
    """Check that tiers name existing kinds, and that each model's context is large enough for its kinds."""
    known = {kind.name for kind in kinds}
    _check_kinds("kind_tiers", settings.kind_tiers, known)
    models = settings.model_table()
    for name, model in sorted(models.items()):
        _check_kinds(f"models.{name}.kinds", model.kinds, known)
    for kind in kinds if settings.llm == "openai" else ():
        for name in sorted({*settings.tier_models(kind.name).values()}):
            context, answer = models[name].context, kind.output_cap + models[name].headroom_of(kind.name)
            if kind.output_cap and context and context < answer + LEAST_PROMPT:
                raise ConfigurationError(
                    f"model {name!r} has a context of {context} tokens, but {kind.name} needs {answer} for its answer "
                    f"and {LEAST_PROMPT} for its prompt; give {kind.name} another model in kind_tiers"
                )


def check_spending(settings: Settings) -> None:
    """Check that a run that calls a model has a limit for the whole run."""
    table = settings.limit_table()
    if settings.llm == "openai" and not table.limited("run", "run"):
        raise ConfigurationError(
            "llm = 'openai' needs a limit for the whole run: set limit_usd, limit_tokens, or a limit such as "
            "'run.tokens'"
        )


def check_prices(settings: Settings) -> None:
    """Check that each model of a run has a price if a limit is in money; an unpriced model would count as free."""
    limits = sorted({name.text() for name, _ in settings.limit_table() if name.unit == "usd_micros"})
    if settings.limit_usd is not None:
        limits[limits.index("run.run.usd_micros")] = "limit_usd"
    if settings.real_day_usd is not None:
        limits.append("real_day_usd")
    to_set = [_price_settings(price) for price in settings.prices() if price.origin == "unknown"]
    vectors = settings.embedding_model()
    if vectors is not None and not vectors.priced:
        to_set.append(f"set embeddings.input_price for {quoted(vectors.model)}")
    if limits and to_set:
        raise ConfigurationError(
            f"{', '.join(limits)} cannot limit models without a known price: "
            f"{'; '.join(to_set)} (micro-dollars per million tokens; 0 if it costs nothing)"
        )


def _price_settings(price: ModelPrice) -> str:
    """Return an instruction that names the settings for a model's price."""
    prices = (("input_price", price.input), ("output_price", price.output))
    fields = [name for name, amount in prices if amount is None]
    variables = [f"COGITATE_{field.upper()}" for field in fields] if price.name == OF_SHORT_SETTINGS else []
    named = " and ".join(variables or [f"models.{price.name}.{field}" for field in fields])
    return f"set {named} for {quoted(price.model)}"
