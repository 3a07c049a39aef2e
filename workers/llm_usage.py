"""What a provider says a call used, read with distrust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_MOST = 100_000_000  # tokens; no model reads or writes as many in one call, so a larger count is a mistake


class Usage(NamedTuple):
    """Tokens of one call. What was thought and not shown counts as output."""

    prompt: int
    output: int


def read_usage(response: Mapping[str, Any]) -> Usage | None:
    """The usage in a chat completion, or None when it is missing, negative, NaN, absurd or all zero.

    Some providers leave reasoning out of `completion_tokens` and count it only in `total_tokens`: what the total
    has beyond prompt and completion is output.
    """
    usage = response.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None or prompt + output == 0:
        return None
    total = _count(usage.get("total_tokens"))
    return Usage(prompt, max(output, (total or 0) - prompt))


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MOST and value == int(value) else None  # NaN fails the first comparison
