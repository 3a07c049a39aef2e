"""A kind of a host's own whose every attempt kills the worker that makes it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from cogitate import Append, Case, Effect, Entry, Moment, Prompt, Request, register

TICK, OWNER = 2, "agent:isabella-rossi"  # long before the morning, when no other job is at work


class Doom:
    """Due once; only a worker asks for its prompt."""

    name = "doom"
    order = 90
    latency = 4
    on_denied = "drop"
    prompt_cap = 100
    output_cap = 10

    def due(self, moment: Moment) -> Iterable[Request]:
        if (moment.tick, moment.owner) == (TICK, OWNER):
            yield Request(kind=self.name, owner=moment.owner)

    def wake(self, moment: Moment) -> int | None:
        return TICK if moment.tick < TICK else None

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody survives this")

    def effects(self, case: Case, answer: object, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise AssertionError("no worker comes so far")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        return (
            Append(case.job.key.owner, Entry(type="reflection", text="Some thoughts kill.", minute=case.job.minute)),
        )


register(Doom())
