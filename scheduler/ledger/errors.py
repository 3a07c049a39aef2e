"""Why a step of a host, or a look at a run, was refused. Each message says what to do."""

from __future__ import annotations

from collections.abc import Sequence

from memory.errors import CogitateError
from scheduler.config.versions import SCHEMA

NAMED = 5  # parts of a run that a message names


class LedgerError(CogitateError, RuntimeError):
    """A step of the host was refused; the message says what to do."""


class Fenced(LedgerError):
    """Another host has taken this run: this one must stop and change nothing more."""


class Forgotten(LedgerError):
    """The ledger has lost steps that it had taken, as after a power loss: this host is ahead of it and must stop."""


class LedgerAway(LedgerError):
    """The ledger did not come back in time, or too much was kept for it; the run can be resumed."""


class RunExists(LedgerError):
    """A run of this name exists already."""


class RunHeld(LedgerError):
    """A host is at work on this run."""


class RunMissing(LedgerError):
    """There is no run of this name."""


class Unreadable(LedgerError):
    """What the ledger holds of a run is not what any version writes."""

    def __init__(self, run: str, why: str) -> None:
        super().__init__(f"the ledger of run {run!r} cannot be read: {why[:200]}; `cogitate audit {run}` says more")


class Altered(Unreadable):
    """What Redis holds of a run's memory is not what its host wrote: somebody has changed or removed it."""

    def __init__(self, run: str, tick: int, parts: Sequence[str]) -> None:
        more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
        LedgerError.__init__(
            self,
            f"run {run!r} cannot go on: Redis does not hold what its host wrote up to tick {tick}, but something else: "
            f"{', '.join(parts[:NAMED])}{more}; `cogitate audit {run}` says more; put the server's data back from a "
            "copy, or begin the run anew",
        )


class NewerSchema(LedgerError):
    """The run was written by a newer version of Cogitate."""

    def __init__(self, run: str, found: int) -> None:
        super().__init__(f"run {run!r} has schema {found}, this version knows {SCHEMA}: upgrade Cogitate")
