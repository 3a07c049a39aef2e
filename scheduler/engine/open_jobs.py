"""Open jobs: in the host's memory, and in the form that the ledger stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.budget.budget import BudgetView, Cell, amounts
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.ledger.ledger import Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked
from cogitate.tasks.job import Cost, Job, JobKey

_JOB = typed_json.decoder(Job)
_encode = msgspec.json.Encoder().encode
_USED = "used"  # field of a job's record


class OpenJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job that has no end yet."""

    job: Job
    grant: Grant | None  # None: a held job, which waits for its heuristic
    answered: Cost | None = None  # the usage of its call, once the answer has arrived and waits for the due tick

    @property
    def admitted(self) -> bool:
        """Return whether the job holds a reservation."""
        return self.grant is not None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Return the cells that the job is charged to."""
        return self.grant.cells if self.grant is not None else ()


class OpenJobs(dict[JobKey, OpenJob]):
    """The open jobs of a run by key, with an index by owner."""

    def __init__(self) -> None:
        super().__init__()
        self.owned: dict[str, dict[JobKey, OpenJob]] = {}  # only owners with open jobs

    def __setitem__(self, key: JobKey, item: OpenJob) -> None:
        super().__setitem__(key, item)
        owned = self.owned.get(key.owner)
        if owned is None:
            self.owned[key.owner] = {key: item}
        else:
            owned[key] = item

    def close(self, key: JobKey) -> OpenJob:
        """Remove a job that has ended, and return it."""
        owned = self.owned[key.owner]
        del owned[key]
        if not owned:
            del self.owned[key.owner]
        return super().pop(key)

    def restore(self, jobs: Mapping[JobKey, OpenJob]) -> None:
        """Replace all jobs with those that the ledger holds."""
        self.clear()
        self.owned.clear()
        for key, item in jobs.items():
            self[key] = item


def job_writes(opened: Sequence[OpenJob], view: BudgetView) -> list[Write]:
    """Return the commands that open jobs: their records, the sets that list them, and their reservations."""
    writes: list[Write] = []
    reserved: dict[str, dict[str, int]] = {}
    waiting: dict[int, int] = {}
    opens: dict[int, int] = {}
    texts: list[Value] = []
    unclaimed: list[Value] = []
    due: dict[int, list[Value]] = {}
    for shared, alike in groupby(opened, _shared):
        at_due = shared.due
        fields = _shared_fields(shared, view)
        keys: list[Value] = []
        for item in alike:
            job = item.job
            keys.append(text := job.key.text())
            own = ("job", _encode(job), "owner", job.key.owner, "reads", _encode(job.reads))
            writes.append(Write("HSET", f"job:{text}", (*own, "at", job.at) if job.at else own, fields))
        texts += keys
        due.setdefault(at_due, []).extend(keys)
        if shared.admitted:
            unclaimed += keys
            waiting[at_due] = waiting.get(at_due, 0) + len(keys)
            opens[shared.tick] = opens.get(shared.tick, 0) + len(keys)
            for cell in shared.cells:
                account = reserved.setdefault(cell.window, {})
                for unit, amount in zip(UNITS, amounts(shared.reserved), strict=True):
                    if amount:
                        field = f"{cell.scope}|{unit}|reserved"
                        account[field] = account.get(field, 0) + amount * len(keys)
    writes += chunked("SADD", "jobs", texts)
    writes += chunked("SADD", "unclaimed", unclaimed)
    for at_due, keys in due.items():
        writes += chunked("SADD", f"due:{at_due}", keys)
    writes += [Write("HINCRBY", "waiting", (at_due, count)) for at_due, count in waiting.items()]
    writes += [Write("HINCRBY", "open", (tick, count)) for tick, count in opens.items()]
    writes += chunked("SADD", "windows", list(reserved))
    for window, account in reserved.items():
        writes += [Write("HINCRBY", f"window:{window}", (field, amount)) for field, amount in account.items()]
    return writes


class _Shared(msgspec.Struct, frozen=True, gc=False):
    """The fields that many jobs of a tick share."""

    admitted: bool
    due: int
    tick: int
    reserved: Cost
    cells: tuple[Cell, ...]


def _shared(item: OpenJob) -> _Shared:
    job = item.job
    return _Shared(item.grant is not None, job.due, job.key.tick, job.reserved, item.cells)


def _shared_fields(shared: _Shared, view: BudgetView) -> tuple[Value, ...]:
    """Return the fields of a new job's record that are the same for all jobs of a group."""
    fields: dict[str, Value] = {
        "state": "open" if shared.admitted else "held",
        "token": "",
        "latest": "",
        "claims": 0,
        "due": shared.due,
        "tick": shared.tick,
        **dict(zip(UNITS, amounts(shared.reserved), strict=True)),
        "last": "[0,0,0]",
        "cells": _encode([part for cell in shared.cells for part in cell]),
        "pools": _encode(view.pools(shared.cells)),
        "schema": SCHEMA,
    }
    return tuple(part for field in fields.items() for part in field)


def load_open_jobs(store: RunStore) -> dict[JobKey, OpenJob]:
    jobs: dict[JobKey, OpenJob] = {}
    for raw, state, cells, answered in store.open_jobs("job", "state", "cells", _USED).values():
        job = _JOB.decode(raw)
        flat = typed_json.decode(cells, list[str])
        charged = tuple(Cell(flat[i], flat[i + 1]) for i in range(0, len(flat), 2))
        jobs[job.key] = OpenJob(
            job=job,
            grant=Grant(key=job.key, reserved=job.reserved, cells=charged) if state != b"held" else None,
            answered=typed_json.decode(answered, Cost) if answered is not None else None,
        )
    return jobs


def read_numbers(jobs: Iterable[OpenJob], owner: str) -> tuple[int, ...]:
    """Return the entries that open jobs read by number from this owner's stream; no further job may request them."""
    return tuple(
        sorted(n for item in jobs for reads in item.job.reads if reads.owner == owner for n in reads.numbers or ())
    )


def reservation(item: OpenJob) -> Cost:
    return item.grant.reserved if item.grant is not None else Cost()


def counted(item: OpenJob) -> Cost:
    """Return the cost of an open job in admission's view: its reservation, until its usage is known."""
    return reservation(item) if item.answered is None else item.answered


def answered_writes(items: Iterable[OpenJob]) -> list[Write]:
    """Return the commands that store the usage of open jobs' calls."""
    return [Write("HSET", f"job:{item.job.key.text()}", (_USED, _encode(item.answered))) for item in items]
