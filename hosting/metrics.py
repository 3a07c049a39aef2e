"""Prometheus metrics of a host: ends of jobs, the host's time per tick, budgets, queues and endpoints.

Counters and times cover this process; each scrape reads the gauges from Redis. docs/reference/output.md lists all
names. `cogitate.workers.jobs.metrics` has the metrics of workers.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError

from cogitate.scheduler.budget.budget import window_of
from cogitate.scheduler.config.limits import LimitName, parse_limit_name
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.redis_problems import refused_writes
from cogitate.scheduler.inspection.vitals import BudgetVitals, CadenceVitals, budget_vitals, cadence_vitals
from cogitate.scheduler.journal.lines import JournalError, reason_of
from cogitate.scheduler.ledger.connect import PATIENCE, impatient, servers_of
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.workers.jobs.metrics import UNMET, failure_class, serve, server_gauges

MOST_TICKS = 20_000  # recent ticks whose commit times a host keeps
STATES = ("waiting", "running", "batched", "staged", "dead", "held")

log = structlog.get_logger()


class HostMetrics:
    """The metrics of one host and its run, in a separate registry."""

    def __init__(self, client: Redis, run: str, unexported: Callable[[], bool] = lambda: False) -> None:
        """Create the metrics at zero; `unexported` returns whether the journal's export fails."""
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        ended = ["run", "kind", "end", "source", "reason", "failure"]
        self._ended = Counter("cogitate_jobs", "Jobs that ended.", ended, registry=self.registry)
        self._decided = Counter(
            "cogitate_requests",
            "Requests for jobs, by decision and by the reason for a worse one than requested.",
            ["run", "kind", "decision", "reason"],
            registry=self.registry,
        )
        self._refused = Counter(
            "cogitate_limit_refused",
            "Requests that a limit refused, for all owners together.",
            ["run", "period", "scope", "unit"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "cogitate_host_tick_seconds",
            "Time of the host's own work on a tick, without waiting and the world's turn.",
            ["run"],
            buckets=(0.001, 0.002, 0.004, 0.008, 0.016, 0.033, 0.066, 0.125, 0.25, 0.5, 1),
            registry=self.registry,
        )
        exported = Gauge(
            "cogitate_journal_unexported",
            "1 while lines of the journal cannot be written to the data folder.",
            ["run"],
            registry=self.registry,
        )
        exported.labels(run).set_function(unexported)
        self._tick = Gauge("cogitate_tick", "The last committed tick.", ["run"], registry=self.registry)
        self._run = run
        self._times: deque[tuple[int, float]] = deque(maxlen=MOST_TICKS)  # ticks and their commit times
        self.registry.register(_Ledger(client, run, self._seconds_since))

    def committed(self, tick: int, outcome: FinishedTick, seconds: float) -> None:
        for ended, note in zip(outcome.core.ended, outcome.notes.ended, strict=True):
            # A stale job's failure names an entry or plan item; as a label it would create a series for each.
            failure = UNMET if ended.end == "stale" else failure_class(note.failure)
            self._ended.labels(self._run, ended.key.kind, ended.end, note.source, ended.reason, failure).inc()
        for decided in outcome.core.decided:
            reason = reason_of(decided.refused) if decided.refused else "none"
            self._decided.labels(self._run, decided.key.kind, decided.decision, reason).inc()
            limit = _limit(decided.refused)
            if limit is not None:
                self._refused.labels(self._run, *limit).inc()
        self._seconds.labels(self._run).observe(seconds)
        self._tick.labels(self._run).set(tick)
        self._times.append((tick, time.monotonic()))

    def _seconds_since(self, tick: int) -> float:
        """Return the seconds since a tick was committed; if that is forgotten, since the oldest known commit."""
        times = tuple(self._times)
        index = bisect_left(times, (tick,))
        return time.monotonic() - times[index][1] if index < len(times) else 0.0


def _limit(refused: str) -> LimitName | None:
    """Return the limit in a refusal such as "day:3 owner:agent:ada calls"; None if the refusal names no limit."""
    window, space, rest = refused.partition(" ")
    if not space:
        return None
    scope, _, unit = rest.rpartition(" ")
    scope = "owner:*" if scope.startswith("owner:") else scope
    return parse_limit_name(f"{window.partition(':')[0]}.{scope}.{unit}")


def _refuses_writes(client: Redis) -> Metric:
    """Return the gauge that is 1 while the server answers reads but refuses writes."""
    gauge = GaugeMetricFamily("cogitate_redis_refuses_writes", "1 if Redis answers reads but refuses writes.")
    gauge.add_metric([], int(bool(refused_writes(client))))
    return gauge


def _memory(client: Redis) -> Iterator[Metric]:
    """Yield the memory of all servers, and its limit if there is one; nothing without the permission to read them."""
    try:
        servers = [server.info("memory") for server in servers_of(client)]
    except NoPermissionError:
        return
    for name, field, meaning in (
        ("cogitate_redis_memory_bytes", "used_memory", "Memory that Redis uses."),
        ("cogitate_redis_memory_limit_bytes", "maxmemory", "Memory at which Redis refuses writes."),
    ):
        if all(memory.get(field) for memory in servers):
            gauge = GaugeMetricFamily(name, meaning)
            gauge.add_metric([], sum(int(memory[field]) for memory in servers))
            yield gauge


class _Ledger(Collector):
    """A collector that reads the state of the server, the run and the endpoints from Redis at each scrape."""

    def __init__(self, client: Redis, run: str, seconds_since: Callable[[int], float]) -> None:
        self._client = impatient(client, PATIENCE)
        self._run = run
        self._seconds_since = seconds_since

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, up to the first call that fails; without Redis, only `cogitate_ledger_up`."""
        up = GaugeMetricFamily("cogitate_ledger_up", "Whether Redis answered this scrape.", labels=["run"])
        server, run = list[Metric](), list[Metric]()
        try:
            server = server_gauges(self._client)
            run = [
                *_budget(budget_vitals(self._client, self._run)),
                *_cadence(cadence_vitals(self._client, self._run), self._seconds_since),
                *_endpoints(self._client),
                _refuses_writes(self._client),
                *_memory(self._client),
            ]
        except (RedisError, LedgerError, JournalError) as error:
            log.warning("metrics.no_ledger", run=self._run, error=type(error).__name__)
        up.add_metric([self._run], 1 if run else 0)
        yield up
        yield from server
        yield from run


def _budget(vitals: BudgetVitals) -> Iterator[Metric]:
    """Yield the gauges of the current day and run windows, for all jobs and for each kind."""
    labels = ["run", "period", "scope", "unit"]
    families = {
        name: GaugeMetricFamily(f"cogitate_budget_{name}", meaning, labels=labels)
        for name, meaning in (
            ("limit", "The limit of the current window."),
            ("for_retries", "The part of the limit that only further attempts may use."),
            ("reserved", "Reserved by attempts in flight, whose usage is not known yet."),
            ("spent", "Spent in the current window."),
            ("retried", "The part of reserved and spent that earlier attempts took from the retry pool."),
            ("held", "Neither reserved nor spent: admission counts it until the usage of ended jobs is known."),
            ("overrun", "Spent above reservations."),
        )
    }
    current = {window_of(period, vitals.tick, vitals.minute) for period in ("day", "run")}
    for line in (window.line for window in vitals.windows):
        if line.window not in current or line.scope.startswith("owner:"):
            continue
        label = [vitals.run, line.window.partition(":")[0], line.scope, line.unit]
        for name, family in families.items():
            value = getattr(line, name)
            if value is not None:
                family.add_metric(label, value)
    yield from families.values()


def _cadence(vitals: CadenceVitals, seconds_since: Callable[[int], float]) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("cogitate_open_jobs", "Open jobs.", labels=["run", "kind", "state"])
    age = GaugeMetricFamily(
        "cogitate_queue_age_ticks", "Age of the oldest waiting or running job.", labels=["run", "kind"]
    )
    seconds = GaugeMetricFamily(
        "cogitate_queue_age_seconds",
        "Age of the oldest waiting or running job, as far back as this host remembers.",
        labels=["run", "kind"],
    )
    for kind, opened in vitals.open.items():
        for state in STATES:
            jobs.add_metric([vitals.run, kind, state], getattr(opened, state))
        age.add_metric([vitals.run, kind], opened.age)
        seconds.add_metric([vitals.run, kind], seconds_since(vitals.tick - opened.age) if opened.oldest else 0.0)
    lag = GaugeMetricFamily("cogitate_lag_ticks", "How far a paced host is behind its schedule.", labels=["run"])
    lag.add_metric([vitals.run], vitals.steering.lag)
    cadence = GaugeMetricFamily("cogitate_reflection_cadence", "Reflection, as a share of the usual.", labels=["run"])
    cadence.add_metric([vitals.run], vitals.steering.cadence)
    yield from (jobs, age, seconds, lag, cadence)


def serve_metrics(
    client: Redis, run: str, settings: Settings, unexported: Callable[[], bool], resources: ExitStack
) -> HostMetrics:
    """Serve a host's metrics at the port in its settings, and return them; `resources` stops the server."""
    metrics = HostMetrics(client, run, unexported)
    server = serve(settings, metrics.registry, client)
    resources.callback(server.server_close)
    resources.callback(server.shutdown)
    return metrics


def _endpoints(client: Redis) -> Iterator[Metric]:
    """Yield the gauges of endpoints for all runs together, since runs share endpoints."""
    labels = ["endpoint"]
    breaker = GaugeMetricFamily("cogitate_endpoint_breaker_open", "1 unless the breaker is closed.", labels=labels)
    held = GaugeMetricFamily(
        "cogitate_endpoint_held_seconds", "Seconds for which the endpoint still asks for a pause.", labels=labels
    )
    flying = GaugeMetricFamily("cogitate_endpoint_in_flight", "Calls in flight, if they are capped.", labels=labels)
    calls = CounterMetricFamily("cogitate_endpoint_calls", "Calls to the endpoint.", labels=labels)
    tokens = CounterMetricFamily("cogitate_endpoint_tokens", "Tokens of these calls.", labels=labels)
    tiers = CounterMetricFamily(
        "cogitate_endpoint_service_tiers",
        "Calls by the service tier that answered, if the endpoint names it.",
        labels=[*labels, "tier"],
    )
    saved = CounterMetricFamily(
        "cogitate_endpoint_discount_dollars",
        "Dollars saved against the standard service tier.",
        labels=labels,
    )
    failures = CounterMetricFamily("cogitate_endpoint_failures", "Calls that failed.", labels=[*labels, "failure"])
    refused = CounterMetricFamily(
        "cogitate_endpoint_refused", "Jobs that continued without a call.", labels=[*labels, "why"]
    )
    for one in endpoint_vitals(client):
        breaker.add_metric([one.endpoint], one.breaker != "closed")
        held.add_metric([one.endpoint], one.held)
        flying.add_metric([one.endpoint], one.in_flight)
        calls.add_metric([one.endpoint], one.calls)
        tokens.add_metric([one.endpoint], one.tokens)
        saved.add_metric([one.endpoint], one.discount / 1e6)
        for tier, count in one.service_tiers.items():
            tiers.add_metric([one.endpoint, tier], count)
        for failure, count in one.failures.items():
            failures.add_metric([one.endpoint, failure], count)
        for why, count in one.refused.items():
            refused.add_metric([one.endpoint, why], count)
    yield from (breaker, held, flying, calls, tokens, tiers, saved, failures, refused)
