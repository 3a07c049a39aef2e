"""An endpoint's replies as bytes on the wire: completions, errors and streams, whole and in pieces."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any, Literal

from cogitate.ops.fake_llm.completions import FakeResponse

PROMPT_TOKENS, OUTPUT_TOKENS = 700, 90  # the usage that a completion reports unless a case changes it
CAP = 800  # tokens of a plan
BEGUN = time.time()
MARK = "zither"  # a word in every item of the endpoint's plans

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
    "prompt_tokens": PROMPT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": PROMPT_TOKENS + OUTPUT_TOKENS,
}


def raw(status: int, body: bytes, **headers: str) -> bytes:
    """Return a response as bytes on the wire."""
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


def body_of(response: bytes) -> bytes:
    return response.partition(b"\r\n\r\n")[2]


def chunked(response: bytes, size: int) -> bytes:
    body, head = body_of(response), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def delivered(delivery: Any, response: bytes | None = None) -> FakeResponse:
    return FakeResponse(status=200, body=body_of(response or said()), delivery=delivery)


def streamed(
    *, done: bool = True, usage: object = USAGE, finish: str = "stop", until: int = len(GOOD), beside: bool = False
) -> bytes:
    """Return a completion as an unrequested stream of events; with `beside`, a second choice is interleaved."""
    parts: list[dict[str, object]] = [{"delta": {"role": "assistant", "content": ""}}]
    parts += [{"delta": {"content": GOOD[at : min(at + 60, until)]}} for at in range(0, until, 60)]
    parts += [{"delta": {}, "finish_reason": finish}] if done else []
    chunks: list[dict[str, object]] = [{"choices": [{"index": 0, **part}]} for part in parts]
    if beside:
        other: dict[str, object] = {"choices": [{"index": 1, "delta": {"content": "No. "}}]}
        chunks = [one for chunk in chunks for one in (chunk, other)]
    chunks += [{"choices": [], "usage": usage}] if done else []
    events = [": PROCESSING", *(f"data: {json.dumps({'id': 'c-1', **chunk})}" for chunk in chunks)]
    body = "\r\n\r\n".join([*events, "data: [DONE]"] if done else events)
    return raw(200, body.encode(), Content_Type="text/event-stream")


def at_instant(seconds: float, form: Literal["http", "iso", "epoch", "ms"]) -> str:
    """Return the time this many seconds after `BEGUN` in a header's format."""
    then = BEGUN + seconds
    if form == "http":
        return formatdate(then, usegmt=True)
    if form == "iso":
        return datetime.fromtimestamp(then, UTC).replace(tzinfo=None).isoformat() + "Z"
    return str(int(then)) if form == "epoch" else str(int(then * 1_000))


def nested(depth: int) -> object:
    found: object = GOOD
    for _ in range(depth):
        found = [{"type": "text", "text": found}]
    return found


def ended(finish: object, **error: object) -> bytes:
    """Return a completion that breaks off, with this finish reason and perhaps an error."""
    choice = {"index": 0, "message": {"role": "assistant", "content": GOOD[:30]}, "finish_reason": finish, **error}
    return whole(choices=[choice], usage=USAGE)


def planned(*descriptions: str) -> bytes:
    items = [{**item, "description": text} for item, text in zip(PLAN["activities"], descriptions, strict=False)]
    return said(json.dumps({"activities": items}))
