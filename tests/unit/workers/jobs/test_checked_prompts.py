"""What a kind's prompt may hold: each bound where it begins, and each fault by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import Field, create_model

from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.jobs.fitting import WrongPrompt, check_prompt
from tests.integration.workers.llm_case import PROMPT, Mood

HALF = "a \ud800"


def made(**changed: Any) -> Prompt:
    return replace(PROMPT, **changed)


def constrained(**values: Any) -> Prompt:
    return made(constraints=(Constraint(**({"field": "word"} | values)),))


@pytest.mark.parametrize(
    "prompt",
    [
        PROMPT,
        made(version="v" * 500),
        made(used=(1, 2**53 - 1), shown=(3,), then=()),
        made(used=(1,) * 100_000),
        constrained(choices=("grey", "blue")),
        constrained(choices=tuple(f"grey{number}" for number in range(250))),
        constrained(field="strength", least=1, most=9),
        made(constraints=(Constraint(field="strength", least=0), Constraint(field="word", choices=("grey",)))),
    ],
    ids=range(8),
)
def test_a_sendable_prompt_is_unchanged(prompt: Prompt) -> None:
    assert check_prompt(prompt) == prompt


def test_an_unsendable_prompt_is_refused_with_its_field(subtests: pytest.Subtests) -> None:
    cases: list[tuple[Any, str]] = [
        (made(version="v" * 501), "version has 501 characters, at most 500 fit"),
        (made(used=(1,) * 100_001), "used names 100,001 entries, at most 100,000 fit"),
        (made(used=(2**53,)), "used names a int that is not the number of an entry"),
        (made(used=(0,)), "used names a int"),
        (made(shown=(True,)), "shown names a bool"),
        (made(shown=("1",)), "shown names a str"),
        (made(used={1}), "used is a set: give a tuple"),
        (made(system=HALF), "system has a lone surrogate"),
        (made(user=HALF), "user has a lone surrogate"),
        (made(user=b"x"), "user is a bytes: give a string"),
        (made(answer=dict), "answer is dict: give a class"),
        (
            made(answer=create_model("Half", word=(str, Field(description=HALF)))),
            "the schema of answer has a lone surrogate",
        ),
        (made(answer=Mood(word="grey", strength=3)), "answer is a Mood: give a class"),
        (made(constraints={"field": "word"}), "constraints must be a tuple of Constraint"),
        (made(constraints=(Constraint(field="word"), "word")), "constraints must be a tuple of Constraint"),
        (constrained(choices=(*(f"grey{number}" for number in range(250)), "blue")), "251 choices: give at most 250"),
        (constrained(choices=("grey", "")), "2 choices: .* none of them empty"),
        (constrained(choices=(HALF,)), "a choice has a lone surrogate"),
        (constrained(choices=(5,)), "a choice is a int"),
        (constrained(field=5), "a constraint is a int"),
        (constrained(field="colour"), "colour"),
        (None, "prompt returned a NoneType: return a Prompt"),
    ]
    for prompt, told in cases:
        with subtests.test(prompt=prompt), pytest.raises(WrongPrompt, match=told):
            check_prompt(prompt)


@pytest.mark.parametrize("none", [None, (), []])
def test_a_prompt_without_constraints_has_none(none: Any) -> None:
    assert check_prompt(made(constraints=none)).constraints == ()


def test_texts_and_numbers_of_other_classes_become_plain() -> None:
    class Word(str):
        """A text of a class of its own."""

    class Number(int):
        """A number of a class of its own."""

    checked = check_prompt(
        made(user=Word("rain"), used=[Number(4)], constraints=[Constraint(field="strength", most=Number(9))])
    )
    assert (type(checked.user), checked.user) == (str, "rain")
    assert (checked.used, type(checked.used[0])) == ((4,), int)
    (bounds,) = checked.constraints
    assert (bounds.least, bounds.most, type(bounds.most)) == (None, 9, int)
