"""Operators' control requests to a run, in the form that the ledger and the journal store.

A request waits in the run's list `controls` until a host takes it. The replies to the host's ordinary steps carry the
list; the host validates each request in order, and applies it with the next commit. The same step removes the request
and writes the answer and the journal line, so each request is applied exactly once, even after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from cogitate.memory import typed_json

FULL = 1000  # a kind's usual cadence, in thousandths
MOST_CANCELLED = 1_000  # jobs that one request may cancel

#: The mode of a host: it runs; it waits at the boundary; it admits no jobs; it drained and left (the next host runs as
#: usual); it ended the run for good.
Mode = Literal["running", "paused", "draining", "drained", "cancelled"]


class SetLimit(msgspec.Struct, frozen=True, tag="limit"):
    """A request to set a limit of the budget from the next admission on."""

    name: str  # "period.scope.unit"
    value: int | None  # None: no limit


class SetCadence(msgspec.Struct, frozen=True, tag="throttle"):
    """A request to set a kind's cadence, in thousandths of the usual one."""

    kind: str
    factor: int | None = None  # 0: never; None: unchanged
    pinned: bool | None = None  # True: the controller does not change it; None: unchanged


class SetMode(msgspec.Struct, frozen=True, tag="mode"):
    """A request to set the mode of the host."""

    mode: Literal["running", "paused", "draining", "cancelled"]


class Retry(msgspec.Struct, frozen=True, tag="retry"):
    """A request to ask a model for a result that so far comes from a heuristic."""

    job: str  # key of the job
    owner: str
    numbers: tuple[int, ...]  # the entries that the job appended


class CancelJobs(msgspec.Struct, frozen=True, tag="cancel_jobs"):
    """A request to end open jobs without a model's answer; their heuristics apply instead."""

    jobs: tuple[str, ...]  # keys


Control = SetLimit | SetCadence | SetMode | Retry | CancelJobs


class ControlRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request of an operator, as the list stores it."""

    id: str
    control: Control
    by: str = ""  # name of the operator, for the history only
    reason: str = ""  # the operator's reason, for the history only


class CalledOff(NamedTuple):
    """Counts of the jobs in a cancel request: those cancelled, and those not."""

    cancelled: int
    ended: int  # had ended before the host applied the request
    held: int  # open, but already left to their heuristic

    def text(self) -> str:
        """Return the counts in words."""
        counts = ((self.ended, "had ended"), (self.held, "left to the heuristic before"))
        return ", ".join([f"{self.cancelled:,} cancelled", *(f"{count:,} {what}" for count, what in counts if count)])


class ControlAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The host's answer to a request, stored for waiting operators and in the notes of the journal."""

    id: str
    tick: int  # at which the host applied or refused the request
    control: Control
    refused: str = ""  # why the host refused it; "": it applied it
    job: str = ""  # for a retry: the key of the new job
    cancelled: int = 0  # for a request to cancel jobs: how many it cancelled
    held: int = 0  # likewise: how many were already left to their heuristic; all others had ended before
    by: str = ""  # name of the operator
    reason: str = ""  # the operator's reason

    @property
    def called_off(self) -> CalledOff | None:
        """Return the outcome of an applied request to cancel jobs; None for any other request."""
        if not isinstance(self.control, CancelJobs) or self.refused:
            return None
        return CalledOff(self.cancelled, len({*self.control.jobs}) - self.cancelled - self.held, self.held)


_REQUEST = typed_json.decoder(ControlRequest)


def read_asked(raw: Iterable[bytes]) -> list[ControlRequest | None]:
    """Return the requests of a list in the ledger; None for an unreadable one, which the host removes too."""
    return [_read(item) for item in raw]


def wanted_mode(requests: Sequence[ControlRequest | None]) -> Mode | None:
    """Return the mode that the last of these requests sets; None if none sets one."""
    modes = [item.control.mode for item in requests if item is not None and isinstance(item.control, SetMode)]
    return modes[-1] if modes else None


def _read(raw: bytes) -> ControlRequest | None:
    try:
        return _REQUEST.decode(raw)
    except msgspec.DecodeError:
        return None
