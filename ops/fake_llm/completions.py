"""Responses to requests for chat completions, packed ones included, and for embeddings, with faults.

Texts that share words have similar vectors.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from cogitate.memory.language.text import words
from cogitate.ops.fake_llm.answers import AnswerWriter, text_of, wanted_schema
from cogitate.ops.fake_llm.faults import FLEX_FAULTS, draw, status_of
from cogitate.workers.jobs.packs.prompt import case_field, cases_in, texts_of
from cogitate.workers.jobs.packs.rows import answer_schema, case_row

Delivery = Literal["complete", "hang", "close", "reset", "drip", "drip_headers"]
#: The delivery of each fault that affects the delivery.
DELIVERIES: Mapping[str | None, Delivery] = {name: name for name in get_args(Delivery)}
_HUGE = 8 * 2**20  # bytes


@dataclass(frozen=True, kw_only=True)
class FakeResponse:
    """A response: its content, its way of delivery and the usage that it reports."""

    status: int = 200
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    delivery: Delivery = "complete"
    usage: tuple[int, int] | None = None  # prompt and completion tokens, if the response reports them
    service_tier: str = "default"  # the tier that served it


def json_response(body: object, **more: Any) -> FakeResponse:
    """Return a response with a JSON body; `more` are further fields of `FakeResponse`."""
    return FakeResponse(body=json.dumps(body).encode(), **more)


def count_tokens(text: str) -> int:
    """Count tokens as the stand-in does: 1.3 per word, rounded up."""
    return math.ceil(len(text.split()) * 1.3)


def content_digest(request: Mapping[str, Any]) -> str:
    """Return a digest of a request's content in 12 hexadecimal digits, which is the same for each attempt."""
    return digest_of([request.get("model"), request["messages"]])


def digest_of(value: object) -> str:
    """Return a digest of a request or a part of it in 12 hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def complete(request: Mapping[str, Any], seed: object, fault: str | None) -> FakeResponse:
    """Return the response to a valid request."""
    if fault in FLEX_FAULTS and request.get("service_tier") != "flex":
        fault = None
    if fault is not None and (response := failed(fault)) is not None:
        return response
    schema = wanted_schema(request)
    answer = write_pack(request["messages"], schema, seed, fault)
    if answer is None:
        answer = AnswerWriter(request["messages"], seed).write(schema)
    return _completion(request, json.dumps(answer, ensure_ascii=False), fault)


def failed(fault: str) -> FakeResponse | None:
    """Return the response of a fault that is the same for every request; None for other faults."""
    wanted = status_of(fault)
    if wanted is not None:
        status, wait = wanted
        headers = () if wait is None else (("Retry-After", str(wait)),)
        return error(status, f"status_{status}", f"The stand-in was told to fail with {status}.", headers)
    if fault in _ERRORS:
        return error(*_ERRORS[fault])
    if fault == "html":
        return FakeResponse(body=b"<html><body>Gateway</body></html>", content_type="text/html")
    return None


def error(status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()) -> FakeResponse:
    """Return an error response in OpenAI's format."""
    body = {"error": {"message": message, "type": "stand_in_error", "param": None, "code": code}}
    return json_response(body, status=status, headers=headers)


