"""The model client with an endpoint that fails in every way: the class and the charge of each failure."""

from __future__ import annotations

import json
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Literal, NamedTuple

import msgspec
import pytest
from pydantic import BaseModel, SecretStr
from structlog.testing import capture_logs

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint, call_cost
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.http import Exchange, HttpResponse, PooledRequest
from cogitate.workers.llm.replies.failures import FAILURE_KINDS
from cogitate.workers.llm.requests.address import address_of
from cogitate.workers.llm.requests.tokens import prompt_tokens
from tests.integration.workers.llm_case import (
    BOUND,
    CAP,
    GOOD,
    KEY,
    MODEL,
    PROMPT,
    Mood,
    ask,
    client_of,
    completion,
    server_saying,
)


class Row(NamedTuple):
    fault: str
    kind: str | None  # class of the failure; None for a valid answer
    retryable: bool
    tokens: Literal["reported", "estimate", "bound", "none"]
    retry_after: float | None = None
    seconds: float = 20.0


ROWS = [
    Row("hang", "timeout", True, "bound", seconds=0.4),
    Row("drip", "timeout", True, "bound", seconds=0.4),
    Row("drip_headers", "timeout", True, "bound", seconds=0.4),
    Row("close", "connection", True, "bound"),
    Row("reset", "connection", True, "bound"),
    Row("401", "auth", False, "none"),
    Row("403", "forbidden", False, "none"),
    Row("404", "model_missing", False, "none"),
    Row("407", "proxy", False, "none"),
    Row("511", "blocked", True, "none"),
    Row("408", "timeout", True, "bound"),
    Row("409", "conflict", True, "none"),
    Row("418", "bad_request", False, "none"),
    Row("429", "rate_limited", True, "none"),
    Row("429:2", "rate_limited", True, "none", retry_after=2.0),
    Row("429:3600", "rate_limited", True, "none", retry_after=3600.0),
    Row("quota", "quota_exhausted", False, "none"),
    Row("500", "server", True, "none"),
    Row("502", "server", True, "none"),
    Row("504", "server", True, "bound"),
    Row("503:7", "overloaded", True, "none", retry_after=7.0),
    Row("529", "overloaded", True, "none"),
    Row("overflow", "context_overflow", False, "none"),
    Row("filter", "filtered", False, "reported"),
    Row("filter_400", "filtered", False, "none"),
    Row("refusal", "refused", True, "reported"),
    Row("length", "truncated", True, "reported"),
    Row("no_choices", "empty", True, "reported"),
    Row("blank", "empty", True, "reported"),
    Row("not_json", "not_json", True, "reported"),
    Row("broken_json", "not_json", True, "reported"),
    Row("html", "no_completion", True, "none"),
    Row("error_200", "server", True, "none"),
    Row("wrong_types", "wrong_schema", True, "reported"),
    Row("wrong_schema", "wrong_schema", True, "reported"),
    Row("huge", "too_large", False, "bound"),
    Row("prose", None, False, "reported"),
    Row("fenced", None, False, "reported"),
    Row("no_usage", None, False, "estimate"),
    Row("nan_usage", None, False, "estimate"),
    Row("negative_usage", None, False, "estimate"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.fault for row in ROWS])
def test_each_failure_is_classified_and_charged(row: Row) -> None:
    with FakeEndpoint(faults={row.fault: 1.0}) as endpoint, client_of(endpoint.url) as client:
        with capture_logs() as logs:
            answer = ask(client, row.seconds)
        stats = endpoint.stats()
    assert stats.requests == 1
    assert answer.usage.calls == 1
    assert (answer.failure.kind if answer.failure else None) == row.kind
    assert (answer.value is None) == (row.kind is not None)
    assert answer.retryable == row.retryable
    assert (answer.failure.retry_after if answer.failure else None) == row.retry_after
    reported = stats.prompt_tokens + stats.completion_tokens
    if row.tokens == "estimate":
        assert prompt_tokens(PROMPT) < answer.usage.tokens <= BOUND
    else:
        assert answer.usage.tokens == {"reported": reported, "bound": BOUND, "none": 0}[row.tokens]
    assert (row.tokens == "reported") == (reported > 0)
    assert answer.estimated == (row.tokens in ("estimate", "bound"))
    assert (answer.usage.usd_micros > 0) == (answer.usage.tokens > 0)
    events = [(entry["event"], entry.get("kind")) for entry in logs]
    expected = [("llm.failed", row.kind)] if row.kind else [("llm.no_usage", None)] if answer.estimated else []
    assert events == expected


