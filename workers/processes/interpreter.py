"""Settings of the Python interpreter for a process that only runs jobs, in hundreds of threads that mostly wait."""

from __future__ import annotations

import gc
import sys

# Seconds after which a waiting thread requests the interpreter. Threads of jobs release it every fraction of a
# millisecond anyway, so with Python's 5 ms a few hundred of them only wake each other.
SWITCH_INTERVAL = 0.02

# Objects allocated, less those freed, between two searches for cycles. With Python's 700 the searches take a tenth of
# a worker's time and find hardly anything.
COLLECT_AFTER = 10_000


def tune() -> None:
    """Set up this process. The garbage collector never searches objects that are loaded already."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
