"""The jobs of a worker process: its runner, created once, and the lane through which Celery's tasks reach it."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

import structlog
from celery import signals
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.claims import Claims
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.keys import new_nonce
from cogitate.tasks.job import split_job_id
from cogitate.tasks.registry import use_prompts
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.kept_results import KeptResults
from cogitate.workers.jobs.model_lane import SPARE, ModelLane, slots_of_worker
from cogitate.workers.jobs.runner import Outcome, Runner
from cogitate.workers.processes.worker_process import BEFORE_CLAIM, reason_of
from cogitate.workers.telemetry import exporting
from cogitate.workers.transport.room import take_within

log = structlog.get_logger()

# Seconds after which a waiting thread requests the interpreter lock. Job threads release it within a fraction of a
# millisecond anyway, so with Python's 5 ms a few hundred of them only wake each other.
SWITCH_INTERVAL = 0.02

# Net allocations between two garbage collections. With Python's 700, collections take a tenth of a worker's time and
# find hardly anything.
COLLECT_AFTER = 10_000


def tune() -> None:
    """Tune this process, whose threads mostly wait, and exempt the objects loaded so far from garbage collection."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


class RunnableHint(Protocol):
    """A hint at a job, which runs the job and reports its outcome."""

    @property
    def job_id(self) -> str: ...

    def run(self, run_job: Callable[[str], Outcome]) -> None:
        """Run the job with this function, and report the outcome."""


@cache
def _lane(pid: int) -> ModelLane[RunnableHint]:
    """Return this process's lane with its runner; a forked child creates its own."""
    tune()
    exporting.start("cogitate-worker")
    settings = Settings()
    use_prompts(settings.prompts)
    client = connect(settings.state_url(), settings.socket_timeout, client=CombinedRedis)
    worker = f"{os.uname().nodename}:{pid}:{new_nonce()}"
    claims = Claims(client, worker=worker)
    beat_every = settings.tuning.lease / 5
    heartbeat, kept = Heartbeat(claims.beat, beat_every), KeptResults(claims, beat_every)
    runner = Runner(client, claims, heartbeat, settings, kept, Batches(client, worker=worker))
    if runner.desk is not None and any(model.batch != "off" for model in settings.model_table().values()):
        runner.desk.start()
    slots = slots_of_worker(settings.concurrency + SPARE)
    lane: ModelLane[RunnableHint] = ModelLane(slots, claims.asks_model, lambda hint: hint.run(runner.run))

    def stop(**_: object) -> None:
        lane.close()
        runner.stop()

    take_within(lane.room)
    signals.worker_shutting_down.connect(stop, weak=False)
    signals.worker_shutdown.connect(lambda **_: runner.close(), weak=False)  # Celery sends it after the last job
    signals.worker_shutdown.connect(lambda **_: exporting.stop(), weak=False)
    return lane


_lock = threading.Lock()


def warm_up() -> None:
    """Create this process's runner now, so that the first job need not wait for its imports.

    Raises:
        CogitateError: if this process cannot run jobs with these settings.
    """
    with _lock:
        _lane(os.getpid())


def draw_with(draw: Callable[[], Sequence[RunnableHint]]) -> None:
    """Let the job threads of this process draw their next hints from the broker."""
    _lane(os.getpid()).draw_with(draw)


def run_hint(hint: RunnableHint) -> None:
    """Run the job of a hint, then those that take over its place; or put the hint aside.

    Raises:
        Exception: if this process cannot run jobs.
    """
    try:
        with _lock:
            lane = _lane(os.getpid())
    except RedisError:
        raise
    except Exception as error:
        BEFORE_CLAIM.failed(reason_of(error))
        raise
    lane.run(hint)


class _OwnTask:
    """A hint whose task Celery runs and reports itself."""

    words = "not run: refused"

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id

    def run(self, run_job: Callable[[str], Outcome]) -> None:
        self.words = run_job(self.job_id).words()


def run_job(job_id: str) -> str:
    """Run the job named in a Celery task's message and describe its outcome; log and drop a foreign or tampered id."""
    hint = _OwnTask(job_id)
    try:
        split_job_id(job_id)
    except (ValueError, AttributeError, TypeError) as error:
        log.warning("message.refused", error=str(error)[:200])
    else:
        run_hint(hint)
    return hint.words
