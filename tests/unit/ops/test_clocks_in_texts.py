"""Texts for operators name times as the run's clock does: minutes and times of day, rounds, or months."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from rich.console import Console

from cogitate import Profile, TickLoop
from cogitate.memory.clock import Clock
from cogitate.ops.commands.runs import one_line
from cogitate.ops.flower.cards import cards_of
from cogitate.ops.flower.charts import charts_of, window_of_points
from cogitate.ops.flower.readings import Readings
from cogitate.ops.formatting.run import print_summary
from cogitate.ops.report.command import run_page
from cogitate.scheduler.budget.budget import format_no_room
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.overview import run_overview, spenders_today
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.scheduler.tick.figure_history import Figures, figure_history

MONTH = 30 * 86_400
REAL_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")  # which the report tells beside the run's
NOT_THERE = re.compile(r"(?i)\bminutes?\b(?!\": \d)|\bhours?\b|\d [AP]M\b|\d\d:\d\d\b|\bbefore round\b")


def texts_of(client: FakeRedis, data_dir: Path) -> str:
    """Return what `status`, `report`, Flower's cards and its charts say about the run "test"."""
    summary, out = summarise_run(client, "test"), StringIO()
    print_summary(Console(file=out, width=120), summary)
    page, _, _ = run_page(client, "test", data_dir)
    run, store = run_overview(client, "test"), RunStore.open(client, "test")
    with run.clock.in_force():
        cards = cards_of(
            msgspec.structs.replace(run, asks_model=True),
            spenders_today(store, run),
            [],
            WorkersSeen(alive=[], missing=[], kinds=[]),
        )
        charts = [chart.title for chart in charts_of(figure_history(store, "hour"))]
        told = [format_no_room("day:0 run calls"), *charts, *(line for card in cards for line in card.lines)]
    readings = Readings(PinnedSettings(data_dir=data_dir, redis_url="redis://localhost:6379/0"), {})
    readings.__dict__.update(state=client, _messages=client)
    pages = (readings.overview, readings.budgets, readings.cadence, readings.steering)
    told += [json.dumps(read("test")) for read in pages]
    charts_page = readings.charts("test", "day")
    assert len(charts_page["names"]) == (0 if run.clock.has_times else len(charts_page["minutes"]))
    told += [*charts_page["names"], *charts_page["spans"].values()]
    told.append(window_of_points([Figures(tick=60, minute=60 * 60, ticks=60)], run.clock))
    told += [one_line(summary), out.getvalue(), *(card.label for card in cards)]
    page.write(data_dir / "page.html")
    html = re.sub(r"<style.*?</style>", "", (data_dir / "page.html").read_text(), flags=re.DOTALL)
    return "\n".join([*told, re.sub(r"<[^>]+>", " ", html)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {},
            [
                "Reflections every 3 game minutes",
                "in the last game hour",
                "free again on day 2 at 00:00",
                "Tokens per tick",
                "the mean of 60 ticks (60 game minutes)",
            ],
        ),
        (
            {"clock": "10 rounds of 2 ticks"},
            [
                "finished at tick 20 (round 10 of 10)",
                "Reflections every 2 rounds",
                "in the last 30 rounds",
                "unless it is raised",
                "the mean of 60 ticks (30 rounds)",
                "Spent in rounds 1 to 10",
            ],
        ),
        (
            {"clock": "months", "seconds_per_tick": MONTH},
            ["(year 2, month 8)", "Reflections every month", "in the last month", "60 ticks (60 months)"],
        ),
        ({"seconds_per_tick": 86_400}, ["(day 20)", "Reflections every day", "in the last day", "Spent today, day 20"]),
    ],
)
def test_operators_read_the_times_of_the_runs_clock(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, given: dict[str, Any], said: list[str]
) -> None:
    client, settings = FakeRedis(), PinnedSettings.tuned(data_dir=tmp_path, reflection_interval=3, **given)
    loop = cogitate_loop(owners={"agent:ann": Profile(name="Ann Lee")}, ticks=20, settings=settings, client=client)
    for tick in loop:
        loop.observe("agent:ann", {"text": f"Motion {tick.number} was carried.", "importance": 7})
    loop.close()
    told = texts_of(client, tmp_path)
    assert [one for one in said if one not in told] == []
    if given:
        assert NOT_THERE.findall(REAL_TIME.sub("", told)) == []


@pytest.mark.parametrize(
    ("clock", "days", "span", "past"),
    [
        (Clock(), ["day 1", "day 3"], "720 game minutes", "24 game hours"),
        (Clock(names="rounds"), ["rounds 1 to 1439", "rounds 2880 to 4319"], "720 rounds", "1,440 rounds"),
        (Clock(names="rounds of 2 ticks"), ["rounds 1 to 720", "rounds 1440 to 2160"], "360 rounds", "720 rounds"),
        (Clock(names="rounds", seconds_per_tick=86_400), ["round 1", "round 2"], "round", "round"),
        (
            Clock(names="months", seconds_per_tick=7 * 86_400),
            ["year 1, month 1, day 1", "year 1, month 1, day 2"],
            "7 days",
            "7 days",
        ),
        (Clock(seconds_per_tick=3 * 86_400), ["day 1", "day 2"], "3 days", "3 days"),
    ],
)
def test_a_day_and_a_length_of_time_have_names(clock: Clock, days: list[str], span: str, past: str) -> None:
    assert [clock.day_window(day) for day in (0, 2)] == days
    assert (clock.span(720), clock.hours(24)) == (span, past)
