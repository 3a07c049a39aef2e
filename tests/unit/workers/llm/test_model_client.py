"""The client of a model before a stand-in that answers over real HTTP: what it sends, learns, logs and returns."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from pydantic import BaseModel, SecretStr
from structlog.testing import capture_logs

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.client import ModelClient, _tls
from cogitate.workers.llm.event_loop import EventLoopThread
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from cogitate.workers.llm.requests.address import Unlisted, address_of, offered_models
from cogitate.workers.llm.requests.dialect import DialectStore
from tests.integration.workers.llm_case import CAP, GOOD, KEY, MODEL, PROMPT, Mood, completion
from tests.patience import LONGEST

ANSWER = completion(json.dumps(GOOD))


class StandIn:
    """An endpoint that gives the answers of a test, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any, dict[str, str]]] = [(200, ANSWER, {})]
        self.asked: list[tuple[str, str, Any, Message]] = []
        self.connections: list[socket.socket] = []
        self.answering = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                stand_in.connections.append(self.connection)

            def do_GET(self) -> None:
                stand_in.answer(self)

            def do_POST(self) -> None:
                stand_in.answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the output of tests clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.asked.append((request.command, request.path, json.loads(body) if body else None, request.headers))
        self.answering.release()
        assert self.may_answer.wait(LONGEST)
        status, said, headers = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        text = said.encode() if isinstance(said, str) else json.dumps(said).encode()
        request.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def refuses(self, *refusals: tuple[int, Any]) -> None:
        """Refuse so, one after the other, and then answer."""
        self.answers = [*((status, body, {}) for status, body in refusals), (200, ANSWER, {})]


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    made = StandIn()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.may_answer.set()
    made.server.shutdown()
    thread.join()
    for connection in made.connections:  # of a client that a failed test has left open
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
    made.server.server_close()


@pytest.fixture
def loop() -> Iterator[EventLoopThread]:
    made = EventLoopThread()
    yield made
    made.close()


@pytest.fixture
def client(stand_in: StandIn, loop: EventLoopThread) -> Iterator[ModelClient]:
    with_store = DialectStore(FakeRedis())
    made = ModelClient(Endpoint(base_url=stand_in.url, api_key=SecretStr(KEY)), 4, loop, with_store)
    yield made
    made.close()


def ask(client: ModelClient, *, seconds: float = LONGEST, **changed: Any) -> ModelAnswer:
    model = msgspec.structs.replace(MODEL, **changed)
    return client.ask(PROMPT, model=model, max_output_tokens=CAP, deadline=time.monotonic() + seconds)


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


# -- what is sent ------------------------------------------------------------------------------------


def test_a_question_is_sent_with_the_models_name_seed_and_parameters(client: ModelClient, stand_in: StandIn) -> None:
    ask(client)
    ask(client, seed=0, parameters='{"top_p": 0.5, "max_tokens": 7}')
    (method, path, plain, headers), (_, _, chosen, _) = stand_in.asked
    assert (method, path, headers["Authorization"]) == ("POST", "/v1/chat/completions", f"Bearer {KEY}")
    assert (plain["model"], plain["max_tokens"]) == ("stand-in", CAP)
    assert not {"seed", "top_p"} & plain.keys()
    assert (chosen["seed"], chosen["top_p"], chosen["max_tokens"]) == (0, 0.5, 7)


