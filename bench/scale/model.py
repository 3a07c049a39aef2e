"""Simulate hosts, ledgers, a broker and workers as stations with queues; a step occupies its station for its CPU time.

A host's tick goes to its ledger, and its jobs go by the broker to workers. A worker takes a job into a free slot,
prepares its call, claims it at the ledger, waits for the model, and settles the answer at the ledger. A host, a ledger,
a broker and a worker process use one core each. The host begins its next tick when it is due and the last one is
committed. Workers take the jobs of a tick in batches, and each batch has a cost besides that of its jobs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import NamedTuple

from cogitate.workers.transport import redis_transport

STATIONS = ("host", "ledger", "broker", "worker", "slots")
AT_ONCE = redis_transport.AT_ONCE
CORES = 4  # of a machine with workers, one process each


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of CPU, by process and purpose."""

    host_tick: float
    host_observation: float
    host_batch: float  # of at most `AT_ONCE` jobs of one tick
    host_job: float  # from request to end
    ledger_tick: float
    ledger_observation: float
    ledger_batch: float
    ledger_job: float  # all steps of a job, claim and settling included
    broker_batch: float
    broker_job: float
    worker_batch: float
    worker_job: float  # the call and the answer
    worker_second: float  # of a worker process, whatever it does
    ledger_second: float  # of a server, whatever it is asked
    broker_second: float
    ledger_worker: float  # of the ledger's, a second and worker process
    broker_worker: float


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The simulated fleet. Jobs and observations are those of one run in one tick."""

    runs: int
    jobs: float
    observations: float
    tick_rate: float  # ticks a second
    ledgers: int = 1
    brokers: int = 1
    workers: int  # processes
    slots: int  # of a worker, for calls
    latency: float  # seconds of a call


class Outcome(NamedTuple):
    """The result of a simulation, without its first quarter."""

    offered: float  # jobs a second
    answered: float  # jobs a second
    busy: dict[str, float]  # share of the time that the busiest station of a sort works
    worked: dict[str, float]  # seconds of CPU of all stations of a sort
    median: float  # seconds from the tick to the settled answer
    p99: float
    lag: float  # seconds that the last tick began late, the largest over runs


def batches(jobs: float) -> float:
    """Return the number of batches in which workers take the jobs of a tick."""
    return math.ceil(jobs / AT_ONCE) if jobs >= 1 else jobs


def ledger_besides(costs: Costs, fleet: Fleet) -> float:
    """Return the share of its time that a ledger needs besides jobs and ticks."""
    return costs.ledger_second + fleet.workers * costs.ledger_worker / fleet.ledgers


def broker_besides(costs: Costs, fleet: Fleet) -> float:
    """Return the share of its time that a broker needs besides jobs."""
    return costs.broker_second + fleet.workers * costs.broker_worker / fleet.brokers


def loads(costs: Costs, fleet: Fleet) -> dict[str, float]:
    """Return the share of its time that each sort of station needs to keep up; above 1 it cannot."""
    ticks = fleet.runs * fleet.tick_rate
    jobs, observations, taken = ticks * fleet.jobs, ticks * fleet.observations, ticks * batches(fleet.jobs)
    host = costs.host_tick + fleet.observations * costs.host_observation + fleet.jobs * costs.host_job
    host += batches(fleet.jobs) * costs.host_batch
    ledger = ticks * costs.ledger_tick + observations * costs.ledger_observation + jobs * costs.ledger_job
    ledger += taken * costs.ledger_batch
    broker = jobs * costs.broker_job + taken * costs.broker_batch
    worker = jobs * costs.worker_job + taken * costs.worker_batch
    held = fleet.latency + costs.worker_job
    return {
        "host": fleet.tick_rate * host,
        "ledger": ledger / min(fleet.ledgers, fleet.runs) + ledger_besides(costs, fleet),
        "broker": broker / min(fleet.brokers, fleet.runs) + broker_besides(costs, fleet),
        "worker": worker / fleet.workers + costs.worker_second,
        "slots": jobs * held / (fleet.workers * fleet.slots),
    }


class _Station:
    """One core with a queue, slowed by its other work."""

    def __init__(self, besides: float = 0.0) -> None:
        self._slower = 1 / max(0.01, 1 - besides)
        self._free = 0.0
        self.worked = 0.0
        self.besides = besides

    def serve(self, now: float, seconds: float) -> float:
        """Return the time at which work that arrives now is done."""
        self._free = max(now, self._free) + seconds * self._slower
        self.worked += seconds
        return self._free


class _Waiting(NamedTuple):
    """A job that waits for a slot."""

    asked: float  # when its tick began
    run: int
    first: bool  # of a batch


class _Simulation:
    def __init__(self, costs: Costs, fleet: Fleet, seconds: float, asking: float, seed: int) -> None:
        self._costs, self._fleet, self._end, self._asking = costs, fleet, seconds, asking
        self._chance = Random(seed)
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self.hosts = [_Station() for _ in range(fleet.runs)]
        self.ledgers = [_Station(ledger_besides(costs, fleet)) for _ in range(fleet.ledgers)]
        self.brokers = [_Station(broker_besides(costs, fleet)) for _ in range(fleet.brokers)]
        self.workers = [_Station(costs.worker_second) for _ in range(fleet.workers)]
        self._free = deque(number for _ in range(fleet.slots) for number in range(fleet.workers))
        self._waiting: deque[_Waiting] = deque()
        self._since: dict[int, float] = {}  # slots in use, by serial number: since when
        self.held = 0.0  # seconds of slots
        self.offered = 0
        self.taken: list[tuple[float, float]] = []  # when it was answered, and after how long
        self.lag = 0.0

    def at(self, when: float, what: Callable[[float], None]) -> None:
        heappush(self._events, (when, next(self._order), what))

    def run(self) -> None:
        for run in range(self._fleet.runs):
            self._schedule(run, run / self._fleet.runs / self._fleet.tick_rate)
        while self._events and self._events[0][0] <= self._end:
            now, _, what = heappop(self._events)
            what(now)
        self.held += sum(self._end - since for since in self._since.values())

    def _schedule(self, run: int, due: float) -> None:
        self.at(due, lambda now: self._tick(run, due, now))

    def _tick(self, run: int, due: float, now: float) -> None:
        costs, fleet = self._costs, self._fleet
        whole = int(fleet.jobs)
        asks = due < self._asking
        jobs = (whole + (self._chance.random() < fleet.jobs - whole)) if asks else 0
        observations = fleet.observations if asks else 0.0
        self.offered += jobs
        if now > self._end - 2 / fleet.tick_rate:
            self.lag = max(self.lag, now - due)
        spent = costs.host_tick + observations * costs.host_observation + jobs * costs.host_job
        spent += batches(jobs) * costs.host_batch
        done = self.hosts[run].serve(now, spent)
        self.at(done, lambda then: self._commit(run, due, jobs, observations, then))

    def _commit(self, run: int, due: float, jobs: int, observations: float, now: float) -> None:
        costs, fleet = self._costs, self._fleet
        spent = costs.ledger_tick + observations * costs.ledger_observation + jobs * costs.ledger_job / 3
        spent += batches(jobs) * costs.ledger_batch
        done = self._ledger(run).serve(now, spent)
        if jobs:
            self.at(done, lambda then: self._publish(run, due, jobs, then))
        following = due + 1 / fleet.tick_rate
        self.at(max(done, following), lambda then: self._tick(run, following, then))

    def _publish(self, run: int, due: float, jobs: int, now: float) -> None:
        costs = self._costs
        done = self._broker(run).serve(now, jobs * costs.broker_job / 2 + batches(jobs) * costs.broker_batch)
        for number in range(jobs):
            job = _Waiting(due, run, first=number % AT_ONCE == 0)
            self.at(done, lambda then, job=job: self._queue(job, then))  # type: ignore[misc]

    def _queue(self, job: _Waiting, now: float) -> None:
        if self._free:
            self._take(self._free.popleft(), job, now)
        else:
            self._waiting.append(job)

    def _take(self, worker: int, job: _Waiting, now: float) -> None:
        costs, number = self._costs, next(self._order)
        asked, run, first = job
        self._since[number] = now
        core, ledger = self.workers[worker], self._ledger(run)

        def prepare(then: float) -> None:
            self.at(core.serve(then, costs.worker_job / 2 + first * costs.worker_batch), claim)

        def claim(then: float) -> None:
            self.at(ledger.serve(then, costs.ledger_job / 3) + self._fleet.latency, answered)

        def answered(then: float) -> None:
            self.at(core.serve(then, costs.worker_job / 2), settle)

        def settle(then: float) -> None:
            self.at(ledger.serve(then, costs.ledger_job / 3), finish)

        def finish(then: float) -> None:
            self.taken.append((then, then - asked))
            self.held += then - self._since.pop(number)
            if self._waiting:
                self._take(worker, self._waiting.popleft(), then)
            else:
                self._free.append(worker)

        self.at(self._broker(run).serve(now, costs.broker_job / 2), prepare)

    def _ledger(self, run: int) -> _Station:
        return self.ledgers[run % len(self.ledgers)]

    def _broker(self, run: int) -> _Station:
        return self.brokers[run % len(self.brokers)]


def simulate(costs: Costs, fleet: Fleet, seconds: float, asking: float = math.inf, seed: int = 0) -> Outcome:
    """Return the figures of a fleet after this many seconds; the same for the same seed.

    Args:
        asking: seconds after which ticks have neither jobs nor observations.
    """
    simulation = _Simulation(costs, fleet, seconds, asking, seed)
    simulation.run()
    begin = seconds / 4
    taken = sorted(after for when, after in simulation.taken if when >= begin)
    stations = {
        "host": simulation.hosts,
        "ledger": simulation.ledgers,
        "broker": simulation.brokers,
        "worker": simulation.workers,
    }
    busy = {
        sort: min(1.0, max(one.worked for one in every) / seconds + every[0].besides)
        for sort, every in stations.items()
    }
    busy["slots"] = simulation.held / (seconds * fleet.workers * fleet.slots)
    return Outcome(
        offered=simulation.offered / seconds,
        answered=len(taken) / (seconds - begin),
        busy=busy,
        worked={sort: sum(one.worked + one.besides * seconds for one in every) for sort, every in stations.items()},
        median=taken[len(taken) // 2] if taken else 0.0,
        p99=taken[int(0.99 * len(taken))] if taken else 0.0,
        lag=simulation.lag,
    )
