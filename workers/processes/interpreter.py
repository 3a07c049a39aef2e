"""How Python runs in a process that does nothing but run jobs: hundreds of threads that wait most of their time."""

from __future__ import annotations

import gc
import sys

# Seconds after which a thread that waits for the interpreter asks for it. Those of jobs let go of it every fraction of
# a millisecond anyway, so with Python's 5 ms a few hundred of them only wake each other.
SWITCH_INTERVAL = 0.02

# Objects allocated, less those freed, between two searches for cycles. With Python's 700 a tenth of a worker's time
# goes there, and hardly anything is found.
COLLECT_AFTER = 10_000


def tune() -> None:
    """Set up this process. What was loaded so far lives as long as the process and is never searched for cycles."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
