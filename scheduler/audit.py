"""The auditor: reads the ledger, the streams and the journal of a run, and checks every invariant it can see.

Safe to run at any moment between two ticks, on a run that lives or is over. It finds; it never mends.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from redis import Redis

from memory.stream import Stream
from scheduler.budget import amounts
from scheduler.claims import Result
from scheduler.history import read_journal, redo
from scheduler.journal import JournalError
from scheduler.limits import UNITS, LimitTable
from scheduler.summary import budget_lines, limits_of, prefix_of
from tasks.job import Cost, Job


def audit(client: Redis, run: str) -> list[str]:
    """What is wrong with a run, in words; an empty list when nothing is.

    Checked: each job has exactly one end; reserved + spent <= limit + overrun in every window; what is reserved is the
    sum over open jobs and unsettled attempts; open jobs are those that the journal opened and did not end; streams and
    hashes follow from the journal; entries are numbered without gaps; an archived entry's summary exists.

    Raises:
        RunMissing: when there is no such run.
    """
    prefix = prefix_of(client, run)
    return [
        *audit_budget(client, prefix, limits_of(client, prefix)),
        *_audit_reservations(client, prefix),
        *_audit_journal(client, prefix),
    ]


def audit_budget(client: Redis, prefix: str, limits: LimitTable) -> list[str]:
    """Windows in which reserved + spent is above limit + overrun, or an account is negative."""
    found = []
    for line in budget_lines(client, prefix, limits):
        where = f"{line.window} {line.scope} {line.unit}"
        if min(line.reserved, line.spent, line.overrun) < 0:
            found.append(f"{where}: negative account (reserved {line.reserved}, spent {line.spent})")
        if line.limit is not None and line.reserved + line.spent > line.limit + line.overrun:
            found.append(
                f"{where}: reserved {line.reserved} + spent {line.spent} > limit {line.limit} + overrun {line.overrun}"
            )
    return found


def _audit_reservations(client: Redis, prefix: str) -> list[str]:
    """The reserved accounts against the open jobs and unsettled attempts that hold them."""
    expected: Counter[tuple[str, str, str]] = Counter()
    opens: Counter[int] = Counter()

    def hold(cells: list[str], reserved: tuple[int, ...]) -> None:
        for i in range(0, len(cells), 2):
            for unit, amount in zip(UNITS, reserved, strict=True):
                expected[cells[i], cells[i + 1], unit] += amount

    keys: Any = client.smembers(prefix + "jobs")
    found = []
    unclaimed: Any = client.smembers(prefix + "unclaimed")
    for key in sorted(keys):
        record: Any = client.hgetall(prefix + "job:" + key.decode())
        if not record:
            found.append(f"job {key.decode()}: is listed as open but has no record")
            continue
        job = msgspec.json.decode(record[b"job"], type=Job)
        state = record[b"state"]
        if state != b"held":
            opens[job.key.tick] += 1
            if int(record[b"claims"]) == 0:
                hold(msgspec.json.decode(record[b"cells"]), amounts(job.reserved))
        waits = state == b"open" and record[b"token"] == b""
        if waits != (key in unclaimed):
            found.append(f"job {key.decode()}: unclaimed is {key in unclaimed}, its record says {waits}")
        if state == b"staged":
            msgspec.json.decode(record[b"result"], type=Result)
    attempts: Any = client.hgetall(prefix + "attempts")
    for raw in attempts.values():
        attempt = msgspec.json.decode(raw)
        opens[int(attempt["tick"])] += 1
        hold(attempt["cells"], tuple(attempt["reserved"]))
    listed: Any = client.smembers(prefix + "windows")
    windows = {window.decode() for window in listed}
    actual = {
        (line.window, line.scope, line.unit): line.reserved for line in budget_lines(client, prefix, LimitTable({}))
    }
    for cell in sorted(set(actual) | set(expected)):
        if cell[0] in windows and actual.get(cell, 0) != expected[cell]:
            found.append(
                f"{' '.join(cell)}: reserved {actual.get(cell, 0)}, but jobs and attempts hold {expected[cell]}"
            )
    kept: Any = client.hgetall(prefix + "open")
    if {int(tick): int(n) for tick, n in kept.items()} != dict(opens):
        found.append(f"open counters {kept} are not those of the open jobs and attempts {dict(opens)}")
    return found


def _audit_journal(client: Redis, prefix: str) -> list[str]:
    """Ends, effects, streams and hashes against the journal."""
    found: list[str] = []
    state: Any = client.hgetall(prefix + "state")
    opened: set[Any] = set()
    ended: set[Any] = set()
    streams: dict[str, Stream] = {}
    retired: dict[str, Stream] = {}
    digest = ""
    try:
        for line in read_journal(client, prefix, 1, int(state[b"tick"])):
            for end in line.core.ended:
                if end.key in ended or end.key not in opened:
                    found.append(f"tick {line.core.tick}: job {end.key.text()} ended twice or was never opened")
                ended.add(end.key)
            for decided in line.core.decided:
                if decided.key in opened or decided.key in ended:
                    found.append(f"tick {line.core.tick}: job {decided.key.text()} was decided twice")
                (opened if decided.decision in ("admitted", "heuristic") else ended).add(decided.key)
            retired.update((stream.owner, stream) for stream in redo(line, streams))
            digest = line.digest
    except JournalError as error:
        return [*found, str(error)]
    if digest != state[b"digest"].decode():
        found.append(f"the run's digest {state[b'digest'].decode()} is not the journal's {digest}")
    keys: Any = client.smembers(prefix + "jobs")
    listed = {key.decode() for key in keys}
    journalled = {key.text() for key in opened - ended}
    if listed != journalled:
        found.append(f"open jobs differ from the journal's: {sorted(listed ^ journalled)[:5]}")
    for owner, stream in sorted({**streams, **retired}.items()):
        if stream.entries and max(stream.entries) != stream.head.last_number:
            found.append(f"{owner}: the newest entry is {max(stream.entries)}, the head says {stream.head.last_number}")
        for number, record in stream.archived.items():
            if record.into and record.into > stream.head.last_number:
                found.append(f"{owner}: entry {number} was archived into {record.into}, which does not exist")
    return found


def spent_of(client: Redis, prefix: str) -> Cost:
    """What the whole run has spent so far."""
    values: Any = client.hmget(prefix + "window:run:0", [f"run|{unit}|spent" for unit in UNITS])
    return Cost(*(int(value or 0) for value in values))
