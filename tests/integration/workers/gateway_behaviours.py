"""What gateways and local servers make of answers and errors of others: wrapped, renamed, with a status of success."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.workers.behaviour import failed, row
from tests.integration.workers.endpoint_replies import (
    USAGE,
    at_instant,
    body_of,
    raw,
    refused,
    said,
    whole,
)

_CHOICES: Any = json.loads(body_of(said()))["choices"]


def _limited(**headers: str) -> bytes:
    return refused(429, "slow down", **headers)


def _error(status: int, **body: Any) -> bytes:
    return raw(status, json.dumps(body).encode())


GATEWAYS = (
    # errors with a status of success
    failed("an error of a code in words", "rate_limited", "none", whole(error={"code": "rate_limit_exceeded"})),
    failed("an error of a type in words", "overloaded", "none", whole(error={"type": "overloaded_error"})),
    failed("an error with a status of its own", "rate_limited", "none", whole(error={"status": 429, "message": "x"})),
    failed("an error of an empty account", "quota_exhausted", "none", whole(error={"code": "insufficient_quota"})),
    failed("an error of a wrong key", "auth", "none", whole(error={"message": "Incorrect API key provided"})),
    failed("an error in a list", "server", "none", whole(error=["upstream failed"])),
    failed(
        "an error in words that names a time",
        "rate_limited",
        "none",
        whole(error="Rate limit exceeded, try again in 7s"),
        wait=7.0,
    ),
    failed("an error by its object", "context_overflow", "none", whole(object="error", message="maximum context")),
    failed("an error as a message beside a code", "rate_limited", "none", whole(code=1302, msg="rate limit reached")),
    failed(
        "an error in MiniMax's form",
        "quota_exhausted",
        "none",
        whole(choices=None, base_resp={"status_code": 1008, "status_msg": "insufficient balance"}),
    ),
    row("no error in MiniMax's form", whole(choices=_CHOICES, usage=USAGE, base_resp={"status_code": 0})),
    row("an error beside an answer", whole(choices=_CHOICES, usage=USAGE, error={"message": "a warning", "code": 500})),
    failed("a denial without an error", "no_completion", "none", whole(detail="Not authenticated")),
    failed(
        "a model's words in another form",
        "no_completion",
        "none",
        whole(message={"role": "assistant", "content": "insufficient balance"}, done=True),
    ),
    failed("the request as it was", "no_completion", "none", whole(model="m", messages=[{"role": "user"}])),
    # errors in the shapes of others
    failed(
        "an error within an error",
        "context_overflow",
        "none",
        _error(400, error={"error": {"message": "maximum context length is 4096 tokens"}}),
    ),
    failed(
        "an error among errors",
        "model_missing",
        "none",
        _error(400, success=False, errors=[{"message": "model not found", "code": 5007}]),
    ),
    failed("an overload with another status", "overloaded", "none", refused(500, "AnthropicException - Overloaded")),
    failed("a limit with another status", "rate_limited", "none", _error(403, message="API rate limit exceeded")),
    failed("a failed dependency", "server", "none", refused(424, "Request failed during generation")),
    failed("a lock", "conflict", "none", refused(423, "locked")),
    # waits in the forms of others
    failed("limited for a number and its unit", "rate_limited", "none", _limited(Retry_After="90 seconds"), wait=90.0),
    failed(
        "limited for the longer of two",
        "rate_limited",
        "none",
        _limited(Retry_After="50\r\nRetry-After: 5"),
        wait=50.0,
    ),
    failed(
        "limited until a reset of another name",
        "rate_limited",
        "none",
        _limited(ratelimitbysize_reset="33", ratelimitbysize_remaining="0"),
        wait=33.0,
    ),
    failed("limited by a policy", "rate_limited", "none", _limited(RateLimit='"a";r=5;t=9, "b";r=0;t=30'), wait=30.0),
    failed(
        "limited by a policy in its older form",
        "rate_limited",
        "none",
        _limited(RateLimit="limit=100, remaining=0, reset=30"),
        wait=30.0,
    ),
    failed("failing far from a policy's limit", "server", "none", refused(500, "oops", RateLimit='"a";r=5;t=9')),
    failed(
        "limited for a number in the error", "rate_limited", "none", _error(429, error={"retry_after": 15}), wait=15.0
    ),
    failed("limited after a colon", "rate_limited", "none", refused(429, "Retry after: 15 seconds"), wait=15.0),
    failed(
        "limited by headers within the error",
        "rate_limited",
        "none",
        _error(
            429,
            error={
                "code": 429,
                "metadata": {"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at_instant(3_600, "ms")}},
            },
        ),
        wait=3_600.0,
        dated=True,
    ),
)
