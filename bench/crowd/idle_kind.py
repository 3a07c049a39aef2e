"""A kind of job that does nothing, for measuring what a job costs a worker beside its work."""

from __future__ import annotations

from collections.abc import Iterable

from cogitate.memory.effects import Effect
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Moment, OnDenied, Prompt
from cogitate.tasks.registry import register

NAME = "idle"


class Idle:
    """Never due by itself, and without effects."""

    name = NAME
    order = 99
    latency = 10_000
    on_denied: OnDenied = "drop"
    prompt_cap = 0
    output_cap = 0

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return no requests: the bench makes them."""
        return ()

    def wake(self, moment: Moment) -> int | None:
        """Return that there is nothing to wait for."""
        return None

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Raise an error: this kind asks no model."""
        raise LookupError("this kind asks no model")

    def effects(self, case: Case, answer: object, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Raise an error, as for prompts."""
        raise LookupError("this kind asks no model")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return no effects."""
        return ()


register(Idle())
