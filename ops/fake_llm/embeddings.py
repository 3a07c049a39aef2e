"""Responses to requests for embeddings, with faults. Texts that share words have similar vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cogitate.memory.language.text import words
from cogitate.ops.fake_llm.completions import DELIVERIES, FakeResponse, count_tokens, error, failed, json_response
from cogitate.ops.fake_llm.faults import draw

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
