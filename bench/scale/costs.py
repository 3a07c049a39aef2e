"""Measure the cost of a step to each process: the CPU of small fleets that differ in one number.

They differ in the number of observations, of jobs in a batch, or of workers without a job. All fleets take turns, and
the median of the rounds counts, since other work on the machine changes the cost of a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from bench.scale.model import AT_ONCE, Costs
from bench.scale.rig import Figures, Point, Rig

TICKS = Point(name="ticks")
OBSERVATIONS = Point(name="observations", observations=20)
FEW_JOBS = Point(name="few jobs", jobs=2, workers=1)
MANY_JOBS = Point(name="many jobs", jobs=AT_ONCE, workers=1)
FEW, MANY, SECONDS = 1, 5, 20.0  # workers without a job, and for how long
PROCESSES = ("host", "ledger", "broker", "worker")


def in_turns(rig: Rig, points: Iterable[Point], rounds: int) -> dict[Point, Figures]:
    """Return the figures of each point: medians of rounds in which they take turns."""
    found: dict[Point, list[Figures]] = {point: [] for point in points}
    for _ in range(rounds):
        for point, figures in found.items():
            figures.append(rig.measure(point))
    return {
        point: Figures(*(median(values) for values in zip(*figures, strict=True))) for point, figures in found.items()
    }


def costs_of(figures: Mapping[Point, Figures], few: Figures, many: Figures) -> Costs:
    """Return the costs that explain the figures of the four points, and of workers without a job."""
    worker_second = many.worker / MANY / many.seconds
    a_second = {name: max(0.0, _a_second(many, name) - _a_second(few, name)) / (MANY - FEW) for name in PROCESSES}
    besides = {name: max(0.0, _a_second(few, name) - FEW * a_second[name]) for name in PROCESSES}
    besides["host"] = besides["worker"] = 0.0
    a_second["worker"] = worker_second
    ticks, observed = figures[TICKS], figures[OBSERVATIONS]
    a_tick = {name: (_cpu(ticks, name) - ticks.seconds * besides[name]) / ticks.ticks for name in PROCESSES}
    a_tick["broker"] = 0.0  # a tick without jobs sends it nothing
    seen = OBSERVATIONS.ticks * OBSERVATIONS.observations
    observation = {
        name: (_cpu(observed, name) - observed.ticks * a_tick[name] - observed.seconds * besides[name]) / seen
        for name in PROCESSES
    }

    def of_jobs(point: Point, name: str) -> float:
        """Return the CPU of a tick's jobs."""
        one = figures[point]
        return (
            _cpu(one, name) - one.ticks * a_tick[name] - one.seconds * (a_second[name] + besides[name])
        ) / point.ticks

    job = {
        name: (of_jobs(MANY_JOBS, name) - of_jobs(FEW_JOBS, name)) / (MANY_JOBS.jobs - FEW_JOBS.jobs)
        for name in PROCESSES
    }
    batch = {name: max(0.0, of_jobs(FEW_JOBS, name) - FEW_JOBS.jobs * job[name]) for name in PROCESSES}
    return Costs(
        host_tick=a_tick["host"],
        host_observation=observation["host"],
        host_batch=batch["host"],
        host_job=job["host"],
        ledger_tick=a_tick["ledger"],
        ledger_observation=observation["ledger"],
        ledger_batch=batch["ledger"],
        ledger_job=job["ledger"],
        broker_batch=batch["broker"],
        broker_job=job["broker"],
        worker_batch=batch["worker"],
        worker_job=job["worker"],
        worker_second=worker_second,
        ledger_second=besides["ledger"],
        broker_second=besides["broker"],
        ledger_worker=a_second["ledger"],
        broker_worker=a_second["broker"],
    )


def _cpu(figures: Figures, name: str) -> float:
    value: float = getattr(figures, name)
    return value


def _a_second(figures: Figures, name: str) -> float:
    return _cpu(figures, name) / figures.seconds
