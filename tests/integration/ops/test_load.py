"""`cogitate load` as a user types it: an outage over HTTP with real workers, and what CI may assert of it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ops.load.asserts import check_names, failures, numbers, parse
from ops.load.figures import LoadRecorder, figures
from ops.load.profiles import PROFILES, profile_of, recorded_profile
from scheduler.config.settings import ConfigurationError
from simulation.story.story import AGENTS
from tests.integration.command import summary, typed


def test_in_an_outage_reflections_slow_down_come_back_and_none_is_lost(tmp_path: Path) -> None:
    found = summary(
        "load", "--profile", "outage", "--workers", 1, "--out", tmp_path / "load.html",
        "--assert", "lost_reflections==0", "--assert", "outage.failed_share>0.9", data_dir=tmp_path / "data",
    )  # fmt: skip
    assert found["intervals_to_half"] <= 2
    assert found["intervals_to_base"] <= 4
    assert found["reversals_most"] <= 1
    assert found["lost_reflections"] == 0
    assert found["postponed"] > 0
    assert found["cadence_least"] <= 0.5
    assert found["cadence_last"] == 1
    assert found["phases"]["before"]["failed_share"] == 0
    page = (tmp_path / "load.html").read_text()
    for title in (
        "Queue age", "Cadence of reflections", "Late and failed", "Budget burn", "Host time per tick", "Throughput",
        "Results by source",
    ):  # fmt: skip
        assert f">{title}</tspan>" in page
    assert "<script" not in page


def test_the_people_of_the_story_think_under_load(tmp_path: Path) -> None:
    found = summary(
        "load", "--story", "--profile", "steady", "--tick-rate", 30, "--workers", 1, "--out", tmp_path / "load.html",
        "--assert", "lost_reflections==0", "--assert", "failed_share==0", data_dir=tmp_path / "data",
    )  # fmt: skip
    assert found["agents"] == len(AGENTS)
    assert found["jobs"] > len(AGENTS)


def test_the_story_has_people_of_its_own(tmp_path: Path) -> None:
    done = typed("load", "--story", "--agents", 3, data_dir=tmp_path / "data")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "give --agents 3 or --story, not both" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--assert", "lateness<1"), "'lateness'; there are agents, behind_most"),
        (("--profile", "outage", "--base-url", "http://localhost:1/v1"), "may cost money"),
    ],
)
def test_what_cannot_be_tested_is_refused_before_anything_starts(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = typed("load", "--profile", "outage", *arguments[-2:], data_dir=tmp_path / "data")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
    assert not (tmp_path / "data").exists()


def test_asserts_are_a_name_a_comparison_and_a_number() -> None:
    known = {"late_share": 0.04, "intervals_to_base": None}
    assert failures([parse("late_share<0.05"), parse(" late_share >= 4e-2 ")], known) == []
    assert failures([parse("late_share<0.01")], known) == ["late_share<0.01: it is 0.04"]
    assert failures([parse("intervals_to_base<=4")], known) == ["intervals_to_base<=4: the figure has no value"]
    for wrong in ("late_share", "late_share<", "__import__('os')<1", "late_share<0.05 or 1<2", "1<2<3"):
        with pytest.raises(ConfigurationError):
            check_names([parse(wrong)], known)


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_has_figures_for_every_phase_and_ends_where_its_phases_do(name: str) -> None:
    profile = profile_of(name)
    last = profile.start_minute + profile.ticks * profile.minutes_per_tick
    assert profile.at(last)[1] is profile.phases[-1]
    assert profile.at(profile.start_minute)[1] is profile.phases[0]
    found = numbers(figures(profile, LoadRecorder(), open_reflections=0, waiting=(), interval=60))
    assert {f"{phase.name}.late_share" for phase in profile.phases} <= set(found)


def test_a_recorded_demand_is_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sim_time", "importance_jobs", "chat_nodes", "reflect_jobs", "reflect_llm_calls"])
        rows.writerows([["2023-02-13 00:00:10", 6, 0, 0, 0], ["2023-02-13 06:00:10", 2, 0, 1, 8]])
        rows.writerow(["2023-02-13 06:00:50", 1, 0, 1, 8])
    profile = recorded_profile(path)
    assert [(one.minute, one.ratings, one.reflections) for one in profile.demand] == [(351, 6, 0), (360, 3, 2)]
    assert profile.start_minute == 350
    path.write_text("when,what\n1,2\n")
    with pytest.raises(ConfigurationError, match="sim_time"):
        recorded_profile(path)
