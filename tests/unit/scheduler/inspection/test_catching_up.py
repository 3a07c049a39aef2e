"""Late jobs: those to which a host that caught up left too little real time, and those of a slow model."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.scheduler.inspection.overview import late_by_host, run_overview
from cogitate.scheduler.inspection.recent import newest_lines
from cogitate.scheduler.latency.latencies import LatencyPrior
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.figure_history import Figures
from tests.unit.scheduler.run_lines_case import lines, store_of

RATE = 0.5  # ticks a second: the job that is late, from tick 1 to tick 3, has four seconds


def paced(*at: float, rate: float | None = RATE) -> RunStore:
    """A paced run whose ticks, from the first on, came at these seconds."""
    prior: Any = msgspec.json.encode(LatencyPrior(tick_rate=rate))
    store = store_of(lines(), latency_prior=prior, settings="{}")
    ticks = {
        f"t{tick}": msgspec.json.encode(Figures(tick=tick, minute=tick, at=when)) for tick, when in enumerate(at, 1)
    }
    store.client.hset(store.key("history"), mapping=ticks)  # type: ignore[arg-type]
    return store


@pytest.mark.parametrize(
    ("at", "rate", "count"),
    [
        ((100.0, 102.0, 104.0), RATE, 0),  # at its pace
        ((100.0, 140.0, 144.0), RATE, 0),  # it stalled while the job had time
        ((100.0, 101.0, 101.9), RATE, 1),  # it caught up
        ((100.0, 101.0, 102.0), RATE, 0),  # a little
        ((100.0, 100.0, 100.0), None, 0),  # without a pace nothing is too fast
        ((100.0,), RATE, 0),  # it is not known when
    ],
)
def test_a_job_counts_if_its_ticks_took_less_than_half_of_their_time(
    at: tuple[float, ...], rate: float | None, count: int
) -> None:
    store = paced(*at, rate=rate)
    assert late_by_host(store, newest_lines(store, 6)) == count
    assert run_overview(store.client, "town").hour.late_by_host == count
