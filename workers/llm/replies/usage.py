"""Reads the usage that a completion reports, under any endpoint's field names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_MOST_TOKENS = 100_000_000  # tokens; no model reads or writes more in one call
_ADDED = 100_000  # the most tokens that a gateway or a template may add to a prompt
_MOST_WRITTEN = 1_000_000  # tokens; no model writes more in one call


class Usage(NamedTuple):
    """Tokens of one call. Hidden reasoning counts as output."""

    prompt: int
    output: int
    cached: int = 0  # prompt tokens read from the provider's cache
    reasoning: int = 0  # output tokens that are not part of the answer


def read_usage(response: Mapping[str, object]) -> Usage | None:
    """Return the usage in a chat completion, or None if it is missing, negative, NaN, absurd, or has no prompt.

    Some providers exclude reasoning from `completion_tokens`. If the total exceeds prompt and completion, or reasoning
    alone exceeds the completion, the excess counts as output. Ignores a cached count above the prompt's. DeepSeek
    reports cached tokens in separate fields, and Anthropic excludes them from the prompt's tokens.
    """
    usage = response.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    separate = _count(usage.get("prompt_cache_hit_tokens")) or 0
    asked, answered = "prompt", "completion"
    if prompt is None and output is None:  # names of Anthropic and the Responses API, which some gateways pass on
        prompt, output = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
        asked, answered = "input", "output"
        if prompt is not None:  # Anthropic excludes tokens read from or written to its cache
            separate = _count(usage.get("cache_read_input_tokens")) or 0
            prompt += separate + (_count(usage.get("cache_creation_input_tokens")) or 0)
    total = _count(usage.get("total_tokens"))
    if prompt and usage.get(f"{answered}_tokens") is None and total is not None and total > prompt:
        output = total - prompt
    if not prompt or output is None:  # no call has an empty prompt; some servers exclude cached tokens
        return None
    reasoning = _detail(usage, f"{answered}_tokens_details", "reasoning_tokens")
    if reasoning > output:
        output += reasoning
    cached = _detail(usage, f"{asked}_tokens_details", "cached_tokens") or separate
    output = max(output, (total or 0) - prompt)
    return Usage(prompt, output, cached if cached <= prompt else 0, min(reasoning, output))


def is_possible(usage: Usage, sent_bytes: int) -> bool:
    """Return whether a call that sent this many bytes can have this usage; no token is shorter than a byte."""
    return usage.prompt <= sent_bytes + _ADDED and usage.output <= _MOST_WRITTEN


def _detail(usage: Mapping[str, object], group: str, name: str) -> int:
    """Return a count of OpenAI's usage details; 0 when it is missing."""
    details = usage.get(group)
    return (_count(details.get(name)) or 0) if isinstance(details, Mapping) else 0


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MOST_TOKENS and value == int(value) else None  # NaN fails the first comparison