def test_openai_knows_another_name_of_the_cap(loop: EventLoopThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = ModelClient(Endpoint(api_key=SecretStr(KEY)), 1, loop)
    assert made._dialects.next("m").cap == "max_completion_tokens"
    assert made._tls is not None
    made.close()


def test_only_an_endpoint_behind_tls_has_trust_to_check(client: ModelClient) -> None:
    assert client._tls is None
    assert _tls().check_hostname


def test_requests_are_not_logged_with_their_addresses(client: ModelClient) -> None:
    assert logging.getLogger("aiohttp").level == logging.WARNING


# -- what comes back ---------------------------------------------------------------------------------


def test_an_answer_has_value_text_and_cost(client: ModelClient, stand_in: StandIn) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}}
    stand_in.answers = [(200, ANSWER | {"usage": usage}, {})]
    with capture_logs() as logs:
        answer = ask(client)
    assert (answer.value, answer.failure, answer.text) == (Mood(**GOOD), None, json.dumps(GOOD))  # type: ignore[arg-type]
    assert (answer.usage.calls, answer.usage.tokens, answer.estimated) == (1, 15, False)
    assert (answer.prompt_tokens, answer.reasoning) == (10, 3)
    assert logs == []


def test_an_answer_without_usage_is_estimated_and_logged(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.answers = [(200, {"choices": ANSWER["choices"]}, {})]
    with capture_logs() as logs:
        answer = ask(client)
    assert (answer.estimated, answer.prompt_tokens, answer.reasoning, answer.usage.calls) == (True, 0, 0, 1)
    assert [(log["event"], log["model"]) for log in logs] == [("llm.no_usage", "default")]


@pytest.mark.parametrize(
    ("status", "kind", "level"),
    [
        (401, "auth", "error"),
        (402, "quota_exhausted", "error"),
        (404, "model_missing", "error"),
        (429, "rate_limited", "info"),
        (500, "server", "info"),
        (301, "no_completion", "info"),
        (300, "no_completion", "info"),
    ],
)
def test_the_log_level_of_a_failure_depends_on_its_remedy(
    client: ModelClient, stand_in: StandIn, status: int, kind: str, level: str
) -> None:
    stand_in.answers = [(status, error("no", code=f"code {KEY}"), {"Retry-After": "7", "Location": "/v1/elsewhere"})]
    with capture_logs() as logs:
        answer = ask(client)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.status, answer.value) == (kind, status, None)
    assert len(stand_in.asked) == 1, "it follows nobody elsewhere"
    (log,) = logs
    assert (log["event"], log["model"], log["kind"], log["status"]) == ("llm.failed", "default", kind, status)
    assert (log["log_level"], log["detail"]) == (level, answer.failure.detail)
    assert log["retry_after"] == answer.failure.retry_after
    assert KEY not in str(logs)
    assert answer.usage.calls == 1


