"""The steps of a call before and after its endpoint's gate, with a real server and the fake endpoint."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.gate.gate import Gate
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.call_layers import Calls
from cogitate.workers.llm import client as llm
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.http import PooledRequest
from cogitate.workers.llm.replies.failures import ModelAnswer
from tests.integration.workers.llm_case import CAP, KEY, MODEL, PROMPT, claim_of

JOB = Job(
    run="town",
    key=JobKey(420, "plan", "agent:ada", 0, 0),
    minute=420,
    due=425,
    reads=(),
    model="default",
    output_cap=CAP,
)


def test_a_call_is_prepared_before_it_enters_the_gate(client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the order of steps: a call past the gate must leave at once, since others follow it closely."""
    order: list[str] = []

    def noted(owner: Any, name: str, step: str) -> None:
        original = getattr(owner, name)

        def run(*args: Any, **named: Any) -> Any:
            order.append(step)
            return original(*args, **named)

        monkeypatch.setattr(owner, name, run)

    noted(llm.ModelClient, "__init__", "client")
    noted(PooledRequest, "__init__", "pool")
    noted(Gate, "enter", "gate")
    noted(PooledRequest, "send", "request")
    with FakeEndpoint() as endpoint:
        here = Endpoint(base_url=endpoint.url, api_key=SecretStr(KEY), requests_per_minute=6000)
        settings = Settings(endpoints={"default": here})
        models = ModelClients(settings.endpoint_table(), 2)
        calls = Calls(client, settings, models, threading.Event())
        for _ in range(2):
            call = Call(claim_of(JOB), PROMPT, MODEL, CAP, time.monotonic() + 60)
            assert isinstance(calls.ask(call), ModelAnswer)
        models.close()
        calls.close()
    assert order == ["client", "pool", "gate", "request", "gate", "request"]
