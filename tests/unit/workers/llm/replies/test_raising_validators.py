"""An answer's model of a host's own whose validators raise what pydantic does not catch: the answer is unusable."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, field_validator

from cogitate.workers.jobs.judging import describe_fault
from cogitate.workers.llm.replies.reply import Reply, validated


class Exploding(ValueError):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not now")


def raising(error: BaseException) -> type[BaseModel]:
    """Return a model that raises an error for every text but "fine"."""

    class Checked(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def check(cls, text: str) -> str:
            if text != "fine":
                raise error
            return text

    return Checked


ANSWER = Reply(text='{"text": "what Ada remembers"}')
ERRORS = [KeyError("Ada"), RuntimeError("Ada"), GeneratorExit(), RecursionError(), Exploding()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_answer_whose_validator_raises_is_of_the_wrong_schema(error: BaseException) -> None:
    value, failure = validated(ANSWER, raising(error))
    assert value is None
    assert failure is not None
    assert failure.kind == "wrong_schema"
    assert "Ada" not in failure.detail
    assert describe_fault(failure.kind, ANSWER.text, raising(error), 100) == "it cannot be used"


def test_an_answer_after_one_whose_validator_raises_is_found() -> None:
    value, failure = validated(Reply(text='{"text": "odd"} {"text": "fine"}'), raising(KeyError("odd")))
    assert failure is None
    assert value is not None
    assert value.model_dump() == {"text": "fine"}


def test_an_interrupt_is_not_a_validators_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        validated(ANSWER, raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        describe_fault("wrong_schema", ANSWER.text, raising(KeyboardInterrupt()), 100)
