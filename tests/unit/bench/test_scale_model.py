"""The model of fleets agrees with what can be computed by hand, and with itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.scale.costs import FEW, FEW_JOBS, MANY, MANY_JOBS, OBSERVATIONS, TICKS, costs_of
from bench.scale.fleet import Demand, Size, first_full, fleet_of, relieved
from bench.scale.model import AT_ONCE, STATIONS, Costs, Fleet, batches, loads, simulate
from bench.scale.rig import Figures, Point

NOTHING = Costs(**dict.fromkeys(Costs.__dataclass_fields__, 0.0))
COSTS = Costs(
    host_tick=1e-3,
    host_observation=5e-5,
    host_batch=1e-3,
    host_job=4e-4,
    ledger_tick=2e-4,
    ledger_observation=1e-5,
    ledger_batch=3e-4,
    ledger_job=3e-4,
    broker_batch=1e-4,
    broker_job=1e-4,
    worker_batch=1e-3,
    worker_job=3e-3,
    worker_second=2e-3,
    ledger_second=1e-3,
    broker_second=2e-3,
    ledger_worker=1e-5,
    broker_worker=1e-5,
)
FLEET = Fleet(runs=4, jobs=6, observations=10, tick_rate=2.0, workers=3, slots=20, latency=0.5)
SECONDS = 40.0


def test_stations_are_as_busy_as_their_loads_say() -> None:
    busy, expected = simulate(COSTS, FLEET, SECONDS).busy, loads(COSTS, FLEET)
    for sort in STATIONS:
        assert busy[sort] == pytest.approx(expected[sort], rel=0.05), sort


def test_a_fleet_with_room_answers_all_jobs_after_the_call_and_the_work_for_it() -> None:
    found = simulate(COSTS, FLEET, SECONDS)
    assert found.offered == pytest.approx(4 * 6 * 2.0, rel=0.01)
    assert found.answered == pytest.approx(found.offered, rel=0.03)
    assert found.lag == 0
    assert 0.5 < found.median < 0.6
    alone = simulate(NOTHING, replace(FLEET, jobs=1), SECONDS)
    assert alone.median == alone.p99 == pytest.approx(0.5)


def test_slots_bound_what_is_answered() -> None:
    found = simulate(NOTHING, replace(FLEET, runs=1, jobs=20, tick_rate=1.0, workers=1, slots=4), SECONDS)
    assert found.answered == pytest.approx(4 / 0.5, rel=0.02)
    assert found.busy["slots"] == pytest.approx(1.0, rel=0.02)
    assert found.p99 > 20, "jobs pile up"


@pytest.mark.parametrize(
    ("cost", "sort", "most"),
    [
        ("host_job", "host", 1 / 0.02 * 4),
        ("ledger_job", "ledger", 1 / 0.02),
        ("broker_job", "broker", 1 / 0.02),
        ("worker_job", "worker", 3 / 0.02),
    ],
)
def test_each_station_bounds_what_is_answered(cost: str, sort: str, most: float) -> None:
    fleet = replace(FLEET, jobs=1.2 * most / (FLEET.runs * FLEET.tick_rate), slots=1_000)
    costs = replace(NOTHING, **{cost: 0.02})
    found = simulate(costs, fleet, SECONDS)
    assert loads(costs, fleet)[sort] == pytest.approx(1.2, rel=0.01)
    assert 0.75 * most < found.answered < 1.05 * most, "what is asked for keeps a queue from what is under way"
    assert found.busy[sort] == pytest.approx(1.0, rel=0.05)


def test_a_host_without_time_falls_behind_and_its_run_lives_fewer_ticks() -> None:
    found = simulate(replace(COSTS, host_job=0.2), FLEET, SECONDS)
    assert found.lag > 10
    assert found.offered == pytest.approx(4 * 6 / (6 * 0.2), rel=0.1)


def test_one_seed_gives_one_outcome() -> None:
    fleet = replace(FLEET, jobs=0.3)
    assert simulate(COSTS, fleet, SECONDS, seed=1) == simulate(COSTS, fleet, SECONDS, seed=1)
    assert simulate(COSTS, fleet, SECONDS, seed=1) != simulate(COSTS, fleet, SECONDS, seed=2)


def test_ticks_after_the_asking_have_no_jobs() -> None:
    found = simulate(COSTS, FLEET, SECONDS, asking=SECONDS / 2)
    assert found.offered == pytest.approx(4 * 6 * 2.0 / 2, rel=0.01)


def figures(point: Point, tail: int = 10) -> Figures:
    """What a point comes to where each step has its cost in `COSTS`."""
    ticks, seconds = point.ticks + tail, (point.ticks + tail) / point.tick_rate
    jobs, seen = point.ticks * point.jobs, point.ticks * point.observations
    taken = point.ticks * batches(point.jobs)
    return Figures(
        ticks=ticks,
        jobs=jobs,
        answered=jobs,
        seconds=seconds,
        host=ticks * 1e-3 + seen * 5e-5 + taken * 1e-3 + jobs * 4e-4,
        ledger=ticks * 2e-4 + seen * 1e-5 + taken * 3e-4 + jobs * 3e-4 + seconds * (point.workers * 1e-5 + 1e-3),
        broker=taken * 1e-4 + jobs * 1e-4 + seconds * (point.workers * 1e-5 + 2e-3),
        worker=taken * 1e-3 + jobs * 3e-3 + seconds * point.workers * 2e-3,
    )


def test_the_costs_are_found_again_in_figures_that_are_made_of_them() -> None:
    made = {point: figures(point) for point in (TICKS, OBSERVATIONS, FEW_JOBS, MANY_JOBS)}
    few, many = (
        Figures(0, 0, 0, 20.0, 0.0, 20 * (1e-3 + n * 1e-5), 20 * (2e-3 + n * 1e-5), n * 0.04) for n in (FEW, MANY)
    )
    found = costs_of(made, few, many)
    for name in Costs.__dataclass_fields__:
        assert getattr(found, name) == pytest.approx(getattr(COSTS, name)), name


def test_jobs_of_a_tick_are_taken_in_full_batches() -> None:
    assert [batches(jobs) for jobs in (0, 0.25, 1, AT_ONCE, AT_ONCE + 1)] == [0, 0.25, 1, 1, 2]


def test_the_first_bottleneck_is_where_a_load_reaches_one_and_relief_moves_it() -> None:
    demand, size, before = Demand(jobs=0.006, observations=0.04), Size(), 0.0
    for _ in range(3):
        sort, agents = first_full(COSTS, demand, size)
        assert loads(COSTS, fleet_of(agents, demand, size))[sort] >= 1
        below = loads(COSTS, fleet_of(0.98 * agents, demand, size))
        assert max(below.values()) < 1
        assert agents > before
        before, size = agents, relieved(size, sort)
