"""Formatting of the spending of the present real day for `cogitate status`."""

from __future__ import annotations

import msgspec

from cogitate.ops.formatting.amounts import format_cost
from cogitate.scheduler.ledger.real_day import DaySpending
from cogitate.tasks.job import Cost


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
