"""The schema of a request: one for a kind, but with the choices of its prompt for a weak model."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, DailyPlan
from cogitate.prompts.constraints import Constraint
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.tasks.kind import Case, Prompt
from cogitate.workers.jobs.fitting import ask_no_reasons, for_weak_model
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.dialect import Dialect
from cogitate.workers.llm.requests.tokens import prompt_tokens
from tests.unit.tasks.own_kind_case import Own
from tests.unit.workers.attempts_case import USED, Trying

WHERE = Constraint(field="location", choices=("cafe", "here"))


def asked(answer: type[BaseModel], constraint: Constraint) -> Prompt:
    return Prompt(system="You live.", user="What now?", answer=answer, version="1", constraints=(constraint,))


@pytest.mark.parametrize(
    ("answer", "constraint"),
    [
        (ActionAnswer, WHERE),
        (ActionAnswer, Constraint(field="doing", choices=("Bake bread", 'Say "hello"'))),
        (DailyPlan, Constraint(field="activities.location", choices=("cafe", "anywhere"))),
    ],
)
def test_the_schema_of_a_weak_model_has_the_choices_of_the_prompt(
    answer: type[BaseModel], constraint: Constraint
) -> None:
    before = asked(answer, constraint)
    after = for_weak_model(before)
    enum = json.dumps({"enum": constraint.choices})[1:-1]
    assert enum in json.dumps(Dialect().body(after, 50)["response_format"])
    for dialect, other in (Dialect(), before), (Dialect(schema="plain"), after):
        assert enum not in json.dumps(dialect.body(other, 50)["response_format"])
    assert prompt_tokens(after) > prompt_tokens(ask_no_reasons(before)), "servers may put the schema in the prompt"


@dataclass
class Acts(Own):
    """A kind that asks for a deed."""

    output_cap: int = 50
    where: Constraint = WHERE

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        return asked(ActionAnswer, self.where)


@pytest.mark.parametrize(("reasons", "enforced"), [(True, ()), (False, (WHERE,))])
def test_only_a_model_without_reasons_gets_choices_in_its_schema(
    reasons: bool, enforced: tuple[Constraint, ...]
) -> None:
    trying = Trying(ModelAnswer(usage=USED, value=None), Acts())
    trying.make(model=ModelSettings(model="m", endpoint="ours", reasons=reasons).kept_as("default"))
    (sent,) = trying.calls.prompts
    assert sent.enforced == enforced


@pytest.mark.parametrize(("reasons", "failure"), [(True, "empty"), (False, "prompt_too_long")])
def test_the_choices_in_a_schema_count_before_the_prompt_is_sent(reasons: bool, failure: str) -> None:
    many = Constraint(field="location", choices=tuple(f"house number {n} in Brook Street" for n in range(200)))
    trying = Trying(ModelAnswer(usage=USED, value=None), Acts(where=many))
    outcome = trying.make(model=ModelSettings(model="m", endpoint="ours", reasons=reasons).kept_as("default"))
    assert outcome.failure == failure
    assert len(trying.calls.prompts) == reasons
