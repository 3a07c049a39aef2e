"""Forecast when a budget window runs out at the current rate of spending.

Times are game time. A window's pace is the used share of its room divided by the elapsed share of its time: at 1.0 the
room lasts exactly until the window ends. The room is the limit minus its retry pool; it is used by what admission
counts, and once it is used up, admission refuses jobs.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.budget_lines import BudgetLine

Outlook = Literal["full", "runs out", "lasts"]


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The forecast of one limit."""

    room: int  # part of the limit for first attempts
    share: float  # of the limit that is reserved or spent; above 1 after overruns
    rate: float  # the amount that admission counts per hour of game time
    pace: float | None  # None for a tick, and for a run, because its end is unknown
    out_at: int | None  # game time, total minutes, at which the room runs out; None: not within the window
    outlook: Outlook


def forecast(line: BudgetLine, *, minute: int, start: int) -> Forecast | None:
    """Return the forecast of one cell; None without a limit."""
    if line.limit is None:
        return None
    period, _, index = line.window.partition(":")
    room, used, gone = line.room, line.counted, line.reserved + line.spent
    share = gone / line.limit if line.limit else float(gone > 0)
    began, end = start, None
    if period == "day":
        began, end = max(start, int(index) * DAY), (int(index) + 1) * DAY
    passed = max(1, min(minute, end or minute) - began)
    rate = 0.0 if period == "tick" else 60 * used / passed
    pace = used / room * (end - began) / passed if end is not None and room else None
    out_at = None
    if used >= room:
        outlook: Outlook = "full"
    else:
        if rate > 0:
            out_at = began + int(passed * room / used)
            if end is not None and out_at >= end:
                out_at = None
        outlook = "lasts" if out_at is None else "runs out"
    return Forecast(
        room=room,
        share=round(share, 4),
        rate=round(rate, 2),
        pace=None if pace is None else round(pace, 2),
        out_at=out_at,
        outlook=outlook,
    )
