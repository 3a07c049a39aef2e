"""Why a generation ended, in the words of each vendor, and the class of failure that it is here."""

from __future__ import annotations

import json

import pytest

from cogitate.workers.llm.replies.reply import read_completion

ENDS = [
    ("OpenAI", "stop", None),
    ("Anthropic", "end_turn", None),
    ("Gemini", "STOP", None),
    ("OpenAI", "tool_calls", None),
    ("Anthropic", "stop_sequence", None),
    ("Cohere", "COMPLETE", None),
    ("gateways", "stop: no error", None),
    ("text-generation-inference", "eos_token", None),
    ("OpenAI", "length", "truncated"),
    ("OpenAI, Responses", "max_output_tokens", "truncated"),
    ("Anthropic", "max_tokens", "truncated"),
    ("Gemini", "MAX_TOKENS", "truncated"),
    ("Mistral", "model_length", "truncated"),
    ("Z.AI", "model_context_window_exceeded", "truncated"),
    ("OpenAI", "content_filter", "filtered"),
    ("Z.AI", "sensitive", "filtered"),
    ("Gemini", "SAFETY", "filtered"),
    ("Gemini, SDK", "FINISH_REASON_SAFETY", "filtered"),
    ("Gemini", "IMAGE_SAFETY", "filtered"),
    ("Gemini", "RECITATION", "filtered"),
    ("Gemini", "BLOCKLIST", "filtered"),
    ("Gemini", "SPII", "filtered"),
    ("Gemini", "PROHIBITED_CONTENT", "filtered"),
    ("gateways", "content_filter: RECITATION", "filtered"),
    ("Bedrock", "guardrail_intervened", "filtered"),
    ("Bedrock", "content_filtered", "filtered"),
    ("Anthropic", "refusal", "refused"),
    ("OpenRouter", "error", "server"),
    ("Z.AI", "network_error", "server"),
    ("vLLM", "abort", "server"),
    ("DeepSeek", "insufficient_system_resource", "overloaded"),
]


def test_each_finish_reason_has_a_failure_class(subtests: pytest.Subtests) -> None:
    for vendor, reason, failure in ENDS:
        with subtests.test(vendor=vendor, reason=reason, failure=failure):
            body = {"choices": [{"index": 0, "message": {"content": "Half of a"}, "finish_reason": reason}]}
            ended = read_completion(json.dumps(body).encode(), {}).failure
            assert (ended.kind if ended is not None else None) == failure, vendor
