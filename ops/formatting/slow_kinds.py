"""Sentences on kinds that are too slow for their model."""

from __future__ import annotations

from cogitate.scheduler.inspection.summary import SlowKind


def format_slow_kind(one: SlowKind) -> str:
    """Return the latency of a kind's answers, and how long the kind may wait for one."""
    real = f" ({one.most / one.tick_rate:.3g} s)" if one.tick_rate else ""
    line = f"{one.kind}: nearly every answer came within {one.ticks:,} ticks (late ones count), "
    line += f"of {one.most:,}{real} that it may wait"
    if one.ticks <= one.most:
        line += "; these had others ahead of them, were wanted sooner or would end after the last tick"
    return line
