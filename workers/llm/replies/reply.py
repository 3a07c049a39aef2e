"""Reads completions in any shape that endpoints use: the answer's text or its failure, and the usage.

Some gateways send a stream of events although none was requested; `joined` joins its chunks first.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from pydantic import BaseModel, ValidationError

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import Model, call_cost
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.error_responses import from_success
from cogitate.workers.llm.replies.failures import Failure, FailureKind, describe_places
from cogitate.workers.llm.replies.reading import answer_in
from cogitate.workers.llm.requests.tokens import estimate_tokens, prompt_tokens

#: Families of encodings that a response may declare; others, such as Punycode, are slow or not text encodings.
_CHARSET = re.compile(
    r"charset=\"?((?:iso-?8859|latin|windows|cp|koi8|gb|big5|s(?:hift_?)?jis|euc)[\w-]{0,12})", re.IGNORECASE
)


def in_utf8(content: bytes, headers: Mapping[str, str]) -> bytes:
    """Convert the body of a response to UTF-8, with U+FFFD for invalid bytes.

    Some servers break a character when a token ends within it; the rest of the answer is still usable.
    """
    encoding: str = json.detect_encoding(content)
    if encoding in ("utf-8", "utf-8-sig"):
        with contextlib.suppress(UnicodeDecodeError):
            content.decode()
            return content
        named = _CHARSET.search(headers.get("Content-Type", ""))
        with contextlib.suppress(LookupError):
            return content.decode(named[1] if named is not None else "utf-8", errors="replace").encode()
    return content.decode(encoding, errors="replace").encode()


def text_of(content: object) -> str:
    """Return a message's content: a string, the joined strings of a list of parts, one part, or an object as JSON."""
    if isinstance(content, list):
        return "".join(map(_text_of_part, content))
    if isinstance(content, dict):
        return _text_of_part(content) if content.get("type") in ("text", "output_text") else json.dumps(content)
    return content if isinstance(content, str) else ""


_END = re.compile(r"<[|｜][^<>{}]{1,40}>\s*\Z")  # an end token that some servers leave in the text


def texts_of(message: Mapping[str, object], beside: str) -> tuple[str, str]:
    """Return the text of an answer, and its reasoning.

    Some gateways return the answer as the arguments of a tool call, and some servers return it in the field for
    reasoning: either counts as the answer if there is no other.

    Args:
        beside: the text beside the message, for an endpoint that puts it there.
    """
    text = text_of(message.get("content")) or beside
    thought = text_of(message.get("reasoning_content") or message.get("reasoning"))
    if "{" not in text and (arguments := arguments_in(message)):
        text = f"{text}\n{arguments}"
    whole = _END.sub("", thought).strip()
    if not text.strip() and whole.startswith("{") and whole.endswith("}"):
        return whole, ""
    return text, thought


def arguments_in(message: Mapping[str, object]) -> str:
    """Return the arguments of a message's first function call, or the part of them in a stream's chunk."""
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    called = message.get("function_call")
    if isinstance(first, Mapping) and not first.get("index"):  # parts of a stream have one
        called = first.get("function")
    return text_of(called.get("arguments")) if isinstance(called, Mapping) else ""


def _text_of_part(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


_BEGINS = (b"data:", b"event:", b"id:", b"retry:", b":")  # beginnings of a stream's lines; the last is a comment's
_MARK = b"\xef\xbb\xbf"  # byte order mark, which may begin a stream
_DONE = b"[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def is_stream(content: bytes) -> bool:
    """Return whether the body of a response is a stream of events."""
    return content[:1_000].removeprefix(_MARK).lstrip().startswith(_BEGINS)


def joined(content: bytes) -> dict[str, Any] | None:
    """Join a stream's chunks into a completion; return None if the stream is incomplete or contains none.

    Only the first choice counts. A stream is complete if it gives a finish reason or an error, or ends with the marker
    for its end after some text.
    """
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    arguments: list[str] = []
    ended = None
    whole: dict[str, Any] = {}
    for chunk in _chunks(content):
        whole |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        choices = chunk["choices"] if isinstance(chunk.get("choices"), list) else []
        for choice in [part for part in choices if isinstance(part, Mapping) and not part.get("index")][:1]:
            ended = choice.get("finish_reason") or ended
            if choice.get("usage") is not None:
                whole["usage"] = choice["usage"]  # Kimi
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, Mapping):
                for name, parts in texts.items():
                    parts.append(text_of(delta.get(name)))
                arguments.append(arguments_in(delta))
    message: dict[str, Any] = {name: "".join(parts) for name, parts in texts.items()}
    if any(arguments):
        message["function_call"] = {"arguments": "".join(arguments)}
    if ended is None and "error" not in whole:
        if not any(message.values()) or not content.rstrip().endswith(_DONE):
            return None
        ended = "stop"
    if ended is not None or any(message.values()):
        whole["choices"] = [{"message": message, "finish_reason": ended or "error", "error": whole.get("error")}]
    return whole


