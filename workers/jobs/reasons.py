"""Answers without what explains them, which may be junk where the answer itself is not.

A deed keeps its worth without its reason. A change of a relationship is nothing without one, and is left out whole.
Models that give no good reasons need not be asked for any (`ModelSettings.reasons`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, InsightAlone, ReflectionAnswer, UnexplainedAction
from cogitate.tasks.kind import Prompt

#: The answer that is asked for in the place of another, and the field that it lacks.
_WITHOUT: Mapping[type[BaseModel], tuple[type[BaseModel], str]] = MappingProxyType(
    {
        ActionAnswer: (UnexplainedAction, "reason"),
        ReflectionAnswer: (InsightAlone, "relationship_changes"),
    }
)


def ask_no_reasons(prompt: Prompt) -> Prompt:
    """Return the prompt of a model that is asked for no reasons: neither its schema nor its instructions name them."""
    if prompt.answer not in _WITHOUT:
        return prompt
    answer, field = _WITHOUT[prompt.answer]
    return replace(
        prompt,
        answer=answer,
        system="\n".join(line for line in prompt.system.splitlines() if not line.startswith(f'- "{field}"')),
        constraints=tuple(one for one in prompt.constraints if one.field.partition(".")[0] != field),
    )


def without_reasons(answer: BaseModel) -> BaseModel | None:
    """Return an answer without what explains it; None if it has nothing of the kind."""
    if isinstance(answer, ActionAnswer) and answer.reason:
        return answer.model_copy(update={"reason": ""})
    if isinstance(answer, ReflectionAnswer) and answer.relationship_changes:
        return answer.model_copy(update={"relationship_changes": []})
    return None
