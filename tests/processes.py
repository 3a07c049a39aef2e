"""The end of a process that a test has started."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import LONGEST


@contextmanager
def running(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process, terminate it at the end of the block, and kill it if it does not stop."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(LONGEST)
        finally:
            process.kill()
            process.wait()
