"""The cards of Flower's first page, one for each question that an operator asks first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from cogitate.memory.clock import clock_in_force, day_and_time, hours, span
from cogitate.ops.formatting.budget import denied_requests, format_cost, real_day_line
from cogitate.ops.formatting.vitals import (
    format_breaker,
    format_by,
    format_class,
    format_every,
    format_failing_worker,
    format_pressure,
    format_slow_kind,
)
from cogitate.scheduler.budget.budget import format_limit, format_window
from cogitate.scheduler.config.limits import LimitUnit
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.overview import RunOverview, Spenders
from cogitate.scheduler.inspection.vitals import Window
from cogitate.scheduler.latency.due_ticks import RUN_ENDS
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.judging import OF_ANSWERS

Grade = Literal["", "good", "warn", "bad"]

MUCH = 0.2  # share of late or failed jobs that is bad, as in the alerts
SOME = 0.05
FEW = 3  # the fewest jobs for a meaningful share


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One card: a figure with its grade, lines that explain it, and the same figures for machines."""

    name: str
    label: str
    value: str
    grade: Grade
    lines: list[str]
    figures: dict[str, int | float] = {}


def graded(count: int, total: int) -> Grade:
    share = count / max(1, total)
    return "bad" if share > MUCH and count >= FEW else "warn" if share > SOME else ""


def amount(value: float, unit: LimitUnit) -> str:
    """Return an amount with its unit, such as "$0.0123" or "1,200 tokens"."""
    return f"${value / 1e6:,.4f}" if unit == "usd_micros" else f"{value:,} {unit}"


def unit_name(unit: LimitUnit) -> str:
    """Return a unit as people name it."""
    return "money" if unit == "usd_micros" else unit


LAGS = 5  # ticks behind schedule at which a host is too slow, as in the alerts
SHOWN = 2  # the most kinds that a card names
SHOWN_WORKERS = 3
LIMITING = ("rate_limited", "rate_limited_here", "no_slot")  # failures that only ask for a lower rate
OWN_PROGRAM = 'start the program that hosts it again, with exist="resume"'


def cards_of(
    run: RunOverview,
    spenders: Spenders,
    endpoints: Sequence[EndpointVitals],
    workers: WorkersSeen,
    day: DaySpending | None = None,
    *,
    no_writes: bool = False,
) -> list[Card]:
    """Return the cards of a run.

    Args:
        spenders: the owners with the highest spending today.
        endpoints: those of all runs.
        workers: the workers of the server.
        day: the spending of the real day, if it has a limit.
        no_writes: whether Redis answers but refuses writes, heartbeats included.
    """
    return [
        money_card(run, day),
        spenders_card(spenders),
        late_card(run),
        failing_card(run),
        reflections_card(run),
        model_card(run, endpoints),
        host_card(run, no_writes=no_writes),
        workers_card(run, workers, no_writes=no_writes),
    ]


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
        if one.breaker != "closed" or one.held or one.set_aside:
            state = format_breaker(one)
            lines.append(named + (state.removeprefix("closed, ") if one.breaker == "closed" else f"breaker {state}"))
        if one.p50 is not None:
            lines.append(f"{named}p50 {one.p50:.2f} s, p95 {one.p95:.2f} s")
    opened = [one for one in ours if one.breaker != "closed"]
    if any(one.why != "rate_limited" for one in opened) or any(one.set_aside for one in ours):
        value, grade = "down", "bad"
    elif opened or limits or any(one.held for one in ours):
        value, grade = "limited", "bad" if limits or opened else "warn"
    elif silent and run.short("failed") > run.short("late"):
        value, grade = "answers, unusably" if _answers(run) else "down", "bad"
    if limits:
        counts = ", ".join(f"{format_class(name)} {count:,}×" for name, count in limits.items())
        lines.append(f"held back in the last {hours(1)}: {counts}")
    lines.append(f"{run.thought:,} of {run.wanted:,} results in the last {hours(1)} are a model's")
    figures: dict[str, int | float] = {"thought": run.thought, "wanted": run.wanted}
    for one in ours[:1]:
        if one.p50 is not None and one.p95 is not None:
            figures |= {"p50": one.p50, "p95": one.p95}
    return Card(name="model", label=label, value=value, grade=grade, lines=lines, figures=figures)