def test_the_table_has_every_kind_of_failure() -> None:
    elsewhere = {"unsupported", "no_time", "dns", "tls"}  # covered by the tests of deadlines, refusals and networks
    assert ({row.kind for row in ROWS} | elsewhere) - {None} == set(FAILURE_KINDS)


def test_an_answer_is_validated_and_costs_the_servers_count() -> None:
    with FakeEndpoint() as endpoint, client_of(endpoint.url) as client:
        answer = ask(client)
        stats = endpoint.stats()
    assert isinstance(answer.value, Mood)
    assert answer.failure is None
    money = call_cost(MODEL, stats.prompt_tokens, stats.completion_tokens).usd_micros
    assert answer.usage == Cost(calls=1, tokens=stats.prompt_tokens + stats.completion_tokens, usd_micros=money)


def test_a_refused_connection_sends_nothing_and_costs_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with client_of(url) as client:
            answer = ask(client)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.retryable) == ("connection", True)
    assert answer.usage == Cost()


def test_a_call_past_its_deadline_sends_no_request() -> None:
    with FakeEndpoint() as endpoint, client_of(endpoint.url) as client:
        answer = ask(client, seconds=-1.0)
        assert endpoint.stats().requests == 0
    assert answer.failure is not None
    assert answer.failure.kind == "no_time"
    assert answer.usage == Cost()


def test_waiting_for_a_free_connection_ends_at_the_deadline_and_costs_nothing() -> None:
    with FakeEndpoint() as endpoint, client_of(endpoint.url, concurrency=1) as client, ThreadPoolExecutor(1) as pool:
        endpoint.hold()
        first = pool.submit(ask, client)
        endpoint.wait_for_request(1)
        second = ask(client, seconds=0.2)
        endpoint.release()
        assert first.result().failure is None
    assert second.failure is not None
    assert second.failure.kind == "no_time"
    assert second.usage == Cost()


def test_a_server_that_accepts_no_connection_in_time_counts_as_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogitate.workers.llm.client.UNREACHABLE", 0.2)
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # fill its backlog, so that it drops further packets
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        client = stack.enter_context(client_of(f"http://127.0.0.1:{full.getsockname()[1]}/v1"))
        for seconds, kind in ((0.1, "no_time"), (0.5, "connection")):
            answer = ask(client, seconds=seconds)
            assert answer.failure is not None
            assert (answer.failure.kind, answer.usage) == (kind, Cost())


def test_parameters_of_a_model_are_sent_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, object]] = []
    send = PooledRequest.send

    async def noted(self: PooledRequest, body: bytes, call: Exchange) -> HttpResponse:
        sent.append(json.loads(body))
        return await send(self, body, call)

    monkeypatch.setattr(PooledRequest, "send", noted)
    model = msgspec.structs.replace(MODEL, parameters='{"temperature": 0.7, "extra": {"top_k": 3}}')
    with FakeEndpoint() as endpoint, client_of(endpoint.url) as client:
        answer = client.of("default").ask(PROMPT, model=model, max_output_tokens=CAP, deadline=time.monotonic() + 20)
    assert isinstance(answer.value, Mood)
    (body,) = sent
    assert (body["temperature"], body["extra"], body["model"]) == (0.7, {"top_k": 3}, MODEL.model)


