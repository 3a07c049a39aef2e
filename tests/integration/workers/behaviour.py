"""Behaviours of an endpoint, and what comes of the one job that asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cogitate.ops.fake_llm.completions import FakeResponse
from tests.integration.workers.endpoint_replies import OUTPUT_TOKENS, PROMPT_TOKENS

Charge = Literal["told", "estimate", "bound", "none"]


#: Seconds of a job whose endpoint lets its deadline pass. They hold everything before the request as well, on a busy
#: machine too: a job that cannot send its request in time ends as `timeout` without one.
REACHES = 3.0


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """One behaviour of an endpoint, and what comes of the one job that asks it."""

    name: str
    replies: tuple[bytes | FakeResponse, ...]  # to the first request, the second, …; the last to all further ones
    failure: str = ""  # class of the job's last failure; "": the answer is stored
    charge: Charge = "told"  # for the last call
    tokens: int = PROMPT_TOKENS + OUTPUT_TOKENS  # if the charge is "told"
    wait: float | None = None  # seconds that the endpoint asked for, from `BEGUN` if it is `dated`
    dated: bool = False  # it names a date, to which less time is left when the job asks
    claims: int = 1  # attempts that the job may have, and has
    deadline: float = 60.0
    reasoning: int = 0
    left_open: bool = False  # after a reply it waits for the client to close the connection
    endless: bool = False  # it sends the reply over and over until the client closes the connection


def row(name: str, *replies: bytes | FakeResponse, **comes_to: Any) -> Behaviour:
    return Behaviour(name=name, replies=replies, **comes_to)


def failed(name: str, failure: str, charge: Charge, *replies: bytes | FakeResponse, **more: Any) -> Behaviour:
    return row(name, *replies, failure=failure, charge=charge, **more)
