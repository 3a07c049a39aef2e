"""Kinds whose model is too slow: how long its answers take, and how long a job of the kind may wait for one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cogitate.scheduler.budget.rules import adaptive_bounds
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.registry import is_kind, kind_of


class SlowKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind with jobs that skipped the model because its answer would have come too late."""

    kind: str
    jobs: int  # that skipped the model
    model: str  # the last option of its jobs
    ticks: int  # within which nearly every answer that the run remembers came, late ones included
    most: int  # ticks that a job of the kind may wait
    tick_rate: float | None  # ticks per second; None: unknown


def slow_kinds(store: RunStore, settings: Settings, too_slow: Mapping[str, int]) -> list[SlowKind]:
    """Return the kinds whose model is too slow, those with most such jobs first.

    Omits kinds that this process does not know, and kinds without an answer so far.

    Args:
        settings: the run's stored settings.
        too_slow: kind -> jobs that skipped the model.
    """
    counts = sorted(((count, name) for name, count in too_slow.items() if count and is_kind(name)), reverse=True)
    if not counts:
        return []
    known = Latencies()
    known.load(store, ())
    found = []
    for count, name in counts:
        model = settings.tier_models(name)["routine"]
        bounds, ticks = adaptive_bounds(kind_of(name), settings), known.nearly_all_within(name, model)
        if bounds is not None and ticks is not None:
            found.append(
                SlowKind(
                    kind=name, jobs=count, model=model, ticks=ticks, most=bounds.most, tick_rate=known.prior.tick_rate
                )
            )
    return found
