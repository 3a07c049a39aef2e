"""Amounts of budget as people read them."""

from __future__ import annotations

from tasks.job import Cost


def format_cost(cost: Cost) -> str:
    """Such as "12 calls, 3,456 tokens, $0.0123"; units of which there is nothing are left out."""
    parts = []
    if cost.calls:
        parts.append(f"{cost.calls:,} call{'' if cost.calls == 1 else 's'}")
    if cost.tokens:
        parts.append(f"{cost.tokens:,} tokens")
    if cost.usd_micros:
        parts.append(f"${cost.usd_micros / 1_000_000:,.4f}")
    return ", ".join(parts) or "nothing"


def by_unit(cost: Cost) -> dict[str, int]:
    """Every unit with its amount."""
    return {unit: getattr(cost, unit) for unit in Cost.__struct_fields__}
