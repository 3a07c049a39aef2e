"""Serves the page Minds on loopback, at an address with a secret that only its user learns."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from redis.exceptions import RedisError

from cogitate.memory.errors import CogitateError, InputError
from cogitate.ops.report.minds_reading import PARTS, MindsReading
from cogitate.scheduler.ledger.errors import RunMissing

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
WAIT = 60.0  # seconds for a request to arrive


class MindsServer(ThreadingHTTPServer):
    """The server of the page of one run, or of two side by side.

    Memories are private, so the address has a secret that other users cannot guess.
    """

    daemon_threads = True

    def __init__(self, reading: MindsReading, runs: Sequence[str], port: int) -> None:
        """Listen on a port.

        Raises:
            OSError: when the port is in use.
        """
        super().__init__(("127.0.0.1", port), _Request)
        self.reading = reading
        self.runs = runs
        self.secret = token_urlsafe(16)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.secret}/minds"


class _Request(BaseHTTPRequestHandler):
    server: MindsServer
    timeout = WAIT

    def do_GET(self) -> None:
        """Answer with the page, or with a part of it as JSON."""
        address = urlsplit(self.path)
        _, secret, page, *parts = [*address.path.split("/"), "", ""]
        known = hmac.compare_digest(secret.encode(), self.server.secret.encode()) and page == "minds"
        part = "/".join(parts).rstrip("/")
        reading, runs = self.server.reading, self.server.runs
        given = dict(parse_qsl(address.query, keep_blank_values=True))
        run, at = given.get("run", runs[0]), given.get("at", "")
        if known and not part:
            read_page = partial(reading.page, runs[0], at=at, beside=(*runs, "")[1])
            self._answer(lambda: read_page().encode(), "text/html; charset=utf-8")
        elif known and part in PARTS and run in runs:
            self._answer(lambda: json.dumps(reading.answer(part, run, given)).encode(), "application/json")
        else:
            self._send(404, b"There is no such page.", "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address is secret."""

    def _answer(self, read: Callable[[], bytes], kind: str) -> None:
        try:
            status, body = 200, read()
        except (RunMissing, InputError) as error:
            status, body, kind = 404, _error_body(error), "application/json"
        except (CogitateError, RedisError, OSError) as error:
            status, body, kind = 503, _error_body(error), "application/json"
        self._send(status, body, kind)

    def _send(self, status: int, body: bytes, kind: str) -> None:
        with suppress(ConnectionError):  # the visitor has closed the page
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


def _error_body(error: Exception) -> bytes:
    return json.dumps({"error": str(error)}).encode()
