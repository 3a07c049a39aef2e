"""Former settings, each with its replacement."""

from __future__ import annotations

import os
from collections.abc import Collection

from cogitate.scheduler.config.tuning import TUNED

_DECIDED = "is now decided by cogitate: remove it"

FORMER: dict[str, str] = dict.fromkeys(sorted(TUNED | {"batch", "stage_fallbacks"}), _DECIDED) | {
    "minutes_per_tick": "is now seconds_per_tick: write 60 times as much",
    "act_per_tick": 'is now a limit: write "tick.kind:act.calls" among the limits',
    "kind_retrieval": "is now decided by cogitate: set retrieval for all kinds",
    "perceive_unchanged_after": "is now a constant of the built-in town: remove it",
    "throttle_auto": "is now decided by cogitate: pin a cadence with `cogitate throttle`",
}


_FACTORS = {"minutes_per_tick": ("seconds_per_tick", 60)}  # the new name, and how many of it one of the former is


def instead_of(name: str, given: object) -> str:
    """Return what to write instead of a former setting, with the value where it only has another unit."""
    new, factor = _FACTORS.get(name, ("", 0))
    try:
        value = f" ({new} = {factor * int(str(given))})" if new else ""
    except ValueError:
        value = ""
    return FORMER[name] + value


def former_variables(known: Collection[str]) -> list[tuple[str, str]]:
    """Return the former settings that variables of the environment give, each variable with what to write instead."""
    found = []
    for variable in sorted(os.environ):
        name = variable.lower().removeprefix("cogitate_").partition("__")[0]
        if variable.upper().startswith("COGITATE_") and name in FORMER and name not in known:
            found.append((variable, instead_of(name, os.environ[variable])))
    return found
