"""The cards of Flower's first page, one for each question that an operator asks first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence

import msgspec

from cogitate.memory.clock import clock_in_force, span
from cogitate.ops.flower.card import GRADES, Card, Grade, amount, graded, span_of
from cogitate.ops.flower.money_card import money_card
from cogitate.ops.formatting.budget import format_cost
from cogitate.ops.formatting.vitals import (
    format_breaker,
    format_by,
    format_class,
    format_counts,
    format_every,
    format_failing_worker,
    format_pressure,
    format_slow_kind,
    format_unanswered_worker,
)
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.overview import FEW, OWN_PROGRAM, RunOverview, Spenders
from cogitate.scheduler.latency.due_ticks import RUN_ENDS
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.judging import OF_ANSWERS

LAGS = 5  # ticks behind schedule at which a host is too slow, as in the alerts
SHOWN = 2  # the most kinds that a card names
SHOWN_WORKERS = 3
LIMITING = ("rate_limited", "rate_limited_here", "no_slot")  # failures that only call for a lower rate
NO_ANSWER = "no answer yet"
#: Values of a model whose jobs end late rather than fail.
WAITING = ("limited", "too slow", "no answer in time", NO_ANSWER)


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
        endpoints: the endpoints of all runs.
        workers: the workers of the server.
        day: the spending of the real day, if it has a limit.
        no_writes: whether Redis answers but refuses writes, heartbeats included.
    """
    return [
        money_card(run, day),
        spenders_card(spenders),
        worse_of(late_card, run),
        worse_of(failing_card, run),
        reflections_card(run),
        model_card(run.over_judged, endpoints, workers=workers.able > 0),
        host_card(run, no_writes=no_writes),
        workers_card(run, workers, no_writes=no_writes),
    ]


def worse_of(make: Callable[[RunOverview], Card], run: RunOverview) -> Card:
    """Return a card of the last real minute, or of the game hour if that is shorter and its grade is worse.

    So a card shows a new problem at once, but does not flicker if a game hour takes a few real seconds. Once the newest
    jobs are well, the card stays yellow as long as the minute includes the problem.
    """
    hour, lately = make(run), make(run.over_lately)
    if GRADES.index(hour.grade) > GRADES.index(lately.grade):
        return hour
    over = lately.grade == "bad" and not hour.grade and run.ended >= FEW
    return msgspec.structs.replace(lately, grade="warn") if over else lately


def model_card(run: RunOverview, endpoints: Sequence[EndpointVitals], *, workers: bool = True) -> Card:
    """Return whether the run's models answer, and how fast.

    Args:
        workers: whether any worker can call them.
    """
    label = "Model"
    if not run.asks_model:
        return Card(name="model", label=label, value="not asked", grade="", lines=["this run uses heuristics only"])
    ours = [one for one in endpoints if one.endpoint in run.endpoints]
    failures = {name: count for name, count in run.hour.failures.items() if name not in ("late", "dead")}
    limits = {name: failures[name] for name in LIMITING if failures.get(name)}
    by_host = run.hour.late_by_host
    asked = run.thought + sum(run.short(reason) for reason in ("late", "failed", "dead")) - by_host
    late, unasked = _missed(run)
    late = max(0, late - by_host)
    too_slow = graded(late + unasked, run.ended) if workers else ""
    if too_slow == "warn" and not graded(unasked, run.ended):
        too_slow = ""  # a few late answers alone do not make a model slow
    opened = [one for one in ours if one.breaker != "closed"]
    value: str
    grade: Grade
    if any(one.why != "rate_limited" for one in opened) or any(one.set_aside for one in ours):
        value, grade = "down", "bad"
    elif opened or limits or any(one.held for one in ours):
        value, grade = (
            "limited",
            "bad" if limits or opened or too_slow == "bad" or (asked >= FEW and not run.thought) else "warn",
        )
    elif asked >= FEW and not run.thought and failures:
        value, grade = "answers, but unusable" if _answers(failures) else "down", "bad"
    elif asked >= FEW and not run.thought and workers:
        value, grade = "no answer in time", "bad"
    elif too_slow:
        value, grade = NO_ANSWER if _unanswered(run) else "too slow", too_slow
    else:
        value, grade = ("up", "good") if ours and (run.thought or not asked) else ("not called yet", "")
        if asked and not run.thought:
            value = NO_ANSWER
    lines: list[str] = []
    for one in ours:
        named = f"{one.endpoint}: " if len(ours) > 1 else ""
        if one.breaker != "closed" or one.held or one.set_aside:
            state = format_breaker(one)
            lines.append(named + (state.removeprefix("closed, ") if one.breaker == "closed" else f"breaker {state}"))
        if one.p50 is not None:
            lines.append(f"{named}a call takes p50 {one.p50:.2f} s, p95 {one.p95:.2f} s")
    if limits:
        lines.append(f"held back in the last {span_of(run)}: {format_counts(limits)}")
    elif failures:
        lines.append(f"failed: {format_counts(dict([*failures.items()][:SHOWN]))}")
    if too_slow:
        lines.append(f"late: {late:,} of {run.ended:,} jobs; not asked because they would be late: {unasked:,}")
    lines.append(f"{run.thought:,} of {run.wanted:,} results in the last {span_of(run)} are a model's")
    lost = "failed" if failures else "late"
    if value in WAITING and not run.short("failed"):
        lost = max("late", "too_slow", key=run.short)
    figures: dict[str, int | float] = {"thought": run.thought, "wanted": run.wanted}
    for one in ours[:1]:
        if one.p50 is not None and one.p95 is not None:
            figures |= {"p50": one.p50, "p95": one.p95}
    return Card(
        name="model",
        label=label,
        value=value,
        grade=grade,
        lines=lines,
        figures=figures,
        command="cogitate doctor",
        jobs=_jobs(run, lost),
    )


