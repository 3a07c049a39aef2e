"""The connections of the gateway: how many there are, and how long a request may take to arrive.

A connection costs its peer nothing, and a host needs one. So the gateway closes connections with unfinished requests,
and at its limit closes the oldest connection without a known host.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 500  # connections, where the process may have so many files open
HEADERS = 10.0  # seconds from the first byte of a request, or from the connection, to the end of its headers
BODY = 60.0  # seconds from there to the end of its body


def most_connections() -> int:
    """Return how many connections there may be: the rest of the open files is for runs, their server and their logs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // 2))


class BoundedConnection(H11Protocol):
    """A connection whose requests arrive in time, or that is closed."""

    most = most_connections()
    headers_within = HEADERS
    body_within = BODY

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.since = self.loop.time()  # when its last request began, or it was made
        self._arriving: asyncio.TimerHandle | None = None  # the end of the time that a request has to arrive
        self._has_headers = False  # of the request that is arriving

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; at the limit, close the least useful one first."""
        super().connection_made(transport)
        self._allow(self.headers_within)
        if len(self.connections) > self.most:
            others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
            least = min(others, key=lambda one: (one.is_busy, one.is_known, one.since), default=self)
            (self if least.is_busy else least).drop()

    @property
    def is_known(self) -> bool:
        """Return whether its last request was a host's."""
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