_ERRORS = {
    "quota": (429, "insufficient_quota", "You exceeded your current quota."),
    "overflow": (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    "flex_busy": (429, "resource_unavailable", "Flex processing has no capacity now. Try again later."),
    "flex_unsupported": (400, "unsupported_parameter", "service_tier 'flex' is not supported with this model."),
    "filter_400": (400, "content_filter", "The prompt was stopped by the content filter."),
    "error_200": (200, "upstream_error", "The upstream model failed."),
}


def _completion(request: Mapping[str, Any], text: str, fault: str | None) -> FakeResponse:
    finish = "stop"
    cap = request.get("max_completion_tokens") or request.get("max_tokens")
    if fault == "length":
        text, finish = text[: len(text) // 2], "length"
    elif isinstance(cap, int) and count_tokens(text) > cap:
        text, finish = " ".join(text.split()[: int(cap / 1.3)]), "length"
    elif fault in _TEXTS:
        text = _TEXTS[fault].replace("%", text)
    elif fault == "broken_json":
        text = text[: len(text) * 2 // 3]
        text = text if text.count('"') % 2 else text[: text.rfind('"')]  # within a string
    elif fault == "wrong_types":
        text = json.dumps(wrong_types(json.loads(text)))
    elif fault == "huge":
        text = "x" * _HUGE
    elif fault == "filter":
        text, finish = "", "content_filter"
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if fault == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    usage = sum(count_tokens(text_of(m)) for m in request["messages"]), count_tokens(text)
    body: dict[str, Any] = {
        "id": f"chatcmpl-{digest_of(request)}",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model"),
        "choices": [] if fault == "no_choices" else [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)},
    }
    tier = "flex" if request.get("service_tier") == "flex" and fault != "flex_default" else "default"
    if "service_tier" in request and fault != "flex_unnamed":
        body["service_tier"] = tier
    reports_usage = fault != "huge"  # a client that abandons a huge answer never reads its usage
    if fault in ("no_usage", "nan_usage", "negative_usage"):
        reports_usage = False
        amount = math.nan if fault == "nan_usage" else -1
        body["usage"] = None if fault == "no_usage" else dict.fromkeys(body["usage"], amount)
    return json_response(
        body,
        delivery=DELIVERIES.get(fault, "complete"),
        usage=usage if reports_usage else None,
        service_tier=tier,
    )


_TEXTS = {
    "blank": " ",
    "not_json": "I would rather tell you a story about the sea.",
    "wrong_schema": '{"unexpected": {"shape": true}}',
    "prose": "Of course! Here it is: % I hope this helps.",
    "fenced": "Here you are:\n```json\n%\n```\n",
}


def write_pack(
    messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], seed: object, fault: str | None
) -> dict[str, Any] | None:
    """Return the answer to a packed request, with a fault of packs; None if it is an ordinary one."""
    system, user = ("\n".join(text_of(m) for m in messages if m.get("role") == role) for role in ("system", "user"))
    cases = cases_in(system, user)
    properties = schema.get("properties", {})
    if cases and case_field(1) in properties:
        return _write_by_name(cases, properties, seed, fault)
    if not cases or "answers" not in properties:
        return None
    each = answer_schema(properties["answers"]["items"])
    answers: list[list[Any]] = []
    for (number, *texts), shortened in zip(cases, texts_of(user), strict=True):
        own = _messages(*texts)
        shorter = {text: short for short, text in shortened.items()}
        row = case_row(number, AnswerWriter(own, seed).write(each), each)
        answers.append([shorter.get(value, value) if isinstance(value, str) else value for value in row])
    at = int(draw(seed, system, user, "pack") * len(answers))
    other = (at + 1) % len(answers)
    if fault == "pack_missing":
        del answers[at]
    elif fault == "pack_swapped":
        answers[at][0], answers[other][0] = answers[other][0], answers[at][0]
    elif fault == "pack_repeated":
        answers[at][0] = answers[other][0]
    elif fault == "pack_bad_item":
        answers[at][1:] = map(wrong_types, answers[at][1:])
    return {"answers": answers}


def _write_by_name(
    cases: Sequence[tuple[int, str, str]], properties: Mapping[str, Any], seed: object, fault: str | None
) -> dict[str, Any]:
    """Return the answers to the cases of a packed request, keyed by name, with a fault of packs."""
    answers = {
        case_field(number): AnswerWriter(_messages(*texts), seed).write(properties[case_field(number)])
        for number, *texts in cases
    }
    at, other = case_field(1), case_field(len(cases))
    if fault == "pack_missing":
        del answers[at]
    elif fault == "pack_swapped":
        answers[at], answers[other] = answers[other], answers[at]
    elif fault == "pack_repeated":
        answers[at] = answers[other]
    elif fault == "pack_bad_item":
        answers[at] = wrong_types(answers[at])
    return answers


def _messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def wrong_types(value: object) -> object:
    """Replace the values in an answer by values of the wrong types."""
    if isinstance(value, dict):
        return {key: wrong_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return {"items": [wrong_types(item) for item in value]}
    return ["several"] if isinstance(value, int) else {"several": 7}


DIMENSIONS = 64
MOST_TEXTS = 64  # per request, as on many servers


def embed(request: Mapping[str, Any], fault: str | None) -> FakeResponse:
    """Return the response to a valid request."""
    texts = [request["input"]] if isinstance(request["input"], str) else list(map(str, request["input"]))
    if len(texts) > MOST_TEXTS:
        return error(400, "invalid_request", f"{len(texts)} texts: a request has at most {MOST_TEXTS}.")
    if fault is not None and (response := failed(fault)) is not None:
        return response
    size = DIMENSIONS - (fault == "vector_size")
    vectors = [vector_of(text, size) for text in texts]
    if fault == "vector_nan":
        vectors[0][0] = math.nan
    tokens = sum(map(count_tokens, texts))
    body: dict[str, Any] = {
        "object": "list",
        "model": request.get("model"),
        "data": [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)],
    }
    if fault != "no_usage":
        body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response(
        body,
        delivery=DELIVERIES.get(fault, "complete"),
        usage=(tokens, 0) if fault != "no_usage" else None,
    )


def vector_of(text: str, size: int = DIMENSIONS) -> list[float]:
    """Return the vector of a text: each of its words changes four components."""
    vector = [0.0] * size
    for word in words(text) or [""]:
        for n in range(4):
            place = draw(word, n)
            vector[int(place * size)] += 1.0 if draw(word, n, "sign") < 0.5 else -1.0
    return vector if any(vector) else [1.0, *vector[1:]]
