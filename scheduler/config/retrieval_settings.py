"""The retrieval profiles of the settings: names, and tables of weights as files, variables and arguments give them."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from cogitate.memory.retrieval.profiles import ProfileChoice, check_choice


def read_retrieval(value: object) -> ProfileChoice:
    """Return the profile of a run.

    Raises:
        InputError: if the value is not a profile.
    """
    return check_choice("the profile", _with_numbers(value))


def _with_numbers(value: object) -> object:
    """Return a table with the weights that variables of single keys give as text, as numbers."""
    return {name: _number(weight) for name, weight in value.items()} if isinstance(value, dict) else value


def _number(value: object) -> object:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Retrieval = Annotated[ProfileChoice, PlainValidator(read_retrieval)]
