"""Forecasts of when a budget window runs out, if spending goes on as so far.

Everything is in game time: a window's pace compares the used share of its room with the passed share of its time, so a
pace of 1.0 lasts exactly to its end. Room is the limit without its retry pool, and used is the amount that admission
counts: at the end of the room admission begins to refuse jobs, which an operator wants to see coming.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.budget_lines import BudgetLine

Outlook = Literal["full", "runs out", "lasts"]


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """The forecast of one limit."""

    room: int  # part of the limit that first attempts may take
    share: float  # of the limit that is reserved and spent; above 1 by overruns
    rate: float  # amount that admission counts in an hour of game time
    pace: float | None  # None: the window is a tick, or the run, whose end is not known
    out_at: int | None  # game time in total minutes at which the room is used up; None: not within the window
    outlook: Outlook


def forecast(line: BudgetLine, *, minute: int, start: int) -> Forecast | None:
    """Return the forecast of one cell of the accounts; None where it has no limit.

    Args:
        minute: game time now, total minutes.
        start: game time at which the run began.
    """
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