def _answers(run: RunOverview) -> bool:
    """Return whether the newest failures are of answers: the endpoint works, but its answers are unusable."""
    failures = {name: count for name, count in run.hour.failures.items() if name not in ("late", "dead")}
    of_answers = sum(count for name, count in failures.items() if split_failure(name)[0] in OF_ANSWERS)
    return 2 * of_answers > sum(failures.values())


def host_card(run: RunOverview, *, no_writes: bool = False) -> Card:
    """Return whether a host is active on the run, can commit its ticks, and keeps its pace."""
    lag, took = run.steering.lag, run.steering.host_ms
    figures: dict[str, int | float] = {"lag": lag, "host_ms": took, "held": int(run.held)}
    grade: Grade = "bad"
    if run.status not in HELD:
        value, grade, lines = "left", "", [f"the run is {run.status}"]
    elif no_writes:
        value = "cannot write"
        lines = ["no tick is committed: Redis takes no writes", f"the last was tick {run.tick:,}, by {run.host}"]
    elif not run.held:
        value, lines = "gone", [f"no host is at work: {run.resume or OWN_PROGRAM}", f"the last was {run.host}"]
    else:
        value = "paused" if run.status == "paused" else "alive"
        grade = "warn" if lag > LAGS or run.status == "paused" else "good"
        lines = [f"{lag:,} ticks behind, {took:.1f} ms a tick", run.host]
    return Card(name="host", label="Host", value=value, grade=grade, lines=lines, figures=figures)


def workers_card(run: RunOverview, workers: WorkersSeen, *, no_writes: bool = False) -> Card:
    """Return the number of working workers, and those that fail or died without a replacement."""
    alive, waiting = workers.able, run.waiting
    figures: dict[str, int | float] = {"alive": alive, "expected": workers.expected, "waiting": waiting}
    if no_writes:
        lines = ["Redis refuses their heartbeats", f"jobs that wait for one: {waiting:,}"]
        return Card(
            name="workers", label="Workers alive", value="not known", grade="warn", lines=lines, figures=figures
        )
    at_work = run.status in HELD and run.held
    lines = [f"missing for {one.seconds:.0f} s: {one.worker}" for one in workers.missing[:SHOWN_WORKERS]]
    lines += [format_failing_worker(one) for one in workers.failing[:SHOWN_WORKERS]]
    if at_work and waiting and not alive:
        lines.append("no worker takes jobs: cogitate worker")
    lines.append(f"jobs that wait for one: {waiting:,}")
    lacking = bool(workers.missing or workers.failing)
    grade: Grade = "bad" if lacking or (at_work and waiting and not alive) else "good" if alive else ""
    value = f"{alive} of {workers.expected}" if workers.expected else "none"
    return Card(name="workers", label="Workers alive", value=value, grade=grade, lines=lines, figures=figures)


def late_card(run: RunOverview) -> Card:
    """Return the number of jobs in the last hour that were late, or skipped as too slow."""
    late, slow = run.short("late"), run.short("too_slow")
    lines = _kinds(run, ("late", "too_slow"))
    over = min(slow, run.hour.refused.get(RUN_ENDS, 0))
    if over:
        lines.append(f"{over:,} not asked, since the run ends before their answers")
    if slow > over:
        lines.append(f"{late:,} late; {slow - over:,} not asked, since answers took longer than they may wait")
        lines += [format_slow_kind(one) for one in run.slow_kinds[:SHOWN]]
    return Card(
        name="late",
        label="Late or too slow",
        value=f"{run.late:,} of {run.ended:,}",
        grade=graded(run.late, run.ended),
        lines=[*lines, _of_ended()],
        figures={"late": late, "too_slow": slow, "ended": run.ended},
    )


def failing_card(run: RunOverview) -> Card:
    """Return the number of failed jobs in the last hour, and the most frequent failure."""
    failed = run.short("failed") + run.short("dead")
    causes = [(name, count) for name, count in run.hour.failures.items() if name != "late"]
    lines = [f"first cause: {format_class(causes[0][0])} {causes[0][1]:,}×"] if failed and causes else []
    lines += [f"then {format_class(name)} {count:,}×" for name, count in causes[1:2]] if failed else []
    lines += [*_kinds(run, ("failed", "dead")), _of_ended()]
    return Card(
        name="failing",
        label="Failing",
        value=f"{failed:,} of {run.ended:,}",
        grade=graded(failed, run.ended),
        lines=lines,
        figures={"failed": failed, "ended": run.ended},
    )


