"""The timeout of every wait in a test: it guards against hanging and asserts no speed."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 300.0  # seconds; on a busy machine a process may wait minutes for the CPU


def wait_until(holds: Callable[[], object], what: str, timeout: float = LONGEST) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"waited {timeout:.0f} seconds for {what}"
        time.sleep(0.02)  # poll: other processes and threads do not notify this one
