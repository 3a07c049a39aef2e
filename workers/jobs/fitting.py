"""Fitting: the prompt that a model is sent, within the caps of its job, checked, and adapted to the model.

`fitted` decides what gives way if a prompt is too long; `fit` finds the largest share of memories. The check comes
before a call spends anything, since a host may have written the kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.memory.errors import CogitateError, InputError
from cogitate.prompts.answers import (
    ActionAnswer,
    InsightAlone,
    PlacedAction,
    ReflectionAnswer,
    UnexplainedAction,
    UnexplainedPlacedAction,
)
from cogitate.prompts.constraints import MOST_CHOICES, Constraint
from cogitate.prompts.render import Rendered
from cogitate.scheduler.config.endpoints import room_for_answer
from cogitate.tasks.job import UNCORRECTED, Correction
from cogitate.tasks.kind import Case, Kind, Prompt
from cogitate.workers.jobs.candidates import Attempt, Candidate
from cogitate.workers.llm.requests.schema import field_of, full_schema
from cogitate.workers.llm.requests.tokens import LONGEST_TOKEN, corrected_tokens

_STEPS = 64  # shares of memory tried by `fit`: 0/64 … 64/64
MAX_VERSION = 500  # characters
MAX_USED = 100_000  # entries that a prompt may name
MAX_NUMBER = 2**53 - 1  # the largest integer that every JSON parser reads exactly

#: For each class of answers with reasons, the class without them and the field that it omits.
_WITHOUT: Mapping[type[BaseModel], tuple[type[BaseModel], str]] = MappingProxyType(
    {
        ActionAnswer: (UnexplainedAction, "reason"),
        PlacedAction: (UnexplainedPlacedAction, "reason"),
        ReflectionAnswer: (InsightAlone, "relationship_changes"),
    }
)


class PromptDoesNotFit(CogitateError, ValueError):
    """The prompt exceeds its cap even without memories; raise the kind's cap or shorten its template."""


class WrongPrompt(InputError):
    """A kind's `prompt` returned an invalid prompt. The message omits the prompt's text, so it may be logged."""


