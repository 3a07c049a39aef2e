"""What operators can ask of a run while it goes on, as it is written to the ledger and to the journal.

A request lies in the list `controls` of the run until a host has taken it: the host is shown the list with the steps it
takes anyway, validates each request, and applies it with the tick that it commits next, in the order of the list. The
same step removes it from the list, writes the answer and the journal's line. So each request is applied exactly once,
whoever crashes when, and without a host it waits for the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

FULL = 1000  # a kind's usual cadence, in thousandths

#: What a host does: goes on; waits at the boundary; admits nothing more, and has left when no admitted job was open any
#: more (whoever takes the run then goes on as usual); has ended the run for good.
Mode = Literal["running", "paused", "draining", "drained", "cancelled"]


class SetLimit(msgspec.Struct, frozen=True, tag="limit"):
    """A limit of the budget, from the next admission on."""

    name: str  # "period.scope.unit"
    value: int | None  # None: no limit


class SetCadence(msgspec.Struct, frozen=True, tag="throttle"):
    """How often a kind thinks, in thousandths of its usual cadence."""

    kind: str
    factor: int | None = None  # 0: not at all; None: as it is
    pinned: bool | None = None  # True: the controller leaves it alone; None: as it is


class SetMode(msgspec.Struct, frozen=True, tag="mode"):
    """What the host is to do."""

    mode: Literal["running", "paused", "draining", "cancelled"]


class Retry(msgspec.Struct, frozen=True, tag="retry"):
    """Ask a model again for what a job had to leave to its heuristic."""

    job: str  # its key
    owner: str
    numbers: tuple[int, ...]  # the entries that it appended


Control = SetLimit | SetCadence | SetMode | Retry


class ControlRequest(msgspec.Struct, frozen=True):
    """One request as it lies in the list."""

    id: str
    control: Control


class ControlAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a request, kept for those who wait for it and in the notes of the journal."""

    id: str
    tick: int  # that applied or refused it
    control: Control
    refused: str = ""  # why it was not applied
    job: str = ""  # of a retry: the key of the new job


_ASKED = msgspec.json.Decoder(ControlRequest)


def read_asked(raw: Iterable[bytes]) -> list[ControlRequest | None]:
    """The requests in a list of the ledger; None where one cannot be read, so that it is removed with the others."""
    return [_read(item) for item in raw]


def wanted_mode(asked: Sequence[ControlRequest | None]) -> Mode | None:
    """The mode that the latest of these requests asks for, if any does."""
    modes = [item.control.mode for item in asked if item is not None and isinstance(item.control, SetMode)]
    return modes[-1] if modes else None


def _read(raw: bytes) -> ControlRequest | None:
    try:
        return _ASKED.decode(raw)
    except msgspec.DecodeError:
        return None