def test_an_error_that_is_not_json_is_read_as_text(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.answers = [(400, "maximum context length is 4096 tokens", {})]
    answer = ask(client)
    assert answer.failure is not None
    assert answer.failure.kind == "context_overflow"


def test_usage_that_an_error_reports_is_charged(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.answers = [(500, error("no") | {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}, {})]
    answer = ask(client)
    assert (answer.usage.tokens, answer.estimated) == (15, False)
    stand_in.answers = [(500, [error("no")], {})]
    assert ask(client).usage.tokens == 0
    stand_in.answers = [(504, error("no"), {})]
    gone = ask(client)
    assert gone.usage.tokens > CAP, "a gateway that stopped waiting may have been charged for all"
    assert gone.estimated


def test_a_context_length_is_learned_from_an_overflow_alone(client: ModelClient, stand_in: StandIn) -> None:
    assert client.context_of(MODEL.model) == 0
    stand_in.answers = [(400, error("no"), {})]
    ask(client)
    assert client.context_of(MODEL.model) == 0
    stand_in.answers = [(400, error("maximum context length is 200 tokens", code="context_length_exceeded"), {})]
    ask(client)
    assert client.context_of(MODEL.model) == 200


# -- what is learned ---------------------------------------------------------------------------------


def test_a_refused_parameter_is_left_out_of_the_next_request(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.refuses((400, error("response_format is not supported")))
    with capture_logs() as logs:
        refused, answered = ask(client), ask(client)
    assert refused.failure is not None
    assert (refused.failure.kind, refused.failure.detail) == ("unsupported", "response_format json_schema")
    assert answered.failure is None
    assert [asked["response_format"]["type"] for _, _, asked, _ in stand_in.asked] == ["json_schema", "json_object"]
    assert [log["event"] for log in logs] == ["llm.failed"]


def test_an_accepted_dialect_is_stored_for_other_processes(stand_in: StandIn, loop: EventLoopThread) -> None:
    redis = FakeRedis()
    no_form = (400, error("response_format is not supported"))
    stand_in.refuses(no_form, no_form)
    stand_in.answers[1:1] = [(200, ANSWER, {})]
    endpoint = Endpoint(base_url=stand_in.url, api_key=SecretStr(KEY))
    for _ in range(2):
        made = ModelClient(endpoint, 1, loop, DialectStore(redis))
        made.get_ready(PROMPT, model=MODEL)
        for _ in range(5):
            ask(made)
        made.close()
    forms = [asked["response_format"]["type"] for _, _, asked, _ in stand_in.asked]
    assert forms[:5] == ["json_schema", "json_object", "json_schema", "json_object", "json_object"]
    assert set(forms[5:]) == {"json_object"}


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (429, "rate_limited")])
def test_a_failure_of_another_sort_refuses_no_dialect(
    client: ModelClient, stand_in: StandIn, status: int, kind: str
) -> None:
    stand_in.refuses((status, error("response_format is not supported")))
    refused = ask(client)
    assert refused.failure is not None
    assert refused.failure.kind == kind
    ask(client)
    assert {asked["response_format"]["type"] for _, _, asked, _ in stand_in.asked} == {"json_schema"}


def test_after_every_dialect_failed_the_request_is_reported_as_bad(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.answers = [(400, error("response_format is not supported"), {})]
    kinds = [answer.failure.kind for answer in (ask(client) for _ in range(40)) if answer.failure is not None]
    assert kinds[0] == "unsupported"
    assert kinds[-1] == "bad_request"


@pytest.mark.parametrize(
    ("key", "shown"), [("sk_planted_5f1d2c", "no_[key]"), ("SK_Planted_5F1D2C", "no_[key]"), ("none", "no_none")]
)
def test_an_error_that_repeats_a_real_key_is_redacted(
    key: str, shown: str, stand_in: StandIn, loop: EventLoopThread
) -> None:
    stand_in.answers = [(418, {"error": {"code": f"no_{key.lower()}", "message": "?"}}, {})]
    client = ModelClient(Endpoint(base_url=stand_in.url, api_key=SecretStr(key)), 1, loop)
    for failure in (ask(client).failure, client.probe(time.monotonic() + LONGEST)):
        assert failure is not None
        assert failure.detail == shown
    client.close()


def test_a_word_of_our_own_that_is_like_the_key_of_a_local_server_stays(
    stand_in: StandIn, loop: EventLoopThread
) -> None:
    class Nothing(BaseModel):
        word: None

    client = ModelClient(Endpoint(base_url=stand_in.url, api_key=SecretStr("none")), 1, loop)
    prompt = replace(PROMPT, answer=Nothing)
    answer = client.ask(prompt, model=MODEL, max_output_tokens=CAP, deadline=time.monotonic() + LONGEST)
    assert answer.failure is not None
    assert answer.failure.detail == "word: none_required"
    client.close()


# -- whether it is there -----------------------------------------------------------------------------


def test_an_endpoint_is_there_if_it_lists_its_models(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.answers = [(200, {"data": []}, {})]
    assert client.probe(time.monotonic() + LONGEST) is None
    ((method, path, body, headers),) = stand_in.asked
    assert (method, path, body, headers["Authorization"]) == ("GET", "/v1/models", None, f"Bearer {KEY}")
    assert not {"Content-Length", "Transfer-Encoding"} & set(headers)
    stand_in.answers = [(401, error("no"), {})]
    refused = client.probe(time.monotonic() + LONGEST)
    assert refused is not None
    assert (refused.kind, refused.status) == ("auth", 401)
    late = client.probe(time.monotonic() - 1)
    assert late is not None
    assert late.kind == "no_time"


def test_an_unanswered_call_times_out(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.may_answer.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, client, seconds=0.5)
        assert stand_in.answering.acquire(timeout=LONGEST)
        failure = asked.result(LONGEST).failure
    assert failure == Failure(kind="timeout", detail="the answer was incomplete at the deadline")
    assert ask(client, seconds=-1.0).failure == Failure(kind="no_time", detail="the deadline passed before the call")
    assert len(stand_in.asked) == 1


def test_calls_under_way_fail_as_the_client_closes_and_later_ones_are_not_made(
    client: ModelClient, stand_in: StandIn
) -> None:
    closed = Failure(kind="connection", detail="closed")
    stand_in.may_answer.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, client)
        assert stand_in.answering.acquire(timeout=LONGEST)
        client.close()
        assert asked.result(LONGEST).failure == closed
    assert ask(client).failure == closed
    client._request = None
    client.get_ready(PROMPT, model=MODEL)
    assert client._request is None, "no pool is opened any more"


def test_a_call_cancelled_elsewhere_is_cancelled(client: ModelClient, stand_in: StandIn) -> None:
    stand_in.may_answer.clear()

    async def cancelled() -> bool:
        call = asyncio.ensure_future(client._exchange(b"{}", _call()))
        while not client._calls:
            await asyncio.sleep(0)
        call.cancel()
        try:
            await call
        except asyncio.CancelledError:
            return not client._calls
        return False

    assert client._loop.run(cancelled())


def _call() -> Any:
    from cogitate.workers.llm.http import Exchange

    return Exchange(time.monotonic() + LONGEST)


def test_the_pool_is_opened_once_before_the_first_question(client: ModelClient, stand_in: StandIn) -> None:
    assert client._request is None
    client.get_ready(PROMPT, model=MODEL)
    opened = client._request
    assert opened is not None
    client.get_ready(PROMPT, model=MODEL)
    ask(client)
    assert client._request is opened
    assert opened._connections.limit == 4


# -- the models that are offered ---------------------------------------------------------------------


def listed(stand_in: StandIn) -> frozenset[str]:
    return offered_models(address_of(Endpoint(base_url=stand_in.url, api_key=SecretStr(KEY))), LONGEST)


def test_the_models_that_an_endpoint_lists_are_its_offer(stand_in: StandIn) -> None:
    names = [{"id": name, "object": "model", "created": 0, "owned_by": "us"} for name in ("large", "small")]
    stand_in.answers = [(200, {"object": "list", "data": names}, {})]
    assert listed(stand_in) == {"large", "small"}
    ((method, path, _, headers),) = stand_in.asked
    assert (method, path, headers["Authorization"]) == ("GET", "/v1/models", f"Bearer {KEY}")


def test_an_endpoint_without_a_list_of_models_is_queried_once(stand_in: StandIn) -> None:
    stand_in.answers = [(503, error("busy"), {})]
    with pytest.raises(Unlisted, match=r"^503$") as refused:
        listed(stand_in)
    assert refused.value.status == 503
    assert len(stand_in.asked) == 1
    unreachable = Endpoint(base_url="http://127.0.0.1:1/v1", api_key=SecretStr(KEY))
    with pytest.raises(Unlisted, match="APIConnectionError") as away:
        offered_models(address_of(unreachable), LONGEST)
    assert away.value.status is None


def test_an_endpoint_that_does_not_list_its_models_in_time_is_left(stand_in: StandIn) -> None:
    stand_in.may_answer.clear()
    with pytest.raises(Unlisted, match="APITimeoutError"):
        offered_models(address_of(Endpoint(base_url=stand_in.url, api_key=SecretStr(KEY))), 0.2)
    assert stand_in.answering.acquire(timeout=LONGEST)