def fitted(attempt: Attempt, candidate: Candidate, context: int) -> tuple[Prompt, int]:
    """Return the prompt and the cap of its answer within their reservation.

    If a repair does not fit, the prompt drops the failed answer first, then its faults. After an unfinished answer,
    the prompt shrinks to half of its cap if it can, and the answer may use the rest of the reservation.

    Args:
        context: the learned limit of the model for prompt and answer together, in tokens; 0 if none is known.

    Raises:
        PromptDoesNotFit: if the prompt is too long even without memories.
        BaseException: whatever a host's own kind raises.
    """
    adjustment = attempt.adjustment
    if context:
        candidate = within_context(candidate, context)
    output_cap = candidate.output_cap
    caps = (candidate.prompt_cap // 2, candidate.prompt_cap) if adjustment.longer else (candidate.prompt_cap,)
    tries = [(cap, repair) for cap in caps for repair in (*adjustment.repairs, None)]
    for cap, repair in tries:
        try:
            prompt = fit(
                attempt.kind,
                attempt.asking.case,
                cap,
                correction=candidate.correction,
                halved=adjustment.halved,
                addition=repair,
                adapt=None if candidate.model.reasons else for_weak_model,
            )
            break
        except PromptDoesNotFit:
            if (cap, repair) == tries[-1]:
                raise
    if adjustment.longer:
        size = corrected_tokens(prompt, candidate.correction.raised)
        output_cap = max(output_cap, room_for_answer(candidate.model, attempt.asking.job.reserved, size))
    return prompt, output_cap


def within_context(candidate: Candidate, context: int) -> Candidate:
    """Return the candidate with caps that fit a learned context length."""
    model = candidate.model
    if model.context and model.context <= context:
        return candidate
    return candidate._replace(
        model=msgspec.structs.replace(model, context=context),
        prompt_cap=min(candidate.prompt_cap, max(0, context - candidate.output_cap)),
    )


def fit(
    kind: Kind,
    case: Case,
    cap: int,
    *,
    correction: Correction = UNCORRECTED,
    halved: bool = False,
    addition: Rendered | None = None,
    adapt: Callable[[Prompt], Prompt] | None = None,
) -> Prompt:
    """Return the prompt with the largest share of memories, in steps of 1/64, whose estimate is at most `cap` tokens.

    Args:
        correction: the factors of estimates.
        halved: use half of that share, for an endpoint that refused the prompt as too long all the same.
        addition: text to append to the prompt; the cap includes it.
        adapt: adapts the prompt to the model; the cap applies to the adapted prompt.

    Raises:
        PromptDoesNotFit: if the prompt is too long even without memories.
        WrongPrompt: if the kind returns an invalid prompt.
    """

    def prompt_with(share: float) -> Prompt:
        prompt = check_prompt(kind.prompt(case, share))
        prompt = prompt if adapt is None else adapt(prompt)
        if addition is None:
            return prompt
        # At the end, so that a provider can reuse its cache of everything before it.
        return replace(prompt, user=prompt.user + end_of(addition))

    limit = _Limit(cap, LONGEST_TOKEN * cap * 1_000 // min(*correction, 1_000), correction)
    share, prompt = 1.0, prompt_with(1.0)
    if not limit.fits(prompt):
        found = _largest_share(prompt_with, limit)
        if found is None:
            size = limit.exceeding_size(prompt_with(0.0))
            message = f"a {kind.name} prompt has {size} without any memories, more than its cap of {cap} tokens"
            raise PromptDoesNotFit(message)
        share, prompt = found
    return prompt_with(share / 2) if halved else prompt


class _Limit(NamedTuple):
    """The size that a prompt may have."""

    tokens: int
    characters: int  # any longer text exceeds the tokens; refusing it without counting saves seconds
    correction: Correction  # of estimates

    def fits(self, prompt: Prompt) -> bool:
        """Return whether a prompt is small enough."""
        characters = len(prompt.system) + len(prompt.user)
        return characters <= self.characters and corrected_tokens(prompt, self.correction) <= self.tokens

    def exceeding_size(self, prompt: Prompt) -> str:
        """Describe the size of a prompt that does not fit."""
        characters = len(prompt.system) + len(prompt.user)
        if characters > self.characters:
            return f"{characters:,} characters, at least {characters // LONGEST_TOKEN:,} tokens,"
        return f"about {corrected_tokens(prompt, self.correction)} tokens"


def _largest_share(prompt_with: Callable[[float], Prompt], limit: _Limit) -> tuple[float, Prompt] | None:
    """Return the largest share below all memories whose prompt fits, with the prompt; None if not even 0 does."""
    best: tuple[float, Prompt] | None = None
    low, high = -1, _STEPS  # low/64 is a share that fits (-1: none known), high/64 one that does not
    while high - low > 1:
        middle = (low + high) // 2
        prompt = prompt_with(middle / _STEPS)
        if limit.fits(prompt):
            low, best = middle, (middle / _STEPS, prompt)
        else:
            high = middle
    return best


def end_of(addition: Rendered) -> str:
    """Return an addition as the text to append to a prompt."""
    return f"\n\n{addition.system}\n\n{addition.user}"


def for_weak_model(prompt: Prompt) -> Prompt:
    """Return the prompt without reasons, in neither schema nor instructions, and with its choices in the schema."""
    prompt = ask_no_reasons(prompt)
    return replace(prompt, enforced=prompt.constraints)


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


def check_prompt(prompt: object) -> Prompt:
    """Check that a prompt's text, answer class and numbers can be sent and stored, and return it in plain types.

    Raises:
        WrongPrompt: if a field is invalid; the message names it and its fault.
    """
    if not issubclass(type(prompt), Prompt):
        raise WrongPrompt(f"prompt returned a {type(prompt).__name__}: return a Prompt")
    assert isinstance(prompt, Prompt)
    version = _text("version", prompt.version)
    if len(version) > MAX_VERSION:
        raise WrongPrompt(f"version has {len(version):,} characters, at most {MAX_VERSION} fit")
    answer = _answer(prompt.answer)
    return Prompt(
        system=_text("system", prompt.system),
        user=_text("user", prompt.user),
        answer=answer,
        version=version,
        used=_used("used", prompt.used),
        shown=None if prompt.shown is None else _used("shown", prompt.shown),
        then=prompt.then,  # its effects are checked with those of the answer
        constraints=_constraints(prompt.constraints, answer) if prompt.constraints else (),
        built_in=prompt.built_in is True,
    )


def _text(field: str, value: object) -> str:
    if not issubclass(type(value), str):
        raise WrongPrompt(f"{field} is a {type(value).__name__}: give a string")
    text = str.__str__(value)  # a plain string, of an enumeration for example
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongPrompt(f"{field} has a lone surrogate, which cannot be sent") from None
    return text


def _answer(value: object) -> type[BaseModel]:
    if not isinstance(value, type) or not issubclass(value, BaseModel):
        shown = value.__name__ if isinstance(value, type) else f"a {type(value).__name__}"
        raise WrongPrompt(f"answer is {shown}: give a class of pydantic's BaseModel")
    try:
        _check_schema(value)
    except UnicodeEncodeError:
        raise WrongPrompt("the schema of answer has a lone surrogate") from None
    return value


def _constraints(value: object, answer: type[BaseModel]) -> tuple[Constraint, ...]:
    """Check that constraints name fields of the answer and contain only plain text and numbers; return them."""
    if not isinstance(value, tuple | list) or not all(isinstance(item, Constraint) for item in value):
        raise WrongPrompt("constraints must be a tuple of Constraint")
    return tuple(_constraint(item, answer) for item in value)


def _constraint(given: Constraint, answer: type[BaseModel]) -> Constraint:
    choices = tuple(_text("a choice", choice) for choice in given.choices)
    if len(choices) > MOST_CHOICES or not all(choices):
        raise WrongPrompt(f"{len(choices)} choices: give at most {MOST_CHOICES}, none of them empty")
    bounds = [bound if bound is None else int(bound) for bound in (given.least, given.most)]
    field = _text("a constraint", given.field)
    try:
        kind = field_of(full_schema(answer), field).get("type")
    except TypeError as error:
        raise WrongPrompt(f"answer model {answer.__name__}: {error}") from None
    if choices and kind != "string":
        raise WrongPrompt(f"answer model {answer.__name__}: only a text can have choices, and {field} is not one")
    return Constraint(field=field, choices=choices, least=bounds[0], most=bounds[1])


@cache
def _check_schema(answer: type[BaseModel]) -> None:
    """Check once per class that the answer's schema exists and can be encoded."""
    msgspec.json.encode((answer.__name__, full_schema(answer)))


def _used(field: str, value: object) -> tuple[int, ...]:
    if not issubclass(type(value), tuple | list):
        raise WrongPrompt(f"{field} is a {type(value).__name__}: give a tuple of entry numbers")
    assert isinstance(value, tuple | list)
    if len(value) > MAX_USED:
        raise WrongPrompt(f"{field} names {len(value):,} entries, at most {MAX_USED:,} fit")
    numbers = []
    for item in value:
        try:
            number = 0 if isinstance(item, bool) else operator.index(item)
        except TypeError:
            number = 0
        if not 1 <= number <= MAX_NUMBER:
            raise WrongPrompt(f"{field} names a {type(item).__name__} that is not the number of an entry (1, 2, 3, …)")
        numbers.append(number)
    return tuple(numbers)
