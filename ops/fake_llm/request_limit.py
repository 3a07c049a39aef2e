"""The stand-in's limit on requests per minute, and its answer to a request that exceeds it."""

from __future__ import annotations

import math

from cogitate.ops.fake_llm.completions import FakeResponse, error


class RequestLimit:
    """A sliding window with a burst, by the generic cell rate algorithm (ITU-T I.371, annex A).

    With a burst of 0 and 60 requests per minute, no two may arrive within a second, as with providers that enforce the
    limit over shorter intervals; with a burst of 1, one request at a time may arrive early. A refused request does not
    count.
    """

    def __init__(self, requests_per_minute: int | None, burst: int) -> None:
        self._interval = 60.0 / requests_per_minute if requests_per_minute is not None else 0.0
        self._tolerance = burst * self._interval
        self._next = -math.inf  # time at which the next request conforms
        self._latest = -math.inf  # latest arrival; simultaneous requests may be read in any order

    def early(self, arrived: float) -> float:
        """Return the seconds by which a request arrived too early; 0 if it is accepted."""
        arrived = self._latest = max(arrived, self._latest)
        early = max(0.0, self._next - self._tolerance - arrived)
        if not early:
            self._next = max(self._next, arrived) + self._interval
        return early


def too_many(early: float) -> FakeResponse:
    """Return a 429 with Retry-After in seconds, rounded up, and OpenAI's header in milliseconds."""
    wait = (("Retry-After", str(math.ceil(early))), ("retry-after-ms", str(math.ceil(early * 1000))))
    return error(429, "rate_limit_exceeded", "More requests per minute than the stand-in was told to allow.", wait)
