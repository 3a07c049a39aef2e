"""The answers and errors of providers in their many forms, and how the client reads them."""

from __future__ import annotations

import json

import pytest

from cogitate.scheduler.config.endpoints import call_cost
from cogitate.tasks.job import Cost
from tests.integration.workers.llm_case import BOUND, GOOD, MODEL, Mood, ask, client_of, completion, server_saying


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(GOOD),
        [{"type": "text", "text": json.dumps(GOOD)}],
        '<think>{"word": "no", "strength": 0}</think>' + json.dumps(GOOD),
        'First {a thought}, then {"other": 1}, then ' + json.dumps(GOOD),
        json.dumps({"word": "ca\u0000lm\ud800", "strength": "3"}),
    ],
    ids=["plain", "parts", "thought", "prose", "control characters"],
)
def test_answers_are_read_in_many_forms(content: object) -> None:
    with server_saying(200, completion(content)) as url, client_of(url) as client:
        answer = ask(client)
    assert answer.value == Mood(word="calm", strength=3)


@pytest.mark.parametrize("rest", ["", ', {"word', ', {"word": "glad", "strength": 4}'])
def test_a_part_of_an_incomplete_answer_is_not_an_answer(rest: str) -> None:
    with server_saying(200, completion(f'{{"moods": [{json.dumps(GOOD)}{rest}')) as url, client_of(url) as client:
        answer = ask(client)
    assert answer.failure is not None
    assert answer.failure.kind in ("not_json", "wrong_schema")


def test_reasoning_outside_completion_tokens_is_charged() -> None:
    with server_saying(200, completion(json.dumps(GOOD))) as url, client_of(url) as client:
        assert ask(client).usage == Cost(calls=1, tokens=40, usd_micros=call_cost(MODEL, 10, 30).usd_micros)


@pytest.mark.parametrize(
    "body",
    [None, [], "text", {}, {"choices": {}}, {"choices": [None]}, {"choices": [{"message": 5}]}]
    + [completion(content) for content in (None, 5, "[" * 100_000, '{"a":' * 50_000, '{"word": NaN, "strength": 1}')],
)
def test_no_malformed_answer_raises(body: object) -> None:
    with server_saying(200, body) as url, client_of(url) as client:
        answer = ask(client)
    assert answer.value is None
    assert answer.failure is not None
    assert answer.usage.calls == 1


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "request (9000 tokens) exceeds the available context size"}}, "context_overflow"),
        (
            400,
            {"object": "error", "message": "This model's maximum context length is 4096 tokens."},
            "context_overflow",
        ),
        (413, {"detail": "payload too large"}, "context_overflow"),
        (400, {"error": {"code": "content_policy_violation", "message": "stopped"}}, "filtered"),
        (403, {"error": {"message": "Input was flagged by moderation"}}, "filtered"),
        (402, {"error": {"message": "Insufficient Balance"}}, "quota_exhausted"),
        (400, {"error": {"message": "The model `x` does not exist"}}, "model_missing"),
        (404, {"error": "model 'x' not found, try pulling it first"}, "model_missing"),
        (307, {}, "no_completion"),
        (400, {"error": {"message": "max_tokens is too large: 300. At most 100 are possible."}}, "unsupported"),
        (500, ["not", "an", "object"], "server"),
    ],
)
def test_errors_of_each_provider_are_classified(status: int, body: object, kind: str) -> None:
    with server_saying(status, body) as url, client_of(url) as client:
        answer = ask(client)
    assert answer.failure is not None
    assert answer.failure.kind == kind
    assert answer.usage == Cost(calls=1)


def test_a_compressed_answer_is_not_unpacked() -> None:
    with server_saying(200, "no JSON object", Content_Encoding="gzip") as url, client_of(url) as client:
        answer = ask(client)
    assert answer.failure is not None
    assert answer.failure.kind == "not_json"
    assert answer.usage.tokens == BOUND
