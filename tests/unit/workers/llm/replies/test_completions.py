"""Completions of every shape, their encodings, and the costs of an exchange."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from cogitate.scheduler.config.endpoints import Model, call_cost
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.failures import (
    Failure,
    ModelAnswer,
)
from cogitate.workers.llm.replies.reply import Reply, Usage, charge_of, read_completion, validated
from cogitate.workers.llm.requests.tokens import estimate_tokens, prompt_tokens


def test_a_response_is_read_in_its_encoding(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str | bytes, str, str]] = [
        ("Öl", "application/json", "Öl"),
        ("Öl".encode("latin-1"), "application/json; charset=ISO-8859-1", "Öl"),
        ("Öl".encode("latin-1"), 'text/plain; charset="latin1"', "Öl"),
        ("东京".encode("gb18030"), "application/json; charset=gb18030", "东京"),
        ("Öl".encode("latin-1"), "application/json", "\ufffdl"),
        ("Öl".encode("latin-1"), "application/json; charset=punycode", "\ufffdl"),
        ("Öl".encode("latin-1"), "application/json; charset=klingon", "\ufffdl"),
        ("Öl".encode()[:1] + b"l", "application/json; charset=utf-8", "\ufffdl"),
    ]
    for content, type_, text in cases:
        with subtests.test(content=content):
            letters = content.encode() if isinstance(content, str) else content
            body = b'{"choices": [{"message": {"content": "' + letters + b'"}}]}'
            assert read_completion(body, {"Content-Type": type_}).text == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-le"])
def test_json_in_other_forms_of_unicode_is_read(encoding: str) -> None:
    body = '{"choices": [{"message": {"content": "Öl"}}]}'.encode(encoding)
    assert read_completion(body, {}).text == "Öl"


def completion(choice: Any, **more: Any) -> Reply:
    return read_completion(json.dumps({"choices": [choice], **more}).encode(), {})


USED = {"prompt_tokens": 7, "completion_tokens": 3}


def test_a_completion_of_any_shape_is_read(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str, str | None, Literal["nothing", "text", "all"]]] = [
        ({"message": {"content": "tea"}, "finish_reason": "stop"}, "tea", None, "text"),
        ({"message": {"content": [{"text": "te"}, "a", 7, {"x": 1}]}}, "tea", None, "text"),
        ({"message": {"content": "  "}}, "  ", "empty", "text"),
        ({"message": {"content": None}}, "", "empty", "text"),
        ({"message": {"content": {"type": "text", "text": "tea"}}}, "tea", None, "text"),
        ({"message": {"content": {"type": "drink", "text": "tea"}}}, '{"type": "drink", "text": "tea"}', None, "text"),
        ({"delta": {"content": "tea"}}, "tea", None, "text"),
        ({"text": "tea", "message": {"content": None}}, "tea", None, "text"),
        ({"message": {"content": "tea", "refusal": " "}}, "tea", None, "text"),
        ({"message": "tea"}, "", "empty", "text"),
        ({}, "", "empty", "text"),
        ({"message": {"content": {"tea": 1}}}, '{"tea": 1}', None, "text"),
        ({"message": {"content": [{"text": ["tea"]}]}}, "", "empty", "text"),
        ({"message": {"content": "tea"}, "finish_reason": "length"}, "tea", "truncated", "all"),
        ({"message": {"content": "tea"}, "finish_reason": "LENGTH"}, "tea", "truncated", "all"),
        ({"message": {"content": "tea"}, "finish_reason": "end_turn"}, "tea", None, "text"),
        ({"message": {"content": "tea"}, "finish_reason": ["stop"]}, "tea", None, "text"),
        ({"message": {"content": "tea"}, "finish_reason": "error"}, "tea", "server", "all"),
        ({"message": {"content": "tea"}, "error": {"code": 429}}, "tea", "rate_limited", "all"),
        ({"message": {"content": "tea"}, "finish_reason": "stop", "error": {"code": 429}}, "tea", None, "text"),
        ({"message": {"content": "tea"}, "finish_reason": "content_filter"}, "tea", "filtered", "text"),
        ({"message": {"content": "tea", "refusal": "no"}}, "tea", "refused", "text"),
        ({"message": {"content": "tea", "refusal": ""}}, "tea", None, "text"),
        ({"message": {"content": "x", "refusal": "no"}, "finish_reason": "content_filter"}, "x", "filtered", "text"),
        ({"message": {"content": "x", "refusal": "no"}, "finish_reason": "length"}, "x", "refused", "text"),
    ]
    for choice, text, kind, unreported in cases:
        with subtests.test(choice=choice):
            reply = completion(choice, usage=USED)
            assert (reply.text, reply.failure and reply.failure.kind, reply.unreported) == (text, kind, unreported)
            assert reply.usage == Usage(7, 3)
            assert reply.thought == ""


def test_reasoning_is_separated_from_the_answer() -> None:
    assert completion({"message": {"content": "tea", "reasoning_content": "hm"}}).thought == "hm"


@pytest.mark.parametrize(
    ("content", "kind", "unreported"),
    [
        *(
            (content, "no_completion", "nothing")
            for content in (b"x", b"<html>", b"[1]", b"null", b'"x"', b"[" * 100_000)
        ),
        (b'{"status": "ok"}', "no_completion", "nothing"),
        (b'{"choices": [{"message": {"content": "te', "not_json", "all"),
        (b'  {"a', "not_json", "all"),
        (b'{"usage": {"prompt_tokens": 3, "completion_tokens": 2}}', "empty", "text"),
    ],
)
def test_a_response_of_another_service_costs_nothing_and_a_broken_completion_all(
    content: bytes, kind: str, unreported: str
) -> None:
    reply = read_completion(content, {})
    assert reply.failure is not None
    assert (reply.failure.kind, reply.unreported) == (kind, unreported)


def test_an_error_in_the_place_of_choices_is_an_error(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str, int | None, str]] = [
        ({"choices": []}, "empty", None, "text"),
        ({"choices": {}}, "empty", None, "text"),
        ({"choices": ["x"]}, "empty", None, "text"),
        ({"error": "", "choices": []}, "empty", None, "text"),
        ({"error": {"message": "x"}}, "server", 500, "nothing"),
        ({"error": "x"}, "server", 500, "nothing"),
        ({"error": {"code": 429}}, "rate_limited", 429, "nothing"),
        ({"error": {"code": 400}}, "bad_request", 400, "nothing"),
        ({"error": {"code": 399}}, "server", 500, "nothing"),
        ({"error": {"code": 599}}, "server", 599, "nothing"),
        ({"error": {"code": 600}}, "server", 500, "nothing"),
        ({"error": {"code": "429"}}, "rate_limited", 429, "nothing"),
        ({"error": {"code": "x429"}}, "server", 500, "nothing"),
    ]
    for body, kind, status, unreported in cases:
        with subtests.test(body=body):
            reply = read_completion(json.dumps({**body, "usage": USED}).encode(), {"retry-after": "7"})
            assert reply.failure is not None
            assert (reply.failure.kind, reply.failure.status, reply.unreported) == (kind, status, unreported)
            assert reply.failure.retry_after == (None if status is None else 7.0)
            assert reply.usage == Usage(7, 3)


class Cup(BaseModel):
    """An answer."""

    tea: int = Field(ge=1)


CAP = 40
MODEL = Model(
    name="default",
    model="m",
    input_price=10_000_000,
    cached_input_price=2_000_000,
    output_price=100_000_000,
    service_tiers={"flex": 50},
)
PROMPT = Prompt(system="You pour tea.", user="It is four.", answer=Cup, version="v")


@pytest.mark.parametrize(
    ("text", "answer", "failure"),
    [
        ('{"tea": 2}', Cup(tea=2), None),
        ('{"tea": 1} {"tea": 2} {"milk": 2}', Cup(tea=2), None),
        ('{"milk": 2} {"tea": 0}', None, Failure(kind="wrong_schema", detail="tea: greater_than_equal")),
        ("tea", None, Failure(kind="not_json", detail="no JSON object in the answer")),
    ],
)
def test_the_last_object_of_the_schema_is_the_answer(text: str, answer: Cup | None, failure: Failure | None) -> None:
    assert validated(Reply(text=text), Cup) == (answer, failure)
    refused = Failure(kind="refused")
    assert validated(Reply(text=text, failure=refused), Cup) == (None, refused)


def test_an_exchange_costs_the_reported_or_else_the_possible_usage(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Reply, int, tuple[Cost, bool]]] = [
        # nothing was sent, whatever the reply says
        (Reply(text="tea", usage=Usage(7, 3)), 0, (Cost(), False)),
        # the provider says
        (Reply(text="tea", usage=Usage(700, 30, 200)), 1, (Cost(1, 730, 500 * 10 + 200 * 2 + 30 * 100), False)),
        (Reply(usage=Usage(700, 30, 0), unreported="all"), 2, (Cost(2, 730, 700 * 10 + 30 * 100), False)),
        # and in which of its tiers it was
        (Reply(text="tea", usage=Usage(700, 30, 200), service_tier="flex"), 1, (Cost(1, 730, 4200), False)),
        (Reply(text="tea", usage=Usage(700, 30, 200), service_tier="default"), 1, (Cost(1, 730, 8400), False)),
        # an error response costs its call
        (Reply(failure=Failure(kind="server"), unreported="nothing"), 2, (Cost(2), False)),
        # an unknown end costs all that it may have been
        (Reply(unreported="all"), 1, (call_cost(MODEL, prompt_tokens(PROMPT), CAP), True)),
        # an answer costs its text and thought, and no more than its cap
        (
            Reply(text="tea", thought="milk?", unreported="text"),
            1,
            (call_cost(MODEL, prompt_tokens(PROMPT), estimate_tokens("tea") + estimate_tokens("milk?")), True),
        ),
        (Reply(text="tea " * CAP * 2, unreported="text"), 1, (call_cost(MODEL, prompt_tokens(PROMPT), CAP), True)),
    ]
    for reply, sent, cost in cases:
        with subtests.test(reply=reply):
            charge = charge_of(MODEL, PROMPT, reply, sent, CAP)
            assert (charge.cost, charge.estimated) == cost


def test_an_answer_may_be_tried_again_if_its_failure_may_pass() -> None:
    assert not ModelAnswer(usage=Cost()).retryable
    assert ModelAnswer(usage=Cost(), failure=Failure(kind="server")).retryable
    assert not ModelAnswer(usage=Cost(), failure=Failure(kind="auth")).retryable
    assert "secret" not in repr(ModelAnswer(usage=Cost(), text="secret"))


@pytest.mark.parametrize(("tier", "percent"), [("", 50), ("default", 100), ("priority", 50), ("flex", 30)])
def test_a_call_in_an_unknown_tier_costs_its_models_price(tier: str, percent: int) -> None:
    model = msgspec.structs.replace(MODEL, percent=50, service_tiers={"flex": 30})
    reply = Reply(text="tea", usage=Usage(700, 30, 0), service_tier=tier)
    charge = charge_of(model, PROMPT, reply, 1, CAP)
    assert charge.cost.usd_micros == (700 * 10 + 30 * 100) * percent // 100
    assert charge.cost.usd_micros + charge.discount == 700 * 10 + 30 * 100
