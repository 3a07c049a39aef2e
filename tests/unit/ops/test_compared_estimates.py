"""A report compares the estimate with the days that a run has lived."""

from __future__ import annotations

from collections import Counter

import pytest

from cogitate.memory.clock import DAY, Clock
from cogitate.ops.estimate.demand import Range
from cogitate.ops.estimate.estimates import KindDay, RunEstimate
from cogitate.ops.report.estimate_section import compare
from cogitate.ops.report.run_figures import RunFigures


def day(requests: float) -> tuple[KindDay, ...]:
    amount = Range(requests, requests, requests)
    return (KindDay(kind="plan", requests=amount, calls=amount, tokens=amount, usd_micros=amount),)


@pytest.mark.parametrize("begun", [0, 3, 700_000_000])
def test_the_days_before_a_run_began_are_not_estimated(begun: int) -> None:
    start = begun * DAY
    figures = RunFigures(width=60, first=1, last=2 * DAY, minute=start + 2 * DAY, clock=Clock(start=start))
    figures.asked = {begun: Counter(plan=10), begun + 1: Counter(plan=4)}
    found = RunEstimate(agents=1, days=2, llm="heuristic", first=day(10), later=day(4))
    (requests,) = [one for one in compare(found, figures) if one.what == "requests"]
    assert (requests.actual, requests.estimated.likely) == (14, 14)
