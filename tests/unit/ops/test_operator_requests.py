"""Requests of operators, checked before they are sent."""

from __future__ import annotations

import pytest

from cogitate.ops.operator_requests import limit_request
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.settings import ConfigurationError


@pytest.mark.parametrize(
    ("name", "value", "request_"),
    [
        ("run.usd", 0.004, SetLimit("run.run.usd_micros", 4_000)),
        ("run.usd", 0.000_000_1, SetLimit("run.run.usd_micros", 1)),
        ("run.usd", 0, SetLimit("run.run.usd_micros", 0)),
        ("day.kind:plan.usd", 2, SetLimit("day.kind:plan.usd_micros", 2_000_000)),
        ("run.usd", None, SetLimit("run.run.usd_micros", None)),
        ("run.usd_micros", 4_000.0, SetLimit("run.run.usd_micros", 4_000)),
        ("day.tokens", 200_000, SetLimit("day.run.tokens", 200_000)),
    ],
)
def test_a_limit_of_money_is_given_in_dollars(name: str, value: float | None, request_: SetLimit) -> None:
    assert limit_request(name, value) == request_


@pytest.mark.parametrize(("name", "value"), [("run.usd", 1e10), ("run.usd", float("nan")), ("day.tokens", 1e16)])
def test_a_limit_is_one_that_the_ledger_can_hold(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match="is not between 0 and"):
        limit_request(name, value)


def test_a_limit_of_whole_units_has_no_fraction() -> None:
    with pytest.raises(ConfigurationError, match=r"day\.tokens: 0\.5 is not an integer"):
        limit_request("day.tokens", 0.5)
