"""The effects of a kind without a model, safe from the kind's own code, which may be a host's."""

from __future__ import annotations

from typing import NamedTuple

from cogitate.memory.effects import Effect
from cogitate.memory.errors import ENDS_PROCESS
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.intake.effects import check_effects
from cogitate.tasks.kind import Case, Halving, Kind
from cogitate.tasks.own.method_faults import MethodFault, raised_at

EFFECTS_REFUSED = "effects_refused"  # failure class of a job whose kind returned no usable effects
_SAID = 300  # characters of a reason


class KindEffects(NamedTuple):
    """Effects that can be committed, or the reason why there are none."""

    effects: tuple[Effect, ...]
    refusal: str = ""


def made_without_model(kind: Kind, case: Case, *, halved: bool = False) -> KindEffects:
    """Return the effects of the kind's heuristic; none if it raises or returns what cannot be written.

    Args:
        halved: make the kind ask for less next time, if it can.
    """
    method, name = kind.heuristic, "heuristic"
    if halved and isinstance(kind, Halving):
        method, name = kind.halve, "halve"
    try:
        made = method(case)
    except ENDS_PROCESS:
        raise
    except BaseException as error:  # an error of a host's own kind must end neither the host nor a worker
        return KindEffects((), fault_of_kind(kind.name, name, error))
    try:
        return KindEffects(check_effects(made))
    except InputError as error:
        written = getattr(kind, "written", None)  # of a declared kind, whose method has another name
        named = f"kind {kind.name!r}: {written(name)}" if callable(written) else name
        return KindEffects((), f"{named}: {error}"[:_SAID])


def fault_of_kind(kind: str, method: str, error: BaseException) -> str:
    """Return what was wrong in a kind's method, and in which file and line, without a text that may quote memories."""
    if type(error) is MethodFault:
        return str(error)[:_SAID]
    return f"kind {kind!r}: {method} raised {type(error).__name__} in {raised_at(error)}"[:_SAID]


def place_of(error: BaseException) -> str:
    """Return where an error was raised, without its text, which may quote memories."""
    return f"in {where}" if (where := raised_at(error)) else ""
