"""Refuses unknown fields of a message, with the most similar name or the list of known ones."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from cogitate.scheduler.intake.checks import MAX_LABEL


def with_known_fields(model: type[BaseModel], given: Any) -> Any:
    """Return the values unchanged, after checking their names against a model.

    Raises:
        ValidationError: naming the first unknown field.
    """
    if isinstance(given, dict) and (name := next((one for one in given if one not in model.model_fields), None)):
        fault = InitErrorDetails(type=_fault(model, name), loc=(name,), input=given[name])
        raise ValidationError.from_exception_data(model.__name__, [fault])
    return given


def _fault(model: type[BaseModel], name: str) -> PydanticCustomError:
    near = get_close_matches(name[:MAX_LABEL], model.model_fields, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(model.model_fields)}"
    return PydanticCustomError("no_such_field", "there is no such field; {hint}", {"hint": hint})
