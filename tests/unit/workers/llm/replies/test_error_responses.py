"""Errors that endpoints send: their class, code, text, wait and possible charge."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from cogitate.workers.llm.replies.error_responses import error_text, from_status
from cogitate.workers.llm.replies.failures import (
    FAILURE_KINDS,
    Failure,
    charged_in_doubt,
    describe_places,
)
from cogitate.workers.llm.replies.reply import read_completion


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


def test_only_transient_failures_are_retryable() -> None:
    never = {"auth", "forbidden", "quota_exhausted", "model_missing", "bad_request", "context_overflow", "filtered"}
    assert {kind for kind in FAILURE_KINDS if not Failure(kind=kind).retryable} == {*never, "too_large", "proxy"}


def test_an_errors_code_is_kept_and_its_text_read(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str, str]] = [
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
    ]
    for body, code, words in cases:
        with subtests.test(body=body):
            assert from_status(400, body, {}).detail == code
            assert error_text(body) == words


def test_how_long_to_wait_is_read_in_each_of_its_forms(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, str], float | None]] = [
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
    ]
    for headers, seconds in cases:
        with subtests.test(headers=headers):
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
