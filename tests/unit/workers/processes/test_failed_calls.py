"""A process whose calls fail while those of others are answered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from cogitate.scheduler.ledger.worker_signs import FailedCalls
from cogitate.workers.processes.failed_calls import CallsInTurn


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        ((5, 5, 6), True),
        ((5, 6, 6), True),
        ((5, 5, 5), False),  # no call is answered
        ((5, 9), False),  # too few
    ],
)
def test_repeated_failures_count_only_if_other_calls_are_answered(answered: Sequence[int], told: bool) -> None:
    calls = CallsInTurn()
    for count in answered:
        calls.failed("default", "connection", partial(int, count))
    found = {"default": FailedCalls(failures=len(answered), why="connection")}
    assert calls.told() == (found if told else {})


def test_an_answer_clears_the_failures_of_its_endpoint_only() -> None:
    calls = CallsInTurn()
    for count in range(3):
        for endpoint in ("one", "two"):
            calls.failed(endpoint, "auth", partial(int, count))
    calls.answered("one")
    assert [*calls.told()] == ["two"]


def test_a_common_outage_blames_no_worker() -> None:
    calls = CallsInTurn()
    for _ in range(5):
        calls.failed("default", "connection", lambda: 40)
    assert calls.told() == {}, "others are answered later, but none between these failures"
