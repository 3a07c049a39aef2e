"""Worker processes as children of a host: started, restarted when they die, stopped with it.

Each child runs the command that an operator would type, `celery -A workers worker`, with the host's effective settings
in its environment. A child that dies is restarted; one that keeps dying at once is given up, which costs quality, not
the run: what no worker does, the heuristics do.
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
from typing import Any

import structlog
from pydantic import SecretStr

from scheduler.config.settings import Settings
from workers.processes import import_paths
from workers.processes.lifeline import CANNOT_START, PARENT_VARIABLE
from workers.processes.log_tail import log_tail, redact_secrets

FIRST_DELAY = 0.2  # seconds until a dead worker is restarted; doubles with each quick death
LONGEST_DELAY = 10.0
QUICK_DEATH = 10.0  # seconds; a worker that lived longer starts with a clean slate
GIVE_UP = 6  # quick deaths in a row
USAGE = 2  # exit code of a command whose options cannot be used: the next one would end the same
LOOK_EVERY = 0.05  # seconds
HURRY = 3.0  # seconds for a worker to end by itself when nobody wants to wait
MARGIN = 10.0  # seconds beyond a job's deadline: the job settles, Celery says good-bye

log = structlog.get_logger()


def worker_environment(settings: Settings) -> dict[str, str]:
    """The environment of a worker with exactly these settings, whatever folder and configuration file it finds.

    Celery's own variables are left out: another project's `CELERY_BROKER_URL` would overrule ours.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CELERY_")}
    effective: dict[str, Any] = settings.model_dump() | {
        "data_dir": settings.data_dir.resolve(),
        "redis_url": settings.state_url(),
        "broker_url": settings.messages_url(),
    }
    for name, value in effective.items():
        if value is None:
            environment.pop(f"COGITATE_{name.upper()}", None)
        else:
            environment[f"COGITATE_{name.upper()}"] = _as_variable(value)
    # Our packages first: a host may have modules called `tasks` or `workers` too.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [import_paths.HOME, environment.get("PYTHONPATH")]))
    environment[import_paths.VARIABLE] = import_paths.handed_on()
    return environment


def worker_command(node: str) -> list[str]:
    """The command of one worker process. `node` tells it apart in Flower; "%h" stands for the machine."""
    return [
        *(sys.executable, "-m", "celery", "-A", "workers", "worker"),
        *("--hostname", node, "--loglevel", "warning"),
        *("--without-mingle", "--without-gossip"),  # nothing to learn from the others, and a second saved at each start
    ]


def _as_variable(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, default=_as_variable)  # secrets too: workers must be able to ask
    return str(value)


class WorkerPool:
    """`count` worker processes. Usage: `with WorkerPool(settings, 2): …`.

    They serve their metrics, if at all, at the settings' port and those after it.

    Args:
        arguments: further options of the command.
        shown: they write where this process does, instead of into files of the data folder.
    """

    def __init__(self, settings: Settings, count: int, *, arguments: Sequence[str] = (), shown: bool = False) -> None:
        self._settings = settings
        self._arguments = arguments
        self._shown = shown
        self._stopping = False  # no event: an interrupt in the middle of setting it would leave its lock taken
        self._lock = threading.Lock()  # a process is either started before stopping, and stopped, or not at all
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._log_begins: dict[int, int] = {}  # worker number -> bytes in its log when it was last started
        self.cannot_start = ""  # what the first worker said that ended before it could begin
        self._threads = [
            threading.Thread(target=self._keep, args=(number,), name=f"worker-{number}", daemon=True)
            for number in range(1, count + 1)
        ]
        self._environment = worker_environment(settings) | {PARENT_VARIABLE: str(os.getpid())}

    def start(self) -> WorkerPool:
        """Start the processes; returns before they are ready, since hints wait for them."""
        self._settings.data_dir.mkdir(parents=True, exist_ok=True)
        for thread in self._threads:
            thread.start()
        return self

    def pids(self) -> list[int]:
        """The processes that run now, by worker number."""
        with self._lock:
            return [process.pid for _, process in sorted(self._processes.items()) if process.poll() is None]

    def any_left(self) -> bool:
        """Whether a worker lives or will be started again; False once all have been given up."""
        return any(thread.is_alive() for thread in self._threads)

    def log_file(self, number: int) -> Path:
        """Where worker `number` (from 1) writes."""
        return self._settings.data_dir / f"worker-{number}.log"

    def stop(self, *, hurry: bool = False) -> None:
        """Stop all workers and wait until they are gone.

        A worker ends what it is doing and starts nothing new: at most one job's deadline. With `hurry` it is killed
        after three seconds; what it spent and could not report stays charged in full.
        """
        with self._lock:
            self._stopping = True
            running = list(self._processes.values())
        for process in running:
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + (HURRY if hurry else self._settings.job_deadline + MARGIN)
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.warning("worker.killed", pid=process.pid)
                process.kill()
                process.wait()
            except BaseException:  # interrupted: nobody wants to wait any longer
                for left in running:
                    left.kill()
                raise
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def __enter__(self) -> WorkerPool:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop(hurry=kind is not None)

    def _keep(self, number: int) -> None:
        """Run worker `number`, again and again, until the pool stops."""
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
            if quick_deaths >= GIVE_UP or code in (USAGE, CANNOT_START):
                where = {} if self._shown else {"log_file": str(self.log_file(number))}
                if generation == 1 and not self.cannot_start:
                    self.cannot_start = self._last_words(number) or f"it ended with code {code}"
                log.error("worker.given_up", number=number, code=code, **where)
                return
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** (quick_deaths - 1))
            log.warning("worker.restarted", number=number, code=code, delay=delay)
            if self._stops_within(delay):
                return

    def _last_words(self, number: int) -> str:
        if self._shown:
            return ""
        return redact_secrets(log_tail(self.log_file(number), self._log_begins[number]), self._settings)

    def _stops_within(self, seconds: float) -> bool:
        """Whether the pool stops while this waits."""
        deadline = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)  # between two looks
        return self._stopping

    def _metrics(self, number: int) -> dict[str, str]:
        first = self._settings.metrics_port
        return {} if first is None else {"COGITATE_METRICS_PORT": str(first + number - 1)}

    def _spawn(self, number: int) -> subprocess.Popen[bytes] | None:
        with self._lock, contextlib.ExitStack() as files:
            if self._stopping:
                return None
            out = None if self._shown else files.enter_context(self.log_file(number).open("ab"))
            self._log_begins[number] = out.tell() if out is not None else 0
            self._processes[number] = subprocess.Popen(
                [*worker_command(f"worker{number}.{os.getpid()}@%h"), *self._arguments],
                env=self._environment | self._metrics(number),
                cwd=self._settings.data_dir,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=None if self._shown else subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the host, which stops its workers in order
            )
            return self._processes[number]
