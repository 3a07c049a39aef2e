"""Groups of options: a command takes a dataclass as one parameter, and Typer reads an option for each of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def ungrouped(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command as Typer reads it, with the options of each group in place of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options = list[Parameter]()
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            options += [
                Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=types[option.name])
                for option in fields(groups[name])
            ]
        else:
            options.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> int:
        grouped = {
            name: group(**{option.name: given.pop(option.name) for option in fields(group)})
            for name, group in groups.items()
        }
        return command(**given, **grouped)

    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run
