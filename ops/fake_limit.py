"""The limit that the stand-in endpoint enforces: the strictest reading of so many requests a minute."""

from __future__ import annotations

import math

from ops.fake_completions import Response, error


class Pace:
    """A sliding window with a burst of one: 60 a minute are never two within a second, as where a provider enforces the
    limit of a minute over shorter times. A request that is refused counts for nothing."""

    def __init__(self, requests_per_minute: int | None) -> None:
        self._interval = 60.0 / requests_per_minute if requests_per_minute is not None else 0.0
        self._accepted = -math.inf

    def early(self, now: float) -> float:
        """By how many seconds a request comes too early; 0 when it is accepted."""
        early = max(0.0, self._accepted + self._interval - now)
        if not early:
            self._accepted = now
        return early


def too_many(early: float) -> Response:
    """429, and when to come again: in seconds rounded up, as the header has it, and in milliseconds, as OpenAI adds."""
    wait = (("Retry-After", str(math.ceil(early))), ("retry-after-ms", str(math.ceil(early * 1000))))
    return error(429, "rate_limit_exceeded", "More requests a minute than the stand-in was told to allow.", wait)
