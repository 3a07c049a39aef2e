"""Run the heuristic of a kind, whose code may be a host's, so that its faults harm neither the host nor a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cogitate.memory.effects import Effect
from cogitate.memory.errors import quoted
from cogitate.memory.host_code import Raised, captured
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.intake.effects import check_effects
from cogitate.tasks.kind import Case, Kind
from cogitate.tasks.own.declared_kind import name_by_author
from cogitate.tasks.own.method_faults import MethodFault, raised_at, told, written_at

EFFECTS_REFUSED = "effects_refused"  # failure class of a job whose kind returned no usable effects
PROMPT_FAILED = "prompt_failed"  # failure class of a job whose kind made no prompt, so no model was asked
_MOST_CHARACTERS = 300  # of a reason


class KindEffects(NamedTuple):
    """Effects for a commit, or the reason for their refusal."""

    effects: tuple[Effect, ...]
    refusal: str = ""


def made_without_model(kind: Kind, case: Case, *, halved: bool = False) -> KindEffects:
    """Return the effects of the kind's heuristic; none if it raises an error or returns invalid effects.

    Args:
        halved: call `halve` instead, so the kind asks for less next time.
    """
    method, name = (kind.halve, "halve") if halved else (kind.heuristic, "heuristic")
    made = captured(method, case)
    if type(made) is Raised:  # an error in a host's own kind must stop neither the host nor a worker
        return KindEffects((), fault_of_kind(kind.name, name_by_author(kind, name), made.error))
    try:
        return KindEffects(check_effects(made))
    except InputError as error:
        return KindEffects((), f"{_written(kind, name)}: {error}"[:_MOST_CHARACTERS])


def without_strangers(kind: Kind, made: KindEffects, method: str, is_known: Callable[[str], bool]) -> KindEffects:
    """Return the effects if all are for owners that the run has or had; otherwise none, with the reason.

    Args:
        method: the kind's method that returned them.
        is_known: returns whether the run has or had an owner.
    """
    for effect in made.effects:
        if not is_known(effect.owner):
            fault = f"{type(effect).__name__}: {no_such_owner(effect.owner)}"
            return KindEffects((), f"{_written(kind, method)}: {fault}"[:_MOST_CHARACTERS])
    return made


def no_such_owner(owner: object) -> str:
    """Return the message about an owner that a run never had."""
    return f"there is no owner {quoted(owner)} in this run"


def _written(kind: Kind, method: str) -> str:
    """Return a kind's method as a refusal names it: the author's name for it, with file and line."""
    own = name_by_author(kind, method)
    where = written_at(getattr(kind, own))
    return f"kind {kind.name!r}: {own}{f' ({where})' if where else ''}"


def fault_of_kind(kind: str, method: str, error: BaseException) -> str:
    """Return the fault of a kind's method with file and line, without the error's text, which may quote memories."""
    if type(error) is MethodFault:
        return str(error)[:_MOST_CHARACTERS]
    return f"kind {kind!r}: {method} raised {told(error)}"[:_MOST_CHARACTERS]


def place_in_kind(kind: Kind, method: str, error: BaseException) -> str:
    """Return the kind's method that could not use an answer, and the place, without a text that may quote memories."""
    if isinstance(error, InputError):  # from the check of the method's result
        return f"{_written(kind, method)} returned an invalid value"[:_MOST_CHARACTERS]
    return f"{_written(kind, method)} raised {told(error)}"[:_MOST_CHARACTERS]


def is_of_host(kind: Kind) -> bool:
    """Return whether a kind is a host's own, not a built-in one."""
    return not type(kind).__module__.startswith("cogitate.tasks.")


def place_of(error: BaseException) -> str:
    """Return the place at which an error was raised, without the error's text, which may quote memories."""
    return f"in {where}" if (where := raised_at(error)) else ""
