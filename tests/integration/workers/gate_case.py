"""Calls at the gate, for its tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from redis import Redis

from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.tasks.job import Cost
from cogitate.workers.gate.endpoint_reports import Entered
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.llm.replies.failures import CLASSES, Failure, FailureKind, ModelAnswer

NAME = "town-llm"
MakeGate = Callable[..., Gate]


def enter(gate: Gate, *, model: str = "m", tokens: int = 100, within: float = 20.0) -> Entered | Refused:
    return gate.enter(NAME, model=model, tokens=tokens, deadline=time.monotonic() + within)


def entered(gate: Gate, **how: Any) -> Entered:
    found = enter(gate, **how)
    assert isinstance(found, Entered), found
    return found


def refused(gate: Gate, **how: Any) -> Refused:
    found = enter(gate, **how)
    assert isinstance(found, Refused), found
    return found


def answer(kind: FailureKind | None = None, *, tokens: int = 10, retry_after: float | None = None) -> ModelAnswer:
    status = 400 if kind is not None and CLASSES[kind].again == "never" else None
    failure = Failure(kind=kind, status=status, retry_after=retry_after) if kind is not None else None
    return ModelAnswer(usage=Cost(calls=1, tokens=tokens), failure=failure)


def vitals(client: Redis) -> EndpointVitals:
    (found,) = endpoint_vitals(client)
    return found


def call(gate: Gate, kind: FailureKind | None = None, **how: Any) -> None:
    gate.leave(entered(gate), answer(kind, **how))


def refuse(gate: Gate, kind: FailureKind, *, model: str = "m", prompts: int = 3) -> None:
    """Have a model refuse several different prompts, for longer than its answers usually take."""
    gate._client.hset(endpoint_keys(NAME)[0], "usual", 0)
    for one in [entered(gate, model=model) for _ in range(prompts)]:
        gate.leave(one, answer(kind), prompt=one.token)


def at_once(*tasks: Callable[[], None]) -> None:
    """Run each task in its own thread, and raise the first error."""
    errors: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
