"""A weak model is asked for the answers of a pack by name: cases stand in full, and the schema holds their choices."""

from __future__ import annotations

import dataclasses

import pytest

from cogitate.prompts.constraints import Constraint
from cogitate.workers.jobs.call import Call
from cogitate.workers.jobs.packs.prompt import cases_in
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.schema import narrowed_schema
from tests.unit.tasks.own_kind_case import Said
from tests.unit.workers.jobs.packs.pack_case import OWNERS, WEAK, StandIn, ask_all, call_of


def choosing(owner: str) -> Call:
    """Return the question of an owner that may sing or whistle, each with its own name."""
    call = call_of(owner, model=WEAK)
    choices = (f"{owner} sings", f"{owner} whistles")
    prompt = dataclasses.replace(call.prompt, enforced=(Constraint(field="text", choices=choices),))
    return call._replace(prompt=prompt)


CALLS = [choosing(owner) for owner in OWNERS]


def texts_of(answers: list[ModelAnswer]) -> list[str]:
    return [one.value.text if isinstance(one.value, Said) else "" for one in answers]


def test_each_case_is_answered_by_one_of_its_own_choices() -> None:
    stand_in = StandIn()
    answers = texts_of(ask_all(CALLS, stand_in))
    assert stand_in.sizes == [4]
    assert [text.partition(" ")[0] for text in answers] == [*OWNERS]
    assert answers == texts_of([one for call in CALLS if isinstance(one := StandIn()(call), ModelAnswer)])


def test_the_schema_holds_the_choices_of_each_case_at_its_name() -> None:
    stand_in = StandIn()
    ask_all(CALLS, stand_in)
    prompt = stand_in.asked[0].prompt
    schema, cases = narrowed_schema(prompt.answer, prompt.enforced), cases_in(prompt.system, prompt.user)
    assert schema["required"] == ["case_1", "case_2", "case_3", "case_4"]
    by_user = {call.prompt.user: call.prompt.enforced[0].choices for call in CALLS}
    for number, system, user in cases:
        assert system == CALLS[0].prompt.system
        assert tuple(schema["properties"][f"case_{number}"]["properties"]["text"]["enum"]) == by_user[user]


def test_cases_keep_every_line_and_the_common_part_comes_once() -> None:
    stand_in = StandIn()
    ask_all(CALLS, stand_in)
    shown = stand_in.asked[0].prompt.user
    assert all(line in shown for call in CALLS for line in call.prompt.user.splitlines())
    assert shown.count("Harbour") == 1, "what all share stands once"


@pytest.mark.parametrize(
    ("fault", "lost"), [("pack_missing", 1), ("pack_bad_item", 1), ("pack_swapped", 2), ("pack_repeated", 1)]
)
def test_an_answer_that_is_wrong_costs_its_job_alone(fault: str, lost: int) -> None:
    stand_in = StandIn(faults=[fault])
    answers = texts_of(ask_all(CALLS, stand_in))
    assert stand_in.sizes == [4]
    assert answers.count("") == lost
    assert all(text in ("", own) for text, own in zip(answers, texts_of(ask_all(CALLS, StandIn())), strict=True))


def test_a_pack_that_fails_is_halved() -> None:
    stand_in = StandIn(faults=["length"])
    answers = texts_of(ask_all(CALLS, stand_in))
    assert stand_in.sizes == [4, 2, 2]
    assert [text.partition(" ")[0] for text in answers] == [*OWNERS]
