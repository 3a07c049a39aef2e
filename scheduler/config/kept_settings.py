"""Settings that a run is created with and keeps."""

from __future__ import annotations

import json
from dataclasses import asdict

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.tables import fields_of
from cogitate.scheduler.config.tuning import KEPT_TUNING

#: Settings that a run is created with and keeps: on resume they override the environment's. All others are about the
#: machine, its endpoints and keys, its pace, and the money of a real day.
KEPT = fields_of("model", "time", "budget", "jobs", "memory", "events") - {
    "base_url",
    "api_key",
    "endpoints",
    "embeddings",
    "job_deadline",
    "capture",
    "wait",
    "tick_rate",
    "real_day_tokens",
    "real_day_usd",
}

_PRICES = "prices"  # beside the settings: what a run counts the tokens of its models at, by name


def keep_settings(settings: Settings) -> str:
    """Return the settings that a run keeps, in their stored form, with the prices of its models as they are now."""
    kept: dict[str, object] = json.loads(settings.model_dump_json(include=set(KEPT)))
    kept |= {name: value for name, value in asdict(settings.tuning).items() if name in KEPT_TUNING}
    if prices := {price.name: price for price in settings.prices()}:
        kept[_PRICES] = msgspec.to_builtins(prices)
    return json.dumps(kept)


def kept_settings(raw: bytes | str, over: Settings | None = None) -> Settings:
    """Return the settings that a run was created with; all others come from `over` or the environment."""
    kept = json.loads(raw)
    if minutes := kept.pop("minutes_per_tick", None):  # of earlier versions
        kept["seconds_per_tick"] = 60 * minutes
    models = {name: ModelSettings.model_validate(model) for name, model in kept.get("models", {}).items()}
    prices = typed_json.convert(kept.pop(_PRICES, {}), dict[str, ModelPrice])
    return (over or Settings()).changed(**kept | {"models": models}).with_prices(prices)
