"""Who spent most today: since when that is known."""

from __future__ import annotations

import pytest

from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.overview import run_overview, spenders_today
from cogitate.scheduler.inspection.vitals import RECENT
from tests.unit.hosting.short_loop_case import Loops, opened


@pytest.mark.parametrize(
    ("step", "ticks", "since"),
    [
        (60, 5, 60),  # the run began today: what is before its first tick is nothing
        (60, 30, 24 * 60),
        (60, 24, 24 * 60),  # midnight
        (1, RECENT + 61, 62),  # what is older is not read
    ],
)
def test_spending_is_counted_from_the_first_line_read_of_a_day(
    cogitate_loop: Loops, step: int, ticks: int, since: int
) -> None:
    loop = opened(cogitate_loop, ticks=ticks, settings=PinnedSettings(seconds_per_tick=60 * step))
    for _ in loop:
        pass
    store = loop.ledger.store
    assert spenders_today(store, run_overview(store.client, loop.ledger.run)).since == since
