"""The settings that a host may send with a run: about its world, never about the machine, keys or money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cogitate.memory.errors import quoted
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.tables import fields_of

#: Settings that a host may give. The gateway's settings determine all others.
GIVEN = fields_of("time", "jobs", "memory", "events") - {"tick_rate"} | {"limits"}


def settings_of_run(base: Settings, given: Mapping[str, Any], real_seconds_per_tick: float | None) -> Settings:
    """Merge the gateway's settings with those that the host gives for its run.

    A host can only tighten a limit: of two values, the lower one applies.

    Raises:
        ConfigurationError: for a setting that a host cannot give, or an invalid value.
    """
    for name in sorted(given):
        if name not in GIVEN:
            raise ConfigurationError(
                f"setting {quoted(name)} is not a host's to give: set it where the gateway is started; "
                f"a host gives any of {', '.join(sorted(GIVEN))}"
            )
    kept = {name: getattr(base, name) for name in base.model_fields_set}
    paced = {} if real_seconds_per_tick is None else {"tick_rate": 1 / real_seconds_per_tick}
    chosen = Settings(**{**kept, **given, **paced}).changed(**asdict(base.tuning))
    if "limits" not in given:
        return chosen
    limits = dict(base.limits)
    for name, value in chosen.limits.items():
        limits[name] = min(value, limits.get(name, value))
    return chosen.changed(limits=limits)