def _chunks(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the events. An object may span several lines of an event."""
    lines: list[bytes] = []
    for line in (*content.removeprefix(_MARK).splitlines(), b""):
        if line.startswith(b"data:"):
            lines.append(line.removeprefix(b"data:"))
            if (chunk := _decoded(lines[-1])) is None:
                continue
        elif line or not lines:
            continue
        else:
            chunk = _decoded(b"\n".join(lines))
        lines.clear()
        if isinstance(chunk, dict):
            yield chunk


def _decoded(data: bytes) -> object:
    """Return the JSON value; None if the text is not JSON, such as "[DONE]", or is incomplete."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):  # strict JSON, as most is, in a seventh of the time
        return typed_json.decode(data)
    try:
        return json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return None


#: Stems of the reasons with which vendors end incomplete generations; the first that matches decides.
_ENDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    ("filtered", re.compile("filter|safety|sensitive|recitation|blocklist|prohibited|spii|guardrail")),
    ("truncated", re.compile("length|max_(?:output_)?tokens|context_window")),
    ("refused", re.compile("refusal")),
    ("overloaded", re.compile("insufficient_system")),
    ("server", re.compile("error|abort")),
)
_LONGEST_REASON = 60  # characters
_TIER = re.compile(r"[a-z_][a-z0-9_]{0,23}", re.ASCII)
_EVENT = re.compile(rb"^data: ?\{", re.MULTILINE)

_MOST_TOKENS = 100_000_000  # tokens; no model reads or writes more in one call
_ADDED = 100_000  # the most tokens that a gateway or a template may add to a prompt
_MOST_WRITTEN = 1_000_000  # tokens; no model writes more in one call


class Usage(NamedTuple):
    """Tokens of one call. Hidden reasoning counts as output."""

    prompt: int
    output: int
    cached: int = 0  # prompt tokens read from the provider's cache
    reasoning: int = 0  # output tokens that are not part of the answer


def read_usage(response: Mapping[str, object]) -> Usage | None:
    """Return the usage in a chat completion, or None if it is missing, negative, NaN, absurd, or has no prompt.

    Some providers exclude reasoning from `completion_tokens`. If the total exceeds prompt and completion, or reasoning
    alone exceeds the completion, the excess counts as output. Ignores a cached count above the prompt's. DeepSeek
    reports cached tokens in separate fields, and Anthropic excludes them from the prompt's tokens.
    """
    usage = response.get("usage")
    if not isinstance(usage, Mapping):
        return None
    prompt, output = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    separate = _count(usage, "prompt_cache_hit_tokens") or 0
    asked, answered = "prompt", "completion"
    if prompt is None and output is None:  # names of Anthropic and the Responses API, which some gateways pass on
        prompt, output = _count(usage, "input_tokens"), _count(usage, "output_tokens")
        asked, answered = "input", "output"
        if prompt is not None:  # Anthropic excludes tokens read from or written to its cache
            separate = _count(usage, "cache_read_input_tokens") or 0
            prompt += separate + (_count(usage, "cache_creation_input_tokens") or 0)
    total = _count(usage, "total_tokens")
    if prompt and usage.get(f"{answered}_tokens") is None and total is not None and total > prompt:
        output = total - prompt
    if not prompt or output is None:  # no call has an empty prompt; some servers exclude cached tokens
        return None
    reasoning = _count(usage, f"{answered}_tokens_details", "reasoning_tokens") or 0
    if reasoning > output:
        output += reasoning
    cached = _count(usage, f"{asked}_tokens_details", "cached_tokens") or separate
    output = max(output, (total or 0) - prompt)
    return Usage(prompt, output, cached if cached <= prompt else 0, min(reasoning, output))


def is_possible(usage: Usage, sent_bytes: int) -> bool:
    """Return whether a call that sent this many bytes can have this usage; no token is shorter than a byte."""
    return usage.prompt <= sent_bytes + _ADDED and usage.output <= _MOST_WRITTEN


def _count(usage: Mapping[str, object], *path: str) -> int | None:
    """Return the count at a path of names; None if there is no plausible one."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MOST_TOKENS and value == int(value) else None  # NaN fails the first comparison


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP exchange: the answer's text or the failure, and the reported usage."""

    text: str = ""
    failure: Failure | None = None
    error_text: str = ""  # text of an error response: for classification, never stored
    usage: Usage | None = None
    unreported: Literal["nothing", "text", "all"] = "nothing"  # what to charge when usage is None
    thought: str = ""  # reasoning sent by the endpoint
    service_tier: str = ""  # the tier that served the call, if reported


class Charge(NamedTuple):
    """The cost of an exchange."""

    cost: Cost
    estimated: bool = False
    discount: int = 0  # micro-dollars more that the standard service tier would have cost


