"""A worker process's metrics for Prometheus: attempts, their time, and tokens.

docs/reference/output.md lists all names. They are served only if `metrics_port` is set. With Celery's prefork pool the
children count in processes that serve nothing: use the threads pool, which is the default here.
"""

from __future__ import annotations

from collections.abc import Iterator
from wsgiref.simple_server import WSGIServer

import structlog
from celery import signals
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.ledger.connect import PATIENCE, connect, impatient
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.workers.jobs.failure_classes import failure_class
from cogitate.workers.jobs.metrics_server import application, start_server

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_ATTEMPTS = Counter(
    "cogitate_attempts",
    "Attempts that this worker made, by what they produced: none where another attempt follows.",
    ["kind", "source", "failure"],
    registry=REGISTRY,
)
_SECONDS = Histogram(
    "cogitate_attempt_seconds",
    "From an attempt's claim to its settling, waiting for the endpoint's limits included.",
    ["kind", "source"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
    registry=REGISTRY,
)
_TOKENS = Counter(
    "cogitate_tokens",
    "Tokens that attempts of this worker cost, prompt and answer together.",
    ["kind", "model"],
    registry=REGISTRY,
)

log = structlog.get_logger()


class ServerGauges(Collector):
    """Gauges of a server's runs and workers, read from Redis at each scrape: what is dead cannot report itself."""

    def __init__(self, client: Redis) -> None:
        self._client = impatient(client, PATIENCE)

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, or nothing while Redis does not answer."""
        try:
            yield from server_gauges(self._client)
        except RedisError as error:
            log.warning("metrics.no_ledger", error=type(error).__name__)


def server_gauges(client: Redis) -> list[Metric]:
    """Return which runs have a host, and how many workers there are.

    Raises:
        RedisError: when Redis does not answer.
    """
    hosts = GaugeMetricFamily(
        "cogitate_run_has_host", "Whether a host is at work on a run that none has left.", labels=["run"]
    )
    for head in run_heads(client):
        if head.status in HELD:
            hosts.add_metric([head.run], head.held)
    seen = workers_seen(client)
    missing = "Workers that give none, did not end in order and were not replaced."
    return [
        hosts,
        GaugeMetricFamily("cogitate_workers_alive", "Workers that give signs of life.", len(seen.alive)),
        GaugeMetricFamily("cogitate_workers_missing", missing, len(seen.missing)),
    ]


def attempted(kind: str, source: str, failure: str, seconds: float, model: str, tokens: int) -> None:
    """Count one settled attempt."""
    _ATTEMPTS.labels(kind, source, failure_class(failure)).inc()
    _SECONDS.labels(kind, source).observe(seconds)
    if tokens:
        _TOKENS.labels(kind, model).inc(tokens)


def serve(settings: Settings, registry: CollectorRegistry, client: Redis) -> WSGIServer:
    """Serve scrapes and probes at the settings' address and port from a thread; return the server, to be shut down.

    Raises:
        ConfigurationError: when nothing can listen there.
    """
    if settings.metrics_port is None:
        raise ConfigurationError("metrics_port is not set, so there is nowhere to serve metrics")
    try:
        return start_server(settings.metrics_port, settings.metrics_address, application(registry, client))
    except OSError as error:
        raise ConfigurationError(
            f"metrics cannot be served at {settings.metrics_address} port {settings.metrics_port}: "
            f"{error.strerror or error}; set COGITATE_METRICS_PORT to a free port"
        ) from error


def register() -> None:
    """Have a worker serve its metrics once it takes messages, and stop when it ends."""
    signals.worker_ready.connect(_start)


def _start(**_: object) -> None:
    settings = Settings()
    if settings.metrics_port is None:
        return
    try:
        client = connect(settings.state_url(), settings.socket_timeout)
        REGISTRY.register(ServerGauges(client))
        server = serve(settings, REGISTRY, client)
    except ConfigurationError as error:  # a worker without metrics is better than none
        log.error("metrics.not_served", error=str(error))
        return

    def stop(**_: object) -> None:
        server.shutdown()
        server.server_close()

    signals.worker_shutdown.connect(stop, weak=False)
