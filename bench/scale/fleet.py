"""Compare the model with real fleets on this machine, and simulate larger ones, up to 1,000 machines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.scale.costs import (
    FEW,
    FEW_JOBS,
    MANY,
    MANY_JOBS,
    OBSERVATIONS,
    PROCESSES,
    SECONDS,
    TICKS,
    costs_of,
    in_turns,
)
from bench.scale.model import CORES, STATIONS, Costs, Fleet, loads, simulate
from bench.scale.rig import Figures, Point, Rig
from bench.table import Row, Table

LATENCY = 0.5  # seconds of a call
SLOTS = 50
TICK_RATE = 1.0
A_RUN = 100_000  # agents of one run at most
A_MACHINE = 1_000  # agents for each machine with workers
MACHINES = (1, 3, 10, 30, 100, 300, 1_000)
ROUNDS = 3
SIMULATED = 20.0  # seconds
POINTS = (
    Point(name="two hosts, one worker", hosts=2, observations=5, jobs=4, workers=1),
    Point(name="three hosts, two workers", hosts=3, observations=10, jobs=3, workers=2),
    Point(name="one host, two workers", hosts=1, observations=20, jobs=12, workers=2),
)
TOWN, TOWN_TICKS = 25, 1_440


class Demand(NamedTuple):
    """The work that one agent causes in a tick."""

    jobs: float
    observations: float


class Size(NamedTuple):
    """The size of a fleet's parts."""

    run: float = A_RUN  # agents of a run
    machine: float = A_MACHINE  # agents for each machine
    ledgers: int = 1
    brokers: int = 1


