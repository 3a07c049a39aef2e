"""An endpoint that behaves in every way that endpoints do, one for each name in its path, and what each comes to.

A new behaviour is one row of `BEHAVIOURS`; a new wording of an error is one of `tests/fixtures/error-wordings.json`,
whose rows are behaviours too.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from types import TracebackType
from typing import Any, Literal

from ops.fake_llm.completions import FakeResponse
from ops.fake_llm.http import deliver, read_request
from tests.repository import ROOT

PROMPT_TOKENS, OUTPUT_TOKENS = 700, 90  # as a completion tells them unless it lies
CAP = 800  # tokens of a plan
BEGUN = time.time()
MARK = "zither"  # in every item of a plan that the endpoint wrote

_DEEDS = ("Tune the", "Practise the", "Polish the", "Teach the", "Carry home the", "Dream of the")
_TIMES = ("7:00 AM", "8:00 AM", "9:00 AM", "10:00 AM", "11:00 AM", "1:00 PM")
PLAN = {
    "activities": [
        {"time": time, "description": f"{deed} {MARK}", "location": "", "priority": 3}
        for time, deed in zip(_TIMES, _DEEDS, strict=True)
    ]
}
GOOD = json.dumps(PLAN)
USAGE: dict[str, Any] = {
    "prompt_tokens": PROMPT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": PROMPT_TOKENS + OUTPUT_TOKENS,
}  # fmt: skip

Charge = Literal["told", "estimate", "bound", "none"]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What an endpoint does, and what comes of the one job that asks it."""

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


def raw(status: int, body: bytes, **headers: str) -> bytes:
    """Return a response as it goes over the wire."""
    named = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
    return f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body


def said(content: object = GOOD, *, usage: object = USAGE, finish: object = "stop", **message: object) -> bytes:
    """Return a completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return whole(choices=[choice], usage=usage)


def whole(**body: object) -> bytes:
    """Return a response with status 200."""
    return raw(200, json.dumps({"id": "c-1", "object": "chat.completion", **body}).encode())


def refused(status: int, message: str, **headers: str) -> bytes:
    """Return an error response in OpenAI's format."""
    return raw(status, json.dumps({"error": {"message": message, "type": "x", "code": None}}).encode(), **headers)


def _body(response: bytes) -> bytes:
    return response.partition(b"\r\n\r\n")[2]


def _chunked(response: bytes, size: int) -> bytes:
    body, head = _body(response), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _delivered(delivery: Any, response: bytes | None = None) -> FakeResponse:
    return FakeResponse(status=200, body=_body(response or said()), delivery=delivery)


def _streamed(
    *, done: bool = True, usage: object = USAGE, finish: str = "stop", until: int = len(GOOD), beside: bool = False
) -> bytes:
    """Return a completion as a stream of events, which nobody asked for; `beside` it is another one."""
    parts = [{"delta": {"role": "assistant", "content": ""}}]
    parts += [{"delta": {"content": GOOD[at : min(at + 60, until)]}} for at in range(0, until, 60)]
    parts += [{"delta": {}, "finish_reason": finish}] if done else []
    chunks: list[dict[str, object]] = [{"choices": [{"index": 0, **part}]} for part in parts]
    if beside:
        chunks = [one for chunk in chunks for one in (chunk, {"choices": [{"index": 1, "delta": {"content": "No. "}}]})]
    chunks += [{"choices": [], "usage": usage}] if done else []
    events = [": PROCESSING", *(f"data: {json.dumps({'id': 'c-1', **chunk})}" for chunk in chunks)]
    body = "\r\n\r\n".join([*events, "data: [DONE]"] if done else events)
    return raw(200, body.encode(), Content_Type="text/event-stream")


def _at(seconds: float, form: Literal["http", "iso", "epoch", "ms"]) -> str:
    """Return the instant that many seconds after `BEGUN`, as a header names it."""
    then = BEGUN + seconds
    if form == "http":
        return formatdate(then, usegmt=True)
    if form == "iso":
        return datetime.fromtimestamp(then, UTC).replace(tzinfo=None).isoformat() + "Z"
    return str(int(then)) if form == "epoch" else str(int(then * 1_000))


