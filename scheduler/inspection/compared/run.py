"""The identity of a run, for the caption of a comparison."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.ledger.run_store import RunStore

_WORLD = ("world", "agents", "seed")  # of the description that a run's host gave


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a comparison."""

    world: dict[str, str] = msgspec.field(default_factory=dict)  # as its host described it: world, agents, seed
    models: tuple[str, ...] = ()  # that its jobs may ask, as their endpoints call them, with a seed if one is set
    digest: str = ""  # after the last tick that is compared


def compared_run(store: RunStore) -> ComparedRun:
    """Return what a run's state says about it."""
    told: dict[str, Any] = json.loads(store.field("state", "describe") or b"{}")
    seeds = [(one.model, one.seed) for one in kept_facts(store).models]
    return ComparedRun(
        world={name: str(told[name]) for name in _WORLD if name in told},
        models=tuple(name if seed is None else f"{name} (seed {seed})" for name, seed in seeds),
    )
