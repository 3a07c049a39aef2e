"""What a load test measures of a run, and from when on: the warm-up belongs to no phase."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cogitate.ops.load.figures import LoadRecorder, Step, TickFigures, figures
from cogitate.ops.load.profiles import PROFILES, LoadProfile, Phase, profile_of
from cogitate.scheduler.config.controls import FULL

INTERVAL = 60
PROFILE = LoadProfile(
    name="test",
    about="",
    start_minute=0,
    warm_up=120,
    minutes_per_tick=30,
    disturbed="trouble",
    phases=[Phase(name="before", minutes=120), Phase(name="trouble", minutes=240), Phase(name="after", minutes=240)],
)


def row(minute: int, **over: float) -> TickFigures:
    given = {"tick": minute // 30, "minute": minute, "at": minute / 30, "host": 0.001, "ended": 2, "tokens": 5} | over
    return TickFigures(**given)  # type: ignore[arg-type]  # of known names


def found(*rows: TickFigures, steps: tuple[Step, ...] = (), profile: LoadProfile = PROFILE) -> dict[str, object]:
    recorder = LoadRecorder()
    recorder.rows, recorder.steps = list(rows), list(steps)
    return figures(profile, recorder, open_reflections=0, waiting=(), interval=INTERVAL)


def test_no_figure_counts_the_warm_up() -> None:
    rows = [row(minute, late=2 * (minute < 120)) for minute in range(0, 720, 30)]
    told = found(*rows)
    assert (told["ticks"], told["late_share"]) == (20, 0)
    phases = told["phases"]
    assert isinstance(phases, dict)
    assert [(name, phase["ticks"], phase["tokens"]) for name, phase in phases.items()] == [
        ("before", 4, 20),
        ("trouble", 8, 40),
        ("after", 8, 40),
    ]


@pytest.mark.parametrize(
    ("late_at", "cadence", "warm"), [(None, 1.0, 1), (30, 1.0, 1), (90, 1.0, 0), (120, 1.0, 1), (None, 0.5, 0)]
)
def test_a_run_is_warm_after_an_interval_without_trouble_at_the_usual_cadence(
    late_at: int | None, cadence: float, warm: int
) -> None:
    rows = [row(minute, late=minute == late_at, cadence=cadence) for minute in range(0, 240, 30)]
    assert found(*rows)["warm"] == warm


def test_a_run_at_a_pinned_cadence_is_warm() -> None:
    pinned = replace(PROFILE, phases=[replace(phase, cadence=0.5) for phase in PROFILE.phases])
    rows = [row(minute, cadence=0.5) for minute in range(0, 240, 30)]
    assert (found(*rows, profile=pinned)["warm"], found(*rows)["warm"]) == (1, 0)


@pytest.mark.parametrize(
    ("steps", "to_half", "to_base"),
    [
        ([], None, 0),
        ([(300, FULL, 500), (360, 500, 250), (540, 250, 500), (600, 500, FULL)], 1, 2),
        ([(60, FULL, 500), (120, 500, FULL), (360, FULL, 500)], 2, None),
        ([(180, FULL, 500), (240, 500, 250)], None, 0),  # it fell before, and is not halved again
        ([(180, FULL, 500), (300, 500, 250), (660, 250, FULL)], 1, 3),
    ],
)
def test_the_effect_of_a_disturbance_is_counted_from_its_beginning(
    steps: list[tuple[int, int, int]], to_half: int | None, to_base: int | None
) -> None:
    told = found(row(120), steps=tuple(Step(*step) for step in steps))
    assert (told["intervals_to_half"], told["intervals_to_base"]) == (to_half, to_base)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_the_controller_has_time_for_several_steps_in_each_phase_and_none_pins_the_cadence(
    profile: LoadProfile,
) -> None:
    assert all(phase.minutes >= 4 * profile.throttle_interval for phase in profile.phases)
    assert all(phase.cadence is None for phase in profile.phases)
    assert profile.warm_up >= 2 * profile.throttle_interval


def test_a_profile_starts_after_its_warm_up_under_its_first_load() -> None:
    profile = profile_of("rate-limit")
    assert profile.at(profile.start_minute) == profile.at(profile.begin) == (0, profile.phases[0])
    assert profile.starts()[0][0] == profile.begin == profile.start_minute + profile.warm_up
    longer = replace(profile, warm_up=profile.warm_up + 60)
    assert longer.ticks - profile.ticks == 60 // profile.minutes_per_tick


def test_everybody_plans_within_the_storm() -> None:
    profile = profile_of("day-boundary-storm")
    ((start, storm),) = [(minute, phase) for minute, phase in profile.starts() if phase.name == "storm"]
    morning = 6 * 60
    assert start <= morning < start + storm.minutes