def _nested(depth: int) -> object:
    found: object = GOOD
    for _ in range(depth):
        found = [{"type": "text", "text": found}]
    return found


def _ended(finish: object, **error: object) -> bytes:
    """Return a completion that breaks off: its choice has an odd end, or an error."""
    choice = {"index": 0, "message": {"role": "assistant", "content": GOOD[:30]}, "finish_reason": finish, **error}
    return whole(choices=[choice], usage=USAGE)


def _plan(*descriptions: str) -> bytes:
    items = [{**item, "description": text} for item, text in zip(PLAN["activities"], descriptions, strict=False)]
    return said(json.dumps({"activities": items}))


def _row(name: str, *replies: bytes | FakeResponse, **comes_to: Any) -> Behaviour:
    return Behaviour(name=name, replies=replies, **comes_to)


def _failed(name: str, failure: str, charge: Charge, *replies: bytes | FakeResponse, **more: Any) -> Behaviour:
    return _row(name, *replies, failure=failure, charge=charge, **more)


_HEADS = {"choices": [], "usage": USAGE}
_JUNK_ITEM = {"time": "7:00 AM", "description": f"Go to the {MARK}", "location": "Atlantis", "priority": 3}

BEHAVIOURS = (
    # answers that are used
    _row("a plain answer", said()),
    _row("in chunks", _chunked(said(), 50)),
    _row("in chunks of one byte", _chunked(said(), 1)),
    _row("of another type", raw(200, _body(said()), Content_Type="text/plain")),
    _row("without a type", raw(200, _body(said()), Content_Type="")),
    _row("with space around it", raw(200, b"\n  " + _body(said()) + b"\n\n")),
    _row("until the connection ends", b"HTTP/1.0 200 OK\r\n\r\n" + _body(said())),
    _row("in parts", said([{"type": "text", "text": GOOD[:40]}, {"type": "text", "text": GOOD[40:]}])),
    _row("in a code fence", said(f"```json\n{GOOD}\n```")),
    _row("in prose", said(f"Of course! {GOOD} I hope this helps.")),
    _row("after thoughts in tags", said(f"<think>{{no}} a plan, then</think>{GOOD}")),
    _row("with extra keys", said(json.dumps(PLAN | {"mood": "fine", "note": [1, 2]}))),
    _row("in camel case", said(GOOD.replace('"activities"', '"Activities"'))),
    _row("with a reason of its own", said(finish="eos")),
    _row("beside a call of a tool", said(tool_calls=[{"id": "t", "type": "function"}])),
    _row("with more usage than we know", said(usage=USAGE | {"cost": 0.1, "audio_tokens": None})),
    _row("with reasoning beside it", said(reasoning_content="Hm."), reasoning=0),
    _row(
        "with reasoning within the completion",
        said(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 60}}), reasoning=60,
    ),
    _row(
        "with reasoning beside the completion",
        said(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 300}}),
        tokens=PROMPT_TOKENS + OUTPUT_TOKENS + 300, reasoning=300,
    ),
    _row("with a total that has more", said(usage=USAGE | {"total_tokens": 1_000}), tokens=1_000),
    _row("behind a byte order mark", raw(200, b"\xef\xbb\xbf" + _body(said()))),
    _row("in another encoding", raw(200, _body(said()).decode().encode("utf-16"))),
    _row("after padding that keeps the connection", raw(200, b"\n" * 100_000 + _body(said()))),
    _row("after a hundred continues", b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + said()),
    _row("in chunks with trailers", _chunked(said(), 50).replace(b"0\r\n\r\n", b"0\r\nX-Usage: 7\r\n\r\n")),
    _row("with keys that come twice", said('{"activities": [], ' + GOOD[1:])),
    _row("behind a byte order mark of its own", said("\ufeff" + GOOD)),
    _row("with characters that nobody sees", said(GOOD.replace(MARK, "zi\u200e\ufe0f\ufe01\u3164\U000e0141t\xadher"))),
    _row("as an object instead of text", said(PLAN)),
    _row("after thoughts whose tag never opens", said(f'{GOOD.replace(MARK, "lute")} No, rather:</think>{GOOD}')),
    _row("after thoughts in other tags", said(f'[THINK]{GOOD.replace(MARK, "lute")}[/THINK]{GOOD}')),
    _row(
        "after a channel of thoughts",
        said(f'<|channel|>analysis<|message|>{GOOD.replace(MARK, "lute")}<|end|><|channel|>final<|message|>{GOOD}'),
    ),
    _row("with thoughts of another name", said(thoughts="Hm.", thinking={"text": "Hm."})),
    _row("beside an empty error", whole(error=None, choices=json.loads(_body(said()))["choices"], usage=USAGE)),
    _row("as a stream that nobody asked for", _streamed()),
    _row("as a stream without usage", _streamed(usage=None), charge="estimate"),
    _row("as a stream of two choices", _streamed(beside=True)),
    _row(
        "as a stream that is left open",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n%s\r\n" % (len(_body(_streamed())), _body(_streamed())),
        left_open=True,
    ),
    _row("that names its identity", raw(200, _body(said()), Content_Encoding="Identity")),
    _row("with an encoding of its text", raw(200, _body(said()), Content_Encoding="utf-8")),
    # usage that cannot be believed
    _row("with text for nothing", said(usage=USAGE | {"completion_tokens": 0, "total_tokens": 700}), charge="estimate"),
    _row("with usage in floats", said(usage={key: float(count) for key, count in USAGE.items()})),
    _row("with usage by other names", said(usage={"input_tokens": PROMPT_TOKENS, "output_tokens": OUTPUT_TOKENS})),
    _row("with usage in digits", said(usage={key: str(count) for key, count in USAGE.items()})),
    _row("with a prompt for nothing", said(usage=USAGE | {"prompt_tokens": 0, "total_tokens": 90}), charge="estimate"),
    _row("with usage in a list", said(usage=[USAGE]), charge="estimate"),
    _row("with an infinite usage", raw(200, _body(said()).replace(b": 700", b": Infinity")), charge="estimate"),
    _row("without usage", said(usage=None), charge="estimate"),
    _row("with negative usage", said(usage=dict.fromkeys(USAGE, -5)), charge="estimate"),
    _row("with usage in words", said(usage={"prompt_tokens": "many", "completion_tokens": "some"}), charge="estimate"),
    _row("with no tokens at all", said(usage=dict.fromkeys(USAGE, 0)), charge="estimate"),
    _row("with an absurd usage", said(usage=USAGE | {"prompt_tokens": 10**12}), charge="estimate"),
    _row("with an inflated usage", said(usage=USAGE | {"prompt_tokens": 9_000}), tokens=9_000 + OUTPUT_TOKENS),
    # answers that are none
    _failed("no choices", "empty", "told", whole(**_HEADS)),
    _failed("choices that are null", "empty", "told", whole(choices=None, usage=USAGE)),
    _failed("no content", "empty", "told", said(None)),
    _failed("blanks", "empty", "told", said(" \n ")),
    _failed("a call of a tool alone", "empty", "told", said(None, tool_calls=[{"id": "t"}])),
    _failed("thoughts alone", "empty", "told", said("", reasoning_content="Hm, hm, hm.")),
    _failed("words", "not_json", "told", said("I would rather tell you a story.")),
    _failed("half an object", "not_json", "told", said(GOOD[: len(GOOD) // 2])),
    _failed("a list", "not_json", "told", said(json.dumps([1, 2, 3]))),
    _failed("another object", "wrong_schema", "told", said('{"unexpected": true}')),
    _failed("wrong types", "wrong_schema", "told", said(json.dumps({"activities": "none"}))),
    _failed("an answer cut at its cap", "truncated", "told", said(GOOD[:100], finish="length")),
    _failed("a refusal", "refused", "told", said(None, refusal="I cannot help with that.")),
    _failed("a filtered answer", "filtered", "told", said("", finish="content_filter")),
    _failed("an answer that broke on its way", "not_json", "bound", raw(200, _body(said())[:-40])),
    _failed("nested beyond reading", "empty", "told", said(_nested(300))),
    _failed("an object nested beyond reading", "not_json", "told", said('{"activities":' * 5_000)),
    _failed("a response nested beyond reading", "not_json", "bound", raw(200, b'{"choices":' * 50_000)),
    _failed("half a stream", "not_json", "bound", _streamed(done=False, until=90)),
    _failed("a stream cut at its cap", "truncated", "told", _streamed(finish="length", until=90)),
    _failed(
        "a stream that ends in an error", "overloaded", "none",
        raw(200, b'data: {"error": {"message": "Overloaded", "code": 529}}\n\n', Content_Type="text/event-stream"),
    ),
    _failed("cut at its cap in capitals", "truncated", "told", said(GOOD[:100], finish="MAX_TOKENS")),
    _failed("cut where the context ends", "truncated", "told", _ended("model_context_window_exceeded")),
    _failed("filtered by another name", "filtered", "told", said("", finish="SAFETY")),
    _failed("broken off by its provider", "server", "told", _ended("error", error={"message": "x", "code": 502})),
    _failed("broken off without a reason", "server", "told", _ended("network_error")),
    _failed("out of resources", "overloaded", "told", _ended("insufficient_system_resource")),
    # answers that say nothing
    _failed("junk: a refusal in prose", "unusable", "told", _plan(*["I am an AI language model"] * 6)),
    _failed("junk: placeholders", "unusable", "told", _plan(*["..."] * 6)),
    _failed("junk: one thing over and over", "unusable", "told", _plan(*[f"Tune the {MARK}"] * 6)),
    _failed("junk: days that are counted", "unusable", "told", _plan(*[f"Day {n} of the {MARK}" for n in range(6)])),
    _failed("junk: an unknown place", "unusable", "told", said(json.dumps({"activities": [_JUNK_ITEM] * 5}))),
    _failed("junk: too few items", "unusable", "told", _plan(f"Tune the {MARK}", f"Polish the {MARK}")),
    _failed("junk: two things at once", "unusable", "told", said(GOOD.replace("8:00 AM", "7:00 AM"))),
    _row("junk that is mended", _plan(*["..."] * 6), said(), claims=2),
    _failed("junk twice", "unusable", "told", _plan(*["..."] * 6), claims=2),
    # what is no answer of a model
    _failed("a web page", "no_completion", "none", raw(200, b"<html>Welcome</html>", Content_Type="text/html")),
    _failed("nothing", "no_completion", "none", raw(200, b"")),
    _failed("no content by its status", "no_completion", "none", raw(204, b"", Content_Length="")),
    _failed("a list in JSON", "no_completion", "none", raw(200, b"[]")),
    _failed("another service", "no_completion", "none", raw(200, b'{"status": "up"}')),
    _failed("bytes that are no text", "no_completion", "none", raw(200, b"\xff\xfe\x00\x01")),
    _failed("an error with status 200", "server", "none", whole(error={"message": "upstream failed"})),
    _failed("an error with its own code", "rate_limited", "none", whole(error={"message": "slow down", "code": 429})),
    _failed("an error whose code is text", "rate_limited", "none", whole(error={"message": "slow", "code": "429"})),
    _failed("an error in words alone", "server", "none", whole(error="upstream failed")),
    _failed("an error beside no choices", "overloaded", "none", whole(error={"code": 503}, choices=[], usage=None)),
    _failed("another address", "no_completion", "none", raw(302, b"", Location="http://127.0.0.1:1/v1")),
    _failed("another address for good", "no_completion", "none", raw(308, b"", Location="/v1/")),
    _failed("an address that takes no calls", "no_completion", "none", refused(405, "method not allowed")),
    _failed("a status below all", "no_completion", "told", b"HTTP/1.1 099 Said\r\n" + said().partition(b"\r\n")[2]),
    _failed("a proxy that knows nobody", "auth", "none", refused(407, "who are you?")),
    # the wire
    _failed("compressed", "not_json", "bound", raw(200, gzip.compress(_body(said())), Content_Encoding="gzip")),
    _failed(
        "compressed, named twice", "not_json", "bound",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n"
        + raw(200, gzip.compress(_body(said())), Content_Encoding="gzip").partition(b"\r\n")[2],
    ),
    _failed("compressed without a word", "not_json", "bound", raw(200, gzip.compress(_body(said())))),
    _failed("without end", "too_large", "bound", raw(200, b"x" * 5_000_000)),
    _failed("closed without an answer", "connection", "bound", _delivered("close")),
    _failed("reset in mid-answer", "connection", "bound", _delivered("reset")),
    _failed("shorter than it said", "connection", "bound", raw(200, _body(said()), Content_Length="9000")),
    _failed("no HTTP", "connection", "bound", b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    _failed("broken chunks", "connection", "bound", _chunked(said(), 50).replace(b"32\r\n", b"zz\r\n")),
    _failed("continues without end", "connection", "bound", b"HTTP/1.1 100 Continue\r\n\r\n", endless=True),
    _failed("at work without end", "connection", "bound", b"HTTP/1.1 102 Processing\r\n\r\n", endless=True),
    _failed(
        "hints without end", "connection", "bound",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", endless=True,
    ),
    _failed(
        "one continue too many", "connection", "bound", b"HTTP/1.1 100 Continue\r\n\r\n" * 101 + said(),
    ),
    _failed("hanging", "timeout", "bound", _delivered("hang"), deadline=0.6),
    _failed("dripping", "timeout", "bound", _delivered("drip"), deadline=0.6),
    # what it asks to wait
    _failed("limited", "rate_limited", "none", refused(429, "slow down")),
    _failed("limited for seconds", "rate_limited", "none", refused(429, "slow", Retry_After="7"), wait=7.0),
    _failed("limited for ms", "rate_limited", "none", refused(429, "slow", retry_after_ms="2500"), wait=2.5),
    _failed(
        "limited until a reset", "rate_limited", "none",
        refused(429, "slow", x_ratelimit_reset_requests="1m30s", x_ratelimit_remaining_requests="0"), wait=90.0,
    ),
    _failed("limited in words", "rate_limited", "none", refused(429, "Please try again in 6s."), wait=6.0),
    _failed("limited in longer words", "rate_limited", "none", refused(429, "Try again in 20 seconds."), wait=20.0),
    _failed("limited in minutes", "rate_limited", "none", refused(429, "Please wait 2 minutes."), wait=120.0),
    _failed(
        "limited until a date", "rate_limited", "none",
        refused(429, "slow", Retry_After=_at(3_600, "http")), wait=3_600.0, dated=True,
    ),
    _failed(
        "limited until a date in ISO 8601", "rate_limited", "none",
        refused(429, "slow", Retry_After=_at(3_600, "iso")), wait=3_600.0, dated=True,
    ),
    _failed(
        "limited until a number of seconds", "rate_limited", "none",
        refused(429, "slow", Retry_After=_at(3_600, "epoch")), wait=3_600.0, dated=True,
    ),
    _failed(
        "limited until a date that is past", "rate_limited", "none",
        refused(429, "slow", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), wait=0.0,
    ),
    _failed(
        "limited for longer than a day", "rate_limited", "none",
        refused(429, "slow", Retry_After="99999999"), wait=86_400.0,
    ),
    _failed(
        "limited beyond all numbers", "rate_limited", "none",
        refused(429, "slow", Retry_After="9" * 400), wait=86_400.0,
    ),
    _failed("limited for a duration", "rate_limited", "none", refused(429, "slow", Retry_After="1m30s"), wait=90.0),
    _failed(
        "limited for nonsense and until a reset", "rate_limited", "none",
        refused(429, "slow", Retry_After="soon", x_ratelimit_reset="12"), wait=12.0,
    ),
    _failed("limited for less than nothing", "rate_limited", "none", refused(429, "slow", Retry_After="-5")),
    _failed(
        "limited until a reset in ISO 8601", "rate_limited", "none",
        refused(
            429, "slow", anthropic_ratelimit_requests_reset=_at(3_600, "iso"),
            anthropic_ratelimit_requests_remaining="0",
        ),
        wait=3_600.0, dated=True,
    ),
    _failed(
        "limited until a reset in ms since 1970", "rate_limited", "none",
        refused(429, "slow", X_RateLimit_Reset=_at(3_600, "ms"), X_RateLimit_Remaining="0"), wait=3_600.0, dated=True,
    ),
    _failed(
        "limited until a reset of ms", "rate_limited", "none",
        refused(429, "slow", x_ratelimit_reset_tokens="120ms"), wait=0.12,
    ),
    _failed(
        "failing far from its limits", "server", "none",
        refused(500, "oops", x_ratelimit_reset_requests="6m0s", x_ratelimit_remaining_requests="59"),
    ),
    _failed(
        "refusing far from its limits", "bad_request", "none",
        refused(400, "no", x_ratelimit_reset_tokens="90s", x_ratelimit_remaining_tokens="149984"),
    ),
    _failed("overloaded for a while", "overloaded", "none", refused(503, "busy", Retry_After="5"), wait=5.0),
    _failed("overloaded", "overloaded", "none", refused(529, "busy")),
    _failed("failing", "server", "none", refused(500, "oops")),
    _failed("failing for a while", "server", "none", refused(500, "oops", Retry_After="3"), wait=3.0),
    _failed("a gateway that gave up", "server", "bound", refused(504, "upstream")),
    _failed("a server that gave up", "timeout", "bound", refused(408, "too slow")),
    _failed("a conflict", "conflict", "none", refused(409, "again")),
    _failed("a teapot", "bad_request", "none", refused(418, "short and stout")),
    _row("failing once", refused(500, "oops"), said(), claims=2),
    _row("limited once", refused(429, "slow", Retry_After="0"), said(), claims=2, wait=0.0),
    _row("too long once", refused(400, "maximum context length is 8192 tokens"), said(), claims=2),
)  # fmt: skip


def wordings() -> list[Behaviour]:
    """Return a behaviour for each error of a provider that was seen; what refuses a form of request takes the next."""
    found = []
    for row in json.loads((ROOT / "tests/fixtures/error-wordings.json").read_text()):
        reply, name = raw(row["status"], json.dumps(row["body"]).encode()), f"{row['provider']}: {row['says']}"
        if row["kind"] == "unsupported":
            found.append(_row(name, reply, said(), claims=2))
        else:
            found.append(_failed(name, row["kind"], "none", reply, wait=row["wait"]))
    return found


class ManyWays:
    """The endpoint, in a thread of this process: `url(name)` is where it behaves so."""

    def __init__(self, behaviours: Mapping[str, Behaviour]) -> None:
        self._behaviours = list(behaviours.values())
        self._names = list(behaviours)
        self._requests: Counter[int] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, name: str) -> str:
        """Return the base URL of a behaviour."""
        return f"http://127.0.0.1:{self._port}/{self._names.index(name)}/v1"

    def requests(self, name: str) -> int:
        """Return the number of completions that were requested of a behaviour."""
        return self._requests[self._names.index(name)]

    def __enter__(self) -> ManyWays:
        self._thread.start()
        self._port = self._on_loop(self._listen)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_loop(self._close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(30)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await read_request(reader)
            if request is not None:
                number = int(request.path.split("/")[1])
                replies = self._behaviours[number].replies
                reply = replies[min(self._requests[number], len(replies) - 1)]
                self._requests[number] += 1
                if isinstance(reply, FakeResponse):
                    await deliver(reply, reader, writer)
                else:
                    writer.write(reply)
                    await writer.drain()
                    while self._behaviours[number].endless:
                        writer.write(reply)
                        await writer.drain()
                    if self._behaviours[number].left_open:
                        await reader.read(1)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
