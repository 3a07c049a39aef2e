"""The lifeline of a worker that a host started: the worker exits after its host.

The host puts its process id into `COGITATE_PARENT_PID`. Linux's parent-death signal is no alternative: it fires when
the *thread* that started the child ends, and other systems lack it.
"""

from __future__ import annotations

import os
import signal
import threading

import structlog
from celery import signals

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.presence import HostProcess, process_of

PARENT_VARIABLE = "COGITATE_PARENT_PID"
CANNOT_START = 78  # exit code of a worker that cannot start; restarting it would not help
USELESS = 70  # exit code of a worker that exits because it cannot claim jobs
LOOK_EVERY = 1.0  # seconds
GRACE = 5.0  # seconds beyond a job's deadline until a worker without a host is killed

log = structlog.get_logger()
_done = threading.Event()


def is_child() -> bool:
    """Return whether a host started this process as its worker."""
    return os.environ.get(PARENT_VARIABLE, "").isdigit()


def supervisor() -> HostProcess | None:
    """Return the host process that started this worker, if one did."""
    return process_of(int(os.environ[PARENT_VARIABLE])) if is_child() else None


def register() -> None:
    """Watch the host, if one started this process, from the moment the worker can shut down."""
    if is_child():
        signals.worker_init.connect(_start)


def _start(**_: object) -> None:
    threading.Thread(target=_watch, args=(int(os.environ[PARENT_VARIABLE]),), name="lifeline", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        _done.wait(LOOK_EVERY)
    log.warning("worker.orphaned", parent=parent)
    os.kill(os.getpid(), signal.SIGTERM)  # a warm shutdown: jobs in flight settle their spending, and no new job starts
    _done.wait(Settings().job_deadline + GRACE)
    os.kill(os.getpid(), signal.SIGKILL)
