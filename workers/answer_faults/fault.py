"""Finds the fault of an answer that is valid JSON but useless, so that the answer never reaches a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words,
repetitions, or unrelated text. Each rule depends only on the answer and its prompt, so every worker reaches the same
verdict. A worker shows the model the fault once (`cogitate.workers.jobs.judging`); then the heuristic takes over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from cogitate.memory.language.quotations import without_quotations
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.text import MARKS, words
from cogitate.prompts import answers
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.prompt_content import PromptContent, bare, is_about, name_of
from cogitate.workers.answer_faults.wording import TIME, Fault, faults_of_fields, faults_of_text, parts_of


def _faults_of_constraints(value: dict[str, Any], constraints: Iterable[Constraint]) -> Iterator[Fault]:
    """Yield the values of an answer that break a constraint."""
    for constraint in constraints:
        field, least, most = constraint.field, constraint.least, constraint.most
        for given in _values(value, field.split(".")):
            if constraint.choices and given not in constraint.choices:
                shown = str(given)[:100]
                yield Fault(f"{field} is {shown!r}: choose one of {', '.join(constraint.choices)}", "constraint")
            if isinstance(given, bool) or not isinstance(given, str | list | int | float):
                continue
            size, verb = (given, "is") if isinstance(given, int | float) else (len(given), "has")
            if least is not None and size < least:
                yield Fault(f"{field} {verb} {size}: at least {least} is required", "constraint")
            if most is not None and size > most:
                yield Fault(f"{field} {verb} {size}: at most {most} is allowed", "constraint")


def _values(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path, descending into lists; null yields nothing."""
    if not path:
        yield from () if value is None else (value,)
    elif isinstance(value, list):
        for part in value:
            yield from _values(part, path)
    elif isinstance(value, dict):
        yield from _values(value.get(path[0]), path[1:])


_I = rf"(?:[^\W\d_][{MARKS}]*){{1,4}}"
_SPEAKER = re.compile(rf"\W*{_I}\s?[,，、،]\s?([^,，、،]{{2,60}})[,，、،]")  # "I, Ben Cole, have …"


def _faults_of_insight(insight: str, content: PromptContent) -> Iterator[Fault]:
    """Yield why an insight violates the instructions or adds nothing new."""
    plain, memories = bare(insight), content.listed("memories")
    if plain in map(bare, content.listed("reflections")):
        yield Fault("the character has concluded this before; go beyond it", "insight")
    if plain in content.user.casefold() and any(plain in bare(text) for text in memories):
        yield Fault("it only repeats a memory; say what follows from it", "copied")
    if not content.built_in:  # a run's own instructions may require less
        return
    if (speaker := _SPEAKER.match(insight)) is not None and _is_another(speaker[1], memories, content):
        yield Fault(f"{speaker[1]!r} is not the character; write the insight as the character", "insight")
    if not is_about(insight, memories, content):
        yield Fault("the insight is not about what the memories say: name persons, places and facts of them", "insight")


def _is_another(name: str, memories: Sequence[str], content: PromptContent) -> bool:
    """Return whether a text is a listed person's name, or consists of names that are not the character's.

    In a script without capitals, any text from the memories counts as a name.
    """
    if name in content.people:
        return True
    if name.upper() == name.lower():
        is_name = any(name in memory for memory in memories)
    else:
        is_name = all(part[0].isupper() for part in name.split())
    return is_name and content.vocabulary.isdisjoint(words(name))


# A host's own kind may contain speech, and is not checked.
THOUGHTS = (answers.ActionAnswer, answers.DailyPlan, answers.ReflectionAnswer, answers.StepPlan)
_QUESTION = re.compile(f"[^:：]*[{''.join(QUESTIONS)}][^:：]*")
_MARKUP = re.compile(  # from a web page, a prompt or a model's chat template
    r"</[a-z][\w-]{0,30}>|<\|[\w ]{1,30}\|>|\[/?INST\]|\A(?:assistant|system|user): ", re.IGNORECASE
)


def _faults_of_thought(text: str, field: str) -> Iterator[Fault]:
    """Yield why a text is not a thought, action or reason of a character."""
    asking = without_quotations(text) if any(mark in text for mark in QUESTIONS) else ""
    sentences = [sentence for sentence in split_sentences(asking) if any(map(str.isalnum, sentence))]
    if sentences and all(map(_QUESTION.fullmatch, sentences)):
        yield Fault(f"{text[:40]!r} only asks; say what the character thinks or does", "no_thought")
    if (markup := _MARKUP.search(text)) is not None:
        yield Fault(f"{markup[0].strip()!r} is not a word; write what the character would", "no_thought")
    is_cut = len(text) == answers.HELD_PHRASE and text[-1].isalnum()  # the server cut it to fit the schema
    if is_cut and field != "insight":
        yield Fault(f"{text[:40]!r} is cut off after {answers.HELD_PHRASE} characters; be brief", "no_thought")


_COMPARED = 3  # content words that a summary needs to be compared with what it summarises


def fault_of(answer: BaseModel, prompt: Prompt) -> Fault | None:
    """Return the first fault of an answer, worded for the model, or None.

    An answer of a host's own class is checked against its prompt's constraints only: it may contain speech, figures or
    another language.
    """
    if isinstance(answer, answers.Answer):
        return next(_faults_of(answer, PromptContent(prompt)), None)
    return next(_faults_of_constraints(answer.model_dump(), prompt.constraints), None) if prompt.constraints else None


def _faults_of(answer: answers.Answer, content: PromptContent) -> Iterator[Fault]:
    value = answer.model_dump()
    for field, text in parts_of(value):
        if not isinstance(text, str) or not text or TIME.fullmatch(text):
            continue
        choices = content.choices_of.get(field)
        if choices is None or (text not in choices and name_of(text) not in content.names):
            yield from _faults_of_thought(text, field) if isinstance(answer, THOUGHTS) else ()
            yield from faults_of_text(text, content)
    yield from faults_of_fields(value, content.choices)
    if isinstance(answer, answers.SummaryAnswer | answers.IntegratedAnswer) and not is_about(
        answer.summary, [content.fenced], content, least=_COMPARED
    ):
        yield Fault("it is about something other than what you were shown", "summary")
    if isinstance(answer, answers.ReflectionAnswer):
        yield from _faults_of_insight(answer.insight, content)