def _answers(failures: dict[str, int]) -> bool:
    """Return whether most failures are unusable answers of an endpoint that works."""
    of_answers = sum(count for name, count in failures.items() if split_failure(name)[0] in OF_ANSWERS)
    return 2 * of_answers > sum(failures.values())


def _missed(run: RunOverview) -> tuple[int, int]:
    """Return the numbers of late jobs and of jobs not asked as too slow, of kinds whose own code works."""
    kinds = [kind for kind in run.hour.kinds.values() if not kind.faults]
    late, slow = (sum(kind.reasons[reason] for kind in kinds) for reason in ("late", "too_slow"))
    return late, max(0, slow - _over(run))


def _unanswered(run: RunOverview) -> bool:
    """Return whether no model of the kinds that were not asked in the last hour has answered yet."""
    return bool(run.slow_kinds) and all(one.ticks is None for one in run.slow_kinds)


def _jobs(run: RunOverview, state: str) -> dict[str, str]:
    """Return the filters of the last hour's jobs that ended in a state."""
    return {"state": state, "from": str(run.hour.first)}


def host_card(run: RunOverview, *, no_writes: bool = False) -> Card:
    """Return the card that shows whether the run's host is active, commits ticks and keeps its pace."""
    lag, took = run.steering.lag, run.steering.host_ms or 0.0
    figures: dict[str, int | float] = {"lag": lag, "host_ms": took, "held": int(run.held)}
    grade: Grade = "bad"
    if run.status not in HELD:
        value, grade, lines = "left", "", [f"the run is {run.status}"]
    elif no_writes:
        value = "cannot write"
        lines = ["no tick is committed: Redis takes no writes", f"the last was tick {run.tick:,}, by {run.host}"]
    elif not run.held:
        value, lines = "gone", [f"no host is active: {run.resume or OWN_PROGRAM}", f"the last was {run.host}"]
    else:
        value = "paused" if run.status == "paused" else "alive"
        grade = "warn" if lag > LAGS or run.status == "paused" else "good"
        lines = [f"{lag:,} ticks behind, {took:.1f} ms a tick", run.host]
        if run.hour.late_by_host:
            lines.append(f"jobs late because it stalled: {run.hour.late_by_host:,}")
    command = "" if grade != "bad" else "cogitate doctor" if no_writes else run.resume
    return Card(name="host", label="Host", value=value, grade=grade, lines=lines, figures=figures, command=command)


def workers_card(run: RunOverview, workers: WorkersSeen, *, no_writes: bool = False) -> Card:
    """Return the card with the number of able workers, and those that fail or died without a replacement."""
    alive, waiting = workers.able, run.waiting
    figures: dict[str, int | float] = {"alive": alive, "expected": workers.expected, "waiting": waiting}
    if no_writes:
        lines = ["Redis refuses their heartbeats", f"jobs that wait for one: {waiting:,}"]
        return Card(name="workers", label="Workers alive", value="unknown", grade="warn", lines=lines, figures=figures)
    has_host = run.status in HELD and run.held
    lines = [f"missing for {one.seconds:.0f} s: {one.worker}" for one in workers.missing[:SHOWN_WORKERS]]
    lines += [format_failing_worker(one) for one in workers.failing[:SHOWN_WORKERS]]
    lines += [format_unanswered_worker(one) for one in workers.unanswered[:SHOWN_WORKERS]]
    if has_host and waiting and not alive:
        lines.append("no worker takes jobs: cogitate worker")
    lines.append(f"jobs that wait for one: {waiting:,}")
    lacking = bool(workers.missing or workers.failing or workers.unanswered)
    grade: Grade = "bad" if lacking or (has_host and waiting and not alive) else "good" if alive else ""
    value = f"{alive} of {workers.expected}" if workers.expected else "none"
    return Card(
        name="workers",
        label="Workers alive",
        value=value,
        grade=grade,
        lines=lines,
        figures=figures,
        command="cogitate doctor" if workers.unanswered else "cogitate worker",
        jobs={"state": "open"} if waiting else {},
    )


