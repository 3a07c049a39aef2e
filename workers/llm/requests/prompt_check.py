"""The check of a kind's prompt before anything is spent on it, since the code may be a host's own."""

from __future__ import annotations

import operator
from functools import cache

import msgspec
from pydantic import BaseModel

from cogitate.memory.errors import InputError
from cogitate.prompts.constraints import MOST_CHOICES, Constraint
from cogitate.tasks.kind import Prompt
from cogitate.workers.llm.requests.schema import full_schema

MAX_VERSION = 500  # characters
MAX_USED = 100_000  # entries that a prompt may name
MAX_NUMBER = 2**53 - 1  # the largest integer that every reader of JSON holds exactly


class WrongPrompt(InputError):
    """A kind's `prompt` returned no usable prompt. The message shows none of its text, so a log may hold it."""


def check_prompt(prompt: object) -> Prompt:
    """Return a prompt, checked so that its text, answer and numbers can be sent and written with its answer.

    Raises:
        WrongPrompt: naming the field and its fault.
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
        then=prompt.then,  # effects are checked with those of the answer
        constraints=_constraints(prompt.constraints, answer),
        built_in=prompt.built_in is True,
    )


def _text(field: str, value: object) -> str:
    if not issubclass(type(value), str):
        raise WrongPrompt(f"{field} is a {type(value).__name__}: give a string")
    text = str.__str__(value)  # the plain string of an enumeration, for example
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongPrompt(f"{field} has a half of a character (a surrogate), which cannot be sent") from None
    return text


def _answer(value: object) -> type[BaseModel]:
    if not isinstance(value, type) or not issubclass(value, BaseModel):
        shown = value.__name__ if isinstance(value, type) else f"a {type(value).__name__}"
        raise WrongPrompt(f"answer is {shown}: give a class of pydantic's BaseModel")
    try:
        _check_schema(value)
    except UnicodeEncodeError:
        raise WrongPrompt("the schema of answer has a half of a character (a surrogate)") from None
    return value


def _constraints(value: object, answer: type[BaseModel]) -> tuple[Constraint, ...]:
    """Return constraints that name fields of the answer and hold nothing but plain text and numbers."""
    if not value:
        return ()
    if not isinstance(value, tuple | list) or not all(isinstance(one, Constraint) for one in value):
        raise WrongPrompt("constraints are no tuple of Constraint")
    checked = tuple(map(_constraint, value))
    try:
        full_schema(answer, checked)
    except TypeError as error:
        raise WrongPrompt(str(error)) from None
    return checked


def _constraint(one: Constraint) -> Constraint:
    choices = tuple(_text("a choice", choice) for choice in one.choices)
    if len(choices) > MOST_CHOICES or not all(choices):
        raise WrongPrompt(f"{len(choices)} choices: give at most {MOST_CHOICES}, and none that is empty")
    bounds = [bound if bound is None else int(bound) for bound in (one.least, one.most)]
    return Constraint(field=_text("a constraint", one.field), choices=choices, least=bounds[0], most=bounds[1])


@cache
def _check_schema(answer: type[BaseModel]) -> None:
    """Check once that the schema of an answer's class exists and can be encoded."""
    msgspec.json.encode((answer.__name__, full_schema(answer)))


def _used(field: str, value: object) -> tuple[int, ...]:
    if not issubclass(type(value), tuple | list):
        raise WrongPrompt(f"{field} is a {type(value).__name__}: give a tuple of entry numbers")
    assert isinstance(value, tuple | list)
    if len(value) > MAX_USED:
        raise WrongPrompt(f"{field} names {len(value):,} entries, at most {MAX_USED:,} fit")
    return tuple(_number(field, number) for number in value)


def _number(field: str, value: object) -> int:
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # or TypeError
    except TypeError:
        number = 0
    if not 1 <= number <= MAX_NUMBER:
        raise WrongPrompt(f"{field} names a {type(value).__name__} that is not the number of an entry (1, 2, 3, …)")
    return number
