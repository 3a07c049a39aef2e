"""Formats the state of endpoints and workers, a run's mode, cadence and pace, and unreadable entries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.table import Table

from cogitate.hosting.terminal import Terminal
from cogitate.memory.clock import span
from cogitate.memory.unreadable import LeftOut
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.inspection.summary import SlowKind
from cogitate.scheduler.inspection.vitals import SteeringVitals
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, UnansweredWorker, WorkersSeen
from cogitate.workers.llm.replies.failures import STATUS

_SHOWN = {"server": "server error"}


def format_class(failure: str) -> str:
    """Return a class of failure with its HTTP status, such as "server error 5xx", or with its check.

    Other texts, such as a host's error class or a precondition, stay unchanged.
    """
    failure, check = split_failure(failure)
    if check:
        return f"{failure} ({check.replace('_', ' ')})"
    return f"{_SHOWN.get(failure, failure)} {STATUS[failure]}" if failure in STATUS else failure


def endpoints_table(endpoints: Sequence[EndpointVitals]) -> Table:
    """Return a table with a column for each endpoint that any run has called."""
    table = Table(title="Endpoints, of all runs", title_justify="left")
    table.add_column("")
    for one in endpoints:
        table.add_column(one.endpoint, overflow="fold")
    if any(one.server for one in endpoints):
        table.add_row("address", *(one.server for one in endpoints))
    table.add_row("breaker", *map(format_breaker, endpoints))
    for name in ("calls", "tokens", "reasoning", "in_flight", "waits", "openings"):
        table.add_row(name.replace("_", " "), *(f"{getattr(one, name):,}" for one in endpoints))
    if any(one.service_tiers for one in endpoints):
        tiers = (f"{format_counts(one.service_tiers)}, ${one.discount / 1e6:,.4f} saved" for one in endpoints)
        table.add_row("service tiers", *tiers)
    table.add_row("failures", *(format_counts(one.failures) for one in endpoints))
    table.add_row("not called", *(format_counts(one.refused) for one in endpoints))
    return table


def format_breaker(one: EndpointVitals) -> str:
    """Return the state of an endpoint's breaker, such as "open for 12 s (server), next call in 8 s"."""
    words = []
    if one.breaker == "closed":
        words.append("closed")
    else:
        words.append(f"{one.breaker} for {one.changed or 0:.0f} s ({format_class(one.why)})")
        if one.breaker == "open":
            words.append(f"next call in {one.next_probe or 0:.0f} s")
        else:
            words.append("one call tests it")
    if one.held:
        words.append(f"calls wait {math.ceil(one.held)} s more, as the endpoint asked")
    words += [f"{model} is set aside ({format_class(why)})" for model, why in one.set_aside.items()]
    return ", ".join(words)


def format_counts(counts: dict[str, int]) -> str:
    """Return counts by class of failure, such as "server error 5xx 3×, timeout 1×"."""
    return ", ".join(f"{format_class(name)} {count:,}×" for name, count in counts.items())


_CAUSES = {"late": "late results", "failed": "failed jobs", "budget": "the budget's pace"}
_BY = {
    "controller": "adjusted automatically",
    "pinned": "pinned by an operator",
    "settings": "not adjusted automatically, by the settings",
}


def format_mode(steering: SteeringVitals) -> str:
    """Return the run's mode and the number of waiting requests; "" for a running run without any."""
    parts = [] if steering.mode in ("running", "drained") else [steering.mode]
    if steering.asked:
        parts.append(f"{steering.asked} request{'' if steering.asked == 1 else 's'} of operators not yet applied")
    return ", ".join(parts)


def format_cadence(steering: SteeringVitals) -> str:
    """Format as in "reflections every 1,440 game minutes, at 0.5 of the usual cadence (slowed by …); …"."""
    every = "no reflections" if steering.interval is None else f"reflections {format_every(steering)}"
    share = "as usual" if steering.cadence == 1 else f"at {steering.cadence:g} of the usual cadence"
    why = f" (slowed by {pressing})" if (pressing := format_pressure(steering)) else ""
    waiting = f"; {steering.waiting} agents wait to reflect" if steering.waiting else ""
    postponed = f"; {steering.postponed:,} postponed so far" if steering.postponed else ""
    return f"{every}, {share}{why}; {format_by(steering)}{waiting}{postponed}"


