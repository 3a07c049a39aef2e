"""A worker process beside its jobs: its heartbeats, the failures that it counts before a claim, its exit with its host.

A host that starts a worker puts its process id into `COGITATE_PARENT_PID`, and its import paths into
`COGITATE_IMPORT_PATHS`: its kinds may be defined beside its script, in a folder that only the script's process searches
for modules. Linux's parent-death signal cannot replace the watch on the host: it fires when the *thread* that started
the child ends, and other systems lack it.

A failure before a claim costs no attempt, so no job or journal shows it, and a worker that fails like this takes
messages that another worker could use. Its heartbeat reports the failures, and after `MOST_IN_TURN` of them without a
claim it takes no further messages and exits with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from celery import signals
from redis import Redis
from redis.exceptions import RedisError

from cogitate.memory.errors import CogitateError, text_of
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.presence import HostProcess, process_of
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
from cogitate.workers.processes.failed_calls import CALLS

if TYPE_CHECKING:
    from celery.worker.consumer import Consumer

PARENT_VARIABLE = "COGITATE_PARENT_PID"
PATHS_VARIABLE = "COGITATE_IMPORT_PATHS"
CANNOT_START = 78  # exit code of a worker that cannot start; restarting it would not help
USELESS = 70  # exit code of a worker that exits because it cannot claim jobs
LOOK_EVERY = 1.0  # seconds
GRACE = 5.0  # seconds beyond a job's deadline after which a worker without a host kills itself
MOST_IN_TURN = 20  # failures before a claim
MOST_WHY = 300  # characters of a reason

log = structlog.get_logger()
_done = threading.Event()


def register() -> None:
    """Make workers send heartbeats once they take messages, and watch the host that started this process, if any."""
    signals.worker_ready.connect(_start_presence)
    if is_child():
        signals.worker_init.connect(_start_watch)


def is_child() -> bool:
    """Return whether a host started this process as its worker."""
    return os.environ.get(PARENT_VARIABLE, "").isdigit()


def supervisor() -> HostProcess | None:
    """Return the host process that started this worker, if any."""
    return process_of(int(os.environ[PARENT_VARIABLE])) if is_child() else None


def import_paths() -> str:
    """Return this process's import paths, made absolute, as text for a worker's environment."""
    return json.dumps([str(Path(path).absolute()) for path in sys.path])


def adopt_import_paths() -> None:
    """Put the host's import paths, in its order, before this process's own."""
    handed = os.environ.get(PATHS_VARIABLE)
    if handed is not None:
        sys.path[:] = dict.fromkeys([*json.loads(handed), *sys.path])


def _start_watch(**_: object) -> None:
    threading.Thread(target=_watch, args=(int(os.environ[PARENT_VARIABLE]),), name="lifeline", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        _done.wait(LOOK_EVERY)
    log.warning("worker.orphaned", parent=parent)
    os.kill(os.getpid(), signal.SIGTERM)  # a warm shutdown: jobs in flight settle their spending, and no new job starts
    _done.wait(Settings().job_deadline + GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


class FailuresBeforeClaim:
    """Counts one process's failures to claim a job. Thread-safe."""

    def __init__(self) -> None:
        self.in_turn = 0  # failures since the latest claim
        self.why = ""  # the reason for the latest failure
        self._give_up: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def end_with(self, give_up: Callable[[], None]) -> None:
        """Set the function to call once this process has failed too often."""
        self._give_up = give_up

    @property
    def useless(self) -> bool:
        """Return whether this process has failed often enough that it must exit."""
        return self.in_turn >= MOST_IN_TURN

    def failed(self, why: str) -> None:
        """Count a message whose job this worker failed to claim through its own fault."""
        with self._lock:
            self.in_turn, self.why = self.in_turn + 1, why
            first, last = self.in_turn == 1, self.in_turn == MOST_IN_TURN
        if first:
            log.error("worker.cannot_claim", why=why)
        if last and self._give_up is not None:
            log.error("worker.useless", failures=MOST_IN_TURN, why=why, then="it ends")
            self._give_up()

    def claimed(self) -> None:
        """Reset the count of failures after a claim."""
        with self._lock:
            if not self.useless:
                self.in_turn = 0


def reason_of(error: BaseException) -> str:
    """Describe an error on one line."""
    text = " ".join(text_of(error).split())
    described = text if isinstance(error, CogitateError) else f"{type(error).__name__}: {text}"
    return described[:MOST_WHY]


BEFORE_CLAIM = FailuresBeforeClaim()  # of this process


class WorkerPresence:
    """A thread that sends this worker process's heartbeat, from before its first message until `stop`."""

    def __init__(self, client: Redis, worker: str, kinds: Sequence[str]) -> None:
        self._client = client
        self._worker = worker
        self._kinds = kinds
        self._supervisor = supervisor()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker-presence", daemon=True)

    def start(self) -> None:
        """Send the first heartbeat, then continue in the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat and remove it, or replace it by the reason if the worker exits because it cannot work."""
        self._over.set()
        self._thread.join()
        with contextlib.suppress(RedisError, OSError):  # the worker then counts as missing for a while
            if BEFORE_CLAIM.useless:
                self._give_sign(ended=True)
            else:
                remove_sign(self._client, self._worker)

    def _give_sign(self, began: int | None = None, *, ended: bool = False) -> int:
        failures, trouble = BEFORE_CLAIM.in_turn, NO_TROUBLE
        if failures:
            trouble = WorkerTrouble(failures=failures, why=BEFORE_CLAIM.why, ended=ended)
        return give_sign(self._client, self._worker, self._supervisor, self._kinds, trouble, began, CALLS.told())

    def _run(self) -> None:
        began: int | None = None
        while True:
            try:
                first, began = began is None, self._give_sign(began)
                if first:
                    forget_workers(self._client)
                if take_place(self._client, self._worker):
                    began = SETTLED
            except (RedisError, OSError) as error:  # jobs encounter and report it too
                log.debug("worker.sign_missed", error=type(error).__name__)
            if self._over.wait(EVERY):
                return


def _start_presence(sender: Consumer, **_: object) -> None:
    settings = Settings()
    try:
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
    except ConfigurationError:  # jobs report it
        return
    presence = WorkerPresence(client, sender.hostname, sorted(sender.app.amqp.queues.consume_from))
    presence.start()

    def stop(**_: object) -> None:
        presence.stop()
        client.close()

    signals.worker_shutdown.connect(stop, weak=False)
