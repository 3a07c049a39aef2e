"""A kind of job that does nothing, for measuring the overhead of a job."""

from __future__ import annotations

from cogitate.memory.effects import Effect
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.registry import register

NAME = "idle"


class Idle(Kind):
    """A kind that is due only on request and has no effects."""

    name = NAME
    order = 99
    latency = 10_000
    on_denied = "drop"

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return no effects."""
        return ()


register(Idle())
