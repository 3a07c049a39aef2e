"""This process's room for jobs that ask a model: transports take hints of such jobs only while there is room."""

from __future__ import annotations

import sys
from collections.abc import Callable

INTERVAL = 0.05  # seconds between two checks for room


def _endless() -> int:
    return sys.maxsize


_left: Callable[[], int] = _endless


def left() -> int:
    """Return how many more hints of jobs that ask a model this process can take."""
    return _left()


def take_within(room: Callable[[], int]) -> None:
    """Limit hints of jobs that ask a model to the room of this process; `room` returns how many it can take."""
    global _left
    _left = room
