"""The wordings by which error responses are recognised: one line per meaning, across providers.

Providers disagree about status codes, so the words come first. `tests/fixtures/error-wordings.json` holds the responses
of providers for which these lines were written, each with its source. Add a new response there, and a line here if no
line matches it yet.

A provider's error text may contain part of the key or of the prompt, so the client uses it to classify the failure and
then drops it: a `Failure` holds only kind, status and an error code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cogitate.workers.llm.replies.context_lengths import named_context
from cogitate.workers.llm.replies.failures import Failure, FailureKind
from cogitate.workers.llm.replies.requested_waits import requested_wait


class Wording(NamedTuple):
    """One meaning of an error response."""

    kind: FailureKind
    statuses: frozenset[int]
    words: re.Pattern[str]


def _wording(kind: FailureKind, statuses: str, *words: str) -> Wording:
    """Return a wording; in `statuses` "4xx" stands for all of them."""
    numbers = {n for part in statuses.split() for n in (range(400, 500) if part == "4xx" else [int(part)])}
    return Wording(kind, frozenset(numbers), re.compile("|".join(words), re.IGNORECASE))


#: The first wording that matches decides.
WORDINGS = (
    # The model's text is at fault, not the request: Groq validates answers itself.
    _wording("truncated", "400", r"max completion tokens reached before"),
    _wording("not_json", "400", r"json_validate_failed", r"failed to (generate|validate) json"),
    # A daily limit, or an empty account, does not recover while a job waits.
    _wording(
        "quota_exhausted",
        "400 402 403 412 429 500",
        r"insufficient[ _](quota|balance|funds|credits?)",
        r"not[ _]enough[ _]balance|balance is insufficient|any credits yet",
        r"account ?overdue|overdue (account|balance)|arrearage",  # Volcengine, Qwen
        r"billing_(hard_limit_reached|not_active)",  # OpenAI
        r"reached your specified API usage limits",  # Anthropic
        r"credit balance is too low",
        r"(used|exhausted) (all|your) (available |your )*(credits|monthly)",
        r"exceeded_current_quota",
        r"spending limit",
        r"budget (has been )?exceeded|budget_exceeded|exceeded ?budget",  # LiteLLM
        r"余额不足",  # Z.AI: insufficient balance
    ),
    _wording("quota_exhausted", "429", r"limit: 0\b", r"PerDay"),
    _wording("context_overflow", "413 429", r"request too large for"),  # larger than what a minute allows
    _wording("rate_limited", "429", r"PerMinute", r"retryDelay", r"(retry|try again) in \d"),
    _wording(  # with statuses that say something else; "too many tokens, please wait" is no overflow
        "rate_limited",
        "400 403 500",
        r"throttling",  # Bedrock
        r"rate[ _]?limit[ _]?(error|exceeded|reached)",
        r"please wait before trying again",
    ),
    _wording("quota_exhausted", "403 429", r"exceeded your current quota"),
    _wording(
        "auth",
        "400 404",
        r"API[ _]key[ _](not[ _]valid|invalid|expired)",
        r"(incorrect|invalid) API[ _]key",
        r"(missing|invalid) authorization header",
        r"location is not supported for the API",  # Gemini
        r"organization[ _](has been )?restricted",  # Groq
    ),
    _wording(
        "context_overflow",
        "400 413 422 500",
        r"context[ _-]?(length|window|size)",
        r"maximum (context|prompt length)",
        r"too many (input )?tokens",
        r"(prompt|input|request) is too (long|large)",
        r"exceeds? the (available|maximum) (context|number of tokens)",
        r"range of input length",  # Qwen
        r"model token limit",  # Kimi
        r"`inputs`",  # text-generation-inference, and providers that use it
        r"max_(completion_)?tokens must be at least",  # vLLM, when the prompt leaves no room
    ),
    _wording(
        "filtered",
        "4xx",
        r"content[ _]?(filter|policy|management)",
        r"moderation",
        r"safety system",
        r"responsible ?ai",
        r"data_?inspection_?failed",  # Qwen
        r"content exists risk",  # DeepSeek
        r"prompt was flagged",  # OpenAI
        r"不安全或敏感内容",  # Z.AI: unsafe or sensitive content
    ),
    _wording("bad_request", "404", r"no endpoints found that"),  # OpenRouter: of a parameter, not of the model
    _wording(
        "model_missing",
        "400 404",
        r"model[ _]not[ _](found|exist)",
        r"model .{0,200}(does not exist|not found|decommissioned)",
        r"(unknown|invalid|not a valid) model",
        r"invalid_model",
        r"model_decommissioned",
        r"on-demand throughput isn.t supported",  # Bedrock: of this model, which needs a profile
        r"no models loaded",  # LM Studio
    ),
    _wording("server", "400", r"failed to load (the )?model", r"model has crashed"),  # LM Studio
    _wording("overloaded", "500", r"overloaded"),
)

_BY_STATUS: dict[int, FailureKind] = {
    401: "auth",
    402: "quota_exhausted",
    403: "auth",
    404: "model_missing",
    405: "no_completion",  # nothing that takes calls is at this address
    407: "auth",  # of a proxy
    408: "timeout",
    409: "conflict",
    413: "context_overflow",
    423: "conflict",
    424: "server",  # Bedrock and text-generation-inference: the model failed
    425: "conflict",
    429: "rate_limited",
    498: "overloaded",  # Groq: no capacity for its flex tier
    503: "overloaded",
    529: "overloaded",
}

_CODE = re.compile(r"[a-z][a-z0-9_]{1,47}")
_READ = 4_000  # characters of an error's text that are read
_SCALARS = (
    "code",
    "type",
    "status",
    "param",
    "message",
    "msg",
    "status_msg",
    "detail",
    "reason",
    "quotaId",
    "retryDelay",
    "raw",
    "n_ctx",
)
#: Fields with details (Gemini, OpenRouter), with all of the error (Cloudflare, MiniMax), or with a relayed error.
_PARTS = ("details", "violations", "metadata", "errors", "base_resp", "error")
_WAITS = ("estimated_time", "retry_after")  # in seconds: Hugging Face's, and that of many gateways
_DEEPEST = 4
_ERROR_STATUSES = frozenset(map(str, range(400, 600)))


def from_status(status: int, body: object, headers: Mapping[str, str]) -> Failure:
    """Return the failure of an error response, judged by its words first: providers disagree about status codes."""
    return _failure(status, _kind(status, _read(body)[1]), body, headers)


def from_success(body: Mapping[str, object], headers: Mapping[str, str]) -> Failure | None:
    """Return the error that a response with a success status reports, or None.

    The error is judged by its own status, if it has one, else by its words alone.
    """
    error = body.get("error")
    named = (error.get(key) for key in ("code", "status", "http_code")) if isinstance(error, Mapping) else ()
    status = next((int(str(one)) for one in named if str(one) in _ERROR_STATUSES), None)
    if status is not None:
        return from_status(status, body, headers)
    if not error and isinstance(body.get("message"), Mapping):
        return None  # text from a model is not an error
    text = _read(body)[1]
    kind = next((wording.kind for wording in WORDINGS if wording.words.search(text)), None)
    if kind is None and not error:
        return None
    return _failure(500, kind or "server", body, headers)


def _failure(status: int, kind: FailureKind, body: object, headers: Mapping[str, str]) -> Failure:
    code, text = _read(body)
    context = named_context(text) if kind == "context_overflow" else 0
    limited = kind in ("rate_limited", "quota_exhausted", "overloaded")
    wait = requested_wait(headers, text, limited=limited)
    if wait is None:
        wait = requested_wait(_headers_within(body), limited=limited)
    return Failure(kind=kind, status=status, retry_after=wait, context=context, detail=code)


def _headers_within(body: object) -> dict[str, str]:
    """Return the headers of the provider behind OpenRouter, which are included in its error."""
    for key in ("error", "metadata", "headers"):
        body = body.get(key) if isinstance(body, Mapping) else None
    return {str(name): str(value) for name, value in body.items()} if isinstance(body, Mapping) else {}


def error_text(body: object) -> str:
    """Return the words of an error response, to classify it, not to show it."""
    return _read(body)[1]


def _read(body: object) -> tuple[str, str]:
    """Return an error body's code, if it looks like one, and its words."""
    error: object = body[0] if isinstance(body, list) and body else body  # Gemini sends a list of one error
    if isinstance(error, Mapping) and isinstance(error.get("error"), Mapping):
        error = error["error"]  # the usual shape; others send the inner part only
    if not isinstance(error, Mapping):
        return "", str(error or "")[:_READ]
    codes = [str(error.get(key) or "") for key in ("code", "type")]
    code = next((c for c in codes if _CODE.fullmatch(c)), "")
    named = error.get("error")  # text, beside what says more of it
    return code, " ".join([*([named] if isinstance(named, str) else []), *_words(error, _DEEPEST)])[:_READ]


def _words(node: object, depth: int) -> Iterator[str]:
    """Yield the words of the known fields; others, such as Groq's `failed_generation`, may contain a model's text."""
    if isinstance(node, list):
        for part in node[:10]:
            yield from _words(part, depth)
    elif isinstance(node, Mapping) and depth:
        for key in _SCALARS:
            if value := node.get(key):
                prefix = f"{key} " if key in ("retryDelay", "n_ctx") else ""
                yield prefix + str(value)[:_READ]
        for key in _WAITS:
            if isinstance(wait := node.get(key), int | float):
                yield f"retryDelay {wait:.3f}s"
        for key in _PARTS:
            yield from _words(node.get(key), depth - 1)


def _kind(status: int, text: str) -> FailureKind:
    """Return what an error response means: by its words, else by its status."""
    for wording in WORDINGS:
        if status in wording.statuses and wording.words.search(text):
            return wording.kind
    if status < 400:  # a redirect: the address has changed
        return "no_completion"
    return _BY_STATUS.get(status, "server" if status >= 500 else "bad_request")
