"""The fault of an answer that is valid JSON but useless, so that it never reaches a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words,
repetitions, or unrelated text. Each rule depends only on the answer and its prompt, so every worker judges an answer
alike. The model is shown the fault once (`cogitate.workers.jobs.repair`); after that the heuristic takes over.
"""

from __future__ import annotations

import re

from pydantic import BaseModel

from cogitate.memory.language.languages import is_english
from cogitate.prompts.answers import Answer, DailyPlan, IntegratedAnswer, ReflectionAnswer, StepPlan, SummaryAnswer
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.fields import TIME, texts_of
from cogitate.workers.answer_faults.found import Fault, found
from cogitate.workers.answer_faults.insights import fault_of_insight
from cogitate.workers.answer_faults.prompt_content import PromptContent, name_of
from cogitate.workers.answer_faults.repeats import fault_of_fields, repeats_itself
from cogitate.workers.answer_faults.summaries import fault_of_summary
from cogitate.workers.answer_faults.thoughts import THOUGHTS, fault_of_plan, fault_of_reasons, fault_of_thought
from cogitate.workers.answer_faults.wording import fault_of_wording, words_in

_LATIN = re.compile(r"[a-zß-ɏ]{5,}")
_STEM = 5  # letters of a word that are compared
_TOPICAL = 12  # content words from which an answer must share at least one with its prompt


def fault_of(answer: BaseModel, prompt: Prompt) -> Fault | None:
    """Return the fault of an answer, worded for the model, or None.

    An answer of a host's own class is checked against that class only: it may contain speech, figures or another
    language.
    """
    if not isinstance(answer, Answer):
        return None
    value, content = answer.model_dump(), PromptContent(prompt)
    texts = [text for field, text in texts_of(value) if _is_prose(text, field, content)]
    for text in texts:
        words = words_in(text)
        if (fault := found(fault_of_wording(text, words, content), "wording")) is not None:
            return fault
        if isinstance(answer, THOUGHTS) and (fault := found(fault_of_thought(text), "no_thought")) is not None:
            return fault
        if repeats_itself(text, words):
            return Fault("it says the same words over and over", "repeats")
    if (fault := found(fault_of_fields(value, content.choices), "repeats")) is not None:
        return fault
    if not _relates(texts, content):
        return Fault("nothing in it is about what you were shown", "unrelated")
    return _fault_of_kind(answer, content)


def _fault_of_kind(answer: BaseModel, content: PromptContent) -> Fault | None:
    """Return the fault of an answer by the rules for its class, or None."""
    if isinstance(answer, DailyPlan | StepPlan):
        return found(fault_of_plan(answer), "plan")
    if isinstance(answer, SummaryAnswer | IntegratedAnswer):
        return found(fault_of_summary(answer.summary, content), "summary")
    if (fault := found(fault_of_reasons(answer), "reasons")) is not None:
        return fault
    insight = fault_of_insight(answer.insight, content) if isinstance(answer, ReflectionAnswer) else None
    return found(insight, "insight")


def _is_prose(text: str, field: str, content: PromptContent) -> bool:
    """Return whether a text is neither empty, a time, nor one of its field's choices or a choice's name."""
    if not text or TIME.fullmatch(text):
        return False
    choices = content.choices_of.get(field)
    return choices is None or (text not in choices and name_of(text) not in content.names)


def _relates(texts: list[str], content: PromptContent) -> bool:
    """Return whether an answer shares a content word with its prompt, or has too few to compare.

    The question itself is always in English; if the rest of the prompt is not, there is nothing to compare.
    """
    if not all(map(is_english, texts)) or not is_english(" ".join(texts)):
        return True
    own = {word[:_STEM] for text in texts for word in _LATIN.findall(text.lower())}
    if len(own) < _TOPICAL:
        return True
    return any(word[0][:_STEM] in own for word in _LATIN.finditer(content.user.lower()))
