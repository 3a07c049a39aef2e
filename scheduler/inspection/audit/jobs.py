"""Audit of open jobs and their attempts against the sets that index them and the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from cogitate.memory import typed_json
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.journal.run_totals import JobBeginning
from cogitate.scheduler.ledger.claims import Result
from cogitate.tasks.job import JobKey


def wrong_lists(ledger: AccountsSnapshot) -> list[str]:
    """Return the sets and counters that disagree with the records of the open jobs."""
    found: list[str] = []
    due: dict[str, set[str]] = {}
    staged: set[str] = set()
    waiting: Counter[str] = Counter()
    for key, record in ledger.jobs.items():
        if not record:
            continue  # `wrong_reservations` reports it
        at = record[b"due"].decode()
        due.setdefault(at, set()).add(key)
        if int(at) <= ledger.tick:
            found.append(f"job {key}: was due at tick {at} but is still open at tick {ledger.tick}")
        match record[b"state"]:
            case b"open":
                waiting[at] += 1
                token = record[b"token"].decode()
                if token and ledger.attempts.get(token, {}).get("job") != key:
                    found.append(f"job {key}: is claimed by an attempt that does not exist")
            case b"staged":
                staged.add(key)
                try:
                    typed_json.decode(record[b"result"], Result)
                except ValueError as error:
                    found.append(f"job {key}: its staged result cannot be read: {error}")
            case b"dead" | b"held":
                pass
            case state:
                found.append(f"job {key}: has the unknown state {state[:40]!r}")
    if ledger.due != due:
        found.append(f"the lists of due jobs differ from the open jobs: {_unlike(ledger.due, due)}")
    if ledger.staged != staged:
        found.append(f"staged jobs differ from their records: {sorted(ledger.staged ^ staged)[:5]}")
    if ledger.waiting != dict(waiting):
        found.append(f"waiting counters {ledger.waiting} differ from the open jobs {dict(waiting)}")
    return found


def wrong_attempts(ledger: AccountsSnapshot, opened: Collection[JobKey], openings: Iterable[JobBeginning]) -> list[str]:
    """Return the attempts of jobs that the journal does not know, and the reservations that differ from the journal's.

    Args:
        opened: every job in the untrimmed journal that was admitted or left to its heuristic.
        openings: the beginnings of the jobs that are still open.
    """
    found = []
    asked = {key.text() for key in opened}
    for token, attempt in sorted({**ledger.attempts, **ledger.lost}.items()):
        if attempt["job"] not in asked and JobKey.parse(attempt["job"]).tick > ledger.trimmed:
            found.append(f"attempt {token}: holds a reservation for job {attempt['job']}, which never existed")
    notes = {opening.note.key: opening.note for opening in openings if opening.note is not None}
    for key, note in sorted(notes.items()):
        record = ledger.jobs.get(key.text())
        if not record:
            continue  # the comparison of open jobs reports it
        reserved = [int(record[unit]) for unit in (b"calls", b"tokens", b"usd_micros")]
        cells = typed_json.decode(record[b"cells"])
        given = [note.reserved.calls, note.reserved.tokens, note.reserved.usd_micros]
        if reserved != given or cells != [part for cell in note.cells for part in cell]:
            found.append(f"job {key.text()}: reserves {reserved} in {cells}, but {given} by the journal")
    return found


def _unlike(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))[:5]
