"""The identity of a run, for the caption of a comparison."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from cogitate.scheduler.inspection.stored_run import kept_facts
from cogitate.scheduler.ledger.run_store import RunStore

_WORLD = ("world", "agents", "seed")  # fields of the description that the run's host gave


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a comparison."""

    world: dict[str, str] = msgspec.field(default_factory=dict)  # the host's description: world, agents, seed
    models: tuple[str, ...] = ()  # the endpoints' names of the models that its jobs may ask, with their seeds if set
    digest: str = ""  # after the last compared tick


def compared_run(store: RunStore) -> ComparedRun:
    """Return the identity of a run, read from its state."""
    description: dict[str, Any] = json.loads(store.field("state", "describe") or b"{}")
    seeds = [(model.model, model.seed) for model in kept_facts(store).models]
    return ComparedRun(
        world={name: str(description[name]) for name in _WORLD if name in description},
        models=tuple(name if seed is None else f"{name} (seed {seed})" for name, seed in seeds),
    )
