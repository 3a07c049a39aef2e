"""A kind of job that does nothing, for measuring what a job costs a worker beside its work."""

from __future__ import annotations

from cogitate.memory.effects import Effect
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.registry import register

NAME = "idle"


class Idle(Kind):
    """Due only on request, and without effects."""

    name = NAME
    order = 99
    latency = 10_000
    on_denied = "drop"

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return no effects."""
        return ()


register(Idle())
