"""The card about money: today's cost, the rest of the limits, and their refusals."""

from __future__ import annotations

import shlex

from cogitate.memory.clock import clock_in_force, day_and_time
from cogitate.ops.flower.card import Card, Grade, amount, span_of, unit_name
from cogitate.ops.formatting.budget import denied_requests, real_day_line
from cogitate.scheduler.budget.budget import format_limit, format_window
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.overview import RunOverview
from cogitate.scheduler.inspection.vitals import Window
from cogitate.scheduler.ledger.real_day import DaySpending

UNSPENT = 0.8  # share of a limit below which its refusals are suspicious, as in the alerts


def money_card(run: RunOverview, day: DaySpending | None) -> Card:
    """Return the card with today's cost, and with limits that are exhausted or refuse although much is unspent."""
    shown, today = money_window(run), format_window(run_day(run))
    unit: LimitUnit = shown.line.unit if shown is not None else "usd_micros"
    line_today = next((w.line for w in run.windows if w.line.window.startswith("day:") and w.line.unit == unit), None)
    grade: Grade = ""
    lines: list[str] = []
    for window in run.windows:
        if window.forecast is not None and window.forecast.outlook == "full":
            line, grade = window.line, "bad"
            used, room = amount(line.counted, line.unit), amount(line.room, line.unit)
            lines.append(f"nothing left: {used} of {room}, {format_window(line.window)}")
    why = "" if grade == "bad" else why_refused(run)
    if why:
        grade = "bad"
        lines.append(why)
    figures = {
        name: getattr(line_today, name) if line_today is not None else 0
        for name in ("spent", "reserved", "held", "overrun")
    }
    limit = max(run.windows, key=lambda w: (w.forecast is not None, w is shown, share_of(w)), default=None)
    if limit is not None and limit.forecast is not None and limit.forecast.outlook != "full":
        line = limit.line
        left = max(0, line.room - line.counted)
        figures |= {"limit": line.limit or 0, "left": left}
        whole = format_limit(line.limit or 0, line.for_retries, lambda part: amount(part, line.unit))
        lines.append(f"left {amount(left, line.unit)} of {whole}, {format_window(line.window)}")
    held, flying = figures["held"], figures["reserved"]
    lines.append(f"held {amount(held, unit)}, in flight {amount(flying, unit)}")
    ends = [
        (w.forecast.out_at, w.line) for w in run.windows if w.forecast is not None and w.forecast.out_at is not None
    ]
    if ends and grade != "bad":
        at, first = min(ends, key=lambda one: one[0])
        lines.append(f"{unit_name(first.unit)} until {day_and_time(at)} at this pace")
    counted = run.over_lately
    refused = sum(denied_requests(counted.hour.refused).values())
    if refused and not why:
        grade = grade or "warn"
        lines.append(f"{refused:,} refused in the last {span_of(counted)}")
    if day is not None and day.limited:
        grade = "bad" if day.refused else grade
        lines.append(real_day_line(day))
    return Card(
        name="money",
        label=f"Spent today, {today}" if clock_in_force().counts_days else f"Spent in {today}",
        value=amount(figures["spent"], unit),
        grade=grade,
        lines=lines,
        figures=figures,
        command=f"cogitate budget {shlex.quote(run.run)}",
        jobs={"state": "denied", "from": str(counted.hour.first)} if refused else {},
    )


def run_day(run: RunOverview) -> str:
    return f"day:{run.minute // 1440}"


def money_window(run: RunOverview) -> Window | None:
    """Return the window for the card: limited money if possible, then spent money, then the fullest."""

    def rank(window: Window) -> tuple[bool, bool, float]:
        money = window.line.unit == "usd_micros"
        limited = window.forecast is not None
        return (money and (limited or window.line.spent > 0), limited, share_of(window))

    return max(run.windows, key=rank, default=None)


def share_of(window: Window) -> float:
    """Return the share of a window's limit that is used; 0 without a limit."""
    return window.forecast.share if window.forecast is not None else 0.0


def why_refused(run: RunOverview) -> str:
    """Return the problem of a run-wide limit that refused jobs in the last hour, or "".

    Either it has no room for another job, or it refuses although much is unspent.
    """
    for name, count in denied_requests(run.hour.refused).items():
        for window in run.windows:
            line = window.line
            period = line.window.partition(":")[0]
            if f"{period}.run.{line.unit}" != name or not line.room:
                continue
            refusals = f"refused {count:,} in the last {span_of(run)}"
            share = (line.spent + line.reserved - line.retried) / line.room
            # Kinds have guaranteed shares of a day's limit, so others may be refused while these are unspent.
            if share < UNSPENT and period != "day":
                unspent = f"{100 * (1 - share):.0f}% of the {unit_name(line.unit)} is unspent"
                return f"{refusals} though {unspent}; held {amount(line.held, line.unit)}"
            if line.counted >= UNSPENT * line.room:
                used = f"{amount(line.counted, line.unit)} of {amount(line.room, line.unit)}"
                return f"no room for more: {used}, {format_window(line.window)}; {refusals}"
    return ""
