"""Interpreter settings for a process that only runs jobs, in hundreds of mostly waiting threads."""

from __future__ import annotations

import gc
import sys

# Seconds after which a waiting thread requests the interpreter lock. Job threads release it within a fraction of a
# millisecond anyway, so with Python's 5 ms a few hundred of them only wake each other.
SWITCH_INTERVAL = 0.02

# Net allocations between two garbage collections. With Python's 700, collections take a tenth of a worker's time and
# find hardly anything.
COLLECT_AFTER = 10_000


def tune() -> None:
    """Tune this process, and exempt the objects loaded so far from garbage collection."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
