"""The heartbeat thread of a worker process, from before its first message until it exits."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import structlog
from celery import signals
from celery.worker.consumer import Consumer
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.worker_signs import (
    EVERY,
    NO_TROUBLE,
    SETTLED,
    WorkerTrouble,
    forget_workers,
    give_sign,
    remove_sign,
    take_place,
)
from cogitate.workers.processes import lifeline
from cogitate.workers.processes.before_claim import BEFORE_CLAIM

log = structlog.get_logger()


class WorkerPresence:
    """A thread that sends this worker process's heartbeat until it is stopped."""

    def __init__(self, client: Redis, worker: str, kinds: Sequence[str]) -> None:
        self._client = client
        self._worker = worker
        self._kinds = kinds
        self._supervisor = lifeline.supervisor()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker-presence", daemon=True)

    def start(self) -> None:
        """Send the first heartbeat, then continue in the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Send no further heartbeat and remove the last one; record why, if the worker exits because it cannot work."""
        self._over.set()
        self._thread.join()
        with contextlib.suppress(RedisError, OSError):  # it then counts as missing for a while
            if BEFORE_CLAIM.useless:
                self._give_sign(ended=True)
            else:
                remove_sign(self._client, self._worker)

    def _give_sign(self, began: int | None = None, *, ended: bool = False) -> int:
        failures, trouble = BEFORE_CLAIM.in_turn, NO_TROUBLE
        if failures:
            trouble = WorkerTrouble(failures=failures, why=BEFORE_CLAIM.why, ended=ended)
        return give_sign(self._client, self._worker, self._supervisor, self._kinds, trouble, began)

    def _run(self) -> None:
        began: int | None = None
        while True:
            try:
                first, began = began is None, self._give_sign(began)
                if first:
                    forget_workers(self._client)
                if take_place(self._client, self._worker):
                    began = SETTLED
            except (RedisError, OSError) as error:  # jobs meet and report it too
                log.debug("worker.sign_missed", error=type(error).__name__)
            if self._over.wait(EVERY):
                return


def register() -> None:
    """Make workers send heartbeats once they take messages, and stop at shutdown."""
    signals.worker_ready.connect(_start)


def _start(sender: Consumer, **_: object) -> None:
    settings = Settings()
    try:
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
    except ConfigurationError:  # the jobs report it
        return
    presence = WorkerPresence(client, sender.hostname, sorted(sender.app.amqp.queues.consume_from))
    presence.start()

    def stop(**_: object) -> None:
        presence.stop()
        client.close()

    signals.worker_shutdown.connect(stop, weak=False)
