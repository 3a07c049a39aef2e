"""JSON objects found in prose, and text made harmless."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.workers.llm.replies.extract import clean, json_values


def test_objects_are_found_the_last_first(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, list[Any]]] = [
        ('{"a": 1}', [{"a": 1}]),
        ('\ufeff {"a": 1} \n', [{"a": 1}]),
        ('[{"a": 1}]', [[{"a": 1}]]),
        ('Here: {"a": 1} and {"b": {"c": 2}}.', [{"b": {"c": 2}}]),  # the first is amid a sentence
        ('Here: {"a": 1} Yes.', [{"a": 1}]),
        ('Here: {"a": 1}\nOr: {"b": {"c": 2}}.', [{"b": {"c": 2}}, {"a": 1}]),
        ('x {"b": 2}\n```\n{"a": 1}\n```', [{"a": 1}, {"b": 2}]),
        ('{"a": {"b": 1}', [{"a": {"b": 1}}]),  # a bracket is missing
        ('{"b": 2} {"a": "x', []),  # the answer is cut off
        ("{'b': 2} {'a': 'x", []),
        ('{x} {"a": 1}', [{"a": 1}]),
        ('[see 3] {"a": [1]}', [{"a": [1]}]),
        ('{"a": 1}{"b": 2}', [{"b": 2}, {"a": 1}]),
        ("", []),
        ("{" * 9, []),
        ('{"a": 1} ' * 63 + '{"b": 1}', [{"b": 1}, *[{"a": 1}] * 63]),
        ('{"a": 1} ' * 64 + '{"b": 1}', [{"a": 1}] * 64),
    ]
    for text, found in cases:
        with subtests.test(text=text):
            assert json_values(text) == found


def test_strings_are_cleaned_at_any_depth() -> None:
    assert clean({"a\x00": ["b\ud800\tc\n", {"d\x7f": 1}], "e": True}) == {"a": ["b\tc\n", {"d": 1}], "e": True}
    assert clean("plain") == "plain"
    assert (clean("é\u200d\x85"), clean("a\u3164b")) == ("é\u200d", "ab"), "printable is not visible"
    assert clean({"\u202ea": "b\U000e0062\u200bc", "d": "می\u200cخواهم"}) == {"a": "bc", "d": "می\u200cخواهم"}
    assert clean(None) is None
