"""The cards of Flower's first page: what each says of a run, and whether something is wrong.

A card is "bad" only where somebody must act; a figure of zero never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from memory.clock import day_and_time
from ops.formatting.budget import denied_requests
from ops.formatting.endpoints import format_breaker
from ops.formatting.real_day import real_day_line
from scheduler.budget.budget import format_window
from scheduler.config.limits import LimitUnit
from scheduler.inspection.endpoint_vitals import EndpointVitals
from scheduler.inspection.overview import RunOverview
from scheduler.inspection.vitals import Window
from scheduler.ledger.presence import HELD
from scheduler.ledger.real_day import DaySpending
from scheduler.ledger.worker_signs import WorkersSeen

Grade = Literal["", "good", "warn", "bad"]

MUCH = 0.2  # share of the jobs from which it is bad that they are late or fail, as in the alerts
SOME = 0.05
FEW = 3  # jobs below which a share says nothing
LAGS = 5  # ticks behind its schedule from which a host is too slow, as in the alerts
UNSPENT = 0.8  # share of a limit below which its refusals are strange, as in the alerts
LIMITING = ("rate_limited", "rate_limited_here", "no_slot")  # failures that only say: not so fast


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One card: a figure with its grade, lines that explain it, and the same figures for machines."""

    name: str
    label: str
    value: str
    grade: Grade
    lines: list[str]
    figures: dict[str, int | float] = {}


def cards_of(
    run: RunOverview,
    endpoints: Sequence[EndpointVitals],
    workers: WorkersSeen,
    day: DaySpending | None = None,
    *,
    no_writes: bool = False,
) -> list[Card]:
    """Return the cards of a run.

    Args:
        endpoints: of all runs.
        workers: the workers of the server.
        day: the spending of the real day, if it has a limit.
        no_writes: Redis answers and refuses writes, those of signs of life too.
    """
    return [
        money_card(run, day),
        model_card(run, endpoints),
        host_card(run, no_writes=no_writes),
        workers_card(run, workers, no_writes=no_writes),
        late_card(run),
        failing_card(run),
    ]


def money_card(run: RunOverview, day: DaySpending | None) -> Card:
    """Return what today costs, and whether a limit has nothing left or refuses while much is unspent."""
    shown = money_window(run)
    unit: LimitUnit = shown.line.unit if shown is not None else "usd_micros"
    today = next((w.line for w in run.windows if w.line.window.startswith("day:") and w.line.unit == unit), None)
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
        name: getattr(today, name) if today is not None else 0 for name in ("spent", "reserved", "held", "overrun")
    }
    limit = max(run.windows, key=lambda w: (w.forecast is not None, w is shown, share_of(w)), default=None)
    if limit is not None and limit.forecast is not None and limit.forecast.outlook != "full":
        line = limit.line
        left = max(0, line.room - line.counted)
        figures |= {"limit": line.limit or 0, "left": left}
        lines.append(f"left {amount(left, line.unit)} of {amount(line.room, line.unit)}, {format_window(line.window)}")
    held, flying = figures["held"], figures["reserved"]
    lines.append(f"held {amount(held, unit)}, in flight {amount(flying, unit)}")
    ends = [
        (w.forecast.out_at, w.line) for w in run.windows if w.forecast is not None and w.forecast.out_at is not None
    ]
    if ends and grade != "bad":
        at, first = min(ends, key=lambda one: one[0])
        lines.append(f"{unit_name(first.unit)} until {day_and_time(at)} at this pace")
    refused = sum(denied_requests(run.hour.refused).values())
    if refused and not why:
        grade = grade or "warn"
        lines.append(f"{refused:,} refused in the last hour")
    if day is not None and day.limited:
        grade = "bad" if day.refused else grade
        lines.append(real_day_line(day))
    return Card(
        name="money", label=f"Spent today, {format_window(run_day(run))}", value=amount(figures["spent"], unit),
        grade=grade, lines=lines, figures=figures,
    )  # fmt: skip


def run_day(run: RunOverview) -> str:
    """Return the name of today's window."""
    return f"day:{run.minute // 1440}"


