"""What a provider says a call used: cached input and reasoning, and what is not to be believed."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.workers.llm.replies.reply import Usage, read_usage


def told(prompt: object = 100, output: object = 20, **more: Any) -> Usage | None:
    return read_usage({"usage": {"prompt_tokens": prompt, "completion_tokens": output, **more}})


def test_cached_input_and_reasoning_are_read(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], Usage]] = [
        ({}, Usage(100, 20, 0)),
        ({"prompt_tokens_details": {"cached_tokens": 64}}, Usage(100, 20, 64)),
        ({"prompt_tokens_details": {"cached_tokens": 101}}, Usage(100, 20, 0)),  # more than there was
        ({"prompt_tokens_details": {"cached_tokens": -1}}, Usage(100, 20, 0)),
        ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, Usage(100, 20, 64)),  # DeepSeek
        ({"prompt_cache_hit_tokens": 101}, Usage(100, 20, 0)),
        ({"prompt_tokens_details": None, "completion_tokens_details": []}, Usage(100, 20, 0)),
        # OpenAI counts reasoning within the completion …
        ({"total_tokens": 120, "completion_tokens_details": {"reasoning_tokens": 15}}, Usage(100, 20, 0, 15)),
        # … others beside it, with a total that has it, or without one
        ({"total_tokens": 170, "completion_tokens_details": {"reasoning_tokens": 50}}, Usage(100, 70, 0, 50)),
        ({"completion_tokens_details": {"reasoning_tokens": 50}}, Usage(100, 70, 0, 50)),
        ({"total_tokens": 150}, Usage(100, 50, 0)),
        ({"total_tokens": 100_000_000}, Usage(100, 99_999_900, 0)),
        ({"total_tokens": 100_000_001}, Usage(100, 20, 0)),  # no call has as many
        ({"total_tokens": 110}, Usage(100, 20, 0)),  # a total that is too small
        ({"total_tokens": float("nan"), "completion_tokens_details": {"reasoning_tokens": "many"}}, Usage(100, 20, 0)),
    ]
    for more, usage in cases:
        with subtests.test(more=more):
            assert told(**more) == usage


def test_a_count_is_believed_up_to_a_hundred_million_whether_it_is_a_number_or_a_text(
    subtests: pytest.Subtests,
) -> None:
    cases: list[tuple[object, int | None]] = [
        (100_000_000, 100_000_000),
        (100_000_001, None),
        ("100000000", 100_000_000),
        ("100000001", None),
        ("7", 7),
        ("000000007", 7),
        ("0000000007", None),
        ("9" * 5_000, None),
        (7.0, 7),
        (1e8, 100_000_000),
        (1.5e8, None),
    ]
    for count, believed in cases:
        with subtests.test(count=count):
            for found, place in ((told(prompt=count), "prompt"), (told(output=count), "output")):
                assert (None if found is None else getattr(found, place)) == believed


def test_invalid_counts_are_not_usage(subtests: pytest.Subtests) -> None:
    cases: list[object] = [-1, float("nan"), "12.5", "-3", "٣", None, True, 1.5, 10**9]
    for wrong in cases:
        with subtests.test(wrong=wrong):
            assert told(prompt=wrong) is None
            assert told(output=wrong) is None
            assert told(0, 0) is None
            assert read_usage({"usage": [1, 2]}) is None


def test_anthropic_counts_its_cache_beside_the_input() -> None:
    for more, usage in (
        ({}, Usage(100, 20, 0)),
        ({"cache_read_input_tokens": 30}, Usage(130, 20, 30)),
        ({"cache_creation_input_tokens": 5}, Usage(105, 20, 0)),
        ({"cache_read_input_tokens": 30, "cache_creation_input_tokens": 5}, Usage(135, 20, 30)),
    ):
        assert read_usage({"usage": {"input_tokens": 100, "output_tokens": 20, **more}}) == usage
