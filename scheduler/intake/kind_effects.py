"""The effects of a kind without a model, safe from the kind's own code, which may be a host's."""

from __future__ import annotations

from pathlib import PurePath
from typing import NamedTuple

from memory.effects import Effect
from memory.errors import ENDS_PROCESS
from scheduler.intake.checks import InputError
from scheduler.intake.effects import check_effects
from tasks.kind import Case, Halving, Kind

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
        return KindEffects((), fault_of_kind(name, error)[:_SAID])
    try:
        return KindEffects(check_effects(made))
    except InputError as error:
        return KindEffects((), f"{name}: {error}"[:_SAID])


def fault_of_kind(method: str, error: BaseException) -> str:
    """Return which method of a kind raised what and where, without the error's text, which may quote memories."""
    return f"{method} raised {type(error).__name__} {place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return where an error was raised, without its text, which may quote memories."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"in {PurePath(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace is not None else ""
