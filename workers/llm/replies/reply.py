"""The reading of completions: the answer, its usage, and its failure."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ValidationError

from cogitate.scheduler.config.endpoints import Model, call_cost
from cogitate.tasks.job import Cost
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.replies.content import in_utf8, text_of, texts_of
from cogitate.workers.llm.replies.error_responses import from_success
from cogitate.workers.llm.replies.event_stream import is_stream, joined
from cogitate.workers.llm.replies.failures import Failure, FailureKind, describe_places
from cogitate.workers.llm.replies.reading import answer_in
from cogitate.workers.llm.replies.usage import Usage, read_usage
from cogitate.workers.llm.requests.tokens import estimate_tokens, prompt_tokens

#: Finish reasons of incomplete generations, as named by OpenAI and compatible providers.
_ENDS: Mapping[str, FailureKind] = {
    "length": "truncated",
    "max_tokens": "truncated",  # Anthropic and Gemini, behind a gateway
    "max_output_tokens": "truncated",  # of the Responses API, behind a gateway
    "model_length": "truncated",  # Mistral
    "model_context_window_exceeded": "truncated",  # Z.AI
    "content_filter": "filtered",
    "sensitive": "filtered",  # Z.AI
    "safety": "filtered",  # Gemini, behind a gateway, as those that follow
    "recitation": "filtered",
    "blocklist": "filtered",
    "prohibited_content": "filtered",
    "spii": "filtered",
    "guardrail_intervened": "filtered",  # Bedrock, behind a gateway, as the next
    "content_filtered": "filtered",
    "refusal": "refused",  # Anthropic, behind a gateway
    "error": "server",  # OpenRouter, when a provider breaks off
    "network_error": "server",  # Z.AI
    "abort": "server",  # vLLM and SGLang, when they are stopped
    "insufficient_system_resource": "overloaded",  # DeepSeek
}
#: What Gemini has around its reasons: "FINISH_REASON_SAFETY", "IMAGE_SAFETY", "content_filter: RECITATION".
_END = re.compile(r"^(finish_reason_)?(image_)?|:.*", re.DOTALL)
_EVENT = re.compile(rb"^data: ?\{", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One HTTP exchange: the answer's text or the failure, and the reported usage."""

    text: str = ""
    failure: Failure | None = None
    error_text: str = ""  # of an error response: for classification, never stored
    usage: Usage | None = None
    unreported: Literal["nothing", "text", "all"] = "nothing"  # what to charge when usage is None
    thought: str = ""  # reasoning sent by the endpoint
    service_tier: str = ""  # in which the provider served the call, if reported


def cost_of(model: Model, prompt: Prompt, reply: Reply, sent: int, max_output_tokens: int) -> tuple[Cost, bool]:
    """Return the cost of the exchange, and whether it is an estimate.

    Without reported usage, an answer costs the estimate for its prompt and text, an exchange with an unknown outcome
    costs its upper bound, and an error response costs a call.
    """
    if sent == 0:
        return Cost(), False
    percent = model.service_tiers.get(reply.service_tier, 100 if reply.service_tier == "default" else model.percent)
    if reply.usage is not None:
        used = reply.usage
        return call_cost(model, used.prompt, used.output, used.cached, calls=sent, percent=percent), False
    if reply.unreported == "nothing":
        return Cost(calls=sent), False
    output = max_output_tokens
    if reply.unreported == "text":  # the server stops at the cap, and the estimate is high
        output = min(output, estimate_tokens(reply.thought) + estimate_tokens(reply.text))
    return call_cost(model, prompt_tokens(prompt), output, calls=sent, percent=percent), True


def read_completion(content: bytes, headers: Mapping[str, str]) -> Reply:
    """Read the first choice of a chat completion of any known shape."""
    content = in_utf8(content, headers)
    streamed = is_stream(content)
    try:
        body = joined(content) if streamed else json.loads(content, strict=False)
    except (ValueError, RecursionError):
        body = None
    if body is None:
        body = _completion_within(content)
    if not isinstance(body, dict):
        # A completion that was damaged in transit was paid for.
        if body is None and (streamed or content.lstrip().startswith(b"{")):
            return Reply(failure=Failure(kind="not_json", detail="broken JSON in the response"), unreported="all")
        return Reply(failure=Failure(kind="no_completion", detail="the response is not a JSON object"))
    usage = read_usage(body)
    choices = body.get("choices")
    choice = next((one for one in choices if isinstance(one, dict)), None) if isinstance(choices, list) else None
    if choice is None:
        failure = from_success(body, headers)
        if failure is None and usage is None and "choices" not in body:
            return Reply(failure=Failure(kind="no_completion", detail="neither choices nor usage"))
        failure = failure or Failure(kind="empty", detail="no choices")
        return Reply(failure=failure, usage=usage, unreported="text" if failure.status is None else "nothing")
    usage = usage or read_usage(choice)
    message = choice.get("message") or choice.get("delta")
    message = message if isinstance(message, dict) else {}
    text, thought = texts_of(message, text_of(choice.get("text")))
    if usage is not None and not usage.output and (text + thought).strip():
        usage = None  # no text costs nothing
    refusal = message.get("refusal")
    ended = _ended(choice, bool(refusal.strip() if isinstance(refusal, str) else refusal), text, headers)
    is_cut = ended is not None and ended.kind == "truncated"
    return Reply(
        text="" if is_cut and not thought and message.get("content") in (None, "") else text,  # it was reasoning
        failure=ended,
        usage=usage,
        unreported="text" if ended is None or ended.kind in ("filtered", "refused", "empty") else "all",
        thought=thought,
        service_tier=text_of(body.get("service_tier")),
    )


def _completion_within(content: bytes) -> dict[str, object] | None:
    """Return the only completion within other content, such as keep-alive comments of a proxy before it."""
    if _EVENT.search(content) is not None:
        return None  # a part of a stream
    try:
        body = json.loads(content[content.find(b"{") : content.rfind(b"}") + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and "choices" in body else None


def _ended(choice: Mapping[str, object], refusal: bool, text: str, headers: Mapping[str, str]) -> Failure | None:
    """Return why the answer is unusable, or None. A truncated object may contain complete ones: truncation fails."""
    reason = choice.get("finish_reason") or ("error" if choice.get("error") else "")
    kind = _ENDS.get(_END.sub("", str(reason).lower()))
    if kind == "server" and (failure := from_success({"error": choice.get("error")}, headers)) is not None:
        return failure
    if kind is not None and (kind == "filtered" or not refusal):
        return Failure(kind=kind, detail=f"finish_reason {str(reason).lower()}")
    if refusal:
        return Failure(kind="refused")
    return None if text.strip() else Failure(kind="empty", detail="no text")


def validated(reply: Reply, model: type[BaseModel]) -> tuple[BaseModel | None, Failure | None]:
    """Return the last value in the answer that fits its class, or the failure.

    An answer that is whole before its cap of tokens, and blank after it, was not truncated.
    """
    is_cut = reply.failure is not None and reply.failure.kind == "truncated"
    if reply.failure is not None and not is_cut:
        return None, reply.failure
    made = answer_in(reply.text, model, cut=is_cut)
    if isinstance(made, BaseModel):
        return made, None
    if made is None:
        return None, reply.failure or Failure(kind="not_json", detail="no JSON object in the answer")
    return None, reply.failure or Failure(kind="wrong_schema", detail=_describe(made.error))


def _describe(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        with contextlib.suppress(Exception):  # it asks the validator's own errors for their text
            return describe_places(list(error.errors(include_url=False, include_context=False, include_input=False)))
    return f"a validator raised {type(error).__name__}"
