"""A worker process's Prometheus metrics: attempts, their duration, and tokens.

docs/reference/output.md lists all names. The server of a host or worker serves them at /metrics, beside two probes.
/healthz answers 200 as long as the process can answer at all; /readyz answers 503 while Redis does not answer. Both
report the state of Redis. A restart does not fix an absent Redis, so a supervisor should restart a process that fails
/healthz, and only wait for one that fails /readyz.

Metrics are served only if `metrics_port` is set. Under Celery's prefork pool the
children's counts are not served: use the threads pool, which is the default here.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, get_args
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from celery import signals
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.vitals import run_heads
from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, PROMPT_FAILED
from cogitate.scheduler.ledger.claims import UNUSABLE, split_failure
from cogitate.scheduler.ledger.connect import PATIENCE, connect, impatient
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.real_day import Refused as DayRefused
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.workers.gate.gate import Why
from cogitate.workers.jobs.call_layers import ASKING_FAILED
from cogitate.workers.llm.replies.failures import FAILURE_KINDS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

WITHIN = 1.0  # seconds in which Redis must answer a probe

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_ATTEMPTS = Counter(
    "cogitate_attempts",
    "Attempts of this worker by the source of their result; none if another attempt follows.",
    ["kind", "source", "failure"],
    registry=REGISTRY,
)
_SECONDS = Histogram(
    "cogitate_attempt_seconds",
    "Time from an attempt's claim to its settling, including waits for the endpoint's limits.",
    ["kind", "source"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
    registry=REGISTRY,
)
_TOKENS = Counter(
    "cogitate_tokens",
    "Tokens used by attempts of this worker, prompt and answer together.",
    ["kind", "model"],
    registry=REGISTRY,
)

UNMET = "unmet"  # the precondition of a result did not hold at its boundary
OTHER = "other"  # any unknown text
#: The classes of failure used as a label: a closed set, since each value creates a time series.
FAILURE_CLASSES: frozenset[str] = frozenset(
    {
        "",
        *FAILURE_KINDS,
        *get_args(Why),
        *get_args(DayRefused),
        "unknown_endpoint",
        "prompt_too_long",
        PROMPT_FAILED,
        ASKING_FAILED,
        UNUSABLE,
        EFFECTS_REFUSED,
        UNMET,
        OTHER,
    }
)

log = structlog.get_logger()


class ServerGauges(Collector):
    """Gauges of a server's runs and workers, read from Redis at each scrape, since dead processes report nothing."""

    def __init__(self, client: Redis) -> None:
        self._client = impatient(client, PATIENCE)

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges, or nothing while Redis does not answer."""
        try:
            yield from server_gauges(self._client)
        except RedisError as error:
            log.warning("metrics.no_ledger", error=type(error).__name__)


def server_gauges(client: Redis) -> list[Metric]:
    """Return gauges of the runs that have a host, and of the number of workers.

    Raises:
        RedisError: if Redis does not answer.
    """
    hosts = GaugeMetricFamily(
        "cogitate_run_has_host", "Whether a live host holds a run that no host has left.", labels=["run"]
    )
    for head in run_heads(client):
        if head.status in HELD:
            hosts.add_metric([head.run], head.held)
    seen = workers_seen(client)
    missing = "Workers without a heartbeat that did not shut down cleanly and were not replaced."
    return [
        hosts,
        GaugeMetricFamily("cogitate_workers_alive", "Workers with a heartbeat.", len(seen.alive)),
        GaugeMetricFamily("cogitate_workers_missing", missing, len(seen.missing)),
    ]


def failure_class(failure: str) -> str:
    """Return the class of a failure as a label, without the check of an unusable answer."""
    kind, _ = split_failure(failure)
    return kind if kind in FAILURE_CLASSES and bool(kind) == bool(failure) else OTHER


def attempted(kind: str, source: str, failure: str, seconds: float, model: str, tokens: int) -> None:
    """Count one settled attempt."""
    count, took = _of_attempts(kind, source, failure_class(failure) if failure else "")
    count.inc()
    took.observe(seconds)
    if tokens:
        _of_tokens(kind, model).inc(tokens)


@cache  # one entry per time series
def _of_attempts(kind: str, source: str, failure: str) -> tuple[Counter, Histogram]:
    return _ATTEMPTS.labels(kind, source, failure), _SECONDS.labels(kind, source)


@cache
def _of_tokens(kind: str, model: str) -> Counter:
    return _TOKENS.labels(kind, model)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Silent(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Suppress the log of requests."""


def redis_state(client: Redis) -> str:
    """Return "answers", or why the server does not answer, without its address."""
    try:
        with impatient(client, WITHIN) as asking:
            asking.ping()
    except (RedisError, OSError) as error:
        return f"does not answer: {type(error).__name__}"
    return "answers"


def application(registry: CollectorRegistry, client: Redis) -> WSGIApplication:
    """Return the server's application."""
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            page: Iterable[bytes] = metrics(environ, start_response)
            return page
        if path not in ("/healthz", "/readyz"):
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"not found; there are /metrics, /healthz and /readyz\n"]
        redis = redis_state(client)
        healthy = path == "/healthz" or redis == "answers"
        start_response("200 OK" if healthy else "503 Service Unavailable", [("Content-Type", "application/json")])
        return [json.dumps({"redis": redis}).encode()]

    return answer


def start_server(port: int, address: str, app: Callable[..., Iterable[bytes]]) -> WSGIServer:
    """Serve an application from a thread; return the server for shutdown.

    Raises:
        OSError: if the address and port cannot be bound.
    """
    family = _Server6 if ":" in address else _Server
    server = make_server(address, port, app, family, handler_class=_Silent)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def serve(settings: Settings, registry: CollectorRegistry, client: Redis) -> WSGIServer:
    """Serve scrapes and probes from a thread at the settings' address and port; return the server for shutdown.

    Raises:
        ConfigurationError: if the address and port cannot be bound.
    """
    if settings.metrics_port is None:
        raise ConfigurationError("metrics_port is not set, so metrics cannot be served")
    try:
        return start_server(settings.metrics_port, settings.metrics_address, application(registry, client))
    except OSError as error:
        raise ConfigurationError(
            f"metrics cannot be served at {settings.metrics_address} port {settings.metrics_port}: "
            f"{error.strerror or error}; set COGITATE_METRICS_PORT to a free port"
        ) from error


def register() -> None:
    """Make workers serve their metrics once they take messages, and stop at shutdown."""
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
