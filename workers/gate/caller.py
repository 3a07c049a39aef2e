"""Tracks what this process's calls hold at endpoints, so that other processes can release it if this one dies.

A call may hold a slot, a place in a queue, or the only trial of an endpoint or model that is set aside. Its token names
the process. While a call of the process waits or is in flight, a thread reports every few seconds that the process is
alive. Once the reports stop, the next caller releases what the process holds (`workers/lua/callers.lua`).

A process that was only slow or disconnected registers its calls in flight again when it is back, and the gate admits no
further call until there is room. A call releases only what its own token holds. If a call ends while Redis is
unreachable, its process releases what it holds once Redis is back.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import structlog
from redis.commands.core import Script
from redis.exceptions import RedisError

from cogitate.scheduler.ledger.keys import endpoint_keys, new_nonce
from cogitate.workers.processes.lazy_thread import LazyThread

EVERY = 2.0  # seconds; `MISSED_AFTER` in `workers/lua/callers.lua` is three of them

log = structlog.get_logger()


class Held(NamedTuple):
    """What a call holds at an endpoint."""

    endpoint: str
    model: str = ""
    cap: int = 0  # the endpoint's limit of calls in flight; 0: none
    free_at: float = 0.0  # when its slot expires, in microseconds of Redis's clock; 0: the call still waits


class Caller:
    """The slots and places that one process holds at the gate, and the thread that renews them. Thread-safe.

    Args:
        renew: the script `renew`.
    """

    def __init__(self, renew: Script) -> None:
        self._renew = renew
        self.name = new_nonce()  # with which the tokens of its calls begin
        self._held: dict[str, Held] = {}
        self._ended: dict[str, str] = {}  # calls whose end Redis may not know: token -> endpoint
        self._heard_at: set[str] = set()  # endpoints where this caller may be registered
        self._changed = threading.Condition()
        self._idle = self._closed = False
        self._thread = LazyThread(self._run, "endpoint-caller")

    def hold(self, token: str, held: Held) -> None:
        """Report this process as alive until `forget` receives this token."""
        with self._changed:
            if self._closed:
                return
            self._held[token] = held
            self._heard_at.add(held.endpoint)
            self._wake()

    def _wake(self) -> None:
        if self._idle:
            self._changed.notify()
        self._thread.start()

    def forget(self, token: str) -> None:
        """Stop renewing a call that has ended; its report frees what it holds."""
        with self._changed:
            self._held.pop(token, None)

    def free(self, calls: Sequence[tuple[str, str]]) -> None:
        """Free what ended calls hold as soon as Redis answers; each call is an endpoint and a token."""
        with self._changed:
            if calls and not self._closed:
                self._ended |= {token: endpoint for endpoint, token in calls}
                self._wake()

    def close(self) -> None:
        """End the thread, and free everything that this process still holds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        for endpoint in self._heard_at:
            self._run_script(endpoint, ["gone", self.name])

    def _run(self) -> None:
        while True:
            with self._changed:
                self._idle = True
                self._changed.wait_for(lambda: self._held or self._ended or self._closed)
                self._idle = False
                if self._changed.wait_for(lambda: self._closed, timeout=EVERY):
                    return
                held, ended = dict(self._held), dict(self._ended)
            for endpoint in sorted({call.endpoint for call in held.values()}):
                self._renew_at(endpoint, {token: call for token, call in held.items() if call.endpoint == endpoint})
            for endpoint in sorted(set(ended.values())):
                self._release_at(endpoint, [token for token, where in ended.items() if where == endpoint])

    def _release_at(self, endpoint: str, tokens: Sequence[str]) -> None:
        if self._run_script(endpoint, ["left", *tokens]) is not None:
            with self._changed:
                for token in tokens:
                    del self._ended[token]

    def _renew_at(self, endpoint: str, held: dict[str, Held]) -> None:
        """Report this process as alive; its calls in flight take back what others released in the meantime."""
        args: list[str | int | float] = ["heard", self.name, max(call.cap for call in held.values())]
        for token, call in held.items():
            if call.free_at:
                args += [token, call.free_at, call.model]
        again = self._run_script(endpoint, args)
        if again:
            log.warning("endpoint.missed_here", endpoint=endpoint, calls=len(again))
            with self._changed:
                ended = [token for token in again if token not in self._held]
            if ended:
                self._run_script(endpoint, ["left", *ended])

    def _run_script(self, endpoint: str, args: Sequence[str | int | float]) -> list[str] | None:
        """Return the script's answer; None if Redis did not answer."""
        try:
            return [token.decode() for token in self._renew(keys=endpoint_keys(endpoint), args=args)]
        except RedisError as error:
            log.debug("endpoint.not_heard", endpoint=endpoint, error=type(error).__name__)
            return None
