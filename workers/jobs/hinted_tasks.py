"""Hinted tasks: a worker runs the job of each hint and reports it to Celery's monitors, without Celery's own steps.

Celery's request and tracer of a task serve retries, results, chains, delays and time limits, which hints never use.
Flower and `celery inspect` still show events, counts, and the tasks that are reserved or active. A pool of processes
uses Celery's own steps, because its children have no connection for events.

When a job ends, its thread draws the next hint from Redis. RabbitMQ pushes hints to workers itself.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
from celery import signals
from celery.bootsteps import RUN
from celery.concurrency.thread import TaskPool
from celery.utils.log import get_logger
from celery.worker import state
from celery.worker.strategy import default
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.scheduler.ledger.connect import connect
from cogitate.tasks.registry import is_kind
from cogitate.workers.jobs import process_lane
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.jobs.runner import Outcome
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_trace import HEADER
from cogitate.workers.transport.hints import ASKING, MessageRefused, next_hints, read_hint

AWAY = 1.0  # seconds without a draw after the broker fails to answer one

log = structlog.get_logger()
celery_log = get_logger("celery.app.trace")  # under the name by which Celery reports tasks


class HintedTask:
    """The task of one hint, with the attributes that Celery expects of a request."""

    acknowledged = False
    time_start: float | None = None
    worker_pid: int | None = None

    def __init__(self, consumer: Any, kind: str, job_id: str, headers: Mapping[str, Any]) -> None:
        self.task = consumer.app.tasks[kind]
        self.name = kind
        self.job_id = job_id
        self.id: str = headers["id"]
        self._consumer = consumer
        self._headers = headers

    def is_received(self) -> bool:
        """Report the task as received; return False if an operator has revoked it."""
        headers = self._headers
        if self.id in state.revoked:
            self._send("revoked", terminated=False, signum=None, expired=False)
            return False
        celery_log.info("Task %s[%s] received", self.name, self.id)
        self._send(
            "received",
            name=self.name,
            args=headers["argsrepr"],
            kwargs=headers["kwargsrepr"],
            root_id=headers.get("root_id"),
            parent_id=headers.get("parent_id"),
            retries=0,
            eta=None,
            expires=None,
        )
        state.task_reserved(self)
        return True

    def run(self, run_job: Callable[[str], Outcome]) -> None:
        """Run the job, and report the task as running, then as done or failed."""
        began = time.monotonic()
        self.time_start, self.worker_pid = time.time(), os.getpid()
        state.task_accepted(self)
        self._send("started")
        try:
            telemetry = started()
            if telemetry is not None:
                telemetry.arrived(self.job_id, self._headers.get(HEADER))
            words = run_job(self.job_id).words()
        except Exception as error:
            self.fail(error)
        else:
            took = time.monotonic() - began
            celery_log.info("Task %s[%s] succeeded in %ss: %r", self.name, self.id, took, words)
            self._send("succeeded", result=repr(words), runtime=took)
            state.task_ready(self)

    def fail(self, error: Exception) -> None:
        """Report the task as failed."""
        celery_log.exception("Task %s[%s] raised unexpected: %r", self.name, self.id, error)
        self._send("failed", exception=repr(error), traceback=traceback.format_exc())
        state.task_ready(self)

    def info(self, safe: bool = False) -> dict[str, object]:
        """Return what `celery inspect` shows."""
        return {
            "id": self.id,
            "name": self.name,
            "args": self._headers["argsrepr"] if safe else [self.job_id],
            "kwargs": self._headers["kwargsrepr"] if safe else {},
            "type": self.name,
            "hostname": self._consumer.hostname,
            "time_start": self.time_start,
            "acknowledged": self.acknowledged,
            "delivery_info": {"exchange": "", "routing_key": self.name, "priority": 0, "redelivered": None},
            "worker_pid": self.worker_pid,
        }

    def _send(self, event: str, **fields: object) -> None:
        dispatcher = self._consumer.event_dispatcher  # None while the worker has no connection
        if dispatcher is not None:
            dispatcher.send(f"task-{event}", uuid=self.id, **fields)


class Draws:
    """Draws hints at jobs that ask a model from Redis, for the worker of this consumer. Thread-safe."""

    def __init__(self, consumer: Any, settings: Settings) -> None:
        self._consumer = consumer
        self._prefix: str = consumer.app.conf.broker_transport_options["global_keyprefix"]
        self._client = connect(settings.messages_url(), settings.socket_timeout, retries=0, client=CombinedRedis)
        self._away_until = 0.0  # instant of `time.monotonic()`

    def draw(self) -> Sequence[HintedTask]:
        """Return the task of the next hint; none if no hint waits, the worker ends, or the broker is away."""
        tasks = self._consumer.task_consumer  # None while the worker has no connection
        ends = state.should_stop not in (None, False) or self._consumer.controller.blueprint.state != RUN
        if tasks is None or ends or time.monotonic() < self._away_until:
            return ()
        queues = [queue.name for queue in tasks.queues if is_kind(queue.name)]
        try:
            hints = next_hints(self._client, queues, ASKING, 0, prefix=self._prefix) if queues else []
        except RedisError as error:  # Celery's connection reports it
            log.debug("hint.not_drawn", error=type(error).__name__)
            self._away_until = time.monotonic() + AWAY
            return ()
        return [task for kind, text in hints if (task := self._task_of(kind, text)) is not None]

    def _task_of(self, kind: str, text: str) -> HintedTask | None:
        try:
            task = HintedTask(self._consumer, kind, *read_hint(text, kind))
        except MessageRefused as refusal:
            log.warning("message.refused", queue=kind[:80], why=str(refusal)[:200])
            return None
        task.acknowledged = True
        return task if task.is_received() else None


def strategy(task: Any, app: Any, consumer: Any) -> Callable[..., None]:
    """Return the handler of a task's messages, which Celery names in `Task.Strategy`."""
    if not isinstance(consumer.pool, TaskPool):
        handle: Callable[..., None] = default(task, app, consumer)
        return handle

    def take(message: Any, body: object, ack: Callable[..., None], *_: object) -> None:
        (job_id,), _, _ = message.payload
        hinted = HintedTask(consumer, task.name, job_id, message.headers)
        if hinted.is_received():
            consumer.pool.executor.submit(run, hinted, ack)
        else:
            ack(celery_log, consumer.connection_errors)

    def run(hinted: HintedTask, ack: Callable[..., None]) -> None:
        hinted.acknowledged = True
        ack(celery_log, consumer.connection_errors)
        try:
            process_lane.run_hint(hinted)
        except Exception as error:
            hinted.fail(error)

    return take


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def _draw_hints(sender: Any, **_: object) -> None:
    settings = Settings()
    if isinstance(sender.pool, TaskPool) and not is_amqp_url(settings.messages_url()):
        process_lane.draw_with(Draws(sender, settings).draw)
