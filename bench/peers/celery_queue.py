"""Celery with its defaults: `apply_async` for each job, results polled one by one."""

from __future__ import annotations

from collections.abc import Sequence

from celery import Celery

from bench.peers.queue import AT_ONCE, asked_queue, set_mark
from cogitate.workers.transport.broker_url import kombu_url


class CeleryQueue:
    """A queue named after the pool, and a worker with that pool."""

    def __init__(self, url: str, *, results: bool = False, pool: str = "threads", size: int = AT_ONCE) -> None:
        self._app, self._queue = make_app(url, results=results), f"plain-{pool}"
        self._published: list[str] = []
        self.worker = (
            *("-m", "celery", "-A", "bench.peers.celery_queue:worker_app", "worker", "--loglevel", "warning", "-E"),
            *("--pool", pool, "--concurrency", str(size), "--queues", self._queue, "--hostname", f"{pool}@%h"),
        )

    def publish(self, ids: Sequence[str]) -> None:
        """Publish a job for each id."""
        task = self._app.tasks["nothing"]
        self._published = [task.apply_async((job_id,), queue=self._queue).id for job_id in ids]

    def mark(self, key: str) -> None:
        """Publish a job that sets a key."""
        self._app.tasks["mark"].apply_async((key,), queue=self._queue)

    def results(self) -> int:
        """Poll each job's result, like a host that keeps the ids."""
        return sum(self._app.AsyncResult(task_id).ready() for task_id in self._published)

    def close(self) -> None:
        """Close the connections."""
        self._app.close()


def make_app(url: str, *, results: bool) -> Celery:
    """Return a Celery with two tasks and its defaults; without results it ignores them."""
    app = Celery("peer", broker=kombu_url(url), backend=kombu_url(url) if results else None)
    app.conf.update(task_ignore_result=not results, broker_connection_retry_on_startup=True)
    app.task(nothing, name="nothing")
    app.task(set_mark, name="mark")
    return app


def nothing(job_id: str) -> None:
    """Do nothing."""


def __getattr__(name: str) -> Celery:
    """Create `worker_app` on access: only workers need it."""
    if name != "worker_app":
        raise AttributeError(name)
    url, results = asked_queue()
    return make_app(url, results=results)