def money_window(run: RunOverview) -> Window | None:
    """Return the window that the card of money speaks of: limited money first, then spent money, then the fullest."""

    def rank(window: Window) -> tuple[bool, bool, float]:
        money = window.line.unit == "usd_micros"
        limited = window.forecast is not None
        return (money and (limited or window.line.spent > 0), limited, share_of(window))

    return max(run.windows, key=rank, default=None)


def share_of(window: Window) -> float:
    """Return the share of a window's limit that is used; 0 without a limit."""
    return window.forecast.share if window.forecast is not None else 0.0


def why_refused(run: RunOverview) -> str:
    """Return what is wrong with a limit of the whole run that refused jobs in the last hour; "" if nothing is.

    It has no room for another job, or it refuses although much is unspent.
    """
    for name, count in denied_requests(run.hour.refused).items():
        for window in run.windows:
            line = window.line
            period = line.window.partition(":")[0]
            if f"{period}.run.{line.unit}" != name or not line.room:
                continue
            said = f"refused {count:,} in the last hour"
            share = (line.spent + line.reserved - line.retried) / line.room
            # Of a day's limit a part is promised to kinds, which may be what the others are refused for.
            if share < UNSPENT and period != "day":
                unspent = f"{100 * (1 - share):.0f}% of the {unit_name(line.unit)} is unspent"
                return f"{said} though {unspent}; held {amount(line.held, line.unit)}"
            if line.counted >= UNSPENT * line.room:
                used = f"{amount(line.counted, line.unit)} of {amount(line.room, line.unit)}"
                return f"no room for more: {used}, {format_window(line.window)}; {said}"
    return ""


def model_card(run: RunOverview, endpoints: Sequence[EndpointVitals]) -> Card:
    """Return whether the run's models answer, and how fast."""
    label = "Model"
    if not run.asks_model:
        return Card(
            name="model", label=label, value="not asked", grade="", lines=["heuristics do all jobs of this run"]
        )
    ours = [one for one in endpoints if one.endpoint in run.endpoints]
    limits = {name: run.hour.failures[name] for name in LIMITING if run.hour.failures.get(name)}
    lines: list[str] = []
    grade: Grade = "good" if ours else ""
    value = "up" if ours else "not called yet"
    silent = run.wanted > 0 and not run.thought
    for one in ours:
        named = f"{one.endpoint}: " if len(ours) > 1 else ""
        if one.breaker != "closed" or one.held or one.missing_models:
            lines.append(named + format_breaker(one))
        if one.p50 is not None:
            lines.append(f"{named}p50 {one.p50:.2f} s, p95 {one.p95:.2f} s")
    opened = [one for one in ours if one.breaker != "closed"]
    if any(one.why != "rate_limited" for one in opened) or any(one.missing_models for one in ours):
        value, grade = "down", "bad"
    elif opened or limits or any(one.held for one in ours):
        value, grade = "limited", "bad" if limits or opened else "warn"
    elif silent and run.short("failed") > run.short("late"):
        value, grade = "down", "bad"
    if limits:
        counts = ", ".join(f"{name} {count:,}×" for name, count in limits.items())
        lines.append(f"held back in the last hour: {counts}")
    lines.append(f"{run.thought:,} of {run.wanted:,} answers in the last hour are a model's")
    figures: dict[str, int | float] = {"thought": run.thought, "wanted": run.wanted}
    for one in ours[:1]:
        if one.p50 is not None and one.p95 is not None:
            figures |= {"p50": one.p50, "p95": one.p95}
    return Card(name="model", label=label, value=value, grade=grade, lines=lines, figures=figures)


