"""Single values that a host passes in: which pass, as what, and how a wrong one is named."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import pytest

from cogitate.memory.checks import check_integer, check_text, check_texts
from cogitate.memory.errors import InputError


class Mood(StrEnum):
    """A text of a class of its own."""

    GLAD = "glad"


class Number:
    """A number that is no `int` and passes for one."""

    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize("value", [2, 5, 9, Number()])
def test_an_integer_within_its_bounds_passes(value: Any) -> None:
    passed = check_integer("tick", value, 2, 9)
    assert type(passed) is int
    assert passed == (5 if isinstance(value, Number) else value)


@pytest.mark.parametrize("value", [1, 9_001, True, "5", 5.0, None])
def test_a_non_integer_or_an_integer_out_of_bounds_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=rf"^tick is {value!r}: give an integer from 2 to 9,000$"):
        check_integer("tick", value, 2, 9_000)


@pytest.mark.parametrize("value", ["x", "x" * 9, "grüße", "日本", " x", "x\n", Mood.GLAD])
def test_a_text_that_is_short_enough_passes_as_a_plain_string(value: str) -> None:
    passed = check_text("place", value, 9)
    assert (type(passed), passed) == (str, str.__str__(value))


def test_empty_and_unstorable_texts_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        ("x" * 10, "place has 10 characters, at most 9 fit: 'xxxxxxxxxx'"),
        ("", "place is '': it must not be blank"),
        (" \n", "place is ' \\n': it must not be blank"),
        ("\u200d", "place is '\\u200d': it must not be blank"),
        ("\u3164 \u2800", "place is '\\u3164 \\u2800': it must not be blank"),
        ("\u0301", "place is '\\u0301': it must not be blank"),
        ("a\ud800", "place is 'a\\ud800': it has a lone surrogate; remove it"),
        (7, "place is 7: give a string"),
        (None, "place is None: give a string"),
        (b"x", "place is b'x': give a string"),
    ]
    for value, why in cases:
        with subtests.test(value=value), pytest.raises(InputError, match=f"^{re.escape(why)}$"):
            check_text("place", value, 9)


def test_a_blank_text_passes_where_blanks_are_allowed() -> None:
    assert [check_text("place", value, 9, blank=True) for value in ("", " ")] == ["", " "]
    with pytest.raises(InputError, match="at most 9 fit"):
        check_text("place", " " * 10, 9, blank=True)


@pytest.mark.parametrize("values", [["a", "b"], ("a", "b"), iter("ab"), {"a": 1, "b": 2}.keys()])
def test_several_texts_pass_as_a_tuple(values: Any) -> None:
    assert check_texts("tags", values, most=1, count=2) == ("a", "b")


def test_several_texts_are_refused_with_the_first_that_is_wrong(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        ("ab", "tags are 'ab': give a list of strings"),
        (b"ab", "tags are b'ab': give a list of strings"),
        ({"a": 1}, "tags are {'a': 1}: give a list of strings"),
        (3, "tags are 3: give a list of strings"),
        (["a", "b", "c"], "tags are more than 2"),
        (["a", "bb"], "one of tags has 2 characters, at most 1 fit: 'bb'"),
        (["a", ""], "one of tags is '': it must not be blank"),
        (["a", 3], "one of tags is 3: give a string"),
    ]
    for values, why in cases:
        with subtests.test(values=values), pytest.raises(InputError, match=f"^{re.escape(why)}$"):
            check_texts("tags", values, most=1, count=2)


def test_a_label_has_500_characters_and_a_list_1000_labels_at_the_most() -> None:
    assert check_texts("tags", ["x" * 500] * 1_000) == ("x" * 500,) * 1_000
    for wrong in (["x" * 501], ["x"] * 1_001):
        with pytest.raises(InputError, match=r"^(one of tags has 501|tags are more than 1,000)"):
            check_texts("tags", wrong)
