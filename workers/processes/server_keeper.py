"""Restarts a host's embedded server from its append-only file when it dies.

That file holds every acknowledged write, so a restart loses nothing; hosts and workers reconnect by themselves (see
`cogitate.scheduler.ledger.outage`). The keeper gives up on a server that keeps dying right after its start, for example
on a full disk; then the run stops at once.
"""

from __future__ import annotations

import threading
import time

import structlog
from redis.exceptions import RedisError

from cogitate.workers.processes.embedded import EmbeddedServer, EmbeddedServerError

LOOK_EVERY = 0.25  # seconds
FIRST_DELAY = 0.2  # seconds until a dead server is restarted; doubles with each quick death
QUICK_DEATH = 30.0  # seconds; a longer life resets the delay and the count
GIVE_UP = 6  # quick deaths in a row

log = structlog.get_logger()


class ServerKeeper:
    """The thread that keeps a server alive. Usage: `with ServerKeeper(server): …`, within the server's block."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self.given_up = False  # whether it has stopped restarting the server
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="server-keeper", daemon=True)

    def __enter__(self) -> ServerKeeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        quick_deaths, born = 0, time.monotonic()
        while not self._stopping.wait(LOOK_EVERY):
            if self._server.alive():
                continue
            tail, folder = self._server.log_tail(), str(self._server.data_dir)
            quick_deaths = 1 if time.monotonic() - born > QUICK_DEATH else quick_deaths + 1
            if quick_deaths >= GIVE_UP:
                self.given_up = True
                log.error("server.given_up", said=tail, data_dir=folder)
                return
            delay = FIRST_DELAY * 2.0 ** (quick_deaths - 1)
            log.warning("server.restarted", said=tail, delay=delay, data_dir=folder)
            if self._stopping.wait(delay):
                return
            born = time.monotonic()
            try:
                self._server.revive()
            except (EmbeddedServerError, RedisError, OSError) as error:  # such as a full disk: the next check retries
                log.warning("server.not_restarted", error=str(error))
