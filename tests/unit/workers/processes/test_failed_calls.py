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
def test_calls_that_fail_while_others_are_answered_are_told(answered: Sequence[int], told: bool) -> None:
    calls = CallsInTurn()
    for count in answered:
        calls.failed("default", "connection", partial(int, count))
    found = {"default": FailedCalls(failures=len(answered), why="connection")}
    assert calls.told() == (found if told else {})


def test_an_answer_ends_what_is_told_of_its_endpoint_alone() -> None:
    calls = CallsInTurn()
    for count in range(3):
        for endpoint in ("one", "two"):
            calls.failed(endpoint, "auth", partial(int, count))
    calls.answered("one")
    assert [*calls.told()] == ["two"]


def test_a_common_outage_blames_no_worker_once_it_is_over() -> None:
    calls = CallsInTurn()
    for _ in range(5):
        calls.failed("default", "connection", lambda: 40)
    assert calls.told() == {}, "others are answered later, but none between these failures"
