"""What tokens cost in money, and the most that one attempt can cost."""

from __future__ import annotations

from scheduler.settings import Settings
from tasks.job import Cost

_PRICE_UNIT = 1_000_000  # prices are micro-dollars per million tokens


def usd_micros(prompt_tokens: int, output_tokens: int, settings: Settings) -> int:
    """The price of one call in micro-dollars, rounded up so that a limit is never passed by rounding."""
    price = prompt_tokens * settings.input_price + output_tokens * settings.output_price
    return -(-price // _PRICE_UNIT)


def call_cost(prompt_tokens: int, output_tokens: int, settings: Settings, calls: int = 1) -> Cost:
    """What one call (or `calls` requests that together used these tokens) cost. Reasoning counts as output."""
    return Cost(
        calls=calls,
        tokens=prompt_tokens + output_tokens,
        usd_micros=usd_micros(prompt_tokens, output_tokens, settings),
    )


def upper_bound(prompt_cap: int, output_cap: int, settings: Settings) -> Cost:
    """The most one attempt may cost: what admission and every further attempt reserve.

    A kind that never asks a model (`output_cap` 0) reserves its call alone.
    """
    if output_cap == 0:
        return Cost(calls=1)
    return call_cost(prompt_cap, output_cap, settings)
