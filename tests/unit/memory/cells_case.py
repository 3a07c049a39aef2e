"""What tests of cells share: streams that are full of them, and models that summarise or fail."""

from __future__ import annotations

from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import cells
from cogitate.memory.stream import Stream
from cogitate.tasks.kind import Case
from tests.unit.tasks.policy_cases import Host

LIMITS = MemoryLimits(policy="cells", cells=3)


def writes(case: Case) -> str:
    """A model that tells how often it was asked."""
    return f"Summary {case.job.summary_version + 1}: {' '.join(e.text for e in case.entries)}"


def fails(case: Case) -> None:
    """A model that never answers."""


def texts(stream: Stream) -> list[str]:
    return [cell.text for cell in cells(stream)]


def filled(host: Host, count: int = 3) -> Host:
    for number in range(1, count + 1):
        host.live({owner: [f"Event {number}."] for owner in host.streams})
    return host
