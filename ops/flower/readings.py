"""Readings of the ledger and the broker for the pages, as JSON values.

Viewers share a reading, so that Flower reads the runs once a second, not once per viewer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import msgspec
from redis import Redis

from cogitate.memory.clock import clock_in_force, day_and_time
from cogitate.ops.flower.cards import cards_of, since
from cogitate.ops.flower.charts import charts_of, events_since, timeline, window_of_points
from cogitate.ops.flower.job_list import job_list, matches
from cogitate.ops.flower.run_rows import RunRows, budget_reading, limits_in_words, refusals_of, row_of
from cogitate.ops.flower.worker_demand import worker_demand
from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.job_life import job_life
from cogitate.ops.formatting.vitals import format_breaker, format_class
from cogitate.ops.operator_requests import format_control, is_retryable, parse_job_id
from cogitate.ops.waiting_runs import HEADINGS, MINUTES, cells_of, format_wait, waiting_runs
from cogitate.scheduler.budget.budget import format_refusal
from cogitate.scheduler.budget.budget_lines import pools_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobQuery, Position
from cogitate.scheduler.inspection.overview import SHORT, RunOverview, Spenders, run_overview, spenders_today
from cogitate.scheduler.inspection.recent import Recent, recent_ticks
from cogitate.scheduler.inspection.redis_problems import refused_writes
from cogitate.scheduler.inspection.stored_run import clock_of, limits_of
from cogitate.scheduler.inspection.vitals import (
    SteeringVitals,
    cadence_vitals,
    run_heads,
    steering_history,
    steering_of,
)
from cogitate.scheduler.ledger.connect import PATIENCE, connect
from cogitate.scheduler.ledger.real_day import RealDay
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.scheduler.tick.figure_history import Span, figure_history, real_times_at
from cogitate.workers.jobs.metrics import redis_state
from cogitate.workers.transport.amqp_connection import count_waiting
from cogitate.workers.transport.hints import TICKETS, tickets_key

GOOD_FOR = 1.0  # seconds


class _Begun(NamedTuple):
    at: float  # monotonic
    result: Future[dict[str, Any]]


class SharedReadings:
    """The readings of the last second, by key. Thread-safe; callers must not change a reading."""

    def __init__(self, good_for: float = GOOD_FOR) -> None:
        self._good_for = good_for
        self._begun: dict[Hashable, _Begun] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the reading that any thread has begun within the last second, or begin one.

        If a reading fails, all threads that wait for it get the error: a server that does not answer is asked once.
        """
        now = time.monotonic()
        with self._lock:
            self._begun = {name: one for name, one in self._begun.items() if now - one.at < self._good_for}
            begun = self._begun.get(key)
            if begun is not None:
                result, reads = begun.result, False
            else:
                result, reads = Future[dict[str, Any]](), True
                self._begun[key] = _Begun(now, result)
        if reads:
            try:
                result.set_result(read())
            except BaseException as error:  # raised below, in this thread and all that wait
                result.set_exception(error)
        return result.result()


MOST_RUNS = 30  # the most runs shown with figures
NO_WRITES = "Redis {}. Until it takes writes, runs wait or continue by heuristic: cogitate doctor"


