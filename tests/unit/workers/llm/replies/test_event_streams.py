"""Completions that come as server-sent events: put together, or known to have broken off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogitate.workers.llm.replies.reply import is_stream, joined


def chunk(content: object = "", **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": content}, **more}]}).encode() + b"\n\n"


END = chunk(finish_reason="stop")


def said(content: bytes) -> tuple[str, object] | None:
    whole = joined(content)
    if whole is None or "choices" not in whole:
        return None
    (choice,) = whole["choices"]
    return choice["message"]["content"], choice["finish_reason"]


def test_a_stream_is_known_by_its_first_line(subtests: pytest.Subtests) -> None:
    cases: list[tuple[bytes, bool]] = [
        (b"data: {}", True),
        (b"\n\ndata: {}", True),
        (b": PROCESSING\n\ndata: {}", True),
        (b"event: x\n", True),
        (b"id: 1\ndata: {}", True),
        (b'{"data:": 1}', False),
        (b"", False),
        (b"datum", False),
        (b"<html>", False),
        (b" " * 2_000 + b"data: {}", False),
    ]
    for content, stream in cases:
        with subtests.test(content=content):
            assert is_stream(content) == stream


def test_the_chunks_of_a_stream_make_one_completion(subtests: pytest.Subtests) -> None:
    cases: list[tuple[bytes, str, str]] = [
        (chunk("te") + chunk("a") + END, "tea", "stop"),
        (chunk("te").replace(b"\n\n", b"\r\n\r\n") + chunk("a", finish_reason="length"), "tea", "length"),
        (b": PROCESSING\n\n" + chunk("tea") + END + b"data: [DONE]\n\n", "tea", "stop"),
        (chunk("tea").replace(b"data: ", b"data:") + END, "tea", "stop"),
        (chunk("tea") + END + chunk(None) + b'data: {"choices": []}\n\n', "tea", "stop"),
        (chunk([7]) + chunk("tea") + END, "tea", "stop"),
        (chunk([{"type": "text", "text": "te"}]) + chunk(["a"]) + END, "tea", "stop"),
        (b"\xef\xbb\xbf" + chunk("tea") + END, "tea", "stop"),
        (chunk("tea").replace(b", ", b",\ndata: ").replace(b"[", b"[\ndata: ") + END, "tea", "stop"),
        (chunk("tea").replace(b", ", b",\rdata: ").replace(b"\n", b"\r") + END.replace(b"\n", b"\r"), "tea", "stop"),
        (chunk("tea").replace(b", ", b",\n: ping\ndata: ").replace(b"[", b"[\nid: 7\ndata: ") + END, "tea", "stop"),
        (chunk("tea", index=0) + chunk("no", index=1) + END, "tea", "stop"),
        (b"data: {broken\n\n" + chunk("tea") + b"data: {broken\n\n" + END, "tea", "stop"),
        (chunk("tea").replace(b"delta", b"message") + END, "tea", "stop"),
        (b'data: {"choices": ["x"]}\ndata: {"choices": 7}\ndata: 7\n' + chunk("tea") + END, "tea", "stop"),
        (chunk("tea") + b'data: {"error": {"code": 502}}\n\n', "tea", "error"),
    ]
    for content, text, ended in cases:
        with subtests.test(content=content):
            assert said(content) == (text, ended)


@pytest.mark.parametrize(
    "content", [chunk("tea"), b"data: [DONE]\n", b": PROCESSING\n\n", END[:-20], b"data: " + b"[" * 9_999]
)
def test_a_stream_that_does_not_say_why_it_ended_broke_off(content: bytes) -> None:
    assert joined(content) is None


def test_usage_and_errors_accompany_the_choices() -> None:
    usage = b'data: {"usage": {"prompt_tokens": 7}, "choices": []}\n\ndata: {"usage": null, "choices": []}\n\n'
    whole = joined(chunk("tea") + END + usage)
    assert whole is not None
    assert whole["usage"] == {"prompt_tokens": 7}
    assert joined(b'data: {"error": {"code": 529}}') == {"error": {"code": 529}}
    assert joined(b'data: {"error": {"code": 529}, "choices": []}') == {"error": {"code": 529}}
    whole = joined(chunk("tea") + b'data: {"error": {"code": 429}}\n\n')
    assert whole is not None
    assert whole["choices"][0]["error"] == {"code": 429}
    whole = joined(chunk("tea") + chunk(finish_reason="stop", usage={"prompt_tokens": 7}))
    assert whole is not None
    assert whole["usage"] == {"prompt_tokens": 7}


def test_reasoning_and_a_refusal_are_put_together_too() -> None:
    parts = [{"reasoning_content": "h"}, {"reasoning_content": "m"}, {"refusal": "no"}]
    lines = [b"data: " + json.dumps({"choices": [{"delta": part}]}).encode() + b"\n" for part in parts]
    whole = joined(b"".join(lines) + END)
    assert whole is not None
    assert whole["choices"][0]["message"] == {
        "content": "",
        "reasoning_content": "hm",
        "reasoning": "",
        "refusal": "no",
    }
