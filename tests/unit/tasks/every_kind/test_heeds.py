"""Which observed entries have a kind asked whether it is due: one table for all kinds, entries and policies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.prompts.render import Templates
from cogitate.tasks.act import Act
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.prune import Prune
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recount import Recount
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import WORLD, message, observation, stream_of

SEEN = observation("Tea.", 600)
ENTRIES = {
    "seen": SEEN,
    "said": message("Tea?", 600),
    "unrated": observation("Tea.", 600, importance=0),
    "planned": Entry(type="plan", text="Tea.", minute=600, importance=6),
    "to be integrated": observation("Tea.", 600, tags=(INTEGRATE,)),
}
HEEDED: dict[str, set[str]] = {
    "act": set(),
    "recount": set(),
    "plan": {"planned"},
    "rate": {"unrated"},
    "integrate": {"to be integrated"},
    "summarise": {"said"},
    "prune": {"said"},
}
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        *(made(Templates()) for made in (Act, Recount, Plan, RateImportance, Integrate, Summarise)),
        Prune(),
    )
}


def test_each_kind_heeds_its_triggers(subtests: pytest.Subtests) -> None:
    for kind in HEEDED:
        for entry in ENTRIES:
            for policy in ["stream", "cells", "tokens"]:
                with subtests.test(policy=policy, entry=entry, kind=kind):
                    world = replace(WORLD, limits=MemoryLimits(policy=policy))
                    heeded = entry in HEEDED[kind] or (kind == "summarise" and policy != "stream")
                    assert KINDS[kind].heeds(ENTRIES[entry], stream_of(), world, 600) is heeded


def test_a_shared_history_counts_as_a_stream_under_any_policy() -> None:
    world = replace(WORLD, limits=MemoryLimits(policy="cells"))
    assert not KINDS["summarise"].heeds(SEEN, stream_of(owner="group:one"), world, 600)