def host_card(run: RunOverview, *, no_writes: bool = False) -> Card:
    """Return whether a host is at work on the run, can commit its ticks, and keeps its pace."""
    lag, took = run.steering.lag, run.steering.host_ms
    figures: dict[str, int | float] = {"lag": lag, "host_ms": took, "held": int(run.held)}
    pace = f"{lag:,} ticks behind, {took:.1f} ms a tick"
    if run.status in HELD and no_writes:
        lines = ["no tick is committed: Redis takes no writes", f"the last was tick {run.tick:,}, by {run.host}"]
        return Card(name="host", label="Host", value="cannot write", grade="bad", lines=lines, figures=figures)
    if run.status in HELD and not run.held:
        lines = [f"no host is at work: cogitate run --resume --run {run.run}", f"the last was {run.host}"]
        return Card(name="host", label="Host", value="gone", grade="bad", lines=lines, figures=figures)
    if run.status not in HELD:
        return Card(
            name="host", label="Host", value="left", grade="", lines=[f"the run is {run.status}"], figures=figures
        )
    grade: Grade = "warn" if lag > LAGS or run.status == "paused" else "good"
    value = "paused" if run.status == "paused" else "alive"
    return Card(name="host", label="Host", value=value, grade=grade, lines=[pace, run.host], figures=figures)


def workers_card(run: RunOverview, workers: WorkersSeen, *, no_writes: bool = False) -> Card:
    """Return how many workers of the server are alive, and which died without being replaced."""
    alive, waiting = len(workers.alive), run.waiting
    figures: dict[str, int | float] = {"alive": alive, "expected": workers.expected, "waiting": waiting}
    if no_writes:
        lines = ["Redis takes none of their signs of life", f"{waiting:,} jobs wait for one"]
        return Card(
            name="workers", label="Workers alive", value="not known", grade="warn", lines=lines, figures=figures
        )
    at_work = run.status in HELD and run.held
    lines = [f"missing for {one.seconds:.0f} s: {one.worker}" for one in workers.missing[:3]]
    if at_work and waiting and not alive:
        lines.append("nobody takes jobs: cogitate worker")
    lines.append(f"{waiting:,} jobs wait for one")
    grade: Grade = "bad" if workers.missing or (at_work and waiting and not alive) else "good" if alive else ""
    value = f"{alive} of {workers.expected}" if workers.expected else "none"
    return Card(name="workers", label="Workers alive", value=value, grade=grade, lines=lines, figures=figures)


def late_card(run: RunOverview) -> Card:
    """Return how many jobs of the last hour were not ready when they were due, or not asked as they would not be."""
    late, slow = run.short("late"), run.short("too_slow")
    lines = ["of the jobs that ended in the last hour"]
    if slow:
        lines.insert(0, f"{late:,} late, {slow:,} not asked: the model is too slow for them")
    return Card(
        name="late", label="Late or too slow", value=f"{late + slow:,} of {run.ended:,}",
        grade=graded(late + slow, run.ended), lines=lines,
        figures={"late": late, "too_slow": slow, "ended": run.ended},
    )  # fmt: skip


def failing_card(run: RunOverview) -> Card:
    """Return how many jobs of the last hour failed, and what most of them failed of."""
    failed = run.short("failed") + run.short("dead")
    causes = [(name, count) for name, count in run.hour.failures.items() if name != "late"]
    lines = [f"first cause: {causes[0][0]} {causes[0][1]:,}×"] if failed and causes else []
    lines += [f"then {name} {count:,}×" for name, count in causes[1:2]] if failed else []
    lines.append("of the jobs that ended in the last hour")
    return Card(
        name="failing", label="Failing", value=f"{failed:,} of {run.ended:,}", grade=graded(failed, run.ended),
        lines=lines, figures={"failed": failed, "ended": run.ended},
    )  # fmt: skip


def graded(count: int, total: int) -> Grade:
    """Return the grade of a count of jobs that went wrong."""
    share = count / max(1, total)
    return "bad" if share > MUCH and count >= FEW else "warn" if share > SOME else ""


def amount(value: float, unit: LimitUnit) -> str:
    """Return an amount with its unit, such as "$0.0123" or "1,200 tokens"."""
    return f"${value / 1e6:,.4f}" if unit == "usd_micros" else f"{value:,} {unit}"


def unit_name(unit: LimitUnit) -> str:
    """Return a unit as people name it."""
    return "money" if unit == "usd_micros" else unit
