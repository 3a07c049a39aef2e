"""Processes that a test starts and ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import LONGEST


@contextmanager
def running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process, terminate it at the end of the block, and kill it if that is not enough."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(LONGEST)
        finally:
            process.kill()
            process.wait()
