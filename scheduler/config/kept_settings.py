"""Settings that a run is created with and keeps."""

from __future__ import annotations

import json

import msgspec

from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.settings import Settings

#: Settings that a run is created with and keeps: on resume they override the environment's.
KEPT = frozenset(
    {
        "llm",
        "model",
        "models",
        "tiers",
        "kind_tiers",
        "failover",
        "input_price",
        "output_price",
        "minutes_per_tick",
        "morning",
        "spread",
        "apply",
        "latency",
        "adaptive_latency",
        "disable",
        "response_cache",
        "limits",
        "limit_tokens",
        "limit_usd",
        "day_start",
        "retry_share",
        "guarantees",
        "last_call",
        "claim_cap",
        "max_observations",
        "max_reflections",
        "max_plans",
        "importance_threshold",
        "reflection_interval",
        "summary_threshold",
        "retention_days",
        "max_archived",
        "policy",
        "policies",
        "on_failure",
        "cells",
        "token_limit",
        "compress_at",
        "compress_to",
        "retain",
        "passes",
        "act_interval",
        "act_per_tick",
        "throttle_auto",
        "throttle_interval",
        "throttle_least",
        "rate_share",
        "repair_from",
        "coalesce",
        "max_text",
        "reflection_trigger",
        "reflection_trigger_max",
        "public_history_max_length",
        "recount_on_failure",
        "retrieval",
        "kind_retrieval",
        "guidance_style",
        "statement_max_length",
        "reasoning_max_length",
        "enable_truncation",
    }
)


_PRICES = "prices"  # beside the settings: what a run counts the tokens of its models at, by name


def keep_settings(settings: Settings) -> str:
    """Return the settings that a run keeps, in their stored form, with the prices of its models as they are now."""
    kept: dict[str, object] = json.loads(settings.model_dump_json(include=set(KEPT)))
    if prices := {price.name: price for price in settings.prices()}:
        kept[_PRICES] = msgspec.to_builtins(prices)
    return json.dumps(kept)


def kept_settings(raw: bytes | str, over: Settings | None = None) -> Settings:
    """Return the settings that a run was created with; all others come from `over` or the environment."""
    kept = json.loads(raw)
    models = {name: ModelSettings.model_validate(model) for name, model in kept.get("models", {}).items()}
    prices = msgspec.convert(kept.pop(_PRICES, {}), type=dict[str, ModelPrice])
    return (over or Settings()).model_copy(update=kept | {"models": models}).with_prices(prices)
