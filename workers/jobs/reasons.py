"""Answers without their reasons: the reasons may be junk when the answer is not.

An action is useful without its reason. A change of a relationship is not, and is dropped as a whole. Models that give
poor reasons need not be asked for them (`ModelSettings.reasons`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, InsightAlone, ReflectionAnswer, UnexplainedAction
from cogitate.tasks.kind import Prompt

#: The answer that replaces another, and the field that it omits.
_WITHOUT: Mapping[type[BaseModel], tuple[type[BaseModel], str]] = MappingProxyType(
    {
        ActionAnswer: (UnexplainedAction, "reason"),
        ReflectionAnswer: (InsightAlone, "relationship_changes"),
    }
)


def ask_no_reasons(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons: neither its schema nor its instructions mention them."""
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
    """Return an answer without its reasons; None if it has none."""
    if isinstance(answer, ActionAnswer) and answer.reason:
        return answer.model_copy(update={"reason": ""})
    if isinstance(answer, ReflectionAnswer) and answer.relationship_changes:
        return answer.model_copy(update={"relationship_changes": []})
    return None