def charge_of(model: Model, prompt: Prompt, reply: Reply, sent: int, max_output_tokens: int) -> Charge:
    """Return the cost of the exchange.

    If the endpoint reports no usage, an answer costs the estimate for its prompt and text, an exchange with an unknown
    outcome costs its upper bound, and an error response costs a call.
    """
    if sent == 0:
        return Charge(Cost())
    percent = model.percent_of(reply.service_tier)
    if reply.usage is not None:
        used = reply.usage
        cost = call_cost(model, used.prompt, used.output, used.cached, calls=sent, percent=percent)
        full = call_cost(model, used.prompt, used.output, used.cached) if percent < 100 else cost
        return Charge(cost, discount=full.usd_micros - cost.usd_micros)
    if reply.unreported == "nothing":
        return Charge(Cost(calls=sent))
    output = max_output_tokens
    if reply.unreported == "text":  # the server stops at the cap, and the estimate may exceed it
        output = min(output, estimate_tokens(reply.thought) + estimate_tokens(reply.text))
    return Charge(call_cost(model, prompt_tokens(prompt), output, calls=sent, percent=percent), estimated=True)


def read_completion(content: bytes, headers: Mapping[str, str]) -> Reply:
    """Read the first choice of a chat completion in any known shape."""
    content = in_utf8(content, headers)
    streamed = is_stream(content)
    body = joined(content) if streamed else _decoded(content)
    if body is None:
        body = _completion_within(content)
    if not isinstance(body, dict):
        # A completion that was damaged in transit is still charged.
        if body is None and (streamed or content.lstrip().startswith(b"{")):
            return Reply(failure=Failure(kind="not_json", detail="broken JSON in the response"), unreported="all")
        return Reply(failure=Failure(kind="no_completion", detail="the response is not a JSON object"))
    usage = read_usage(body)
    choices = body.get("choices")
    choice = next((part for part in choices if isinstance(part, dict)), None) if isinstance(choices, list) else None
    if choice is None:
        failure = from_success(body, headers)
        if failure is not None or (usage is None and "choices" not in body):
            none = Failure(kind="no_completion", detail="neither choices nor usage")
            return Reply(failure=failure or none, usage=usage)
        return Reply(failure=Failure(kind="empty", detail="no choices"), usage=usage, unreported="text")
    usage = usage or read_usage(choice)
    message = choice.get("message") or choice.get("delta")
    message = message if isinstance(message, dict) else {}
    text, thought = texts_of(message, text_of(choice.get("text")))
    if usage is not None and not usage.output and (text + thought).strip():
        usage = None  # a text cannot have cost nothing
    refusal = message.get("refusal")
    ended = _ended(choice, bool(refusal.strip() if isinstance(refusal, str) else refusal), text, headers)
    is_cut = ended is not None and ended.kind == "truncated"
    tier = body.get("service_tier")  # stored only if it is a name, since a provider's text is never stored
    return Reply(
        text="" if is_cut and not thought and message.get("content") in (None, "") else text,  # it was reasoning
        failure=ended,
        usage=usage,
        unreported="text" if ended is None or ended.kind in ("filtered", "refused", "empty") else "all",
        thought=thought,
        service_tier=tier if isinstance(tier, str) and _TIER.fullmatch(tier) else "",
    )


def _completion_within(content: bytes) -> dict[str, object] | None:
    """Return the only completion within other content, such as a proxy's keep-alive comments before it."""
    if _EVENT.search(content) is not None:
        return None  # part of a stream
    body = _decoded(content[content.find(b"{") : content.rfind(b"}") + 1])
    return body if isinstance(body, dict) and "choices" in body else None


def _ended(choice: Mapping[str, object], refusal: bool, text: str, headers: Mapping[str, str]) -> Failure | None:
    """Return why the answer is unusable, or None. Truncation is a failure even if the text contains whole objects."""
    reason = str(choice.get("finish_reason") or ("error" if choice.get("error") else "")).lower()
    kind = next((kind for kind, stems in _ENDS if stems.search(reason.partition(":")[0][:_LONGEST_REASON])), None)
    if kind == "server" and (failure := from_success({"error": choice.get("error")}, headers)) is not None:
        return failure
    if kind is not None and (kind == "filtered" or not refusal):
        return Failure(kind=kind, detail=f"finish_reason {reason[:_LONGEST_REASON]}")
    if refusal:
        return Failure(kind="refused")
    return None if text.strip() else Failure(kind="empty", detail="no text")


def validated(reply: Reply, model: type[BaseModel]) -> tuple[BaseModel | None, Failure | None]:
    """Return the last value in the answer that fits its class, or else the failure.

    An answer that was complete when it reached its token cap counts as not truncated.
    """
    is_cut = reply.failure is not None and reply.failure.kind == "truncated"
    made = answer_in(reply.text, model, cut=is_cut) if reply.failure is None or is_cut else None
    if isinstance(made, BaseModel):
        return made, None
    if made is None:
        return None, reply.failure or Failure(kind="not_json", detail="no JSON object in the answer")
    return None, reply.failure or Failure(kind="wrong_schema", detail=_describe(made.error))


def _describe(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        with contextlib.suppress(Exception):  # reads texts from the validator's own errors, which may raise
            return describe_places(list(error.errors(include_url=False, include_context=False, include_input=False)))
    return f"a validator raised {type(error).__name__}"
