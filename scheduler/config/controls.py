"""Operators' control requests to a run, as stored in the ledger and the journal.

A request waits in the run's list `controls` until a host takes it. The host reads the list with its ordinary steps,
validates each request in order, and applies it with the next commit. The same step removes the request and writes the
answer and the journal line, so each request is applied exactly once, even after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from cogitate.memory import typed_json

FULL = 1000  # a kind's usual cadence, in thousandths
MOST_CANCELLED = 1_000  # jobs of one request to cancel jobs

#: The mode of a host: it runs; waits at the boundary; admits no jobs; has left once no admitted job was open (the next
#: host runs as usual); has ended the run for good.
Mode = Literal["running", "paused", "draining", "drained", "cancelled"]


class SetLimit(msgspec.Struct, frozen=True, tag="limit"):
    """A request to set a limit of the budget, from the next admission on."""

    name: str  # "period.scope.unit"
    value: int | None  # None: no limit


class SetCadence(msgspec.Struct, frozen=True, tag="throttle"):
    """A request to set a kind's cadence, in thousandths of the usual one."""

    kind: str
    factor: int | None = None  # 0: never; None: unchanged
    pinned: bool | None = None  # True: the controller leaves it alone; None: unchanged


class SetMode(msgspec.Struct, frozen=True, tag="mode"):
    """A request to set the mode of the host."""

    mode: Literal["running", "paused", "draining", "cancelled"]


class Retry(msgspec.Struct, frozen=True, tag="retry"):
    """A request to ask a model again for a result that a heuristic made."""

    job: str  # key of the job
    owner: str
    numbers: tuple[int, ...]  # the entries that the job appended


class CancelJobs(msgspec.Struct, frozen=True, tag="cancel_jobs"):
    """A request to end open jobs without a model's answer: their heuristics take its place."""

    jobs: tuple[str, ...]  # keys


Control = SetLimit | SetCadence | SetMode | Retry | CancelJobs


class ControlRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One operator request, as stored in the list."""

    id: str
    control: Control
    by: str = ""  # name of the operator, for the history only
    reason: str = ""  # why the operator asks, for the history only


class CalledOff(NamedTuple):
    """Counts of the jobs that a request to cancel jobs names, by outcome."""

    cancelled: int
    ended: int  # before the request was applied
    held: int  # open, but no model was to be asked for them any more

    def text(self) -> str:
        """Return the counts in words."""
        counts = ((self.ended, "had ended"), (self.held, "left to the heuristic before"))
        return ", ".join([f"{self.cancelled:,} cancelled", *(f"{count:,} {what}" for count, what in counts if count)])


class ControlAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The host's answer to a request, kept for waiting operators and in the notes of the journal."""

    id: str
    tick: int  # in which the host applied or refused it
    control: Control
    refused: str = ""  # why it was not applied
    job: str = ""  # for a retry: the key of the new job
    cancelled: int = 0  # for a request to cancel jobs: those of its jobs that it has ended
    held: int = 0  # likewise: those for which no model was to be asked any more; all others had ended before
    by: str = ""  # name of the operator
    reason: str = ""  # of the operator

    @property
    def called_off(self) -> CalledOff | None:
        """Return the outcome of an applied request to cancel jobs; None for any other request."""
        if not isinstance(self.control, CancelJobs) or self.refused:
            return None
        return CalledOff(self.cancelled, len({*self.control.jobs}) - self.cancelled - self.held, self.held)


_ASKED = typed_json.decoder(ControlRequest)


def read_asked(raw: Iterable[bytes]) -> list[ControlRequest | None]:
    """Return the requests of a list in the ledger; None for an unreadable one, which is removed with them."""
    return [_read(item) for item in raw]


def wanted_mode(asked: Sequence[ControlRequest | None]) -> Mode | None:
    """Return the mode that the latest of these requests sets, if any does."""
    modes = [item.control.mode for item in asked if item is not None and isinstance(item.control, SetMode)]
    return modes[-1] if modes else None


def _read(raw: bytes) -> ControlRequest | None:
    try:
        return _ASKED.decode(raw)
    except msgspec.DecodeError:
        return None
