"""A process that kills the hosts of an experiment when the process that started them has ended, however it ended.

It runs without the product: `python -I -S guard.py`, with a pipe as its standard input, of which the experiment holds
the other end: "+17" names a process group that has begun, and "-17" one that is over. It also holds the experiment's
lock, so that the next one begins when no host of this one is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Read to the end, then kill the groups that are not over."""
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line))
        else:
            groups.discard(-int(line))
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