def late_card(run: RunOverview) -> Card:
    """Return the card with the number of jobs in the last hour that were late, or not asked as too slow."""
    late, slow = run.short("late"), run.short("too_slow")
    worst = "too_slow" if slow > late else "late"
    lines = _kinds(run, ("late", "too_slow"))
    over = _over(run)
    if over:
        lines.append(f"{over:,} not asked, since the run ends before their answers")
    if slow > over:
        why = "no answer has arrived yet" if _unanswered(run) else "answers take longer than they may wait"
        lines.append(f"{late:,} late; {slow - over:,} not asked, since {why}")
        lines += [format_slow_kind(one) for one in run.slow_kinds[:SHOWN]]
    return Card(
        name="late",
        label="Late or too slow",
        value=f"{run.late:,} of {run.ended:,}",
        grade=graded(run.late, run.ended),
        lines=[*lines, _of_ended(run)],
        figures={"late": late, "too_slow": slow, "ended": run.ended},
        command=f"cogitate jobs {shlex.quote(run.run)} --state {worst}",
        jobs=_jobs(run, worst),
    )


def _over(run: RunOverview) -> int:
    """Return the number of jobs in the last hour not asked because the run ends, which is no fault of a model."""
    return min(run.short("too_slow"), run.hour.refused.get(RUN_ENDS, 0))


def failing_card(run: RunOverview) -> Card:
    """Return the card with the failed jobs in the last hour, the commonest failure, and kinds whose own code fails."""
    faulty = {name: kind for name, kind in run.hour.kinds.items() if kind.faults}
    failed = run.short("failed") + run.short("dead") + sum(kind.other_faults for kind in faulty.values())
    causes = [(name, count) for name, count in run.hour.failures.items() if name != "late"]
    lines = [f"the code of {name} failed {kind.faults:,}×: {kind.fault}" for name, kind in faulty.items()][:SHOWN]
    lines += [f"first cause: {format_class(causes[0][0])} {causes[0][1]:,}×"] if failed and causes else []
    lines += [f"then {format_class(name)} {count:,}×" for name, count in causes[1:2]] if failed else []
    lines += [*_kinds(run, ("failed", "dead")), _of_ended(run)]
    chosen = f"--kind {shlex.quote(next(iter(faulty)))}" if faulty else "--state failed"
    return Card(
        name="failing",
        label="Failing",
        value=f"{failed:,} of {run.ended:,}",
        grade=graded(failed, run.ended),
        lines=lines,
        figures={"failed": failed, "ended": run.ended},
        command=f"cogitate jobs {shlex.quote(run.run)} {chosen}",
        jobs=_jobs(run, "failed") | ({"kind": next(iter(faulty)), "state": ""} if faulty else {}),
    )


def _of_ended(run: RunOverview) -> str:
    return f"of the jobs that ended in the last {span_of(run)}"


def _kinds(run: RunOverview, reasons: Collection[str]) -> list[str]:
    """Return a line with the kinds of the last hour's jobs that ended for these reasons; [] if there are none."""
    counts = {name: sum(kind.reasons[reason] for reason in reasons) for name, kind in run.hour.kinds.items()}
    most = sorted(((count, name) for name, count in counts.items() if count), reverse=True)
    return [", ".join(f"{name} {count:,}" for count, name in most)] if most else []


def reflections_card(run: RunOverview) -> Card:
    """Return the card that shows whether agents reflect as often as usual; if not, the cadence, who set it and why."""
    steering = run.steering
    slow = steering.cadence < 1
    lines = []
    if slow:
        lines.append(f"throttled; {format_by(steering)}")
        lines += [f"slowed by {why}"] if (why := format_pressure(steering)) else []
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


NEXT = 2  # spenders after the first that a card names


def spenders_card(spenders: Spenders) -> Card:
    """Return the card with the owners known to have spent the most today."""
    names = [owner.removeprefix("agent:") for owner in spenders.owners]
    costs = [*spenders.owners.values()]
    lines = [format_cost(cost) for cost in costs[:1]] or ["jobs count once they have ended"]
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
    """Return the time from which today's spending is counted: "since 12:00 AM" or "since round 4"."""
    clock = clock_in_force()
    return f"since {clock.time(minute if clock.has_times else max(minute, clock.minute(1)))}"


def _most_telling(cost: Cost) -> str:
    return amount(cost.usd_micros, "usd_micros") if cost.usd_micros else format_cost(cost)