def town_demand() -> Demand:
    """Return the demand of an agent of the built-in town in a tick, over a day by heuristics."""
    with TemporaryDirectory() as folder:
        options = f"--town {TOWN} --ticks {TOWN_TICKS} --json --data-dir {folder}"
        command = [sys.executable, "-m", "cogitate.ops", "run", *options.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    jobs = sum(sum(counts["decision"].values()) for counts in found["jobs"].values())
    seen = sum(found["memories"].get("observation", {}).values())
    return Demand(jobs / TOWN / TOWN_TICKS, seen / TOWN / TOWN_TICKS)


def fleet_of(agents: float, demand: Demand, size: Size) -> Fleet:
    """Return the fleet for this many agents."""
    runs = max(1, -(-int(agents) // int(size.run)))
    return Fleet(
        runs=runs,
        jobs=agents / runs * demand.jobs,
        observations=agents / runs * demand.observations,
        tick_rate=TICK_RATE,
        ledgers=size.ledgers,
        brokers=size.brokers,
        workers=CORES * max(1, round(agents / size.machine)),
        slots=SLOTS,
        latency=LATENCY,
    )


def tables(rounds: int = ROUNDS) -> Iterator[Table]:
    """Yield the costs, the comparison, the fleets, and the first three bottlenecks."""
    with TemporaryDirectory() as folder, Rig(Path(folder), LATENCY) as rig:
        figures = in_turns(rig, (TICKS, OBSERVATIONS, FEW_JOBS, MANY_JOBS, *POINTS), rounds)
        costs = costs_of(figures, rig.idle(FEW, SECONDS), rig.idle(MANY, SECONDS))
    yield cost_table(costs)
    yield check_table(figures, costs)
    demand = town_demand()
    yield fleet_table(costs, demand)
    yield bottleneck_table(costs, demand)


def cost_table(costs: Costs) -> Table:
    rows = tuple(
        Row(name, tuple(None if cost is None else 1e6 * cost for cost in cells))
        for name, cells in (
            ("a tick", (costs.host_tick, costs.ledger_tick, None, None)),
            ("an observation", (costs.host_observation, costs.ledger_observation, None, None)),
            ("a batch of jobs", (costs.host_batch, costs.ledger_batch, costs.broker_batch, costs.worker_batch)),
            ("a job", (costs.host_job, costs.ledger_job, costs.broker_job, costs.worker_job)),
            ("a second", (None, costs.ledger_second, costs.broker_second, None)),
            ("a second of a worker", (None, costs.ledger_worker, costs.broker_worker, costs.worker_second)),
        )
    )
    return Table("What a step costs", ("host, µs of CPU", "ledger", "broker", "worker"), rows, decimals=0)


def check_table(measured: Mapping[Point, Figures], costs: Costs) -> Table:
    """Return the CPU of real fleets beside that of the model."""
    rows = []
    for point in POINTS:
        figures = measured[point]
        fleet = Fleet(
            runs=point.hosts,
            jobs=point.jobs,
            observations=point.observations,
            tick_rate=point.tick_rate,
            workers=point.workers,
            slots=point.slots,
            latency=LATENCY,
        )
        seconds = figures.ticks / point.hosts / point.tick_rate
        modelled = simulate(costs, fleet, seconds, point.ticks / point.tick_rate).worked
        cells = [(getattr(figures, sort), modelled[sort]) for sort in PROCESSES]
        rows.append(Row(f"{point.name}, measured", (*(real for real, _ in cells), figures.answered / figures.jobs)))
        rows.append(Row(f"{point.name}, modelled", (*(made for _, made in cells), None)))
        rows.append(Row(f"{point.name}, ratio", (*(made / real for real, made in cells), None)))
    columns = ("host, s of CPU", "ledger", "broker", "worker", "jobs answered in time")
    return Table("The model beside fleets that run here", columns, tuple(rows), decimals=2)


def fleet_table(costs: Costs, demand: Demand) -> Table:
    """Return the model's figures by number of machines."""
    rows = []
    for machines in MACHINES:
        fleet = fleet_of(machines * A_MACHINE, demand, Size())
        found, needed = simulate(costs, fleet, SIMULATED), loads(costs, fleet)
        cells = (fleet.runs, found.offered, found.answered, found.median, found.lag, *(needed[s] for s in STATIONS))
        rows.append(Row(f"{machines:,} machines, {machines * A_MACHINE:,} agents", cells))
    columns = ("runs", "jobs a second", "answered", "median, s", "host late, s", *(f"load of {s}" for s in STATIONS))
    note = (
        f"Runs of at most {A_RUN:,} agents, {TICK_RATE:.0f} tick a second, one ledger, one broker, {CORES} workers of "
        f"{SLOTS} slots a machine, calls of {LATENCY} s. An agent asks for {demand.jobs:.5f} jobs and "
        f"{demand.observations:.4f} observations a tick. A load above 1 cannot be kept up with."
    )
    return Table("Fleets, by the model", columns, tuple(rows), note, decimals=2)


def first_full(costs: Costs, demand: Demand, size: Size) -> tuple[str, float]:
    """Return the sort of station that saturates first as agents grow, and the number of agents at which it does."""

    def fullest(agents: float) -> tuple[float, str]:
        needed = loads(costs, fleet_of(agents, demand, size))
        return max((needed[sort], sort) for sort in STATIONS)

    low, high = 100.0, 1e10
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if fullest(middle)[0] >= 1 else (middle, high)
    return fullest(high)[1], high


def relieved(size: Size, sort: str) -> Size:
    """Return a fleet with ten times as many stations of a sort."""
    match sort:
        case "host":
            return size._replace(run=size.run / 10)
        case "ledger":
            return size._replace(ledgers=10 * size.ledgers)
        case "broker":
            return size._replace(brokers=10 * size.brokers)
        case _:
            return size._replace(machine=size.machine / 10)


def bottleneck_table(costs: Costs, demand: Demand) -> Table:
    """Return the first three bottlenecks, each after relief of those before, and the model below and above each."""
    size, rows = Size(), []
    for place in ("first", "second", "third"):
        sort, agents = first_full(costs, demand, size)
        below, above = (simulate(costs, fleet_of(share * agents, demand, size), SIMULATED) for share in (0.8, 1.2))
        jobs = agents * demand.jobs * TICK_RATE
        rows.append(Row(f"{place}: {sort}", (round(agents), jobs, below.p99, below.lag, above.p99, above.lag)))
        size = relieved(size, sort)
    columns = ("agents", "jobs a second", "p99 at 80%, s", "host late, s", "p99 at 120%, s", "host late, s")
    note = (
        "After each, the fleet has ten times as much of it: runs of a tenth of the agents, ledgers, brokers, machines."
    )
    return Table("The first three bottlenecks, by the model", columns, tuple(rows), note, decimals=2)