@pytest.mark.parametrize(
    ("refuses", "calls"),
    [
        ({"json_schema"}, 2),
        ({"json_schema", "json_object"}, 3),
        ({"max_tokens"}, 2),
        ({"json_schema", "json_object", "max_tokens"}, 4),
    ],
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_a_parameter_refused_twice_is_learned(refuses: set[str], calls: int) -> None:
    with FakeEndpoint(refuses=frozenset(refuses)) as endpoint, client_of(endpoint.url) as client:
        answers = [ask(client) for _ in range(calls + 3)]
        stats = endpoint.stats()
    kinds = [answer.failure.kind if answer.failure else None for answer in answers]
    assert kinds == [*["unsupported"] * (calls - 1), None, "unsupported", None, None], "a second refusal confirms it"
    assert isinstance(answers[-1].value, Mood)
    assert {answer.usage.calls for answer in answers} == {1}, "each request has its own reservation"
    assert sum(answer.usage.tokens for answer in answers) == stats.prompt_tokens + stats.completion_tokens
    assert stats.requests == calls + 3


def test_an_endpoint_that_refuses_every_form_of_request_is_given_up() -> None:
    everything = frozenset({"json_schema", "json_object", "max_tokens", "max_completion_tokens"})
    with FakeEndpoint(refuses=everything) as endpoint, client_of(endpoint.url) as client:
        answers = [ask(client) for _ in range(12)]
        assert endpoint.stats().requests == 12
    last = answers[-1]
    assert last.failure is not None
    assert (last.failure.kind, last.retryable) == ("bad_request", False)
    assert all(answer.usage == Cost(calls=1) for answer in answers)


def test_threads_that_learn_concurrently_settle_on_a_working_form() -> None:
    threads = 20
    with (
        FakeEndpoint(refuses=frozenset({"json_schema", "json_object"})) as endpoint,
        client_of(endpoint.url, concurrency=threads) as client,
        ThreadPoolExecutor(threads) as pool,
    ):
        for _ in range(2):
            endpoint.hold()
            before = endpoint.stats().requests
            asked = [pool.submit(ask, client, 60.0) for _ in range(threads)]
            endpoint.wait_for_request(before + threads)
            endpoint.release()
            assert all(future.result().retryable for future in asked)
        assert isinstance(ask(client).value, Mood)


def test_many_threads_share_one_client() -> None:
    threads = 60
    prompts = [
        Prompt(system=PROMPT.system, user=f"Harbour number {n}.", answer=Mood, version="v") for n in range(threads)
    ]
    with (
        FakeEndpoint() as endpoint,
        client_of(endpoint.url, concurrency=threads) as client,
        ThreadPoolExecutor(threads) as pool,
    ):
        endpoint.hold()
        asked = [pool.submit(ask, client, 60.0, prompt) for prompt in prompts]
        endpoint.wait_for_request(threads)
        endpoint.release()
        answers = [future.result() for future in asked]
        stats = endpoint.stats()
    assert stats.most_in_flight == threads
    assert all(answer.failure is None for answer in answers)
    assert sum(answer.usage.calls for answer in answers) == stats.requests == threads
    assert sum(answer.usage.tokens for answer in answers) == stats.prompt_tokens + stats.completion_tokens


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_neither_key_nor_prompt_leaks_into_errors_or_logs(status: int, caplog: pytest.LogCaptureFixture) -> None:
    body = {"error": {"message": "wrong key KEY: It rains on the harbour", "code": "KEY", "type": "sk_KEY"}}
    caplog.set_level(logging.DEBUG)
    with server_saying(status, body, echo=True) as url, client_of(url) as client, capture_logs() as logs:
        answer = ask(client)
        written = repr((answer, client, vars(client), logs)) + caplog.text
    assert answer.failure is not None
    assert KEY not in written
    assert "harbour" not in written


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigurationError) as raised:
        address_of(Endpoint(base_url="http://127.0.0.1:1/v1", api_key=SecretStr("sk-ä\nb")))
    assert "sk-" not in str(raised.value)


def test_openai_without_a_key_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="set COGITATE_API_KEY or OPENAI_API_KEY"):
        address_of(Endpoint())


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with server_saying(200, completion(json.dumps(GOOD))) as url:
        monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1"))
        monkeypatch.setenv("http_proxy", url.removesuffix("/v1"))
        with client_of("http://endpoint.invalid/v1") as client:
            assert isinstance(ask(client).value, Mood)


def test_an_invalid_base_url_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="'localhost:8080'"):
        address_of(Endpoint(base_url="localhost:8080"))


def test_an_answer_type_without_a_plain_schema_raises_type_error() -> None:
    class Free(BaseModel):
        anything: dict[str, int]

    prompt = Prompt(system="", user="", answer=Free, version="v")
    with (
        FakeEndpoint() as endpoint,
        client_of(endpoint.url) as client,
        pytest.raises(TypeError, match=r"Free\.anything"),
    ):
        ask(client, prompt=prompt)
