"""Count the late jobs that a host gave too little real time while it caught up; they do not show that a model is slow.

A host that was stopped or stalled runs the missed ticks in quick succession, and many of them pass while a model
answers at its usual speed (`cogitate.scheduler.tick.pace`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.journal.outline import LineOutline
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import read_figures

TOO_LITTLE = 0.5  # share of the real time that the pace gives to a job's ticks


def late_by_host(store: RunStore, lines: Sequence[LineOutline]) -> int:
    """Return how many jobs that ended late in these lines had less than half of the real time that the pace gives."""
    late = [(ended.key.tick, line.core.tick) for line in lines for ended in line.core.ended if ended.reason == "late"]
    rate = _tick_rate(store) if late else None
    if rate is None:
        return 0
    ticks = sorted({tick for span in late for tick in span})
    at = {figures.tick: figures.at for figures in read_figures(store, (f"t{tick}" for tick in ticks))}
    count = 0
    for admitted, ended in late:
        began, over = at.get(admitted), at.get(ended)
        if began is not None and over is not None:
            count += over - began < TOO_LITTLE * (ended - admitted) / rate
    return count


def _tick_rate(store: RunStore) -> float | None:
    """Return the ticks per second of a paced run; None: unknown."""
    (prior,) = store.state("latency_prior")
    try:
        return typed_json.decode(prior, LatencyPrior).tick_rate if prior is not None else None
    except msgspec.DecodeError:
        return None
