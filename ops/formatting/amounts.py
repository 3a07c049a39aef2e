"""Formatting of amounts of budget, and of the spending of the present real day."""

from __future__ import annotations

import msgspec

from cogitate.scheduler.budget.budget import figure_of
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.tasks.job import Cost


def format_cost(cost: Cost) -> str:
    """Return a cost such as "12 calls, 3,456 tokens, $0.0123", without units whose amount is 0."""
    parts = []
    if cost.calls:
        parts.append(f"{cost.calls:,} call{'' if cost.calls == 1 else 's'}")
    if cost.tokens:
        parts.append(f"{cost.tokens:,} tokens")
    if cost.usd_micros:
        parts.append(figure_of("usd_micros")(cost.usd_micros))
    return ", ".join(parts) or "nothing"


def by_unit(cost: Cost) -> dict[str, int]:
    return {unit: getattr(cost, unit) for unit in Cost.__struct_fields__}


def real_day_line(day: DaySpending) -> str:
    """Return such as "Today, 2026-03-01 (UTC), all runs together: 1,200 tokens spent of 5,000; 30 tokens in flight"."""
    limit = format_cost(Cost(tokens=day.limit_tokens or 0, usd_micros=day.limit_usd_micros or 0))
    parts = [f"{format_cost(day.spent)} spent of {limit}"]
    if day.reserved != Cost():
        parts.append(f"{format_cost(day.reserved)} in flight")
    if day.overrun != Cost():
        parts.append(f"{format_cost(day.overrun)} more than reserved")
    if day.refused:
        parts.append(f"{day.refused:,} calls refused; the next day begins at 00:00 UTC")
    return f"Today, {day.date} (UTC), all runs together: {'; '.join(parts)}"


def real_day_json(day: DaySpending) -> dict[str, object]:
    """Return the spending with stable names for `--json`."""
    found: dict[str, object] = msgspec.to_builtins(day)
    return found | {name: msgspec.structs.asdict(getattr(day, name)) for name in ("reserved", "spent", "overrun")}
