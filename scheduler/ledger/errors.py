"""The errors with which the ledger refuses a host's step or the reading of a run."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.memory.errors import CogitateError
from cogitate.scheduler.config.facts import SCHEMA

NAMED = 5  # parts of a run that one message names


class LedgerError(CogitateError, RuntimeError):
    """The ledger refused a host's step, or cannot hand over a run; the message names a remedy.

    The run stays in its last committed state. Open a new loop with `exist="resume"` once the cause is removed.
    """


class Fenced(LedgerError):
    """Another host has taken over this run. Stop: this loop can no longer change anything; the other host continues."""


class RunRolledBack(LedgerError):
    """The ledger has lost committed steps, for instance in a power failure, so this host is ahead of it.

    Stop, and resume the run from the ledger's tick; if the ledger has lost all of it, create the run again.
    """


class LedgerUnavailable(LedgerError):
    """Redis did not come back within `outage_wait`, or the host buffered more than `outage_buffer` bytes for it.

    Resume the run when Redis is back: it continues from the last committed tick.
    """


class RunExists(LedgerError):
    """A run of this name exists already. Choose another name, or pass `exist="resume"` or `exist="replace"`."""


class RunHeld(LedgerError):
    """Another host is active on this run. Wait until it has left, or pass `take_over=True`, which fences it."""


class RunMissing(LedgerError):
    """There is no run of this name. Correct the name, or create the run first."""


class RunUnreadable(LedgerError):
    """The ledger holds values for this run that no version writes.

    `cogitate audit` names them. Restore the data of the Redis server from a copy, or start the run again.
    """

    def __init__(self, run: str, why: str) -> None:
        super().__init__(
            f"the ledger of run {run!r} cannot be read: {why[:200]}; for details, run `cogitate audit {run}`"
        )


class RunAltered(RunUnreadable):
    """Memories of this run in Redis were altered or removed: they differ from what its host wrote.

    `cogitate audit` names them. Restore the data of the Redis server from a copy, or start the run again.
    """

    def __init__(self, run: str, tick: int, parts: Sequence[str], cause: str = "") -> None:
        more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
        LedgerError.__init__(
            self,
            f"run {run!r} cannot continue: Redis no longer holds what its host wrote up to tick {tick}. Changed or "
            f"missing: {', '.join(parts[:NAMED])}{more}; for details, run `cogitate audit {run}`; restore the server's "
            f"data from a copy, or start the run again{cause}",
        )


class NewerSchema(LedgerError):
    """A newer version of Cogitate wrote this run. Upgrade Cogitate to open it."""

    def __init__(self, run: str, found: int) -> None:
        super().__init__(f"run {run!r} has schema {found}, this version knows {SCHEMA}: upgrade Cogitate")


class OlderSchema(LedgerError):
    """An older version of Cogitate wrote this run. Finish it with that version, or delete it."""

    def __init__(self, run: str, found: int) -> None:
        super().__init__(
            f"run {run!r} has schema {found}, this version reads only {SCHEMA}: finish it with the version that wrote "
            f"it, or delete it (cogitate delete {run})"
        )


def wrong_schema(run: str, found: int) -> NewerSchema | OlderSchema:
    """Return the error for a run of a schema that this version does not read."""
    return NewerSchema(run, found) if found > SCHEMA else OlderSchema(run, found)
