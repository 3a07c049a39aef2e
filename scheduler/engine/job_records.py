"""Ended jobs that a host remembers, in step with a hash of the ledger: the step that ends jobs adds the new ones there,
and removes those that the host forgets.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from cogitate.scheduler.ledger.ledger import Value
from cogitate.tasks.job import JobKey

Record = TypeVar("Record", bound=msgspec.Struct)


class JobRecords(Generic[Record]):
    """The record of each remembered job, and the changes that the ledger does not have yet."""

    def __init__(self) -> None:
        self.records: dict[JobKey, Record] = {}
        self._new: set[JobKey] = set()
        self._gone: set[JobKey] = set()

    def remember(self, key: JobKey, record: Record) -> None:
        """Remember a job that ends with this tick."""
        self.records[key] = record
        self._new.add(key)

    def drop(self, key: JobKey) -> None:
        """Forget a job, in the ledger too, which may still know one that this host does not."""
        self.records.pop(key, None)
        if key in self._new:
            self._new.remove(key)
        else:
            self._gone.add(key)

    def take_records(self) -> list[tuple[JobKey, bytes]]:
        """Return the records that are new since the last call, as the ledger keeps them."""
        new, self._new = sorted(self._new), set()
        return [(key, msgspec.json.encode(self.records[key])) for key in new]

    def take_gone(self) -> list[Value]:
        """Return the jobs forgotten since the last call, as the ledger names them."""
        gone, self._gone = sorted(self._gone), set()
        return [key.text() for key in gone]
