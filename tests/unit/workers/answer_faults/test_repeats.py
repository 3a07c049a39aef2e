"""Answers that say one thing over and over, in a text, in two fields or in a list."""

from __future__ import annotations

import pytest

from cogitate.prompts.answers import Answer, DailyPlan, ReflectionAnswer, RelationshipChange
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.fault import fault_of
from tests.unit.workers.answer_faults.case import PLACES, SYSTEM, fault_of_text, plan, prompt, words


def planned(*activities: tuple[str, str]) -> str | None:
    rows = [
        {"time": f"{7 + n} {half}M", "description": described, "location": where}
        for n, (described, where) in enumerate(activities)
        for half in "AP"[n % 2]
    ]
    where = Constraint(field="activities.location", choices=("cafe", "home-1"))
    shown = Prompt(system=SYSTEM, user=PLACES, answer=DailyPlan, version="v", constraints=(where,))
    return fault_of(DailyPlan.model_validate({"activities": rows}), shown)


def test_a_choice_within_a_list_is_neither_text_nor_a_difference() -> None:
    assert planned(("Have tea", "cafe"), ("Sleep", "home-1")) is None
    assert planned(*[("Have tea", "cafe"), ("Have tea", "home-1")] * 2) == "4 of 4 items are the same"


def test_a_repeated_field_is_a_fault_at_any_position_of_a_list() -> None:
    class Pair(Answer):
        one: str
        two: str

    class Pairs(Answer):
        pairs: list[Pair]

    def wrong(*pairs: tuple[str, str]) -> str | None:
        value = Pairs(pairs=[Pair(one=one, two=two) for one, two in pairs])
        return fault_of(value, prompt(Pairs))

    fine = ("Ben asked for the honey bread.", "Cleo lent her chimney brush.")
    same = ("The oven smoked again.", "The oven smoked again, as ever.")
    assert wrong(fine) is None
    assert wrong(same) == wrong(fine, same) == wrong(same, fine) is not None


def test_equal_reasons_are_found_beside_a_missing_one() -> None:
    changes = [RelationshipChange(agent_id=f"p{n}", reason="Ben helps" if n else "", change=1) for n in range(5)]
    people = Constraint(field="relationship_changes.agent_id", choices=tuple(f"p{n}" for n in range(5)))
    asked = Prompt(system="", user="Ben", answer=ReflectionAnswer, version="v", constraints=(people,))
    insight = ReflectionAnswer(insight="I can rely on Ben.", relationship_changes=changes)
    assert fault_of(insight, asked) == "4 of 5 items are the same"


def test_a_text_of_sixteen_words_needs_seven_tenths_of_different_threes(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int, int, bool]] = [
        (3, 1, False),
        (4, 1, True),
        (15, 2, False),
        (16, 2, True),
        (16, 9, True),
        (16, 10, False),
        (22, 13, True),
        (22, 14, False),
    ]
    for length, loop, wrong in cases:
        with subtests.test(length=length):
            text = " ".join((words(loop) * length)[:length])
            assert ("over and over" in fault_of_text(text, user=text)) is wrong


@pytest.mark.parametrize(("length", "wrong"), [(5, False), (6, True)])
def test_a_sentence_of_six_words_is_not_repeated(length: int, wrong: bool) -> None:
    said = " ".join(words(length))
    for text in (f"{said}. {said.upper()}!", f"{said}? Yes. {said}"):
        assert ("over and over" in fault_of_text(text, user=text)) is wrong


@pytest.mark.parametrize(
    ("same", "others", "wrong"), [(3, 0, False), (4, 0, True), (4, 1, True), (6, 2, False), (7, 2, True), (4, 2, False)]
)
def test_a_days_items_are_the_same_from_four_and_three_quarters_on(same: int, others: int, wrong: bool) -> None:
    found = fault_of(plan(*["Bake"] * same, *words(others)), prompt(DailyPlan))
    assert (found == f"{same} of {same + others} items are the same") is wrong
