"""Test the values that a sweep tries, its comparison with the base, and the sweeps that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.ops.load.profiles import profile_of
from cogitate.ops.load.sweep import COLUMNS, Measured, SweepResult, parse_sweep
from cogitate.scheduler.config.settings import ConfigurationError


def test_a_value_holds_in_every_phase_and_nothing_else_changes() -> None:
    ramp = profile_of("ramp")
    sweep = parse_sweep("cadence=1,0.25")
    slowed = sweep.profile(ramp, 0.25)
    assert [phase.cadence for phase in slowed.phases] == [0.25] * 4
    assert [phase.latency for phase in slowed.phases] == [phase.latency for phase in ramp.phases]
    assert slowed.agents == ramp.agents == parse_sweep("agents=1,2").usual(ramp)
    assert parse_sweep("agents=7,50").profile(ramp, 7).agents == 7
    assert {phase.latency for phase in parse_sweep("latency=0,2").profile(ramp, 2).phases} == {2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed=1,2", "parameters: cadence, agents, latency"),
        ("cadence", "write numbers"),
        ("cadence=1,half", "write numbers"),
        ("cadence=1,0", "cadence 0 is invalid: give numbers from 0.001 to 1"),
        ("cadence=1,nan", "cadence nan is invalid"),
        ("agents=2,2.5", "agents 2.5 is invalid: give whole numbers from 1 to 1000"),
        ("latency=1", "at least two values"),
        ("latency=1,2,1", "each once"),
    ],
)
def test_an_invalid_sweep_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_sweep(text)


def figures(**over: float | None) -> dict[str, Any]:
    given: dict[str, Any] = {name: 0 for _, name in COLUMNS}
    return given | {"tokens": 1000, "reflections": 40, "evidence_share": 0.6, "usd": 0.0012, "late_share": None} | over


def test_each_value_is_compared_with_the_usual_one() -> None:
    usual, rare = figures(), figures(tokens=800, usd=0.0006, reflections=10, evidence_share=0.15, late_share=0.02)
    found = SweepResult(parse_sweep("cadence=0.25,1"), 1.0, [Measured(0.25, rare), Measured(1.0, usual)])
    assert found.lines() == [
        "cadence 0.25, compared with 1: 80% of the tokens, 50% of the dollars, 25% of the reflections, "
        "25% of the evidence; 2.0% late"
    ]
    assert found.rows()[0] == ["0.25", "10", "0", "800", "0.0006", "15.0%", "2.0%", "0.0%"]
    assert found.rows()[1][0] == "1 (usual)"
    tests = found.json()["tests"]
    assert [one["tokens_share_of_base"] for one in tests] == [0.8, 1.0]
    html = found.page(profile_of("steady")).html()
    assert "What cadence saves and keeps" in html
    assert "Late and failed" in html
    assert "each test: 25 agents, 13 game hours, 3 of them warm-up" in html
    assert html.index("1 (usual)") < html.index("What cadence saves"), "the table comes first"


def test_without_the_usual_value_the_first_is_the_base_and_a_missing_figure_has_no_share() -> None:
    unseen = figures(evidence_share=None)
    result = SweepResult(parse_sweep("latency=1,4"), 0.05, [Measured(1, unseen), Measured(4, figures(tokens=1100))])
    assert result.json()["compared_with"] == 1
    assert result.lines() == [
        "latency 4, compared with 1: 110% of the tokens, 100% of the dollars, 100% of the reflections"
    ]
    assert result.rows()[0][0] == "1 (base)", "the usual latency was not tried"
    assert result.page(profile_of("steady")).html()


def test_a_sweep_that_was_stopped_names_what_it_did_not_test() -> None:
    found = SweepResult(parse_sweep("cadence=1,0.5,0.25"), 1.0, [Measured(1.0, figures())])
    assert found.lines() == ["stopped: cadence 0.5, 0.25 not tested"]
    assert found.json()["untested"] == [0.5, 0.25]
    assert "stopped: cadence 0.5, 0.25 not tested" in found.page(profile_of("steady")).html()
