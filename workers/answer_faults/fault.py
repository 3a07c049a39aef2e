"""The fault of an answer that is valid JSON but useless, so that it never reaches a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words,
repetitions, or unrelated text. Each rule depends only on the answer and its prompt, so every worker judges an answer
alike. The model is shown the fault once (`cogitate.workers.jobs.repair`); after that the heuristic takes over.
"""

from __future__ import annotations

from pydantic import BaseModel

from cogitate.prompts.answers import Answer, IntegratedAnswer, ReflectionAnswer, SummaryAnswer
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.constrained import fault_of_constraints
from cogitate.workers.answer_faults.fields import TIME, texts_of
from cogitate.workers.answer_faults.found import Fault, found
from cogitate.workers.answer_faults.insights import fault_of_insight
from cogitate.workers.answer_faults.prompt_content import PromptContent, name_of
from cogitate.workers.answer_faults.relation import is_about
from cogitate.workers.answer_faults.repeats import fault_of_fields, repeats_itself
from cogitate.workers.answer_faults.thoughts import THOUGHTS, fault_of_thought
from cogitate.workers.answer_faults.wording import fault_of_wording, words_in

_COMPARED = 3  # words of content from which a summary is compared with what it sums up


def fault_of(answer: BaseModel, prompt: Prompt) -> Fault | None:
    """Return the fault of an answer, worded for the model, or None.

    An answer of a host's own class is checked against its prompt's constraints only: it may contain speech, figures or
    another language.
    """
    if not isinstance(answer, Answer):
        return fault_of_constraints(answer.model_dump(), prompt.constraints) if prompt.constraints else None
    value, content = answer.model_dump(), PromptContent(prompt)
    for field, text in texts_of(value):
        if not _is_prose(text, field, content):
            continue
        words = words_in(text)
        if (fault := found(fault_of_wording(text, words, content), "wording")) is not None:
            return fault
        if isinstance(answer, THOUGHTS) and (fault := found(fault_of_thought(text, field), "no_thought")) is not None:
            return fault
        if repeats_itself(text, words):
            return Fault("it says the same words over and over", "repeats")
    if (fault := found(fault_of_fields(value, content.choices), "repeats")) is not None:
        return fault
    if isinstance(answer, SummaryAnswer | IntegratedAnswer) and not is_about(
        answer.summary, [content.fenced], content, least=_COMPARED
    ):
        return Fault("it tells of something else than what you were shown", "summary")
    insight = fault_of_insight(answer.insight, content) if isinstance(answer, ReflectionAnswer) else None
    return found(insight, "insight")


def _is_prose(text: str, field: str, content: PromptContent) -> bool:
    """Return whether a text is neither empty, a time, nor one of its field's choices or a choice's name."""
    if not text or TIME.fullmatch(text):
        return False
    choices = content.choices_of.get(field)
    return choices is None or (text not in choices and name_of(text) not in content.names)
