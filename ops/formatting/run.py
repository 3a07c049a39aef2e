"""Formats the summary of a run: figures as JSON with stable names, or tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec
from rich.table import Table
from rich.text import Text

from cogitate.hosting.shortfalls import shortfall_lines
from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import day_and_time
from cogitate.ops.formatting.budget import budget_table, format_refusals
from cogitate.ops.formatting.vitals import format_cadence, format_class, format_mode, format_pace, format_slow_kind
from cogitate.ops.operator_requests import format_control
from cogitate.scheduler.budget.call_value import value_lines
from cogitate.scheduler.config.price_table import ModelPrice
from cogitate.scheduler.engine.engine import FIGURES
from cogitate.scheduler.inspection.summary import RunSummary, ShortfallLine, SlowKind
from cogitate.scheduler.inspection.vitals import SteeringStep
from cogitate.scheduler.journal.ends import MEANING, UNCLAIMED
from cogitate.scheduler.latency.due_ticks import RUN_ENDS

DEGRADED = ("denied", "too_slow", "late", "failed", "dead")


@dataclass(frozen=True, kw_only=True)
class Took:
    """Figures that only the host process knows."""

    wall_s: float
    tick_seconds: Collection[float]  # seconds of the host's own work on each of the newest ticks
    ticks_per_day: int


def report_json(summary: RunSummary, took: Took) -> dict[str, object]:
    """Return the object that `--json` prints. Its names are stable."""
    days = summary.tick / took.ticks_per_day
    return {
        "run": summary.run,
        "days": int(days) if days == int(days) else round(days, 4),
        "ticks": summary.tick,
        "agents": summary.agents,
        "digest": summary.digest,
        "chain": summary.chain,
        "wall_s": round(took.wall_s, 3),
        "jobs": summary.jobs,
        **summary.figures,
        "shortfalls": [msgspec.structs.asdict(line) for line in summary.shortfalls],
        "prices": [msgspec.structs.asdict(price) for price in summary.prices],
        "budget": [msgspec.structs.asdict(line) for line in summary.budget],
        "memories": summary.memories,
        "tick_ms": tick_ms(took.tick_seconds),
        "warnings": summary.warnings,
    }


def tick_ms(seconds: Collection[float]) -> dict[str, float]:
    """Return percentiles (nearest rank) of milliseconds per tick; zeros without a tick."""
    ordered = sorted(seconds) or [0.0]

    def at(percent: int) -> float:
        return round(1000 * ordered[max(0, -(-len(ordered) * percent // 100) - 1)], 3)

    return {"p50": at(50), "p99": at(99), "max": at(100)}


def degraded(summary: RunSummary) -> tuple[Counter[str], int]:
    """Return the numbers of degraded jobs by reason, and the number of all jobs."""
    reasons: Counter[str] = Counter()
    for facts in summary.jobs.values():
        reasons.update(facts["reason"])
    return Counter({reason: reasons[reason] for reason in DEGRADED if reasons[reason]}), reasons.total()


def degraded_lines(summary: RunSummary, servers: Mapping[str, str] | None = None) -> list[str]:
    """Return sentences about degraded jobs, with the limits that refused and the endpoints that did not answer.

    Args:
        servers: endpoint -> its address, which only the run's host knows, since a run stores only their names.
    """
    reasons, total = degraded(summary)
    if not total:
        return ["No job was due."]
    count = reasons.total()
    lines = [f"{count} of {total} jobs ({100 * count / total:.1f}%) were degraded to a cheaper result or postponed."]
    for reason, times in reasons.items():
        over = min(times, summary.refused.get(RUN_ENDS, 0)) if reason == "too_slow" else 0
        if over:
            lines.append(f"  {over} {reason}: {MEANING[RUN_ENDS]}")
        if over == times:
            continue
        unanswered = unanswered_kinds(summary.slow_kinds) if reason == "too_slow" else []
        if unanswered:
            why = f"{MEANING[reason]}: {format_unanswered(unanswered, summary.shortfalls)}"
        else:
            why = MEANING[reason]
        line = f"  {times - over} {reason}: {why}"
        refused = format_refusals(summary.refusals, summary.budget)
        if reason == "denied" and refused:
            line += f" ({'; '.join(refused)})"
        lines.append(line)
        if reason == "too_slow":
            lines += [f"    {format_slow_kind(one)}" for one in summary.slow_kinds]
    lines += shortfall_lines(summary.shortfalls, servers or {})
    for figure in FIGURES:
        if count := sum(ends.get(figure.end, 0) for ends in summary.figures[figure.name].values()):
            lines.append(figure.sentence.format(count))
    return lines


def unanswered_kinds(slow_kinds: Iterable[SlowKind]) -> list[SlowKind]:
    """Return the kinds whose model has not answered yet, so nobody knows how fast it is."""
    return [one for one in slow_kinds if one.ticks is None]


def format_unanswered(unanswered: Collection[SlowKind], shortfalls: Iterable[ShortfallLine]) -> str:
    """Return that models have not answered yet, and how their last jobs ended."""
    models = sorted({one.model for one in unanswered})
    said = f"no answer of {', '.join(models)} yet"
    ends = [line for line in shortfalls if line.model in models]
    if not ends:
        return f"{said}, and no call has ended; cogitate status names missing workers"
    last = max(ends, key=lambda line: (line.last, line.first))
    why = last.because or last.failure
    how = "no worker took the last jobs" if why == UNCLAIMED else f"the last calls failed ({format_class(why)})"
    return f"{said}; {how}, see below"


def print_summary(
    console: Terminal,
    summary: RunSummary,
    took: Took | None = None,
    servers: Mapping[str, str] | None = None,
    *,
    every_owner: bool = False,
) -> None:
    """Print tables and sentences about a run; `servers` as for `degraded_lines`.

    Args:
        every_owner: list every owner, even if all have the same limit.
    """
    with summary.clock.in_force():
        _print_summary(console, summary, took, servers, every_owner=every_owner)


def _print_summary(
    console: Terminal, summary: RunSummary, took: Took | None, servers: Mapping[str, str] | None, *, every_owner: bool
) -> None:
    until = day_and_time(summary.minute)
    position = f": {summary.state} at tick {summary.tick:,} ({until}), {summary.agents} agents"
    console.print(Text.assemble("\n", (f"Run {summary.run}", "bold"), position))
    if summary.trimmed:
        console.print(
            f"The journal begins with tick {summary.trimmed + 1:,}: earlier ticks are counted here but no longer listed"
        )
    if took is not None:
        ms = tick_ms(took.tick_seconds)
        console.print(
            f"{took.wall_s:.1f} s; half of the ticks took the host {ms['p50']} ms or less, 99% {ms['p99']} ms or less"
        )
    console.print(jobs_table(summary))
    if summary.open:
        console.print(open_line(summary))
    if summary.batched:
        are = "request is" if summary.batched == 1 else "requests are"
        console.print(f"{summary.batched:,} {are} in batch files, or waiting for one.")
    for line in degraded_lines(summary, servers):
        console.print(line)
    budget = run_budget_table(summary, fold=not every_owner)
    if budget.row_count:
        console.print(budget)
    tiers = service_tier_lines(summary.service_tiers, summary.discount)
    learned = (*headroom_lines(summary.headrooms), *value_lines(summary.values))
    for line in (*price_lines(summary.prices), *tiers, *learned):
        console.print(line)
    console.print(_memories_table(summary))
    for request in reversed(summary.requests):
        console.print(request_line(request))
    steering = summary.steering
    for line in (format_mode(steering), format_cadence(steering), format_pace(steering)):
        if line:
            console.print(line[0].upper() + line[1:])
    if summary.warnings:
        console.print("Warnings: " + ", ".join(f"{name} {count}" for name, count in summary.warnings.items()))
    console.print(f"Digest {summary.digest}")


def request_line(one: SteeringStep) -> str:
    """Return an operator's request with its reason and outcome."""
    when = f"{day_and_time(one.minute)}, tick {one.tick:,}" if one.tick else "Not applied yet"
    why = f" ({one.reason})" if one.reason else ""
    outcome = f"refused, {one.refused}" if one.refused else one.called_off or (f"job {one.job}" if one.job else "")
    return f"{when}: {one.by or 'an operator'}: {format_control(one.control)}{why}" + (
        f": {outcome}" if outcome else ""
    )


