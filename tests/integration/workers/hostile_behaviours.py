"""Hostile behaviours: broken frames, odd shapes of JSON and streams, impossible numbers."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

from tests.integration.workers.behaviour import failed, row
from tests.integration.workers.endpoint_replies import (
    GOOD,
    PLAN,
    USAGE,
    body_of,
    chunked,
    planned,
    raw,
    refused,
    said,
    streamed,
    whole,
)

_OK = b"HTTP/1.1 200 OK\r\n"
_BODY = body_of(said())
_LENGTH = b"Content-Length: %d" % len(_BODY)
_PARTS = [GOOD[at : at + 60] for at in range(0, len(GOOD), 60)]


def _head(*lines: bytes, body: bytes = _BODY) -> bytes:
    return _OK + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def _choice(**choice: Any) -> bytes:
    return whole(choices=[choice], usage=USAGE)


def _events(*chunks: object, before: str = "", end: str = "data: [DONE]\n\n", line: str = "\n") -> bytes:
    """Return a stream of these chunks; a string is sent as it is."""
    events = [one if isinstance(one, str) else f"data: {json.dumps(one)}{line}{line}" for one in chunks]
    return raw(200, (before + "".join(events) + end).encode(), Content_Type="text/event-stream")


def _delta(content: object, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, **more}]}


def _spread(chunk: object) -> str:
    """Return an event whose JSON spans many lines."""
    return "".join(f"data: {line}\n" for line in json.dumps(chunk, indent=1).splitlines()) + "\n"


_UMLAUT = _BODY.decode().replace("Polish", "Öl")
_CHUNKED = b"Transfer-Encoding: chunked"
_TEXTS = [_delta(part) for part in _PARTS]
_THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
_TEXT = {"type": "text", "text": GOOD}
_LAST: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
_COUNT: dict[str, Any] = {"choices": [], "usage": USAGE}


HOSTILE = (
    # frames
    failed("two lengths", "connection", "bound", _head(_LENGTH, b"Content-Length: 10")),
    failed("a length and chunks", "connection", "bound", _head(_LENGTH, _CHUNKED, body=body_of(chunked(said(), 50)))),
    failed("a negative length", "connection", "bound", _head(b"Content-Length: -1")),
    failed("a length in words", "connection", "bound", _head(b"Content-Length: 1_000")),
    failed("a chunk without end", "connection", "bound", _head(_CHUNKED, body=b"FFFFFFFFFFFFFFFFF\r\n" + _BODY)),
    failed("chunks without the last", "connection", "bound", chunked(said(), 50).removesuffix(b"0\r\n\r\n")),
    row("chunks with extensions", chunked(said(), 50).replace(b"32\r\n", b'32;note="a b"\r\n')),
    failed("a line of a header without end", "connection", "bound", _head(b"X-Long: " + b"x" * 200_000, _LENGTH)),
    failed("a thousand headers", "connection", "bound", _head(*[b"X-%d: y" % n for n in range(1_000)], _LENGTH)),
    failed("a header with a null byte", "connection", "bound", _head(b"X-Odd: a\x00b", _LENGTH)),
    row("a header that goes on in the next line", _head(b"X-Odd: a\r\n b", _LENGTH)),
    row("lines that end in a line feed", said().replace(b"\r\n", b"\n")),
    row("a status without a phrase", b"HTTP/1.1 200\r\n" + said().partition(b"\r\n")[2]),
    row("another status of success", raw(203, _BODY)),
    row("a partial content", raw(206, _BODY, Content_Range="bytes 0-9/10")),
    failed(
        "another protocol",
        "no_completion",
        "none",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    ),
    failed("a frame of HTTP/2", "connection", "bound", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18),
    failed("a body without a head", "connection", "bound", _BODY),
    failed("a length of nothing before a body", "connection", "bound", _head(b"Content-Length: 0")),
    failed("a length that cuts the body", "connection", "bound", _head(b"Content-Length: %d" % (len(_BODY) - 9))),
    failed("bytes after the body", "connection", "bound", said() + b"and more"),
    row("an answer and another one behind it", said() + said(json.dumps({"activities": []}))),
    # compression
    failed("deflated without a word", "not_json", "bound", raw(200, zlib.compress(_BODY))),
    failed("a bomb", "not_json", "bound", raw(200, gzip.compress(b" " * 1_000_000) * 100 + gzip.compress(_BODY))),
    failed(
        "compressed for the transfer",
        "not_json",
        "bound",
        _head(b"Transfer-Encoding: gzip, chunked", body=body_of(chunked(raw(200, gzip.compress(_BODY)), 50))),
    ),
    failed("compressed by an unknown name", "no_completion", "none", raw(200, b"\x00\x01", Content_Encoding="snappy")),
    # letters
    row("in Latin-1", raw(200, _UMLAUT.encode("latin-1"), Content_Type="application/json; charset=ISO-8859-1")),
    row("with half a letter", raw(200, body_of(said()).replace(b"Polish", b"Polish \xc3"))),
    row("in an unknown charset", raw(200, _BODY, Content_Type="application/json; charset=klingon")),
    # JSON
    row("with its choices twice", raw(200, b'{"choices": [], ' + _BODY.lstrip(b"{"))),
    failed("a completion in a list", "no_completion", "none", raw(200, b"[" + _BODY + b"]")),
    failed("a completion in a string", "no_completion", "none", raw(200, json.dumps(_BODY.decode()).encode())),
    failed("a completion with another behind it", "not_json", "bound", raw(200, _BODY + b"\n" + _BODY)),
    failed(
        "a number beyond reading", "not_json", "bound", raw(200, _BODY[:-1] + b', "created": 1' + b"0" * 5_000 + b"}")
    ),
    row("numbers that are none beside it", raw(200, _BODY[:-1] + b', "score": NaN, "other": -Infinity}')),
    failed("choices by name", "empty", "told", whole(choices={"0": {"message": {"content": GOOD}}}, usage=USAGE)),
    failed("a choice that is null", "empty", "told", whole(choices=[None], usage=USAGE)),
    failed("a choice that is text", "empty", "told", whole(choices=[GOOD], usage=USAGE)),
    row("a choice that is null before it", whole(choices=[None, json.loads(_BODY)["choices"][0]], usage=USAGE)),
    row("a choice with its text beside the message", _choice(index=0, text=GOOD, finish_reason="stop")),
    row("a delta without a stream", _choice(index=0, delta={"content": GOOD}, finish_reason="stop")),
    failed("a message that is text", "empty", "told", _choice(message=GOOD, finish_reason="stop")),
    failed("a content that is a number", "empty", "told", said(7)),
    failed("a content that is true", "empty", "told", said(True)),
    row("a content that is one part", said(_TEXT)),
    row("parts of thoughts before it", said([_THOUGHT, _TEXT])),
    row("parts that are null", said([None, 7, {"type": "text", "text": None}, _TEXT])),
    row("parts that are text", said([GOOD[:40], GOOD[40:]])),
    row("a refusal of nothing", said(refusal="")),
    row("a refusal of blanks", said(refusal=" \n")),
    failed("a refusal in an object", "refused", "told", said(None, refusal={"reason": "no"})),
    row("a reason in a list", said(finish=["stop"])),
    row("a reason of none", said(finish=None)),
    row("an error that is false", whole(error=False, choices=json.loads(_BODY)["choices"], usage=USAGE)),
    row("an id without end", raw(200, b'{"id": "' + b"x" * 100_000 + b'", ' + _BODY.lstrip(b"{"))),
    # figures
    row("a usage with a part below nothing", said(usage=USAGE | {"prompt_tokens": -1}), charge="estimate"),
    row("a usage of half a token", said(usage=USAGE | {"completion_tokens": 90.5}), charge="estimate"),
    row("a usage that is true", said(usage=USAGE | {"completion_tokens": True}), charge="estimate"),
    row("a usage in other digits", said(usage=USAGE | {"completion_tokens": "９０"}), charge="estimate"),
    row("a usage with an exponent", said(usage=USAGE | {"completion_tokens": "9e1"}), charge="estimate"),
    row(
        "a usage whose parts are lists",
        said(usage=USAGE | {"prompt_tokens_details": [1], "completion_tokens_details": "x"}),
    ),
    row("more in the cache than asked", said(usage=USAGE | {"prompt_tokens_details": {"cached_tokens": 10**6}})),
    row("a total below its parts", said(usage=USAGE | {"total_tokens": 1})),
    row("reasoning below nothing", said(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": -9}})),
    # streams
    row("a stream behind a byte order mark", _events(*_TEXTS, _LAST, _COUNT, before="\ufeff")),
    row("a stream whose lines end in a return", _events(*_TEXTS, _LAST, _COUNT, line="\r", end="data: [DONE]\r\r")),
    row(
        "a stream of one part each",
        _events(*[_delta([{"type": "text", "text": part}]) for part in _PARTS], _LAST, _COUNT),
    ),
    row(
        "a stream with its usage in a choice", _events(*_TEXTS, {"choices": [{**_LAST["choices"][0], "usage": USAGE}]})
    ),
    row(
        "a stream with events of several lines",
        _events(*[_spread(_delta(part)) for part in _PARTS], _LAST, _COUNT),
    ),
    row(
        "a stream that tells all again at its end",
        _events(*_TEXTS, {"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}]}, _COUNT),
    ),
    row("a stream of which another event breaks", _events(*_TEXTS, "data: {broken\n\n", _LAST, _COUNT)),
    row("a stream of chunks that are null", _events("data: null\n\n", "data: []\n\n", *_TEXTS, _LAST, _COUNT)),
    row("a stream that ends without its mark", _events(*_TEXTS, _LAST, _COUNT, end="")),
    failed("a stream of comments", "not_json", "bound", _events(": ping\n\n" * 50, end="")),
    failed("a stream of its mark alone", "not_json", "bound", _events()),
    failed(
        "a stream that is limited in the middle",
        "rate_limited",
        "bound",
        _events(_delta(_PARTS[0]), {"error": {"message": "slow down", "code": 429}}),
    ),
    failed("a stream without text", "empty", "told", _events(_delta(None), _LAST, _COUNT)),
    row("a stream in a response of JSON", raw(200, body_of(streamed()))),
    row("JSON in a response of events", raw(200, _BODY, Content_Type="text/event-stream")),
    # waits
    *(
        failed(f"limited for {name}", "rate_limited", "none", refused(429, "slow", Retry_After=value), wait=wait)
        for name, value, wait in (
            ("two numbers", "7, 9", None),
            ("a number and a parameter", "7;q=1", None),
            ("blanks around it", " 7 ", 7.0),
            ("other digits", "٧", None),
            ("an exponent", "1e3", None),
            ("no number", "NaN", None),
            ("infinity", "Infinity", None),
            ("a sign", "+5", None),
            ("a fraction", "0.25", 0.25),
            ("nanoseconds since 1970", "1900000000000000000", 86_400.0),
            ("the last day", "Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
            ("a day that is none", "Mon, 99 Foo 2026 99:99:99 GMT", None),
            ("a point", ".", None),
        )
    ),
    failed(
        "limited for a wait in another shape",
        "rate_limited",
        "none",
        raw(429, b'{"error": {"message": "slow", "retryDelay": {"seconds": 5}}}'),
    ),
    failed("limited without words", "rate_limited", "none", raw(429, b"")),
    failed("limited by a page", "rate_limited", "none", raw(429, b"<html>slow down</html>", Content_Type="text/html")),
    failed("an error nested beyond reading", "server", "none", raw(500, b'{"error":' * 50_000)),
    failed("an error that is a number", "bad_request", "none", raw(400, b'{"error": 5}')),
    failed("an error in a list of lists", "bad_request", "none", raw(400, b'[[[{"error": {"message": "no"}}]]]')),
    failed(
        "an error of nulls",
        "bad_request",
        "none",
        raw(400, b'{"error": {"message": null, "code": null, "type": null}}'),
    ),
    failed("an unknown class of status", "server", "none", raw(799, b"{}")),
    # answers
    row("with keys of the language", said(json.dumps(PLAN | {"__proto__": {"x": 1}, "__class__": "x"}))),
    row("in other brackets", said("<answer>" + GOOD + "</answer>")),
    row("twice in one text", said(GOOD + "\n" + GOOD)),
    row("in a fence that never closes", said("```json\n" + GOOD)),
    row("a priority beyond all numbers", said(GOOD.replace('"priority": 3', '"priority": 1e400'))),
    row("a priority of many digits", said(GOOD.replace('"priority": 3', '"priority": ' + "9" * 300))),
    row("a priority that is true", said(GOOD.replace('"priority": 3', '"priority": true'))),
    row("times in other digits", said(GOOD.translate({ord("0"): "０"}))),
    row("a time that is none", said(GOOD.replace("7:00 AM", "25:99"))),
    failed(
        "texts without end",
        "unusable",
        "told",
        planned(*[f"{item['description']} {'really ' * 30_000}" for item in PLAN["activities"]]),
    ),
    failed("items without end", "unusable", "told", said(json.dumps({"activities": PLAN["activities"] * 2_000}))),
)
