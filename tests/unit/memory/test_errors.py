"""Error messages that quote an invalid value."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from cogitate.memory.errors import CogitateError, InputError, UsageError, first_fault, quoted, require_list, text_of


class Silent(Exception):
    """An error that cannot speak."""

    def __str__(self) -> str:
        raise ValueError


class Deaf:
    """A value that cannot be shown."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error

    __str__ = __repr__


def test_a_value_is_shown_cut_and_in_printable_characters(subtests: pytest.Subtests) -> None:
    cases: list[tuple[object, str]] = [
        ("tea", "'tea'"),
        ("é\n", "'\\xe9\\n'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 200, f"'{'x' * 80}'"),
        ("é" * 200, "'" + "\\xe9" * 19 + "\\x" + "…"),
        (7, "7"),
        ([1] * 27, str([1] * 27)),
        (["x" * 78], str(["x" * 78])),
        (["x" * 79], "['" + "x" * 77 + "…"),
        (Deaf(ValueError()), "a value of type Deaf"),
    ]
    for value, shown in cases:
        with subtests.test(value=value):
            assert quoted(value) == shown
            assert len(quoted(value)) <= 82


def test_an_error_is_shown_by_its_message_or_else_its_name() -> None:
    assert text_of(ValueError("no tea")) == "no tea"
    assert text_of(ValueError("half \ud800")) == "half \\ud800"
    assert text_of(ValueError()) == "ValueError"
    assert text_of(Silent()) == "Silent"


def test_an_interruption_is_never_taken_for_a_value() -> None:
    with pytest.raises(KeyboardInterrupt):
        quoted(Deaf(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        text_of(ValueError(Deaf(KeyboardInterrupt())))


@pytest.mark.parametrize("value", [[1], (1,)])
def test_a_list_a_tuple_or_a_set_is_a_list(value: Any) -> None:
    assert require_list(value) is value


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_one_order_regardless_of_hashes(kind: type) -> None:
    assert require_list(kind(f"w{number}" for number in range(50))) == sorted(f"w{number}" for number in range(50))


@pytest.mark.parametrize("value", ["x", {1: 2}, None, 3, iter([1])])
def test_other_values_are_not_a_list(value: Any) -> None:
    with pytest.raises(ValueError, match="give a list"):
        require_list(value)


class Cup(BaseModel):
    """Something to check."""

    tea: list[int] = Field(default_factory=list)
    milk: int = Field(0, ge=0)

    @field_validator("milk")
    @classmethod
    def _is_even(cls, milk: int) -> int:
        if milk % 2:
            raise ValueError("an odd amount")
        return milk


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"milk": -2}, "milk -2: Input should be greater than or equal to 0"),
        ({"milk": 1}, "milk 1: an odd amount"),
        (
            {"tea": [1, "x"], "milk": -2},
            "tea.1 'x': Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
def test_the_first_fault_is_reported_with_place_and_value(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Cup(**fields)
    assert first_fault(caught.value) == fault


def test_errors_can_be_caught_by_class() -> None:
    assert issubclass(InputError, CogitateError)
    assert issubclass(InputError, ValueError)
    assert issubclass(UsageError, CogitateError)
    assert issubclass(UsageError, RuntimeError)
