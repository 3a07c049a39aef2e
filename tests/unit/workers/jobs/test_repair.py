"""The repair of an answer: how much of it and of its faults a second attempt shows."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, create_model, model_validator

from cogitate.prompts.render import Templates
from cogitate.workers.jobs.repair import describe_fault, repairs_of

TEMPLATES = Templates()


@pytest.mark.parametrize(("length", "shown"), [(1_200, "x" * 1_200), (1_201, "x" * 1_200 + "…")])
def test_an_answer_is_shown_up_to_1200_characters(length: int, shown: str) -> None:
    addition, *_ = repairs_of(TEMPLATES, "x" * length, "it is too long")
    assert f"<answer>\n- {shown}\n</answer>" in addition.user


def test_junk_is_not_shown_again() -> None:
    (addition,) = repairs_of(TEMPLATES, "la la la", "it says the same words over and over", junk=True)
    text = addition.system + addition.user
    assert "over and over" in text
    assert "la la la" not in text
    assert "<answer>" not in text


def test_where_an_answer_does_not_fit_its_faults_alone_may() -> None:
    whole, short = repairs_of(TEMPLATES, "la la la", "it was cut off at 50 tokens")
    assert "la la la" in whole.user
    assert "la la la" not in short.user
    assert "cut off at 50 tokens" in short.user


@pytest.mark.parametrize(("length", "shown"), [(400, "y" * 400), (401, "y" * 400 + "…")])
def test_its_fault_is_shown_up_to_400_characters(length: int, shown: str) -> None:
    addition, *_ = repairs_of(TEMPLATES, "an answer", "y" * length)
    text = addition.system + addition.user
    assert shown in text
    assert ("…" in text) is (length > 400)


def test_a_truncated_answer_is_told_its_cap_and_an_answer_without_an_object_that_it_lacks_one() -> None:
    told = describe_fault("truncated", '{"text": "It', BaseModel, 100)
    assert told == "it was cut off at 100 tokens; say it in fewer words"
    assert describe_fault("not_json", "It rained.", BaseModel, 100) == "there is no complete JSON object in it"


def test_the_first_five_wrong_values_are_named() -> None:
    names = [f"value{number}" for number in range(7)]
    answer: type[BaseModel] = create_model("Answer", **dict.fromkeys(names, (int, ...)))  # type: ignore[call-overload]
    fault = describe_fault("wrong_schema", "{}", answer, 100)
    assert fault == "; ".join(f"{name}: Field required" for name in names[:5])


def test_a_fault_is_told_by_its_place_or_that_of_the_object() -> None:
    class Listed(BaseModel):
        inner: list[int]

        @model_validator(mode="after")
        def check(self) -> Listed:
            raise ValueError("nothing will do")

    assert describe_fault("wrong_schema", '{"inner": [1, "b"]}', Listed, 100).startswith("inner.1: Input should")
    assert describe_fault("wrong_schema", '{"inner": []}', Listed, 100) == "the object: Value error, nothing will do"
