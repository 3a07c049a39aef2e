"""The behaviour of an endpoint, and the expected outcome of the one job that calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cogitate.ops.fake_llm.completions import FakeResponse
from tests.integration.workers.endpoint_replies import OUTPUT_TOKENS, PROMPT_TOKENS

Charge = Literal["told", "estimate", "bound", "none"]


#: The deadline in seconds of a job whose endpoint lets it pass. It includes all work before the request, also on a busy
#: machine: a job that cannot send its request in time would end as `timeout` without one.
REACHES = 3.0


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The behaviour of an endpoint, and the expected outcome of the one job that calls it."""

    name: str
    replies: tuple[bytes | FakeResponse, ...]  # to the first request, the second, …; the last one repeats
    failure: str = ""  # class of the job's last failure; "" if the answer is stored
    charge: Charge = "told"  # how the last call is charged
    tokens: int = PROMPT_TOKENS + OUTPUT_TOKENS  # the charge if it is "told"
    wait: float | None = None  # seconds that the endpoint asks to wait, counted from `BEGUN` if `dated`
    dated: bool = False  # the endpoint names a date, so less time is left when the job asks
    claims: int = 1  # the attempts that the job may make, and makes
    deadline: float = 60.0
    reasoning: int = 0
    left_open: bool = False  # after a reply the endpoint waits for the client to close the connection
    endless: bool = False  # the endpoint repeats the reply until the client closes the connection


def row(name: str, *replies: bytes | FakeResponse, **comes_to: Any) -> Behaviour:
    return Behaviour(name=name, replies=replies, **comes_to)


def failed(name: str, failure: str, charge: Charge, *replies: bytes | FakeResponse, **more: Any) -> Behaviour:
    return row(name, *replies, failure=failure, charge=charge, **more)