def _of_ended() -> str:
    return f"of the jobs that ended in the last {hours(1)}"


def _kinds(run: RunOverview, reasons: Collection[str]) -> list[str]:
    """Return a line with the kinds of the last hour's jobs that ended for these reasons; [] without such jobs."""
    counts = {name: sum(kind.reasons[reason] for reason in reasons) for name, kind in run.hour.kinds.items()}
    most = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    return [", ".join(f"{name} {count:,}" for count, name in most)] if most else []


def reflections_card(run: RunOverview) -> Card:
    """Return whether agents reflect as often as usual; if not, the cadence, its author and the reason."""
    steering = run.steering
    slow = steering.cadence < 1
    lines = []
    if slow:
        lines.append(f"throttled; {format_by(steering)}")
        lines += [f"pressure: {why}"] if (why := format_pressure(steering)) else []
        every = "none are due" if steering.interval is None else format_every(steering)
        lines.append(f"{every}, usually every {span(steering.usual)}")
    if steering.waiting:
        lines.append(f"agents that are due and wait: {steering.waiting:,}")
    return Card(
        name="reflections",
        label="Reflections",
        value=f"{100 * steering.cadence:.0f}% of usual" if slow else "as usual",
        grade="warn" if slow else "",
        lines=lines,
        figures={"cadence": steering.cadence, "waiting": steering.waiting},
    )


UNSPENT = 0.8  # share of a limit below which its refusals are suspicious, as in the alerts
NEXT = 2  # spenders after the first that a card names


def money_card(run: RunOverview, day: DaySpending | None) -> Card:
    """Return today's cost, and whether a limit is exhausted, or refuses although much is unspent."""
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
    refused = sum(denied_requests(run.hour.refused).values())
    if refused and not why:
        grade = grade or "warn"
        lines.append(f"{refused:,} refused in the last {hours(1)}")
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
    )


def run_day(run: RunOverview) -> str:
    return f"day:{run.minute // 1440}"


def money_window(run: RunOverview) -> Window | None:
    """Return the window for the card on money: preferably limited money, then spent money, then the fullest."""

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
            said = f"refused {count:,} in the last {hours(1)}"
            share = (line.spent + line.reserved - line.retried) / line.room
            # Kinds have guaranteed shares of a day's limit, so others may be refused while these are unspent.
            if share < UNSPENT and period != "day":
                unspent = f"{100 * (1 - share):.0f}% of the {unit_name(line.unit)} is unspent"
                return f"{said} though {unspent}; held {amount(line.held, line.unit)}"
            if line.counted >= UNSPENT * line.room:
                used = f"{amount(line.counted, line.unit)} of {amount(line.room, line.unit)}"
                return f"no room for more: {used}, {format_window(line.window)}; {said}"
    return ""


def spenders_card(spenders: Spenders) -> Card:
    """Return the owners that spent most today, as far as known."""
    names = [owner.removeprefix("agent:") for owner in spenders.owners]
    costs = [*spenders.owners.values()]
    lines = [format_cost(cost) for cost in costs[:1]]
    lines += [f"then {name}: {_most_telling(cost)}" for name, cost in [*zip(names, costs, strict=True)][1 : 1 + NEXT]]
    figures = {"tokens": costs[0].tokens, "usd_micros": costs[0].usd_micros} if costs else {}
    return Card(
        name="spenders",
        label=f"Spent most {since(spenders.since)}",
        value=names[0] if names else "no one",
        grade="",
        lines=lines,
        figures={**figures},
    )


def since(minute: int) -> str:
    """Return from when today's spending is counted: "since 12:00 AM" or "since round 4"."""
    clock = clock_in_force()
    return f"since {clock.time(minute if clock.has_times else max(minute, clock.minute(1)))}"


def _most_telling(cost: Cost) -> str:
    return amount(cost.usd_micros, "usd_micros") if cost.usd_micros else format_cost(cost)
