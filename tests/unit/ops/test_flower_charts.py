"""What the charts of a run draw: what was measured, in the unit that the axis names."""

from __future__ import annotations

from cogitate.memory.clock import Clock
from cogitate.ops.flower.charts import Chart, charts_of, window_of_points
from cogitate.scheduler.tick.figure_history import Figures

POINTS = [
    Figures(tick=1, minute=1, tokens={"plan": 600}, usd_micros={"plan": 90}, workers=2, calls=1, failed_calls=1),
    Figures(
        tick=7,
        minute=7,
        ticks=6,
        tokens={"plan": 600},
        sources={"llm": 3},
        cadence=500,
        causes={"budget": 400},
        calls=4,
        failed_calls=1,
        call_ms=6_000,
        longest_ms=5_000,
        workers=0,
    ),
]


def charts() -> dict[str, Chart]:
    return {chart.name: chart for chart in charts_of(POINTS)}


def test_an_amount_is_that_of_a_tick_or_the_mean_of_its_ticks() -> None:
    found = charts()
    assert found["tokens"].series == {"plan": [600, 100]}
    assert found["money"].series == {"plan": [0.00009, 0]}
    assert found["sources"].series == {"llm": [0, 0.5]}
    assert found["tokens"].totals == {"plan": 1_200}
    assert window_of_points(POINTS[:1], Clock()) == "Each point is one tick."
    assert window_of_points(POINTS, Clock()).startswith("Each point is the mean of 6 ticks (6 game minutes)")


def test_latency_and_failed_calls_are_unknown_without_calls() -> None:
    found = charts()
    assert found["latency"].series == {"mean": [None, 2.0], "longest": [None, 5.0]}
    assert found["calls"].series == {"failed": [100, 25]}
    idle = {chart.name: chart for chart in charts_of([Figures(tick=1, minute=1)])}
    assert idle["calls"].series == {"failed": [None]}
    assert idle["workers"].series == {"alive": [None]}, "an older version did not count them"


def test_a_budgets_pace_is_told_in_full_and_drawn_up_to_the_top() -> None:
    cadence = charts()["cadence"]
    assert cadence.series["budget"] == [None, 400]
    assert cadence.series["cadence"] == [None, 50]
    assert cadence.top == 100


def test_every_chart_names_the_unit_of_its_axis() -> None:
    assert all(chart.axis for chart in charts().values())
    assert charts()["workers"].series == {"alive": [2, 0]}
