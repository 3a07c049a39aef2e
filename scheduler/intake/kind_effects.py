"""The effects of a kind without a model, safe from the kind's own code, which may be a host's."""

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
PROMPT_FAILED = "prompt_failed"  # of one whose kind made no prompt: no model was asked
_SAID = 300  # characters of a reason


class KindEffects(NamedTuple):
    """Effects that can be committed, or the reason for their refusal."""

    effects: tuple[Effect, ...]
    refusal: str = ""


def made_without_model(kind: Kind, case: Case, *, halved: bool = False) -> KindEffects:
    """Return the effects of the kind's heuristic; none if it raises or returns what cannot be written.

    Args:
        halved: make the kind ask for less next time, if it can.
    """
    method, name = (kind.halve, "halve") if halved else (kind.heuristic, "heuristic")
    made = captured(method, case)
    if type(made) is Raised:  # an error of a host's own kind must end neither the host nor a worker
        return KindEffects((), fault_of_kind(kind.name, name_by_author(kind, name), made.error))
    try:
        return KindEffects(check_effects(made))
    except InputError as error:
        return KindEffects((), f"{_written(kind, name)}: {error}"[:_SAID])


def without_strangers(kind: Kind, made: KindEffects, method: str, is_known: Callable[[str], bool]) -> KindEffects:
    """Return effects that are for owners of the run alone; none, with the reason, if one is for an owner it never had.

    Args:
        method: of the kind, which made them.
        is_known: returns whether the run has an owner, or had it.
    """
    for effect in made.effects:
        if not is_known(effect.owner):
            said = f"{type(effect).__name__}: {no_such_owner(effect.owner)}"
            return KindEffects((), f"{_written(kind, method)}: {said}"[:_SAID])
    return made


def no_such_owner(owner: object) -> str:
    """Return what is said of an owner that a run does not have and never had."""
    return f"there is no owner {quoted(owner)} in this run"


def _written(kind: Kind, method: str) -> str:
    """Return how a refusal names a kind's method: as its author wrote it, with file and line."""
    own = name_by_author(kind, method)
    where = written_at(getattr(kind, own))
    return f"kind {kind.name!r}: {own}{f' ({where})' if where else ''}"


def fault_of_kind(kind: str, method: str, error: BaseException) -> str:
    """Return what was wrong in a kind's method, and in which file and line, without a text that may quote memories."""
    if type(error) is MethodFault:
        return str(error)[:_SAID]
    return f"kind {kind!r}: {method} raised {told(error)}"[:_SAID]


def place_in_kind(kind: Kind, method: str, error: BaseException) -> str:
    """Return which method of a kind made nothing of an answer and where, without a text that may quote memories."""
    if isinstance(error, InputError):  # by the check of what it returned
        return f"{_written(kind, method)} returned an invalid value"[:_SAID]
    return f"{_written(kind, method)} raised {told(error)}"[:_SAID]


def is_of_host(kind: Kind) -> bool:
    """Return whether a kind is a host's own, not a built-in one."""
    return not type(kind).__module__.startswith("cogitate.tasks.")


def place_of(error: BaseException) -> str:
    """Return where an error was raised, without its text, which may quote memories."""
    return f"in {where}" if (where := raised_at(error)) else ""
