"""The bound of every wait in a test: it guards against hanging and measures nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 300.0  # seconds; a machine that others use lets a process wait minutes for its turn


def wait_until(holds: Callable[[], object], what: str, timeout: float = LONGEST) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"waited {timeout:.0f} seconds for {what}"
        time.sleep(0.02)  # between two looks: other processes and threads announce nothing
