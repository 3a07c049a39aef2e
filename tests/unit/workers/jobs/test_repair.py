"""The repair of an answer: what a second attempt shows of it and its faults, and answers without their reasons."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, create_model, model_validator

from cogitate.prompts.answers import ActionAnswer, DailyPlan, ReflectionAnswer, RelationshipChange, SummaryAnswer
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Templates
from cogitate.scheduler.config.endpoints import Model, ModelSettings
from cogitate.tasks.kind import Case, Prompt
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.jobs.fitting import ask_no_reasons
from cogitate.workers.jobs.judging import describe_fault, repairs_of, without_reasons
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.schema import full_schema
from tests.unit.tasks.own_kind_case import Own
from tests.unit.workers.answer_faults.case import REFLECT, prompt
from tests.unit.workers.attempts_case import OURS, USED, Trying

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


def test_a_short_repair_shows_faults_without_the_answer() -> None:
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


CHANGE = RelationshipChange(agent_id="agent:ben", reason="[reason]", change=1)
ACT = REFLECT | {
    "places": [],
    "more_places": [],
    "age": 40,
    "place": "",
    "activity": "",
    "near": [],
    "actions": [],
    "item": "",
    "later": "",
}
WHERE = Constraint(field="location", choices=("cafe", "here"))
WHO = Constraint(field="relationship_changes.agent_id", choices=("agent:ben",))


def asked(answer: type[BaseModel], *constraints: Constraint) -> Prompt:
    rendered = Templates().render(*(("act", ACT) if answer is ActionAnswer else ("reflect", REFLECT)))
    return Prompt.of(rendered, answer, (), constraints)


def test_an_action_is_valid_without_its_reason_and_an_insight_without_its_implication() -> None:
    deed = ActionAnswer(reason="...", location="cafe", doing="Bake bread with Ben")
    assert fault_of(deed, prompt(ActionAnswer)) is not None
    assert without_reasons(deed) == deed.model_copy(update={"reason": ""})
    assert fault_of(deed.model_copy(update={"reason": ""}), prompt(ActionAnswer)) is None
    insight = ReflectionAnswer(insight="I can rely on Ben when I bake.", relationship_changes=[CHANGE])
    assert without_reasons(insight) == insight.model_copy(update={"relationship_changes": []})


def test_an_answer_without_reasons_cannot_drop_them() -> None:
    for bare in (
        ActionAnswer(reason="", location="cafe", doing="..."),
        ReflectionAnswer(insight="..."),
        SummaryAnswer(summary="..."),
    ):
        assert without_reasons(bare) is None


@pytest.mark.parametrize(
    ("answer", "field", "left"),
    [
        (ActionAnswer, "reason", ["location", "doing", "completing_plan_item"]),
        (ReflectionAnswer, "relationship_changes", ["insight", "significance"]),
    ],
)
def test_neither_schema_nor_instructions_ask_for_reasons(answer: type[BaseModel], field: str, left: list[str]) -> None:
    constraint = WHERE if answer is ActionAnswer else WHO
    before = asked(answer, constraint)
    after = ask_no_reasons(before)
    assert issubclass(after.answer, answer)
    assert list(full_schema(after.answer)["properties"]) == left
    assert after.constraints == ((WHERE,) if answer is ActionAnswer else ())
    gone = [line for line in before.system.splitlines() if line not in after.system.splitlines()]
    assert [line.partition('" ')[0] for line in gone] == [f'- "{field}']
    assert (after.user, after.version, after.used) == (before.user, before.version, before.used)


@pytest.mark.parametrize("answer", [DailyPlan, SummaryAnswer])
def test_a_prompt_without_reasons_is_unchanged(answer: type[BaseModel]) -> None:
    assert ask_no_reasons(asked(answer)) == asked(answer)


def test_unrequested_reasons_are_not_accepted() -> None:
    deed = ask_no_reasons(asked(ActionAnswer)).answer.model_validate(
        {"reason": "babble", "location": "here", "doing": "Bake"}
    )
    assert isinstance(deed, ActionAnswer)
    assert (deed.reason, deed.location, deed.doing) == ("", "here", "Bake")
    insight = ask_no_reasons(asked(ReflectionAnswer)).answer.model_validate(
        {"insight": "I like Ben.", "relationship_changes": [CHANGE.model_dump()]}
    )
    assert isinstance(insight, ReflectionAnswer)
    assert (insight.insight, insight.relationship_changes) == ("I like Ben.", [])


class Acts(Own):
    """A kind that asks for a deed."""

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        return asked(ActionAnswer)


@pytest.mark.parametrize("reasons", [True, False])
def test_an_attempt_requests_reasons_by_default(reasons: bool) -> None:
    kept = ModelSettings(model="m", endpoint="ours", reasons=reasons).kept_as("default")
    trying = Trying(ModelAnswer(usage=USED, value=None), Acts(output_cap=50))
    trying.make(model=kept)
    (sent,) = trying.calls.prompts
    assert (sent.answer is ActionAnswer) is reasons
    assert ('"reason"' in sent.system + json.dumps(full_schema(sent.answer))) is reasons


def test_a_run_of_an_older_version_requests_reasons() -> None:
    assert OURS.reasons
    assert Model(name="n", model="m").reasons
