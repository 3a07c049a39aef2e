"""Ended jobs that a host remembers, in step with a hash of the ledger: what is new goes there with the step that ends
them, and what is remembered no more is removed by the same step.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from scheduler.ledger.ledger import Value
from tasks.job import JobKey

Record = TypeVar("Record", bound=msgspec.Struct)


class EndedJobs(Generic[Record]):
    """What is remembered of each job, and what the ledger does not know of that yet."""

    def __init__(self) -> None:
        self.records: dict[JobKey, Record] = {}
        self._new: set[JobKey] = set()
        self._gone: set[JobKey] = set()

    def remember(self, key: JobKey, record: Record) -> None:
        """Remember a job that ends with this tick."""
        self.records[key] = record
        self._new.add(key)

    def drop(self, key: JobKey) -> None:
        """Remember a job no more; of one that is not remembered the ledger may still know something."""
        self.records.pop(key, None)
        if key in self._new:
            self._new.remove(key)
        else:
            self._gone.add(key)

    def take_records(self) -> list[tuple[JobKey, bytes]]:
        """Return the jobs that are remembered since the last call, as the ledger keeps them."""
        new, self._new = sorted(self._new), set()
        return [(key, msgspec.json.encode(self.records[key])) for key in new]

    def take_gone(self) -> list[Value]:
        """Return the jobs that are remembered no more since the last call, as the ledger names them."""
        gone, self._gone = sorted(self._gone), set()
        return [key.text() for key in gone]
