"""The meters of the built-in worlds: both fall over time, and 0 is a need."""

from __future__ import annotations

from cogitate.tasks.meters import Meter


def energy(value: int) -> Meter:
    """Return how rested an agent is, from 0 to 100."""
    return Meter(value, low="exhausted", need="low")


def fed(value: int) -> Meter:
    """Return how well fed an agent is, from 0 to 100, as the streams design measures hunger."""
    return Meter(value, low="starving", need="low")
