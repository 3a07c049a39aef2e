"""Behaviours of endpoints by name, each with its expected outcome.

Add a new behaviour as a row of `BEHAVIOURS`, and a new wording of an error as a row of
`tests/fixtures/error-wordings.json`, of which `wordings` takes one of each sort.
"""

from __future__ import annotations

import gzip
import json

from tests.integration.workers.behaviour import REACHES, Behaviour, failed, row
from tests.integration.workers.endpoint_replies import (
    GOOD,
    MARK,
    OUTPUT_TOKENS,
    PLAN,
    PROMPT_TOKENS,
    USAGE,
    at_instant,
    body_of,
    chunked,
    delivered,
    ended,
    nested,
    planned,
    raw,
    refused,
    said,
    streamed,
    whole,
)
from tests.repository import ROOT

_HEADS = {"choices": [], "usage": USAGE}
_JUNK_ITEM = {"time": "7:00 AM", "description": f"Go to the {MARK}", "location": "Atlantis", "priority": 3}

BEHAVIOURS = (
    # answers that are used
    row("a plain answer", said()),
    row("in chunks", chunked(said(), 50)),
    row("in chunks of one byte", chunked(said(), 1)),
    row("of another type", raw(200, body_of(said()), Content_Type="text/plain")),
    row("without a type", raw(200, body_of(said()), Content_Type="")),
    row("with space around it", raw(200, b"\n  " + body_of(said()) + b"\n\n")),
    row("until the connection ends", b"HTTP/1.0 200 OK\r\n\r\n" + body_of(said())),
    row("in parts", said([{"type": "text", "text": GOOD[:40]}, {"type": "text", "text": GOOD[40:]}])),
    row("in a code fence", said(f"```json\n{GOOD}\n```")),
    row("in prose", said(f"Of course! {GOOD} I hope this helps.")),
    row("after thoughts in tags", said(f"<think>{{no}} a plan, then</think>{GOOD}")),
    row("with extra keys", said(json.dumps(PLAN | {"mood": "fine", "note": [1, 2]}))),
    row("in camel case", said(GOOD.replace('"activities"', '"Activities"'))),
    row("with a reason of its own", said(finish="eos")),
    row("beside a call of a tool", said(tool_calls=[{"id": "t", "type": "function"}])),
    row("with more usage than we know", said(usage=USAGE | {"cost": 0.1, "audio_tokens": None})),
    row("with reasoning beside it", said(reasoning_content="Hm."), reasoning=0),
    row(
        "with reasoning within the completion",
        said(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 60}}),
        reasoning=60,
    ),
    row(
        "with reasoning beside the completion",
        said(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 300}}),
        tokens=PROMPT_TOKENS + OUTPUT_TOKENS + 300,
        reasoning=300,
    ),
    row("with a total that has more", said(usage=USAGE | {"total_tokens": 1_000}), tokens=1_000),
    row("behind a byte order mark", raw(200, b"\xef\xbb\xbf" + body_of(said()))),
    row("in another encoding", raw(200, body_of(said()).decode().encode("utf-16"))),
    row("after padding that keeps the connection", raw(200, b"\n" * 100_000 + body_of(said()))),
    row("after a hundred continues", b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + said()),
    row("in chunks with trailers", chunked(said(), 50).replace(b"0\r\n\r\n", b"0\r\nX-Usage: 7\r\n\r\n")),
    row("with keys that come twice", said('{"activities": [], ' + GOOD[1:])),
    row("behind a byte order mark of its own", said("\ufeff" + GOOD)),
    row("with characters that nobody sees", said(GOOD.replace(MARK, "zi\u200e\ufe0f\ufe01\u3164\U000e0141t\xadher"))),
    row("as an object instead of text", said(PLAN)),
    row("after thoughts whose tag never opens", said(f"{GOOD.replace(MARK, 'lute')} No, rather:</think>{GOOD}")),
    row("after thoughts in other tags", said(f"[THINK]{GOOD.replace(MARK, 'lute')}[/THINK]{GOOD}")),
    row(
        "after a channel of thoughts",
        said(f"<|channel|>analysis<|message|>{GOOD.replace(MARK, 'lute')}<|end|><|channel|>final<|message|>{GOOD}"),
    ),
    row("with thoughts of another name", said(thoughts="Hm.", thinking={"text": "Hm."})),
    row("beside an empty error", whole(error=None, choices=json.loads(body_of(said()))["choices"], usage=USAGE)),
    row("as a stream that nobody asked for", streamed()),
    row("as a stream without usage", streamed(usage=None), charge="estimate"),
    row("as a stream of two choices", streamed(beside=True)),
    row(
        "as a stream that is left open",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n%s\r\n" % (len(body_of(streamed())), body_of(streamed())),
        left_open=True,
    ),
    row("that names its identity", raw(200, body_of(said()), Content_Encoding="Identity")),
    row("with an encoding of its text", raw(200, body_of(said()), Content_Encoding="utf-8")),
    # implausible usage
    row("with text for nothing", said(usage=USAGE | {"completion_tokens": 0, "total_tokens": 700}), charge="estimate"),
    row("with usage in floats", said(usage={key: float(count) for key, count in USAGE.items()})),
    row("with usage by other names", said(usage={"input_tokens": PROMPT_TOKENS, "output_tokens": OUTPUT_TOKENS})),
    row("with usage in digits", said(usage={key: str(count) for key, count in USAGE.items()})),
    row("with a prompt for nothing", said(usage=USAGE | {"prompt_tokens": 0, "total_tokens": 90}), charge="estimate"),
    row("with usage in a list", said(usage=[USAGE]), charge="estimate"),
    row("with an infinite usage", raw(200, body_of(said()).replace(b": 700", b": Infinity")), charge="estimate"),
    row("without usage", said(usage=None), charge="estimate"),
    row("with negative usage", said(usage=dict.fromkeys(USAGE, -5)), charge="estimate"),
    row("with usage in words", said(usage={"prompt_tokens": "many", "completion_tokens": "some"}), charge="estimate"),
    row("with no tokens at all", said(usage=dict.fromkeys(USAGE, 0)), charge="estimate"),
    row("with an absurd usage", said(usage=USAGE | {"prompt_tokens": 10**12}), charge="estimate"),
    row("with an inflated usage", said(usage=USAGE | {"prompt_tokens": 9_000}), tokens=9_000 + OUTPUT_TOKENS),
    # unusable answers
    failed("no choices", "empty", "told", whole(**_HEADS)),
    failed("choices that are null", "empty", "told", whole(choices=None, usage=USAGE)),
    failed("no content", "empty", "told", said(None)),
    failed("blanks", "empty", "told", said(" \n ")),
    failed("a call of a tool alone", "empty", "told", said(None, tool_calls=[{"id": "t"}])),
    failed("thoughts alone", "empty", "told", said("", reasoning_content="Hm, hm, hm.")),
    failed("words", "not_json", "told", said("I would rather tell you a story.")),
    failed("half an object", "not_json", "told", said(GOOD[: len(GOOD) // 2])),
    failed("a list", "not_json", "told", said(json.dumps([1, 2, 3]))),
    failed("another object", "wrong_schema", "told", said('{"unexpected": true}')),
    failed("wrong types", "wrong_schema", "told", said(json.dumps({"activities": "none"}))),
    failed("an answer cut at its cap", "truncated", "told", said(GOOD[:100], finish="length")),
    failed("a refusal", "refused", "told", said(None, refusal="I cannot help with that.")),
    failed("a filtered answer", "filtered", "told", said("", finish="content_filter")),
    failed("an answer that broke on its way", "not_json", "bound", raw(200, body_of(said())[:-40])),
    failed("nested beyond reading", "empty", "told", said(nested(300))),
    failed("an object nested beyond reading", "not_json", "told", said('{"activities":' * 5_000)),
    failed("a response nested beyond reading", "not_json", "bound", raw(200, b'{"choices":' * 50_000)),
    failed("half a stream", "not_json", "bound", streamed(done=False, until=90)),
    failed("a stream cut at its cap", "truncated", "told", streamed(finish="length", until=90)),
    failed(
        "a stream that ends in an error",
        "overloaded",
        "none",
        raw(200, b'data: {"error": {"message": "Overloaded", "code": 529}}\n\n', Content_Type="text/event-stream"),
    ),
    failed("cut at its cap in capitals", "truncated", "told", said(GOOD[:100], finish="MAX_TOKENS")),
    failed("cut where the context ends", "truncated", "told", ended("model_context_window_exceeded")),
    failed("filtered by another name", "filtered", "told", said("", finish="SAFETY")),
    failed("broken off by its provider", "server", "told", ended("error", error={"message": "x", "code": 502})),
    failed("broken off without a reason", "server", "told", ended("network_error")),
    failed("out of resources", "overloaded", "told", ended("insufficient_system_resource")),
    # meaningless answers
    failed("junk: a refusal in prose", "unusable", "told", planned(*["I am an AI language model"] * 6)),
    failed("junk: placeholders", "unusable", "told", planned(*["..."] * 6)),
    failed("junk: one thing over and over", "unusable", "told", planned(*[f"Tune the {MARK}"] * 6)),
    failed("junk: days that are counted", "unusable", "told", planned(*[f"Day {n} of the {MARK}" for n in range(6)])),
    failed("junk: an unknown place", "unusable", "told", said(json.dumps({"activities": [_JUNK_ITEM] * 5}))),
    failed("junk: too few items", "unusable", "told", planned(f"Tune the {MARK}", f"Polish the {MARK}")),
    failed("junk: two things at once", "unusable", "told", said(GOOD.replace("8:00 AM", "7:00 AM"))),
    row("junk that is mended", planned(*["..."] * 6), said(), claims=2),
    failed(
        "junk that its fault quotes",
        "unusable",
        "told",
        planned(*[f"{item['description']} for the character" for item in PLAN["activities"]]),
        claims=2,
    ),
    failed("junk twice", "unusable", "told", planned(*["..."] * 6), claims=2),
    # responses that are not from a model
    failed("a web page", "no_completion", "none", raw(200, b"<html>Welcome</html>", Content_Type="text/html")),
    failed("nothing", "no_completion", "none", raw(200, b"")),
    failed("no content by its status", "no_completion", "none", raw(204, b"", Content_Length="")),
    failed("a list in JSON", "no_completion", "none", raw(200, b"[]")),
    failed("another service", "no_completion", "none", raw(200, b'{"status": "up"}')),
    failed("bytes that are no text", "no_completion", "none", raw(200, b"\xff\xfe\x00\x01")),
    failed("an error with status 200", "server", "none", whole(error={"message": "upstream failed"})),
    failed("an error with its own code", "rate_limited", "none", whole(error={"message": "slow down", "code": 429})),
    failed("an error whose code is text", "rate_limited", "none", whole(error={"message": "slow", "code": "429"})),
    failed("an error in words alone", "server", "none", whole(error="upstream failed")),
    failed("an error beside no choices", "overloaded", "none", whole(error={"code": 503}, choices=[], usage=None)),
    failed("another address", "no_completion", "none", raw(302, b"", Location="http://127.0.0.1:1/v1")),
    failed("another address for good", "no_completion", "none", raw(308, b"", Location="/v1/")),
    failed("an address that takes no calls", "no_completion", "none", refused(405, "method not allowed")),
    failed("a status below all", "no_completion", "told", b"HTTP/1.1 099 Said\r\n" + said().partition(b"\r\n")[2]),
    failed("a proxy that knows nobody", "proxy", "none", refused(407, "who are you?")),
    # faults of the transport
    failed("compressed", "not_json", "bound", raw(200, gzip.compress(body_of(said())), Content_Encoding="gzip")),
    failed(
        "compressed, named twice",
        "not_json",
        "bound",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n"
        + raw(200, gzip.compress(body_of(said())), Content_Encoding="gzip").partition(b"\r\n")[2],
    ),
    failed("compressed without a word", "not_json", "bound", raw(200, gzip.compress(body_of(said())))),
    failed("without end", "too_large", "bound", raw(200, b"x" * 5_000_000)),
    failed("closed without an answer", "connection", "bound", delivered("close")),
    failed("reset in mid-answer", "connection", "bound", delivered("reset")),
    failed("shorter than it said", "connection", "bound", raw(200, body_of(said()), Content_Length="9000")),
    failed("no HTTP", "connection", "bound", b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    failed("broken chunks", "connection", "bound", chunked(said(), 50).replace(b"32\r\n", b"zz\r\n")),
    failed("continues without end", "connection", "bound", b"HTTP/1.1 100 Continue\r\n\r\n", endless=True),
    failed("at work without end", "connection", "bound", b"HTTP/1.1 102 Processing\r\n\r\n", endless=True),
    failed(
        "hints without end",
        "connection",
        "bound",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
        endless=True,
    ),
    failed(
        "one continue too many",
        "connection",
        "bound",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 101 + said(),
    ),
    failed("hanging", "timeout", "bound", delivered("hang"), deadline=REACHES),
    failed("dripping", "timeout", "bound", delivered("drip"), deadline=REACHES),
    # requested waits
    failed("limited", "rate_limited", "none", refused(429, "slow down")),
    failed("limited for seconds", "rate_limited", "none", refused(429, "slow", Retry_After="7"), wait=7.0),
    failed("limited for ms", "rate_limited", "none", refused(429, "slow", retry_after_ms="2500"), wait=2.5),
    failed(
        "limited until a reset",
        "rate_limited",
        "none",
        refused(429, "slow", x_ratelimit_reset_requests="1m30s", x_ratelimit_remaining_requests="0"),
        wait=90.0,
    ),
    failed("limited in words", "rate_limited", "none", refused(429, "Please try again in 6s."), wait=6.0),
    failed("limited in longer words", "rate_limited", "none", refused(429, "Try again in 20 seconds."), wait=20.0),
    failed("limited in minutes", "rate_limited", "none", refused(429, "Please wait 2 minutes."), wait=120.0),
    failed(
        "limited until a date",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After=at_instant(3_600, "http")),
        wait=3_600.0,
        dated=True,
    ),
    failed(
        "limited until a date in ISO 8601",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After=at_instant(3_600, "iso")),
        wait=3_600.0,
        dated=True,
    ),
    failed(
        "limited until a number of seconds",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After=at_instant(3_600, "epoch")),
        wait=3_600.0,
        dated=True,
    ),
    failed(
        "limited until a date that is past",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
        wait=0.0,
    ),
    failed(
        "limited for longer than a day",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After="99999999"),
        wait=86_400.0,
    ),
    failed(
        "limited beyond all numbers",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After="9" * 400),
        wait=86_400.0,
    ),
    failed("limited for a duration", "rate_limited", "none", refused(429, "slow", Retry_After="1m30s"), wait=90.0),
    failed(
        "limited for nonsense and until a reset",
        "rate_limited",
        "none",
        refused(429, "slow", Retry_After="soon", x_ratelimit_reset="12"),
        wait=12.0,
    ),
    failed("limited for less than nothing", "rate_limited", "none", refused(429, "slow", Retry_After="-5")),
    failed(
        "limited until a reset in ISO 8601",
        "rate_limited",
        "none",
        refused(
            429,
            "slow",
            anthropic_ratelimit_requests_reset=at_instant(3_600, "iso"),
            anthropic_ratelimit_requests_remaining="0",
        ),
        wait=3_600.0,
        dated=True,
    ),
    failed(
        "limited until a reset in ms since 1970",
        "rate_limited",
        "none",
        refused(429, "slow", X_RateLimit_Reset=at_instant(3_600, "ms"), X_RateLimit_Remaining="0"),
        wait=3_600.0,
        dated=True,
    ),
    failed(
        "limited until a reset of ms",
        "rate_limited",
        "none",
        refused(429, "slow", x_ratelimit_reset_tokens="120ms"),
        wait=0.12,
    ),
    failed(
        "failing far from its limits",
        "server",
        "none",
        refused(500, "oops", x_ratelimit_reset_requests="6m0s", x_ratelimit_remaining_requests="59"),
    ),
    failed(
        "refusing far from its limits",
        "bad_request",
        "none",
        refused(400, "no", x_ratelimit_reset_tokens="90s", x_ratelimit_remaining_tokens="149984"),
    ),
    failed("overloaded for a while", "overloaded", "none", refused(503, "busy", Retry_After="5"), wait=5.0),
    failed("overloaded", "overloaded", "none", refused(529, "busy")),
    failed("failing", "server", "none", refused(500, "oops")),
    failed("failing for a while", "server", "none", refused(500, "oops", Retry_After="3"), wait=3.0),
    failed("a gateway that gave up", "server", "bound", refused(504, "upstream")),
    failed("a server that gave up", "timeout", "bound", refused(408, "too slow")),
    failed("a conflict", "conflict", "none", refused(409, "again")),
    failed("a teapot", "bad_request", "none", refused(418, "short and stout")),
    row("failing once", refused(500, "oops"), said(), claims=2),
    row("limited once", refused(429, "slow", Retry_After="0"), said(), claims=2, wait=0.0),
    row("too long once", refused(400, "maximum context length is 8192 tokens"), said(), claims=2),
)


def wordings() -> list[Behaviour]:
    """Return one behaviour per status, class and kind of wait of the errors seen at providers.

    An error that refuses a form of request is followed by a good answer to the next form.
    `tests/unit/workers/llm/replies/test_error_wordings.py` tests the class, wait and next form of every wording.
    """
    found = []
    rows = json.loads((ROOT / "tests/fixtures/error-wordings.json").read_text())
    for seen in {(one["status"], one["kind"], one["wait"] is None): one for one in rows}.values():
        reply, name = raw(seen["status"], json.dumps(seen["body"]).encode()), f"{seen['provider']}: {seen['says']}"
        if seen["kind"] == "unsupported":
            found.append(row(name, reply, said(), claims=2))
        else:
            found.append(failed(name, seen["kind"], "none", reply, wait=seen["wait"]))
    return found
