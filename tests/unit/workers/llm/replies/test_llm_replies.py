"""What an endpoint sends: errors told apart, answers found in prose, completions of every shape."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from cogitate.scheduler.config.endpoints import Model, call_cost
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.error_responses import error_text, from_status
from cogitate.workers.llm.replies.extract import clean, json_values
from cogitate.workers.llm.replies.failures import (
    FAILURE_KINDS,
    Failure,
    ModelAnswer,
    charged_in_doubt,
    describe_places,
)
from cogitate.workers.llm.replies.reply import Reply, Usage, cost_of, read_completion, validated
from cogitate.workers.llm.requests.schema import full_schema, plain_schema
from cogitate.workers.llm.requests.tokens import estimate_tokens, prompt_tokens


def test_an_error_is_known_by_its_words_and_else_by_its_status(subtests: pytest.Subtests) -> None:
    for status, said, kind in [
        (300, "", "no_completion"),
        (400, "", "bad_request"),
        (401, "", "auth"),
        (402, "", "quota_exhausted"),
        (403, "", "forbidden"),
        (404, "", "model_missing"),
        (408, "", "timeout"),
        (409, "", "conflict"),
        (413, "", "context_overflow"),
        (418, "", "bad_request"),
        (422, "", "bad_request"),
        (425, "", "conflict"),
        (429, "", "rate_limited"),
        (499, "", "bad_request"),
        (500, "", "server"),
        (502, "", "server"),
        (503, "", "overloaded"),
        (529, "", "overloaded"),
        (599, "", "server"),
        (400, "context_length_exceeded", "context_overflow"),
        (500, "maximum context length", "context_overflow"),
        (500, "context deadline exceeded", "server"),
        (500, "Post /completion: context canceled", "server"),
        (413, "x", "context_overflow"),
        (401, "context size", "auth"),
        (400, "content filter", "filtered"),
        (403, "<html><body>Blocked</body></html>", "blocked"),
        (401, "<html><body>Unauthorized</body></html>", "auth"),
        (429, "Your quota: 5 requests. Try again in 20s", "rate_limited"),
        (499, "flagged", "filtered"),
        (500, "flagged", "server"),
        (399, "flagged", "no_completion"),
        (403, "insufficient quota", "quota_exhausted"),
        (429, "You exceeded your current quota", "rate_limited"),
        (429, "You exceeded your current quota, check your billing", "quota_exhausted"),
        (403, "quota", "quota_exhausted"),
        (401, "insufficient quota", "auth"),
        (400, "model_not_found", "model_missing"),
        (400, "the model 'x' does not exist", "model_missing"),
        (403, "unknown model", "model_missing"),
        (400, "context window; content filter", "context_overflow"),
    ]:
        with subtests.test(status=status, said=said, kind=kind):
            assert from_status(status, {"error": {"message": said}}, {}).kind == kind


def test_a_context_length_is_that_of_an_overflow_alone() -> None:
    for status, said, context in (
        (400, "maximum context length is 4096 tokens", 4_096),
        (401, "your plan excludes this model, whose context length is 4096 tokens", 0),
    ):
        assert from_status(status, {"error": {"message": said}}, {}).context == context


def test_an_endpoint_that_checks_json_itself_reports_what_the_model_wrote() -> None:
    for generated, kind in (('{"mood": content', "not_json"), ("", "truncated")):
        error = {"message": "no", "failed_generation": generated}
        assert from_status(400, {"error": error}, {}).kind == kind


def test_an_error_of_minimax_within_a_success_is_one_though_nothing_names_its_cause() -> None:
    body = b'{"choices": null, "base_resp": {"status_code": 1000, "status_msg": "nein"}}'
    failure = read_completion(body, {}).failure
    assert failure is not None
    assert failure.kind == "server"


def test_which_failures_may_pass() -> None:
    never = {"auth", "forbidden", "quota_exhausted", "model_missing", "bad_request", "context_overflow", "filtered"}
    assert {kind for kind in FAILURE_KINDS if not Failure(kind=kind).retryable} == {*never, "too_large", "proxy"}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"error": {"code": "bad_thing", "type": "x_y", "message": "no"}}, "bad_thing", "bad_thing x_y no"),
        ({"error": {"code": 7, "type": "x_y"}}, "x_y", "7 x_y"),
        ({"error": {"code": "Bad Thing"}}, "", "Bad Thing"),
        ({"error": {"code": "x"}}, "", "x"),
        ({"error": {"code": "x" * 48}}, "x" * 48, "x" * 48),
        ({"error": {"code": "x" * 49}}, "", "x" * 49),
        ({"error": "no", "message": "other"}, "", "no other"),
        ({"error": "loading", "estimated_time": 20.5}, "", "loading retryDelay 20.500s"),
        ({"error": "loading", "estimated_time": "soon"}, "", "loading"),
        ({"error": 3, "message": "other"}, "", "other"),
        ({"param": "p", "detail": "d"}, "", "p d"),
        ({"success": False, "data": {"errorCode": "Q", "message": "no"}}, "", "no"),
        ("no", "", "no"),
        (None, "", ""),
        ({"error": ""}, "", ""),
        ("x" * 5_000, "", "x" * 4_000),
        ({"detail": "x" * 5_000}, "", "x" * 4_000),
        ({"error": {"failed_generation": "context window", "message": "no"}}, "", "no"),
    ],
)
def test_an_errors_code_is_kept_and_its_text_read(body: Any, code: str, words: str) -> None:
    assert from_status(400, body, {}).detail == code
    assert error_text(body) == words


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "x"}, None),
        ({"retry-after-ms": "-3"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "inf"}, None),
        ({"retry-after": "86401"}, 86_400.0),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(4e9, usegmt=True)}, 86_400.0),
        ({"Retry-After": "7"}, 7.0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "1s",
                "x-ratelimit-remaining-tokens": "0",
            },
            360.0,
        ),
        (
            {
                "x-ratelimit-reset-requests": "1h2m3.5s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "1s",
                "x-ratelimit-remaining-tokens": "7",
            },
            3723.5,
        ),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"x-ratelimit-reset": "4000000000000"}, 86_400.0),
        ({"x-ratelimit-reset": "1000000001"}, 0.0),
        ({"x-ratelimit-reset": "soon"}, None),
        ({"anthropic-ratelimit-requests-reset": "2099-01-01T00:00:00Z"}, 86_400.0),
        ({"x-ratelimit-limit-requests": "60"}, None),
    ],
)
def test_how_long_to_wait_is_read_in_each_of_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    failure = from_status(429, {}, headers)
    assert (failure.retry_after, failure.status) == (seconds, 429)


@pytest.mark.parametrize(
    ("status", "doubt"), [(None, True), (408, True), (504, True), (524, True), (500, False), (429, False)]
)
def test_possibly_charged_failures_are_marked(status: int | None, doubt: bool) -> None:
    assert charged_in_doubt(Failure(kind="server", status=status)) is doubt


def test_at_most_three_places_are_named_plainly() -> None:
    errors = [
        {"loc": ("a", 0, "b_c"), "type": "missing"},
        {"loc": ("é", "x" * 33, "y" * 32), "type": "t"},
        {"loc": (), "type": "u"},
        {"loc": ("d",), "type": "v"},
    ]
    assert describe_places(errors) == f"a.0.b_c: missing; ?.?.{'y' * 32}: t; answer: u"
    assert describe_places([]) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('\ufeff {"a": 1} \n', [{"a": 1}]),
        ('[{"a": 1}]', [[{"a": 1}]]),
        ('Here: {"a": 1} and {"b": {"c": 2}}.', [{"b": {"c": 2}}]),  # the first is amid a sentence
        ('Here: {"a": 1} Yes.', [{"a": 1}]),
        ('Here: {"a": 1}\nOr: {"b": {"c": 2}}.', [{"b": {"c": 2}}, {"a": 1}]),
        ('x {"b": 2}\n```\n{"a": 1}\n```', [{"a": 1}, {"b": 2}]),
        ('{"a": {"b": 1}', [{"a": {"b": 1}}]),  # a bracket is missing
        ('{"b": 2} {"a": "x', []),  # the answer is cut off
        ("{'b': 2} {'a': 'x", []),
        ('{x} {"a": 1}', [{"a": 1}]),
        ('[see 3] {"a": [1]}', [{"a": [1]}]),
        ('{"a": 1}{"b": 2}', [{"b": 2}, {"a": 1}]),
        ("", []),
        ("{" * 9, []),
        ('{"a": 1} ' * 63 + '{"b": 1}', [{"b": 1}, *[{"a": 1}] * 63]),
        ('{"a": 1} ' * 64 + '{"b": 1}', [{"a": 1}] * 64),
    ],
)
def test_objects_are_found_the_last_first(text: str, found: list[Any]) -> None:
    assert json_values(text) == found


def test_strings_are_made_harmless_wherever_they_are() -> None:
    assert clean({"a\x00": ["b\ud800\tc\n", {"d\x7f": 1}], "e": True}) == {"a": ["b\tc\n", {"d": 1}], "e": True}
    assert clean("plain") == "plain"
    assert (clean("é\u200d\x85"), clean("a\u3164b")) == ("é\u200d", "ab"), "printable is not visible"
    assert clean({"\u202ea": "b\U000e0062\u200bc", "d": "می\u200cخواهم"}) == {"a": "bc", "d": "می\u200cخواهم"}
    assert clean(None) is None


@pytest.mark.parametrize(
    ("content", "type_", "text"),
    [
        ("Öl", "application/json", "Öl"),
        ("Öl".encode("latin-1"), "application/json; charset=ISO-8859-1", "Öl"),
        ("Öl".encode("latin-1"), 'text/plain; charset="latin1"', "Öl"),
        ("东京".encode("gb18030"), "application/json; charset=gb18030", "东京"),
        ("Öl".encode("latin-1"), "application/json", "\ufffdl"),
        ("Öl".encode("latin-1"), "application/json; charset=punycode", "\ufffdl"),
        ("Öl".encode("latin-1"), "application/json; charset=klingon", "\ufffdl"),
        ("Öl".encode()[:1] + b"l", "application/json; charset=utf-8", "\ufffdl"),
    ],
)
def test_a_response_is_read_in_its_encoding(content: str | bytes, type_: str, text: str) -> None:
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


@pytest.mark.parametrize(
    ("choice", "text", "kind", "unreported"),
    [
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
    ],
)
def test_a_completion_of_any_shape_is_read(
    choice: Any, text: str, kind: str | None, unreported: Literal["nothing", "text", "all"]
) -> None:
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


@pytest.mark.parametrize(
    ("body", "kind", "status", "unreported"),
    [
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
    ],
)
def test_an_error_in_the_place_of_choices_is_an_error(
    body: dict[str, Any], kind: str, status: int | None, unreported: str
) -> None:
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


@pytest.mark.parametrize(
    ("reply", "sent", "cost"),
    [
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
    ],
)
def test_an_exchange_costs_the_reported_or_else_the_possible_usage(
    reply: Reply, sent: int, cost: tuple[Cost, bool]
) -> None:
    assert cost_of(MODEL, PROMPT, reply, sent, CAP) == cost


def test_an_answer_may_be_tried_again_if_its_failure_may_pass() -> None:
    assert not ModelAnswer(usage=Cost()).retryable
    assert ModelAnswer(usage=Cost(), failure=Failure(kind="server")).retryable
    assert not ModelAnswer(usage=Cost(), failure=Failure(kind="auth")).retryable
    assert "secret" not in repr(ModelAnswer(usage=Cost(), text="secret"))


class Meal(BaseModel):
    """What is eaten."""

    cups: list[Cup] = Field(min_length=1, max_length=3)
    kind: Literal["cold", "hot"] = Field("hot", description="How warm it is")
    only: Literal["x"] = "x"
    cook: Cup | None = None
    name: str = Field("x", max_length=9, pattern="x")


def test_the_schema_of_an_answer_has_its_bounds_and_the_plain_one_has_none() -> None:
    cup = {
        "type": "object",
        "description": "An answer.",
        "properties": {"tea": {"type": "integer", "minimum": 1}},
        "required": ["tea"],
        "additionalProperties": False,
    }
    whole = full_schema(Meal)
    assert whole == {
        "type": "object",
        "description": "What is eaten.",
        "properties": {
            "cups": {"type": "array", "minItems": 1, "maxItems": 3, "items": cup},
            "kind": {"type": "string", "enum": ["cold", "hot"], "description": "How warm it is"},
            "only": {"type": "string", "enum": ["x"]},
            "cook": {"anyOf": [cup, {"type": "null"}]},
            "name": {"type": "string", "maxLength": 9, "pattern": "x"},
        },
        "required": ["cups", "kind", "only", "cook", "name"],
        "additionalProperties": False,
    }
    plain = cup | {"properties": {"tea": {"type": "integer"}}}
    fields = whole["properties"] | {
        "cups": {"type": "array", "items": plain},
        "cook": {"anyOf": [plain, {"type": "null"}]},
        "name": {"type": "string"},
    }
    assert plain_schema(Meal) == whole | {"properties": fields}


def test_a_wrapped_schema_is_unwrapped_with_its_siblings() -> None:
    class Wrapped(BaseModel):
        @classmethod
        def model_json_schema(cls, *args: Any, **named: Any) -> dict[str, Any]:
            inner = {"type": "integer", "minimum": 1, "description": "inner", "default": 3}
            return {
                "$defs": {"Inner": inner},
                "type": "object",
                "properties": {
                    "tea": {"allOf": [{"$ref": "#/$defs/Inner"}], "description": "outer"},
                    "milk": {"oneOf": [{"$ref": "#/$defs/Inner"}, {"const": 0}]},
                },
            }

    assert full_schema(Wrapped)["properties"] == {
        "tea": {"type": "integer", "description": "outer", "minimum": 1},
        "milk": {"anyOf": [{"type": "integer", "description": "inner", "minimum": 1}, {"enum": [0]}]},
    }


class Tree(BaseModel):
    """It contains itself."""

    below: list[Tree] = []


class Free(BaseModel):
    """It has no names for its fields."""

    cups: dict[str, int]


class Pair(BaseModel):
    """It is a tuple."""

    cups: tuple[int, str]


class Rest(BaseModel):
    """It is a tuple whose end is open."""

    cups: list[str] = Field(json_schema_extra={"prefixItems": [{"type": "integer"}]})


class Nothing(BaseModel):
    """It is a tuple of nothing."""

    cups: tuple[()]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (Tree, "answer model Tree: Tree contains itself"),
        (Free, "answer model Free.cups: a free-form object"),
        (Pair, "answer model Pair.cups: a tuple"),
        (Rest, "answer model Rest.cups: a tuple"),
        (Nothing, "answer model Nothing.cups: a tuple"),
    ],
)
def test_types_that_no_plain_schema_expresses_are_refused_by_name(model: type[BaseModel], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        plain_schema(model)


@pytest.mark.parametrize(("tier", "percent"), [("", 50), ("default", 100), ("priority", 50), ("flex", 30)])
def test_a_call_in_an_unknown_tier_costs_its_models_price(tier: str, percent: int) -> None:
    model = msgspec.structs.replace(MODEL, percent=50, service_tiers={"flex": 30})
    reply = Reply(text="tea", usage=Usage(700, 30, 0), service_tier=tier)
    assert cost_of(model, PROMPT, reply, 1, CAP)[0].usd_micros == (700 * 10 + 30 * 100) * percent // 100
