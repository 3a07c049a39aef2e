"""Formatting of endpoints for `cogitate status`: breakers, limits and classes of failure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals
from cogitate.scheduler.ledger.claims import split_failure
from cogitate.workers.llm.replies.failures import STATUS

_SHOWN = {"server": "server error"}


def format_class(failure: str) -> str:
    """Return a class of failure with the HTTP status that it stands for, such as "server error 5xx", or its check.

    Other texts, such as a host's error class or a precondition, stay unchanged.
    """
    failure, check = split_failure(failure)
    if check:
        return f"{failure} ({check.replace('_', ' ')})"
    return f"{_SHOWN.get(failure, failure)} {STATUS[failure]}" if failure in STATUS else failure


def endpoints_table(endpoints: Sequence[EndpointVitals]) -> Table:
    """Return a table with a column for each endpoint that a run of this state has called."""
    table = Table(title="Endpoints, of all runs", title_justify="left")
    table.add_column("")
    for one in endpoints:
        table.add_column(one.endpoint, overflow="fold")
    table.add_row("breaker", *map(format_breaker, endpoints))
    for name in ("calls", "tokens", "reasoning", "in_flight", "waits", "openings"):
        table.add_row(name.replace("_", " "), *(f"{getattr(one, name):,}" for one in endpoints))
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
    if one.held:
        words.append(f"calls wait {one.held:.0f} s more, as it asked")
    words += [f"{model} is set aside ({format_class(why)})" for model, why in one.set_aside.items()]
    return ", ".join(words)


def format_counts(counts: dict[str, int]) -> str:
    """Return counts by class of failure, such as "server error 5xx 3×, timeout 1×"."""
    return ", ".join(f"{format_class(name)} {count:,}×" for name, count in counts.items())
