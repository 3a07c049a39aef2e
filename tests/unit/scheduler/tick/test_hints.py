"""Hints are repeated while their job is unclaimed, ever more rarely."""

from __future__ import annotations

from itertools import pairwise

from cogitate.scheduler.tick.result_collector import MOST_INTERVALS, Hints
from tests.unit.scheduler.scheduler_case import open_job

KEYS = [open_job(owner=f"agent:{i}").job.key for i in range(50)]


def test_hints_are_repeated_ever_more_rarely_but_without_end() -> None:
    hints, at = Hints(1.0), []
    hints.published(KEYS[:1], 0.0)
    for tenth in range(2000):
        if hints.repeat(KEYS[:1], tenth / 10):
            at.append(tenth / 10)
    assert at[:5] == [1.0, 3.0, 7.0, 15.0, 31.0]
    gaps = [b - a for a, b in pairwise(at)]
    assert max(gaps) == MOST_INTERVALS
    assert at[-1] > 2000 / 10 - 2 * MOST_INTERVALS


def test_a_long_queue_is_not_flooded() -> None:
    hints = Hints(1.0)
    hints.published(KEYS, 0.0)
    sent = sum(len(hints.repeat(KEYS, float(second))) for second in range(600))
    assert sent <= len(KEYS) * (4 + 600 / MOST_INTERVALS + 1)


def test_new_and_freed_jobs_are_hinted_at_once() -> None:
    hints = Hints(1.0)
    assert hints.repeat(KEYS[:2], 5.0) == KEYS[:2], "a resumed host knows nothing of what was published"
    assert hints.repeat(KEYS[:1], 5.5) == []
    assert hints.repeat([], 6.0) == [], "both are claimed"
    assert hints.repeat(KEYS[:1], 6.1) == KEYS[:1], "one is free again"


def test_a_job_just_published_waits_for_an_interval() -> None:
    hints = Hints(1.0)
    hints.published(KEYS[:1], 0.0)
    assert hints.repeat(KEYS[:1], 0.9) == []
    assert hints.repeat(KEYS[:1], 1.0) == KEYS[:1]
