"""Jobs that were to ask a model and got no answer of use: why, since when, and how many of which kind."""

from __future__ import annotations

import msgspec

from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, PROMPT_FAILED
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.ledger.claims import KIND_FAILED, UNUSABLE, named_failure

REASONS = ("failed", "late", "dead")  # of jobs that a model was asked for, or was to be

#: Failures of a kind's own code: no model could have helped, or is to blame.
OF_KINDS = frozenset({EFFECTS_REFUSED, PROMPT_FAILED, named_failure(UNUSABLE, KIND_FAILED)})


class Shortfall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The jobs of one model that one class of failure left without its answer."""

    model: str
    failure: str  # its class
    because: str = ""  # where that is "breaker_open": class of the failure that opened it
    first: int  # tick at which the first of them ended
    first_minute: int  # game time, total minutes
    last: int
    last_minute: int
    kinds: dict[str, int] = msgspec.field(default_factory=dict)  # kind -> jobs


Shortfalls = dict[str, Shortfall]  # "model|failure|because" -> it


def breaker_cause(note: EndNote) -> str:
    """Return the class of the failure that opened the breaker because of which a job's model was not asked, or ""."""
    return note.because if note.failure == "breaker_open" else ""


def note_shortfall(found: Shortfalls, ended: Ended, note: EndNote, model: str, tick: int, minute: int) -> None:
    """Take note of a job's end, if a failure that is known by its class is behind it.

    Args:
        model: that admission gave to the job; empty: it asks none.
    """
    if not model or not note.failure or note.failure in OF_KINDS:
        return
    if ended.reason not in REASONS or ended.end == "stale":  # of a stale one the failure is a precondition
        return
    because = breaker_cause(note)
    key = f"{model}|{note.failure}|{because}"
    one = found.get(key)
    if one is None:
        one = found[key] = Shortfall(
            model=model,
            failure=note.failure,
            because=because,
            first=tick,
            first_minute=minute,
            last=tick,
            last_minute=minute,
        )
    one.last, one.last_minute = tick, minute
    one.kinds[ended.key.kind] = one.kinds.get(ended.key.kind, 0) + 1
