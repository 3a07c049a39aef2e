"""Checks of workers: their number, their queues, and whether their version and kinds match the host's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from cogitate.hosting.finding import Finding, failed, ok, warning
from cogitate.ops.formatting.warnings import format_failing_worker
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.worker_signs import WorkersSeen

if TYPE_CHECKING:
    from cogitate.workers.celery_app import WorkerAbout

ANSWER_WITHIN = 2.0  # seconds


def examine_workers(app: Celery, kinds: Sequence[str], *, expected: bool) -> Iterator[Finding]:
    """Check every worker on the broker.

    Args:
        kinds: the kinds that this installation knows; each has a queue with its name.
        expected: whether a worker must be running; otherwise missing workers are fine, since hosts start them.
    """
    inspect = app.control.inspect(timeout=ANSWER_WITHIN)
    try:
        about: Mapping[str, WorkerAbout] = inspect._request("about") or {}
    except (RedisError, OperationalError) as error:
        if "permission" not in str(error):
            raise
        yield warning(
            "workers", f"this Redis user may not inspect them: {error}", "use the user operator, or check Flower"
        )
        return
    if not about:
        if expected:
            advice = "start one: cogitate worker"
            yield failed("workers", "none answers, and a run needs them", advice)
        else:
            yield ok("workers", "none runs; `cogitate run` starts its own")
        return
    taken: dict[str, int] = {}
    for queues in (inspect.active_queues() or {}).values():
        for queue in queues:
            taken[queue["name"]] = taken.get(queue["name"], 0) + 1
    yield ok("workers", f"{len(about)} answer: {', '.join(sorted(about)[:5])}" + (" …" if len(about) > 5 else ""))
    unserved = [kind for kind in kinds if kind not in taken]
    if unserved:
        yield failed(
            "queues",
            f"no worker consumes {', '.join(unserved)}",
            "start a worker without --queues, or name these queues",
        )
    else:
        yield ok("queues", f"each of {len(kinds)} has a worker")
    yield from _knowledge(about, kinds)


def examine_signs(seen: WorkersSeen) -> Iterator[Finding]:
    """Report the workers that cannot claim jobs, or ended for that reason."""
    for one in seen.failing:
        what = format_failing_worker(one).removeprefix(f"Worker {one.worker} ")
        yield failed(f"worker {one.worker}", what, "correct the cause on its machine, then start it again")


def _knowledge(about: Mapping[str, WorkerAbout], kinds: Sequence[str]) -> Iterator[Finding]:
    for worker, facts in sorted(about.items()):
        lacking = [kind for kind in kinds if kind not in facts["kinds"]]
        if lacking:
            yield failed(
                f"worker {worker}",
                f"does not know {', '.join(lacking)}",
                "give it the host's setting `kinds`",
            )
        if facts["schema"] != SCHEMA:
            yield failed(
                f"worker {worker}",
                f"reads schema {facts['schema']}, this is {SCHEMA}",
                f"install cogitate {version('cogitate')} there; it has {facts['version']}",
            )
        elif facts["version"] != version("cogitate"):
            yield warning(
                f"worker {worker}",
                f"is of version {facts['version']}, this is {version('cogitate')}",
                "install the same version everywhere",
            )
