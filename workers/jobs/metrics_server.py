"""The HTTP server of a host or worker: metrics at /metrics, and a liveness and a readiness probe.

/healthz answers 200 as long as the process can answer at all; /readyz answers 503 while Redis does not answer. Both
report the state of Redis. A restart does not fix an absent Redis, so a supervisor should restart a process that fails
/healthz, and only wait for one that fails /readyz.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.ledger.connect import impatient

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

WITHIN = 1.0  # seconds in which Redis must answer a probe


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
            found: Iterable[bytes] = metrics(environ, start_response)
            return found
        if path not in ("/healthz", "/readyz"):
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"not found; there are /metrics, /healthz and /readyz\n"]
        redis = redis_state(client)
        well = path == "/healthz" or redis == "answers"
        start_response("200 OK" if well else "503 Service Unavailable", [("Content-Type", "application/json")])
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
