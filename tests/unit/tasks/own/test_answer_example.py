"""The example in an own kind's prompt is an answer that its class takes."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from cogitate.tasks.own.answer_example import example_of


class Stance(BaseModel):
    """A part of an answer."""

    side: Literal["for", "against"]
    support: int = Field(ge=0, le=100)


class Reply(BaseModel):
    """A line of a talk, with those that answer it."""

    line: str
    replies: list[Reply] = []
    other: Reply | None = None


class Council(BaseModel):
    """An answer with a field of every plain type."""

    text: str = Field(min_length=5, max_length=400)
    support: int = Field(ge=0, le=100)
    share: float = Field(gt=0, lt=1)
    agrees: bool
    stance: Stance
    stances: list[Stance] = Field(min_length=2)
    note: str | None = None
    reply: Reply
    pair: tuple[int, str]
    tags: set[Literal["salt", "stone"]]


def test_an_example_shows_the_type_of_each_field() -> None:
    shown = json.loads(example_of(Council))
    assert Council.model_validate(shown)
    assert shown["text"].strip(".") == ""
    assert (type(shown["support"]), shown["agrees"], shown["stance"]["side"]) == (int, True, "for")
    assert [sorted(one) for one in shown["stances"]] == [["side", "support"]] * 2


@pytest.mark.parametrize("alias", ["motion-text", "from"])
def test_an_example_names_fields_as_the_answer_does(alias: str) -> None:
    answer = create_model("Answer", text=(str, Field(alias=alias)))
    assert json.loads(example_of(answer)) == {alias: "..."}


INTS = st.integers(-1_000, 1_000)


@st.composite
def fields(draw: st.DrawFn) -> Any:
    """A field of a plain type, with bounds that hold at least one value."""
    low = draw(INTS)
    high = low + draw(st.integers(2, 500))
    ends = {draw(st.sampled_from(("ge", "gt"))): low, draw(st.sampled_from(("le", "lt"))): high}
    bounds: dict[str, Any] = {name: ends[name] for name in draw(st.sets(st.sampled_from(sorted(ends))))}
    least = draw(st.integers(0, 12))
    sizes = {"min_length": least, "max_length": least + draw(st.integers(0, 9))}
    lengths: dict[str, Any] = {name: sizes[name] for name in draw(st.sets(st.sampled_from(sorted(sizes))))}
    plain = draw(st.sampled_from(("int", "float", "str", "bool", "literal", "list", "optional", "model", "step")))
    match plain:
        case "int":
            return int, Field(**bounds)
        case "float":
            return float, Field(**bounds)
        case "str":
            return str, Field(**lengths)
        case "list":
            return list[int], Field(**lengths)
        case "step":
            return int, Field(multiple_of=draw(st.integers(1, 9)), ge=low)
    return {"bool": bool, "literal": Literal["a", "b"], "optional": str | None, "model": Stance}[plain], ...


@given(st.lists(fields(), min_size=1, max_size=6))
def test_an_example_of_plain_fields_is_an_answer(drawn: list[Any]) -> None:
    answer = create_model("Answer", **{f"field_{at}": one for at, one in enumerate(drawn)})
    answer.model_validate_json(example_of(answer), strict=True)
