"""The search for the highest load that holds: what it tries, what it finds, and how it says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.ops.load.figures import evidence_share, parse
from cogitate.ops.load.knee import (
    CLOSE,
    MEASURED,
    Knee,
    LoadSearch,
    LoadSearchPlan,
    answer_lines,
    knee_chart,
    knee_json,
    knee_of,
    knee_page,
    probe_line,
)
from cogitate.ops.load.profiles import LoadProfile
from cogitate.scheduler.config.settings import ConfigurationError


@pytest.mark.parametrize("limit", [1.0, 1.3, 2.0, 7.0, 31.9])
def test_the_knee_is_between_a_load_that_holds_and_one_close_above_that_breaks(limit: float) -> None:
    tried: list[float] = []

    def holds(factor: float) -> bool:
        tried.append(factor)
        return factor <= limit

    found = knee_of(holds, 40.0)
    assert found.holds is not None
    assert found.breaks is not None
    assert found.holds <= limit < found.breaks <= CLOSE * found.holds
    assert len(tried) == len(set(tried)) <= 10


@pytest.mark.parametrize(("limit", "knee"), [(0.5, Knee(None, 1.0)), (100.0, Knee(40.0, None))])
def test_a_search_may_end_at_either_bound(limit: float, knee: Knee) -> None:
    assert knee_of(lambda factor: factor <= limit, 40.0) == knee


def plan(**over: Any) -> LoadSearchPlan:
    return LoadSearchPlan(**{"levels": [parse("late_share<=0.1"), parse("behind_most<=5")], "most": 8.0, **over})


def test_only_the_raised_quantity_grows_with_the_load() -> None:
    base = plan().profile(1.0)
    for raised in ("agents", "cadence", "latency"):
        other = plan(raised=(raised,)).profile(4.0)
        assert (other.agents == 4 * base.agents) == (raised == "agents")
        assert (other.reflection_interval == base.reflection_interval / 4) == (raised == "cadence")
        assert (other.phases[0].latency == 4 * base.phases[0].latency) == (raised == "latency")
    together = plan(raised=("latency", "agents"))
    assert together.profile(2.0).agents == 50
    assert together.text(2.0) == "50 agents, latency 0.1 s"


@pytest.mark.parametrize(
    ("over", "message"), [({"raised": ("speed",)}, "one of agents, cadence"), ({"most": 41.0}, "at most --up-to 40")]
)
def test_an_invalid_search_is_refused(over: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan(**over)


def measured(profile: LoadProfile, controller: bool) -> Mapping[str, Any]:
    """A machine that carries 100 agents in time, or 150 where the controller throttles."""
    over = profile.agents - (150 if controller else 100)
    cadence = 0.5 if controller and profile.agents > 100 else 1.0
    figures = {
        "late_share": 0.0 if over <= 0 else min(1.0, over / 100),
        "behind_most": 0.5,
        "queue_age_most": 3,
        "cadence": cadence,
        "reflections": round(4 * cadence * profile.agents),
        "tokens": 1000 * profile.agents,
        "reflections_by_model": round(3 * cadence * profile.agents),
    }
    ticks = profile.minutes_measured // profile.minutes_per_tick
    return {
        "phases": {MEASURED: figures},
        "ticks": ticks,
        "longest": 60.0,
        "cadence_least": cadence,
        "evidence_share": 0.3 * cadence,
    }


def test_the_answer_names_the_sustained_load_the_failing_one_and_the_cost_of_throttling() -> None:
    lines: list[str] = []
    search = LoadSearch(plan(), measured, lambda probe: lines.append(probe_line(search, probe)))
    knees = search.run()
    off, on = knees[False], knees[True]
    assert off.holds is not None
    assert on.holds is not None
    assert 100 / CLOSE <= 25 * off.holds <= 100
    assert 150 / CLOSE <= 25 * on.holds <= 150
    said = "\n".join(answer_lines(search, knees))
    at = round(25 * on.holds)
    assert f"With the controller on {at} agents hold" in said
    assert f"At {at} agents throttling reflections down to 0.5 cost:" in said
    assert f"reflections: {2 * at} instead of {4 * at}" in said
    assert "experiences that reflections cite: 15.0% instead of 30.0%" in said
    data = knee_json(search, knees)
    assert data["on"]["holds"] == f"{at} agents"
    assert data["cost"]["reflections"] == {"on": str(2 * at), "off": str(4 * at)}
    assert len(data["probes"]) == len(lines) == len(set(lines)), "each load is tried once"
    assert {(one["factor"], one["holds"]) for one in data["probes"] if one["controller"] == "off"} == {
        (one.factor, one.agents <= 100) for one in search.probes(False)
    }


def test_the_chart_marks_both_knees_over_the_number_of_agents() -> None:
    search = LoadSearch(plan(), measured)
    knees = search.run()
    chart = str(knee_chart(search, knees))
    for text in ("late, controller off", "late, controller on", "cadence, controller on", "knee, on", "knee, off"):
        assert f">{text}<" in chart
    assert ">25<" in chart
    assert ">200<" in chart
    assert chart.count('class="limit"') == 2
    assert "late_share&lt;=0.1" in knee_page(search, knees).html()


def test_past_the_knee_each_doubled_load_is_measured_once() -> None:
    most = 40.0
    search = LoadSearch(plan(most=most, past_knee=True), measured)
    assert search.run() == LoadSearch(plan(most=most), measured).run(), "the knee stays"
    for on in (False, True):
        factors = [one.factor for one in search.probes(on)]
        assert factors[-3:] == [16.0, 32.0, most]
    assert ">800<" in str(knee_chart(search, search.run()))


def test_a_load_that_takes_too_long_breaks_and_a_level_without_a_value_holds() -> None:
    def slow(profile: LoadProfile, controller: bool) -> Mapping[str, Any]:
        found = dict(measured(profile, controller))
        found["phases"] = {MEASURED: {**found["phases"][MEASURED], "late_share": None}}
        return {**found, "ticks": 1} if profile.agents > 50 else found

    search = LoadSearch(plan(), slow)
    assert search.probe(1.0, True).holds
    assert search.probe(4.0, True).broken == ("it took more than 60 s",)


def test_experiences_count_once_and_only_since_a_minute() -> None:
    stream = Stream("agent:ann")
    for minute in (1, 10, 11, 12, 13):
        stream.append(Entry(type="observation", text=f"at {minute}", minute=minute), tick=minute)
    stream.append(Entry(type="reflection", text="so", minute=20, evidence=(1, 2, 3)), tick=20)
    stream.append(Entry(type="reflection", text="and so", minute=21, evidence=(3, 6)), tick=21)
    stream.append(Entry(type="summary", text="in short", minute=22, evidence=(4, 5)), tick=22)
    assert evidence_share([stream], 10) == 0.5, "2 and 3 of 2 to 5"
    assert evidence_share([stream], 30) is None
