"""Limits the gateway's connections and the time that a request may take to arrive.

A connection costs its peer nothing, and each host needs one. So the gateway closes connections whose requests stay
unfinished, and at its limit the oldest connection without a known host.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 500  # connections, if the process may open so many files
HEADERS = 10.0  # seconds from the first byte of a request, or from the connection, to the end of its headers
BODY = 60.0  # seconds from there to the end of its body


def most_connections() -> int:
    """Return the most connections, leaving open files for runs, their server and their logs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class BoundedConnection(H11Protocol):
    """A connection whose requests arrive in time, or that is closed."""

    most = most_connections()
    headers_within = HEADERS
    body_within = BODY

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.since = self.loop.time()  # start of its last request, or of the connection
        self._arriving: asyncio.TimerHandle | None = None  # deadline for the arrival of a request
        self._has_headers = False  # of the arriving request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; at the limit, close the least useful one."""
        super().connection_made(transport)
        self._allow(self.headers_within)
        if len(self.connections) > self.most:
            others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
            least = min(others, key=lambda one: (one.is_busy, one.is_known, one.since), default=self)
            (self if least.is_busy else least).drop()

    @property
    def is_known(self) -> bool:
        """Return whether its last request came from a known host."""
        return self.scope is not None and "host" in self.scope

    @property
    def is_busy(self) -> bool:
        """Return whether a host waits for an answer on it."""
        return self.is_known and self.cycle is not None and not self.cycle.response_complete

    def drop(self) -> None:
        """Close the connection at once, even during a request."""
        self._end_wait()
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Parse the bytes and record the request's progress."""
        super().handle_events()
        state = self.conn.their_state
        if state is h11.IDLE:
            if self._arriving is None and self.conn.trailing_data[0]:
                self.since = self.loop.time()
                self._allow(self.headers_within)
        elif state is h11.SEND_BODY:
            if not self._has_headers:
                self._has_headers = True
                self._allow(self.body_within)
        else:  # it is here
            self._has_headers = False
            self._end_wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP; after the start of a response, end the connection."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.drop()

    def _allow(self, seconds: float) -> None:
        self._end_wait()
        self._arriving = self.loop.call_later(seconds, self.drop)

    def _end_wait(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
