"""Warnings of workers that claim no jobs, of kinds too slow for their model, and of entries that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.hosting.terminal import Terminal
from cogitate.memory.unreadable import LeftOut
from cogitate.scheduler.inspection.summary import SlowKind
from cogitate.scheduler.ledger.worker_signs import FailingWorker


def format_failing_worker(one: FailingWorker) -> str:
    if not one.failures:
        return f"Worker {one.worker} could not begin: {one.why}"
    then = ", and has ended" if one.ended else ""
    return f"Worker {one.worker} could claim none of its last {one.failures:,} jobs{then}: {one.why}"


def format_slow_kind(one: SlowKind) -> str:
    """Return the latency of a kind's answers, and how long the kind may wait for one."""
    real = f" ({one.most / one.tick_rate:.3g} s)" if one.tick_rate else ""
    line = f"{one.kind}: nearly every answer came within {one.ticks:,} ticks (late ones count), "
    line += f"of {one.most:,}{real} that it may wait"
    if one.ticks <= one.most:
        line += "; these had others ahead of them, were wanted sooner or would end after the last tick"
    return line


MOST = 20  # warnings


def print_left_out(found: Sequence[LeftOut]) -> None:
    """Print on stderr which entries are left out, and why."""
    terminal = Terminal(stderr=True)
    for one in found[:MOST]:
        terminal.print(f"Warning: {one}", highlight=False, soft_wrap=True)
    if len(found) > MOST:
        terminal.print(f"Warning: and {len(found) - MOST:,} more entries", highlight=False, soft_wrap=True)