def format_every(steering: SteeringVitals) -> str:
    """Return the interval, as in "every 720 game minutes" or "every 3 rounds"; "none" if agents do not reflect."""
    return "none" if steering.interval is None else f"every {span(steering.interval)}"


def format_pressure(steering: SteeringVitals) -> str:
    """Return the pressure that slows reflections down, such as "late results 40%"; "" if there is none."""
    return ", ".join(f"{_CAUSES[cause]} {steering.causes[cause]}%" for cause in steering.pressing)


def format_by(steering: SteeringVitals) -> str:
    """Return who controls the cadence of reflections, such as "adjusted automatically"."""
    return _BY[steering.by]


def format_pace(steering: SteeringVitals) -> str:
    """Return the host's time for the last tick, and its delay against the pace; "" if the time is unknown."""
    if steering.host_ms is None:
        return ""  # a capsule has no figures of the host
    behind = f", {steering.lag:,} ticks behind its pace" if steering.lag else ""
    return f"the last tick took the host {steering.host_ms:.1f} ms{behind}"


def format_failing_worker(one: FailingWorker) -> str:
    if not one.failures:
        return f"Worker {one.worker} could not start: {one.why}"
    then = ", and has ended" if one.ended else ""
    return f"Worker {one.worker} could claim none of its last {one.failures:,} jobs{then}: {one.why}"


def format_missing_worker(one: MissingWorker) -> str:
    return f"Worker {one.worker} has sent no heartbeat for {one.seconds:.0f} s"


def worker_lines(workers: WorkersSeen, waiting: int) -> list[str]:
    """Return what is wrong with the workers of a server, whether any is left, and what to do.

    Args:
        waiting: open jobs of the run that needs them; 0 if nothing hosts it.
    """
    lines = [format_missing_worker(one) for one in workers.missing]
    lines += [format_failing_worker(one) for one in workers.failing]
    lines += [format_unanswered_worker(one) for one in workers.unanswered]
    if workers.able and (workers.missing or workers.failing):
        others = "1 other worker takes" if workers.able == 1 else f"{workers.able:,} other workers take"
        lines.append(f"{others} jobs; see why it ended, then start it again: cogitate worker")
    elif not workers.able and (lines or waiting):
        wait = f", and {waiting:,} open jobs need one" if waiting else ""
        lines.append(f"No worker is left{wait}: start one with cogitate worker")
    return lines


def format_unanswered_worker(one: UnansweredWorker) -> str:
    """Return a line about a worker whose calls fail while those of other workers are answered."""
    calls = f"its last {one.failures:,} calls of {one.endpoint} failed ({format_class(one.why)})"
    return f"Worker {one.worker}: {calls}, those of others did not: check its URL and key"


def format_slow_kind(one: SlowKind) -> str:
    """Return the latency of a kind's answers, or that there is none yet, and how long the kind may wait for one."""
    ticks = one.assumed if one.ticks is None else one.ticks
    took, real = (f" ({each / one.tick_rate:.3g} s)" if one.tick_rate and each else "" for each in (ticks, one.most))
    if one.ticks is None:
        line = f"{one.kind}: no answer of {one.model} yet"
        return line if ticks is None else f"{line}; {ticks:,} ticks{took} are assumed, {one.most:,}{real} are allowed"
    line = f"{one.kind}: nearly all answers take up to {one.ticks:,} ticks{took}, queue included"
    line += f"; {one.most:,}{real} are allowed"
    if one.ticks <= one.most:
        line += "; these jobs queued behind others or were due sooner"
    return line


MOST = 20  # warnings


def print_left_out(entries: Sequence[LeftOut]) -> None:
    """Print on stderr the entries that are left out, with the reasons."""
    terminal = Terminal(stderr=True)
    for entry in entries[:MOST]:
        terminal.print(f"Warning: {entry}")
    if len(entries) > MOST:
        terminal.print(f"Warning: and {len(entries) - MOST:,} more entries")