class Readings:
    """The readings of one server's runs. Thread-safe, since the clients pool their connections."""

    def __init__(self, settings: Settings, queues: dict[str, str]) -> None:
        """Read with these settings; `queues` maps a kind to the key of its list on Redis."""
        self._settings = settings
        self._queues = queues
        self._shared = SharedReadings()

    @cached_property
    def state(self) -> Redis:
        return self._connected(self._settings.state_url())

    @cached_property
    def _rows(self) -> RunRows:
        return RunRows(self.state)

    @cached_property
    def _messages(self) -> Redis:
        return self._connected(self._settings.messages_url())

    def redis(self) -> str:
        """Return "answers", or the reason why the state does not answer."""
        return redis_state(self.state)

    def demand(self) -> dict[str, Any]:
        """Return the workers that the open jobs of all runs need, for an autoscaler."""
        demand: dict[str, Any] = msgspec.to_builtins(worker_demand(self.state))
        return demand

    def runs(self) -> list[str]:
        """Return the names of the runs, running ones first."""
        return [head.run for head in run_heads(self.state)]

    def _connected(self, url: str) -> Redis:
        return connect(url, min(PATIENCE, self._settings.socket_timeout), retries=0)

    def overview(self, run: str | None) -> dict[str, Any]:
        """Return the figures of every run, and one run's cards, top spenders, and last hour's refusals and failures.

        Viewers share a reading for a second. Without a name, the run is the first running one. If there is no run, the
        reading has only "runs".

        Raises:
            RunMissing: if the run does not exist.
            RedisError: when the state cannot be reached.
        """
        return self._shared.get(run, lambda: self._overview(run))

    def _overview(self, run: str | None) -> dict[str, Any]:
        rows: dict[str, dict[str, Any]] = {}
        shown: list[tuple[RunOverview, Spenders]] = []

        def read(chosen: str) -> dict[str, Any]:
            of, store = run_overview(self.state, chosen, time.time()), RunStore.open(self.state, chosen)
            most = spenders_today(store, of)
            shown.append((of, most))
            rows[chosen] = row_of(of)
            limits = limits_of(store)
            return {
                "tick": of.tick,
                "minute": of.minute,
                "recent": _recent(of.hour),
                "refused": refusals_of(of, {name.text(): limit for name, limit in limits.now}),
                "spenders": msgspec.to_builtins(most) | {"clock": since(most.since)},
            }

        found = self._of(run, read)
        for of, most in shown:
            day = RealDay(self.state, self._settings).spending()
            seen = workers_seen(self.state)
            with of.clock.in_force():
                endpoints = endpoint_vitals(self.state)
                cards = cards_of(of, most, endpoints, seen, day, no_writes="no_writes" in found)
                found |= timeline(RunStore.open(self.state, of.run), of, seen)
            found["cards"] = msgspec.to_builtins(cards)
        runs = [(one["run"], one["status"]) for one in found["runs"]]
        found["rows"] = self._rows.of(runs[:MOST_RUNS], rows)
        found["further"] = max(0, len(runs) - MOST_RUNS)
        return found

    def budgets(self, run: str | None) -> dict[str, Any]:
        """Return one run's budget, as `budget_reading` does.

        Without a name, the run is the first running one. If there is no run, the reading has only "runs".

        Raises:
            RunMissing: if the run does not exist.
            RedisError: when the state cannot be reached.
        """

        return self._of(run, lambda chosen: budget_reading(self.state, chosen))

    def cadence(self, run: str | None) -> dict[str, Any]:
        """Return one run's open jobs, queues, workers and failures, and all endpoints; otherwise as `budgets`."""

        def read(chosen: str) -> dict[str, Any]:
            vitals = cadence_vitals(self.state, chosen)
            found: dict[str, Any] = msgspec.to_builtins(vitals) | {"recent": _recent(vitals.recent)}
            found["steering"]["every"] = _every(vitals.steering)
            found["queues"] = self._waiting()
            found["endpoints"] = [
                {**msgspec.to_builtins(one), "words": format_breaker(one), "failures": _classes(one.failures)}
                for one in endpoint_vitals(self.state)
            ]
            return found

        return self._of(run, read)

    def _waiting(self) -> dict[str, int]:
        """Return the number of hints of each kind that wait on the broker."""
        url = self._settings.messages_url()
        if is_amqp_url(url):
            return count_waiting(url, min(PATIENCE, self._settings.socket_timeout), [*self._queues])
        pipeline = self._messages.pipeline(transaction=False)
        for key in self._queues.values():
            for priority in TICKETS:
                pipeline.llen(tickets_key(key, priority))
        lengths = iter(pipeline.execute())
        return {kind: sum(islice(lengths, len(TICKETS))) for kind in self._queues}

    def waiting(self, run: str | None) -> dict[str, Any]:
        """Return the runs that wait for workers, and one run's tick; otherwise as `budgets`, but shared by viewers."""

        def read(chosen: str) -> dict[str, Any]:
            tick = RunStore.open(self.state, chosen).tick()
            runs = waiting_runs(self.state, time.time())
            return {
                "tick": tick,
                "minute": clock_in_force().minute(tick),
                "minutes": MINUTES,
                "waiting": [dict(zip(HEADINGS, cells_of(one), strict=True)) for one in runs],
                "jobs": sum(one.waiting for one in runs),
                "served": sum(one.served for one in runs),
                "oldest": format_wait(runs[0]) if runs else "—",
            }

        return self._shared.get(("waiting", run), lambda: self._of(run, read))

    def steering(self, run: str | None) -> dict[str, Any]:
        """Return one run's mode, limits and operators' requests; otherwise as `budgets`."""

        def read(chosen: str) -> dict[str, Any]:
            store = RunStore.open(self.state, chosen)
            limits = limits_of(store)
            newest = recent_ticks(store, chosen, limits.ever, 1)
            history = steering_history(store, newest.last, newest.minute)
            times = real_times_at(store, {one.tick: one.minute for one in history if one.tick})
            return {
                "tick": newest.last,
                "minute": newest.minute,
                "steering": msgspec.to_builtins(steering_of(store)),
                "limits": limits_in_words(store, limits),
                "history": [
                    {
                        "id": one.id,
                        "asked": format_control(one.control),
                        "by": one.by,
                        "reason": one.reason,
                        "state": one.state,
                        "tick": one.tick,
                        "clock": day_and_time(one.minute) if one.tick else "",
                        "at": times.get(one.tick),
                        "refused": one.refused,
                        "job": f"{chosen}/{one.job}" if one.job else "",
                        "called_off": one.called_off,
                    }
                    for one in history
                ],
            }

        return self._of(run, read)

    def charts(self, run: str | None, span: Span) -> dict[str, Any]:
        """Return one run's charts over a span of game time; otherwise as `budgets`."""

        def read(chosen: str) -> dict[str, Any]:
            store = RunStore.open(self.state, chosen)
            points, clock = figure_history(store, span), clock_in_force()
            since = points[0].at if points else None
            return {
                "tick": points[-1].tick if points else 0,
                "minute": points[-1].minute if points else 0,
                "minutes": [point.minute for point in points],
                "names": [] if clock.has_times else [clock.date(point.minute) for point in points],
                "spans": {} if clock.has_times else {"hour": clock.hours(1), "day": clock.hours(24)},
                "times": [point.at for point in points],
                "window": window_of_points(points, clock),
                "events": events_since(store, since) if since is not None else [],
                "charts": msgspec.to_builtins(charts_of(points)),
            }

        return self._of(run, read)

    def jobs(self, run: str | None, query: JobQuery, start: Position) -> dict[str, Any]:
        """Return a page of one run's jobs, as `job_list` does; otherwise as `budgets`."""

        def read(chosen: str) -> dict[str, Any]:
            tick = RunStore.open(self.state, chosen).tick()
            found = {"tick": tick, "minute": clock_in_force().minute(tick), "over": True}
            return found | job_list(self.state, chosen, query, start)

        return self._of(run, read)

    def matches(self, run: str, query: JobQuery) -> dict[str, Any]:
        """Return the matching jobs of a run that a request can change, as `job_list.matches` does."""
        return matches(self.state, run, query)

    def job(self, job_id: str, *, texts: bool) -> dict[str, Any]:
        """Return the life of one job, in the lines of `cogitate job`.

        Args:
            texts: whether to show the texts of memories.

        Raises:
            InputError: when no run has such a job.
            RunMissing: if the run does not exist.
            RedisError: when the state cannot be reached.
        """
        run, key = parse_job_id(job_id)

        def read(chosen: str) -> dict[str, Any]:
            found = JobHistory(self.state, chosen).find(key)
            store = RunStore.open(self.state, chosen)
            minute = recent_ticks(store, chosen, limits_of(store).ever, 1).minute
            refusal = format_refusal(found.refused, limits_of(store).limit_of, pools_of(store).of)
            return {
                "tick": store.tick(),
                "minute": minute,
                "job": {
                    "id": found.id,
                    "kind": found.kind,
                    "owner": found.owner,
                    "state": found.state,
                    "source": found.source,
                    "reason": found.reason,
                    "spent": format_cost(found.spent),
                    "ended": found.ended,
                    "at": real_times_at(store, {found.ended: clock_in_force().minute(found.ended)}).get(found.ended),
                    "retryable": is_retryable(found),
                    "grade": "bad" if found.reason in SHORT else "",
                },
                "life": [*job_life(found, refusal, limits_of(store).limit_of, texts=texts)],
                "over": found.ended > 0,  # an open page need not refresh
            }

        return self._of(run, read)

    def _of(self, run: str | None, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        heads = run_heads(self.state)
        listed: dict[str, Any] = {"runs": msgspec.to_builtins([{"run": h.run, "status": h.state} for h in heads])}
        if refused := refused_writes(self.state):
            listed["no_writes"] = NO_WRITES.format(refused)
        chosen = run or next((head.run for head in heads), None)
        if chosen is None:
            return listed
        store = RunStore.open(self.state, chosen)
        with clock_of(store).in_force():
            found = listed | {"run": chosen} | read(chosen)
            found["clock"] = day_and_time(found["minute"])
        found["at"] = real_times_at(store, {found["tick"]: found["minute"]}).get(found["tick"])
        found["status"] = next((head.state for head in heads if head.run == chosen), found.get("status", ""))
        return found


def _recent(recent: Recent) -> dict[str, Any]:
    """Return the newest ticks with readable classes of failure."""
    found: dict[str, Any] = msgspec.to_builtins(recent)
    found["failures"] = _classes(recent.failures)
    for job in found["failed"]:
        job["failure"] = format_class(job["failure"])
    return found


def _classes(counts: dict[str, int]) -> dict[str, int]:
    return {format_class(name): count for name, count in counts.items()}


def _every(steering: SteeringVitals) -> str:
    """Return how often agents reflect, in ticks, the unit of all durations on the page Cadence."""
    if steering.interval is None:
        return "none"
    ticks = clock_in_force().ticks_until(steering.interval)
    return "every tick" if ticks == 1 else f"every {ticks:,} ticks"
