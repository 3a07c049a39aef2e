"""Formatting of amounts of budget."""

from __future__ import annotations

from cogitate.scheduler.budget.budget import figure_of
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
    """Return the amount of every unit."""
    return {unit: getattr(cost, unit) for unit in Cost.__struct_fields__}
