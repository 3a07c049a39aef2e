"""Runs worker processes as children of a host: starts them, restarts them when they die, stops them with the host.

Each child runs the equivalent of `celery -A cogitate worker` (`cogitate.workers.processes.celery_worker`), with the
host's effective settings in its environment. The pool abandons a child that keeps dying right after its start. That
costs quality, not the run: heuristics do the jobs of missing workers.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import structlog
from pydantic import SecretStr

from cogitate.scheduler.config import tuning
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.journal.private_files import open_private_log
from cogitate.workers.processes.logs import log_tail, redact_secrets
from cogitate.workers.processes.worker_process import (
    CANNOT_START,
    PARENT_VARIABLE,
    PATHS_VARIABLE,
    USELESS,
    import_paths,
)

FIRST_DELAY = 0.2  # seconds until a dead worker is restarted; doubles with each quick death
LONGEST_DELAY = 10.0
QUICK_DEATH = 10.0  # seconds; a longer life resets the delay and the count
GIVE_UP = 6  # quick deaths in a row
USAGE = 2  # exit code of a command with invalid options: restarting it would not help
LOOK_EVERY = 0.05  # seconds
HURRY = 3.0  # seconds for a worker to exit by itself in a hurried stop
MARGIN = 10.0  # seconds beyond a job's deadline within which the job settles and Celery exits

MODULE = "cogitate.workers.processes.celery_worker"  # for `python -m`

log = structlog.get_logger()


def worker_environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a worker with exactly these settings, overriding any configuration file.

    It omits Celery's own variables: another project's `CELERY_BROKER_URL` would override ours.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CELERY_")}
    effective: dict[str, object] = settings.model_dump() | {
        "data_dir": settings.data_dir.resolve(),
        "redis_url": None if settings.redis_urls else settings.state_url(),
        "broker_url": settings.messages_url(),
    }
    for name, value in effective.items():
        if value is None:
            environment.pop(f"COGITATE_{name.upper()}", None)
        else:
            environment[f"COGITATE_{name.upper()}"] = _as_variable(value)
    environment[tuning.VARIABLE] = json.dumps(settings.tuning.changed())
    environment[PATHS_VARIABLE] = import_paths()
    return environment


def worker_command(node: str) -> list[str]:
    """Return the command of one worker process. `node` is its name in Flower, where "%h" stands for the machine."""
    return [
        *(sys.executable, "-m", MODULE, "worker"),
        *("--hostname", node, "--loglevel", "warning"),
        *("--without-mingle", "--without-gossip"),  # workers need nothing from each other, and start a second sooner
    ]


def _as_variable(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, default=_as_variable)  # including secrets, which workers need for their calls
    return str(value)


class WorkerPool:
    """`count` worker processes. Usage: `with WorkerPool(settings, 2): …`.

    If metrics are configured, they serve them at the settings' port and the ports after it.

    Args:
        arguments: further options of the command.
        shown: whether the workers log to this process's output instead of files in the data folder.
    """

    def __init__(self, settings: Settings, count: int, *, arguments: Sequence[str] = (), shown: bool = False) -> None:
        self._settings = settings
        self._arguments = arguments
        self._shown = shown
        self._folder = settings.data_dir  # the workers' working directory
        self._stopping = False  # not an Event: an interrupt in `set` could leave its lock taken
        self._lock = threading.Lock()  # ensures that no process starts once `stop` has begun
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._log_begins: dict[int, int] = {}  # worker number -> bytes in its log when it was last started
        self.cannot_start = ""  # the log of the first worker that failed to start
        self._threads = [
            threading.Thread(target=self._keep, args=(number,), name=f"worker-{number}", daemon=True)
            for number in range(1, count + 1)
        ]
        self._environment = worker_environment(settings) | {PARENT_VARIABLE: str(os.getpid())}

    def start(self) -> WorkerPool:
        """Start the processes and return before they are ready, since hints wait for them.

        Raises:
            ConfigurationError: if the data folder for their logs cannot be made.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if not self._shown:
                raise ConfigurationError(
                    f"cannot make the data folder {self._folder} for the logs of workers ({error.strerror}): name "
                    "another as data_dir, or set workers = 0 and start workers elsewhere"
                ) from None
            self._folder = Path("/")  # such a worker writes no files, so the file system may be read-only
        for thread in self._threads:
            thread.start()
        return self

    def pids(self) -> list[int]:
        """Return the ids of the running processes, by worker number."""
        with self._lock:
            return [process.pid for _, process in sorted(self._processes.items()) if process.poll() is None]

    def any_left(self) -> bool:
        """Return whether any worker is alive or will be restarted; False once all are abandoned."""
        return any(thread.is_alive() for thread in self._threads)

    def log_file(self, number: int) -> Path:
        """Return the log file of worker `number` (from 1)."""
        return self._settings.data_dir / f"worker-{number}.log"

    def stop(self, *, hurry: bool = False) -> None:
        """Stop all workers and wait until they have exited.

        A worker finishes its running jobs, which takes one job's deadline at most. With `hurry` the pool kills it after
        three seconds; the reservations of its jobs then stay charged in full.
        """
        with self._lock:
            self._stopping = True
            running = list(self._processes.values())
        for process in running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + (HURRY if hurry else self._settings.job_deadline + MARGIN)
        with contextlib.ExitStack() as undo:  # an interrupt ends the wait and kills the workers
            for process in running:
                undo.callback(process.kill)
            for process in running:
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    log.warning("worker.killed", pid=process.pid)
                    process.kill()
                    process.wait()
            undo.pop_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def __enter__(self) -> WorkerPool:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop(hurry=kind is not None)

    def _keep(self, number: int) -> None:
        """Run worker `number` and restart it until the pool stops."""
        quick_deaths = generation = 0
        while True:
            born, generation = time.monotonic(), generation + 1
            process = self._spawn(number)
            if process is None:
                return
            code = process.wait()
            if self._stopping:
                return
            quick_deaths = 1 if time.monotonic() - born > QUICK_DEATH else quick_deaths + 1
            if quick_deaths >= GIVE_UP or code in (USAGE, CANNOT_START, USELESS):
                where = {} if self._shown else {"log_file": str(self.log_file(number))}
                if generation == 1 and code != USELESS and not self.cannot_start:
                    self.cannot_start = self._log_tail(number) or f"it exited with code {code}"
                log.error("worker.given_up", number=number, code=code, **where)
                return
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** (quick_deaths - 1))
            log.warning("worker.restarted", number=number, code=code, delay=delay)
            if self._stops_within(delay):
                return

    def _log_tail(self, number: int) -> str:
        if self._shown:
            return ""
        return redact_secrets(log_tail(self.log_file(number), self._log_begins[number]), self._settings)

    def _stops_within(self, seconds: float) -> bool:
        """Wait this long, or until the pool stops; return whether it stops."""
        deadline = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)  # a poll of a plain flag: an Event could stay locked
        return self._stopping

    def _metrics(self, number: int) -> dict[str, str]:
        first = self._settings.metrics_port
        return {} if first is None else {"COGITATE_METRICS_PORT": str(first + number - 1)}

    def _spawn(self, number: int) -> subprocess.Popen[bytes] | None:
        with self._lock, contextlib.ExitStack() as files:
            if self._stopping:
                return None
            out = None if self._shown else files.enter_context(open_private_log(self.log_file(number)))
            self._log_begins[number] = out.tell() if out is not None else 0
            self._processes[number] = subprocess.Popen(
                [*worker_command(f"worker{number}.{os.getpid()}@%h"), *self._arguments],
                env=self._environment | self._metrics(number),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=None if self._shown else subprocess.STDOUT,
                start_new_session=True,  # only the host receives Ctrl-C; it stops its workers in order
            )
            return self._processes[number]
