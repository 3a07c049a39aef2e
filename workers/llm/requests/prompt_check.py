"""Checks a kind's prompt before a call spends anything on it, since a host may have written the kind."""

from __future__ import annotations

import operator
from functools import cache

import msgspec
from pydantic import BaseModel

from cogitate.memory.errors import InputError
from cogitate.prompts.constraints import MOST_CHOICES, Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.schema import field_of, full_schema

MAX_VERSION = 500  # characters
MAX_USED = 100_000  # entries that a prompt may name
MAX_NUMBER = 2**53 - 1  # the largest integer that every JSON parser reads exactly


class WrongPrompt(InputError):
    """A kind's `prompt` returned an invalid prompt. The message omits the prompt's text, so it may be logged."""


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
