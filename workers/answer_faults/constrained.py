"""The constraints of a prompt on the values of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cogitate.prompts.constraints import Constraint
from cogitate.workers.answer_faults.found import Fault


def fault_of_constraints(value: dict[str, Any], constraints: Iterable[Constraint]) -> Fault | None:
    """Return the first value of an answer that breaks a constraint, as a fault worded for the model."""
    for one in constraints:
        for given in _values(value, one.field.split(".")):
            if one.choices and given not in one.choices:
                return Fault(
                    f"{one.field} is {str(given)[:100]!r}: choose one of {', '.join(one.choices)}", "constraint"
                )
            if isinstance(given, bool) or not isinstance(given, str | list | int | float):
                continue
            size, verb = (given, "is") if isinstance(given, int | float) else (len(given), "has")
            if one.least is not None and size < one.least:
                return Fault(f"{one.field} {verb} {size}: at least {one.least} is required", "constraint")
            if one.most is not None and size > one.most:
                return Fault(f"{one.field} {verb} {size}: at most {one.most} is allowed", "constraint")
    return None


def _values(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path, through lists; null yields nothing."""
    if not path:
        if value is not None:
            yield value
    elif isinstance(value, list):
        for part in value:
            yield from _values(part, path)
    elif isinstance(value, dict):
        yield from _values(value.get(path[0]), path[1:])
