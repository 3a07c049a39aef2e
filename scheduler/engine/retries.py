"""The usage of attempts before a job's newest one: it was spent, and admission does not count it.

The retry pool carries it (`cogitate.scheduler.budget.budget`), so it decides nothing; it is journalled so that owners,
kinds and days can be charged for it. The ledger notes it when such an attempt settles, or when a newer one follows one
that had settled (`lua/retries.lua`), and shows it until it was journalled: with the job's end, or, of a job that has
ended, at the next boundary.

Key under the run's prefix:
    retries  hash  token -> job and what it used
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.journal.lines import EndNote, Retried
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.step_replies import Unreadable, read_shown
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.job import Cost, JobKey, added


class RetriedAttempt(NamedTuple):
    """The usage of an attempt that a newer one of its job has superseded."""

    token: str
    key: JobKey
    used: Cost


class _Retry(msgspec.Struct):
    """The same, as the ledger keeps it."""

    job: str
    used: tuple[int, int, int]


_RETRY = typed_json.decoder(_Retry)


class Retries(Part):
    """The usage that the ledger has shown and no tick has journalled yet."""

    def __init__(self) -> None:
        self._shown: list[RetriedAttempt] = []  # at the boundary of this tick
        self._journalled: list[str] = []  # tokens

    def begin(self, tick: TickState) -> None:
        """Read the usage that the ledger shows."""
        self._shown = read_retries(tick.boundary.shown.get("retries", ()), tick.run.unreadable)

    def end(self, tick: TickState) -> None:
        """Journal the usage that the ledger shows: with the ends of its jobs, or, of jobs that ended before, itself."""
        shown, notes = self._shown, (closing.note for closing in tick.closings)
        tick.notes["ended"] = self.close(shown, notes)
        tick.notes["retried"] = self.rest(shown, tick.run.open, tick.closed)

    def close(self, shown: Iterable[RetriedAttempt], notes: Iterable[EndNote]) -> tuple[EndNote, ...]:
        """Return the notes of jobs that end, each with the usage of its earlier attempts."""
        used = {note.key: note for note in notes}
        for retry in shown:
            note = used.get(retry.key)
            if note is not None:
                used[retry.key] = msgspec.structs.replace(note, retried=added(note.retried, retry.used))
                self._journalled.append(retry.token)
        return tuple(used.values())

    def rest(self, shown: Iterable[RetriedAttempt], *known: Collection[JobKey]) -> tuple[Retried, ...]:
        """Return the usage for jobs that had ended before, which are not among the known ones."""
        late = [retry for retry in shown if not any(retry.key in keys for keys in known)]
        self._journalled += [retry.token for retry in late]
        return tuple(Retried(retry.key, retry.used) for retry in late)

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        gone, self._journalled = sorted(self._journalled), []
        return list(chunked("HDEL", "retries", gone))


def read_retries(raw: Sequence[bytes], unreadable: list[Unreadable]) -> list[RetriedAttempt]:
    """Return the usage of earlier attempts, as shown by the ledger, in order."""

    def read(token: str, value: bytes) -> RetriedAttempt:
        known = _RETRY.decode(value)
        return RetriedAttempt(token, JobKey.parse(known.job), Cost(*known.used))

    return sorted(read_shown(raw, "what an earlier attempt used", read, unreadable))