def price_lines(prices: Iterable[ModelPrice]) -> list[str]:
    """Return a line for each model's price with its source, and a line that names the models without one."""
    all_prices = list(prices)
    lines = [f"Price of {price.described()}" for price in all_prices if price.origin != "unknown"]
    if unpriced := [price.model for price in all_prices if price.origin == "unknown"]:
        lines.append(f"The cost of {', '.join(unpriced)} in dollars is unknown: no setting or table has a price")
    return lines


def service_tier_lines(tiers: Mapping[str, int], discount: int) -> list[str]:
    """Return a line about the service tiers that answered, and their savings; no line if no endpoint names them.

    Args:
        discount: micro-dollars saved against the standard tier.
    """
    if not tiers:
        return []
    answers = ", ".join(f"{count:,} in {tier}" for tier, count in tiers.items())
    return [f"Service tiers: {answers}; ${discount / 1e6:,.4f} less than in the standard tier"]


def headroom_lines(headrooms: Mapping[str, int]) -> list[str]:
    """Return a line for each model whose reasoning did not fit into its answers."""
    return [
        f"Model {model} reasons at length: each answer gets {tokens:,} more tokens; set its headroom to begin with them"
        for model, tokens in headrooms.items()
    ]


def jobs_table(summary: RunSummary) -> Table:
    """Return a table of jobs by kind: decisions, ends and sources of results."""
    table = Table(title="Jobs", title_justify="left")
    table.add_column("kind")
    refused = (("end", "refused"),) if any("refused" in facts["end"] for facts in summary.jobs.values()) else ()
    columns = (
        ("decision", "admitted"),
        ("end", "applied"),
        *refused,
        ("end", "stale"),
        ("source", "llm"),
        ("source", "cached"),
        ("source", "heuristic"),
    )
    for _, name in columns:
        table.add_column(name, justify="right")
    table.add_column("degraded", justify="right")
    for kind, facts in summary.jobs.items():
        degraded_jobs = sum(facts["reason"].get(reason, 0) for reason in DEGRADED)
        table.add_row(kind, *(str(facts[fact].get(name, 0)) for fact, name in columns), str(degraded_jobs))
    return table


def open_line(summary: RunSummary) -> str:
    """Return the number of open jobs by kind; those of an ended run stay open until a host resumes it."""
    count = sum(summary.open.values())
    kinds = ", ".join(f"{jobs:,} {kind}" for kind, jobs in summary.open.items())
    over = "; a host that resumes the run ends them" if summary.status in ("finished", "stopped") else ""
    are = "job is" if count == 1 else "jobs are"
    return f"{count:,} {are} still open, due after tick {summary.tick:,}: {kinds}{over}."


def run_budget_table(summary: RunSummary, *, fold: bool = True) -> Table:
    """Return a table of the windows with a limit, except those of single ticks."""
    lines = [line for line in summary.budget if not line.window.startswith("tick:")]
    return budget_table(lines, summary.limits, fold=fold)


def _memories_table(summary: RunSummary) -> Table:
    table = Table(title="Memories", title_justify="left")
    table.add_column("type")
    table.add_column("live", justify="right")
    table.add_column("archived", justify="right")
    for name, counts in summary.memories.items():
        table.add_row(name, f"{counts['live']:,}", f"{counts['archived']:,}")
    return table


def ended_jobs(summary: RunSummary) -> int:
    return sum(sum(facts["end"].values()) for facts in summary.jobs.values())
