"""Requests of operators, checked before they are sent."""

from __future__ import annotations

import pytest

from cogitate.ops.operator_requests import (
    CancellableMatches,
    cadence_request,
    format_control,
    format_outcome,
    limit_request,
)
from cogitate.scheduler.config.controls import CalledOff, CancelJobs, Retry, SetLimit
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.steering.operators import ControlOutcome


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
def test_a_limit_beyond_the_ledger_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match="is not between 0 and"):
        limit_request(name, value)


def test_a_limit_of_whole_units_has_no_fraction() -> None:
    with pytest.raises(ConfigurationError, match=r"day\.tokens: 0\.5 is not an integer"):
        limit_request("day.tokens", 0.5)


def test_a_misspelt_unit_or_kind_is_refused_with_the_closest_one() -> None:
    with pytest.raises(ConfigurationError, match=r"unit 'tokns' is not one of .*; did you mean 'tokens'\?"):
        limit_request("day.tokns", 1_000)
    with pytest.raises(ConfigurationError, match=r"not 'reflekt': did you mean reflect\?"):
        cadence_request("town", "reflekt", 0.5, pin=False, auto=False)


def test_what_can_be_cancelled_is_counted_in_words() -> None:
    assert CancellableMatches(3, 2, ["a", "b"]).text() == "Of 3 open matches, 2 can be cancelled."
    many = CancellableMatches(1_205, 1_200, [str(n) for n in range(1_000)])
    assert many.text() == "Of 1,205 open matches, 1,200 can be cancelled, the newest 1,000 at once."


def test_a_request_about_jobs_names_one_and_counts_several() -> None:
    assert format_control(CancelJobs(("7/plan/agent:ann/0/0",))) == "cancel 7/plan/agent:ann/0/0"
    several = CancelJobs(tuple(f"7/plan/agent:a{n}/0/0" for n in range(1_000)))
    assert format_control(several) == "cancel 1,000 jobs"
    called_off = CalledOff(998, 2, 0)
    outcome = ControlOutcome(several, "applied", 9, called_off.text(), called_off)
    assert format_outcome(outcome) == "took effect at tick 9, 998 cancelled, 2 had ended"
    again = ControlOutcome(Retry("7/plan/agent:ann/0/0", "agent:ann", (3,)), "applied", 9, "9/plan/agent:ann/0/0")
    assert format_outcome(again) == "took effect at tick 9, as job 9/plan/agent:ann/0/0"
