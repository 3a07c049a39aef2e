"""The auditor: reads the ledger, the streams and the journal of a run, and checks every invariant it can see.

Safe to run at any moment, on a run that lives or is over. It finds; it never mends.
"""

from __future__ import annotations

from typing import Any

import msgspec
from redis import Redis

from memory.stream import Stream
from scheduler.audit_accounts import Expected, over_limit, wrong_reservations
from scheduler.claims import Result
from scheduler.history import read_journal, redo
from scheduler.journal import JournalError
from scheduler.limits import UNITS
from scheduler.snapshot import Snapshot, take_snapshot
from scheduler.summary import budget_lines, limits_of, lines_of, prefix_of
from tasks.job import Cost, JobKey


def audit(client: Redis, run: str) -> list[str]:
    """What is wrong with a run, in words; an empty list when nothing is.

    Checked: each job has exactly one end, and each deferred one its successor; reserved + spent <= limit + overrun in
    every window; what is reserved is the sum over open jobs and unsettled attempts; what was spent is what attempts
    told; admission's view, the open jobs, streams and hashes are those that the journal says; entries are numbered
    without gaps; an archived entry's summary exists.

    Raises:
        RunMissing: when there is no such run.
        TimeoutError: when the run advances faster than it can be read.
    """
    prefix = prefix_of(client, run)
    ledger = take_snapshot(client, prefix)
    return [
        *over_limit(lines_of(ledger.accounts, limits_of(client, prefix))),
        *wrong_reservations(ledger),
        *_audit_journal(client, prefix, ledger),
    ]


def audit_budget(client: Redis, prefix: str) -> list[str]:
    """Windows in which reserved + spent is above limit + overrun, or an account is negative."""
    return over_limit(budget_lines(client, prefix, limits_of(client, prefix)))


def _audit_journal(client: Redis, prefix: str, ledger: Snapshot) -> list[str]:
    """Ends, effects, streams, hashes and accounts against the journal."""
    found: list[str] = []
    opened: set[JobKey] = set()
    ended: set[JobKey] = set()
    promised: dict[JobKey, int] = {}  # successors of deferred jobs, and the tick that named them
    streams: dict[str, Stream] = {}
    retired: dict[str, Stream] = {}
    expected = Expected()
    digest = ""
    try:
        for line in read_journal(client, prefix, 1, ledger.tick):
            at = f"tick {line.core.tick}"
            for end in line.core.ended:
                if end.key in ended or end.key not in opened:
                    found.append(f"{at}: job {end.key.text()} ended twice or was never opened")
                ended.add(end.key)
            for decided in line.core.decided:
                if decided.key in opened or decided.key in ended:
                    found.append(f"{at}: job {decided.key.text()} was decided twice")
                if (decided.key.trial > 0) != (promised.pop(decided.key, None) is not None):
                    found.append(f"{at}: job {decided.key.text()} is not the successor that was named")
                (opened if decided.decision in ("admitted", "heuristic") else ended).add(decided.key)
                if decided.successor is not None:
                    promised[decided.successor] = line.core.tick
            retired.update((stream.owner, stream) for stream in redo(line, streams))
            missing = [key for key in promised if key.tick <= line.core.tick or key.owner in retired]
            found += [f"{at}: no successor {key.text()}" for key in missing if key.owner not in retired]
            for key in missing:
                del promised[key]
            expected.add(line)
            digest = line.digest
    except JournalError as error:
        return [*found, str(error)]
    found += expected.problems(ledger)
    if digest != ledger.digest:
        found.append(f"the run's digest {ledger.digest} is not the journal's {digest}")
    journalled = {key.text() for key in opened - ended}
    if ledger.jobs.keys() != journalled:
        found.append(f"open jobs differ from the journal's: {sorted(ledger.jobs.keys() ^ journalled)[:5]}")
    for text, record in ledger.jobs.items():
        if record.get(b"state") == b"staged":
            try:
                msgspec.json.decode(record[b"result"], type=Result)
            except msgspec.DecodeError as error:
                found.append(f"job {text}: its staged result cannot be read: {error}")
    for owner, stream in sorted({**streams, **retired}.items()):
        if stream.entries and max(stream.entries) != stream.head.last_number:
            found.append(f"{owner}: the newest entry is {max(stream.entries)}, the head says {stream.head.last_number}")
        for number, archived in stream.archived.items():
            if archived.into and archived.into > stream.head.last_number:
                found.append(f"{owner}: entry {number} was archived into {archived.into}, which does not exist")
    return found


def spent_of(client: Redis, prefix: str) -> Cost:
    """What the whole run has spent so far."""
    values: Any = client.hmget(prefix + "window:run:0", [f"run|{unit}|spent" for unit in UNITS])
    return Cost(*(int(value or 0) for value in values))
