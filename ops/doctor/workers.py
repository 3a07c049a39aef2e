"""Whether workers live, which queues they take from, and whether they know what this installation knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from hosting.finding import Finding, failed, ok, warning
from scheduler.config.versions import SCHEMA

ANSWER_WITHIN = 2.0  # seconds


def examine_workers(app: Celery, kinds: Sequence[str], *, expected: bool) -> Iterator[Finding]:
    """Ask every worker on the broker.

    Args:
        kinds: the kinds that this installation knows; each has a queue of its name.
        expected: whether somebody should be there: otherwise nobody is missed, since hosts start their own.
    """
    inspect = app.control.inspect(timeout=ANSWER_WITHIN)
    try:
        about: Mapping[str, Any] = inspect._request("about") or {}
    except (RedisError, OperationalError) as error:
        if "permission" not in str(error):
            raise
        yield warning(
            "workers", f"this user of Redis may not ask them: {error}", "ask as the operator, or look at Flower"
        )
        return
    if not about:
        if expected:
            advice = "start some: celery -A workers worker"
            yield failed("workers", "none answers, and a run is going on or waits for them", advice)
        else:
            yield ok("workers", "none runs; `cogitate run` starts its own")
        return
    taken: dict[str, int] = {}
    for queues in (inspect.active_queues() or {}).values():
        for queue in queues:
            taken[queue["name"]] = taken.get(queue["name"], 0) + 1
    yield ok("workers", f"{len(about)} answer: {', '.join(sorted(about)[:5])}" + (" …" if len(about) > 5 else ""))
    left = [kind for kind in kinds if kind not in taken]
    if left:
        yield failed("queues", f"nobody takes from {', '.join(left)}", "start a worker without --queues, or name them")
    else:
        yield ok("queues", f"each of {len(kinds)} has a worker")
    yield from _knowledge(about, kinds)


def _knowledge(about: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[Finding]:
    for worker, said in sorted(about.items()):
        lacking = [kind for kind in kinds if kind not in said["kinds"]]
        if lacking:
            yield failed(
                f"worker {worker}", f"does not know {', '.join(lacking)}",
                "give it the same modules of `kinds` as the host",
            )  # fmt: skip
        if said["schema"] != SCHEMA:
            yield failed(
                f"worker {worker}", f"reads schema {said['schema']}, this is {SCHEMA}",
                f"install cogitate {version('cogitate')} there too, it has {said['version']}",
            )  # fmt: skip
        elif said["version"] != version("cogitate"):
            yield warning(
                f"worker {worker}", f"is of version {said['version']}, this is {version('cogitate')}",
                "install the same version everywhere",
            )  # fmt: skip
