"""Whether tick rate, model and due ticks fit each other: the verdicts, and the words."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.hosting.pace_fit import KindFit, fit_lines, is_paced, known_before, pace_fit, paced_lines
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.latency.latencies import Latencies
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.tasks.job import JobKey

MODEL = "default"


def settings_of(**changed: Any) -> Settings:
    return Settings.tuned(**({"llm": "openai", "limit_tokens": 1_000, "tick_rate": 20.0} | changed))


def fits(settings: Settings, seconds: float | None, rate: float = 20.0, agents: int = 25) -> dict[str, KindFit]:
    known = known_before(settings, {} if seconds is None else {"default": seconds}, rate)
    return {one.kind: one for one in pace_fit(settings, known, tick_rate=rate, agents=agents)}


def test_every_kind_with_a_model_is_judged() -> None:
    assert set(fits(settings_of(), 0.1)) == {"rate", "plan", "act", "reflect", "integrate", "summarise", "recount"}
    assert fits(settings_of(llm="heuristic"), 0.1) == {}
    assert "plan" not in fits(settings_of(disable=["plan"]), 0.1)


def test_a_fast_body_fits_the_pace() -> None:
    found = fits(settings_of(), 0.2)
    assert {one.verdict for one in found.values()} == {"fits"}
    assert found["act"].line() == "act: 0.65 s = 13 ticks of 2 to 60: fits"
    needed = found["plan"].ticks
    assert needed is not None
    assert found["plan"].line().endswith(f"{needed} ticks of 2 to 480: requested {2 * needed} ticks before morning")


def test_a_slow_body_is_named() -> None:
    found = fits(settings_of(), 2.0)
    assert found["act"].verdict == "too slow"
    assert found["act"].line().endswith("of 2 to 60: too slow, dropped"), "a late action has no heuristic"
    assert found["reflect"].verdict == "fits"
    assert fits(settings_of(), 60.0)["reflect"].line().endswith("too slow, by heuristic")


def test_fixed_due_ticks_are_late_and_cost_money() -> None:
    found = fits(settings_of(adaptive_latency=False), 1.0)
    assert {one.verdict for one in found.values()} == {"late"}
    assert found["act"].line().endswith("ticks of 3, fixed: late, and paid for")
    assert fits(settings_of(adaptive_latency=False), 0.01)["act"].verdict == "fits"


def test_an_uncalled_endpoint_is_unknown() -> None:
    found = fits(settings_of(), None)
    assert {one.verdict for one in found.values()} == {"not known"}
    said = found["act"].line()
    assert said.startswith("act: ")
    assert all(figure in said for figure in ("default", "2 s assumed", "2 to 60 ticks"))


def test_a_crowd_of_planners_needs_longer_than_one() -> None:
    one, many = (fits(settings_of(), 1.0, agents=agents)["plan"].ticks for agents in (1, 200))
    assert one is not None
    assert many is not None
    assert many > one


def test_a_resumed_run_states_its_experience() -> None:
    known = Latencies()
    for at in range(64):
        key = JobKey(at, "act", "agent:ann", 0, 0)
        known.take([Timed(key, MODEL, 0, 8)], at + 8, {key: None})
    lines = paced_lines(settings_of(), known, 25, {"default": 9.0})
    assert lines[0] == "At 20 ticks a second nearly every answer arrives within:"
    assert "  act: 0.55 s = 11 ticks of 2 to 60: fits" in lines


@pytest.mark.parametrize(
    "changed", [{"tick_rate": None}, {"llm": "heuristic"}, {"wait": 1.0}], ids=["unpaced", "heuristic", "waits"]
)
def test_an_unpaced_run_prints_no_pace_lines(changed: dict[str, Any]) -> None:
    assert not is_paced(settings_of(**changed))
    assert paced_lines(settings_of(**changed), Latencies(), 25, {}) == []


def test_an_empty_report_has_no_heading() -> None:
    assert fit_lines([], 20.0) == []
