"""The price of tokens, and the upper bound of an attempt's cost."""

from __future__ import annotations

from cogitate.scheduler.config.endpoints import Model
from cogitate.tasks.job import Cost

_PRICE_UNIT = 1_000_000  # prices are micro-dollars per million tokens


def usd_micros(model: Model, prompt_tokens: int, output_tokens: int, cached: int = 0, percent: int = 100) -> int:
    """Return the price of one call in micro-dollars, rounded up so that rounding never passes a limit.

    Args:
        prompt_tokens: all tokens of the prompt.
        output_tokens: all tokens of the answer, reasoning included.
        cached: how many of the prompt's tokens the provider had in its cache.
        percent: of the model's prices, that the call's service tier costs.
    """
    price = (
        (prompt_tokens - cached) * model.input_price
        + cached * model.cached_input_price
        + output_tokens * model.output_price
    )
    return -(-price * percent // (100 * _PRICE_UNIT))


def call_cost(
    model: Model, prompt_tokens: int, output_tokens: int, cached: int = 0, calls: int = 1, percent: int = 100
) -> Cost:
    """Return the cost of one call, or of `calls` requests that together used these tokens. See `usd_micros`."""
    return Cost(
        calls=calls,
        tokens=prompt_tokens + output_tokens,
        usd_micros=usd_micros(model, prompt_tokens, output_tokens, cached, percent),
    )


def upper_bound(model: Model, prompt_cap: int, output_cap: int) -> Cost:
    """Return the most that one attempt may cost, which admission and every further attempt reserve.

    It assumes no cached input, or all of it where cached input is dearer. A kind that
    never asks a model (`output_cap` 0) reserves nothing.
    """
    if output_cap == 0:
        return Cost()
    cached = prompt_cap if model.cached_input_price > model.input_price else 0
    return call_cost(model, prompt_cap, output_cap, cached, percent=model.percent)


def room_for_answer(model: Model, reserved: Cost, prompt_tokens: int) -> int:
    """Return the tokens that an answer to this prompt may have so that the call costs no more than was reserved."""
    room = reserved.tokens - prompt_tokens
    if model.context:
        room = min(room, model.context - prompt_tokens)
    price = model.output_price * model.percent
    if price:
        prompt = prompt_tokens * max(model.input_price, model.cached_input_price) * model.percent
        room = min(room, (100 * _PRICE_UNIT * reserved.usd_micros - prompt) // price)
    return max(0, room)
