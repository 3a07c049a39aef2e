"""The auditor's arithmetic: limits, reservations, admission's view and what was spent, each from two sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from scheduler.budget import Cell, amounts
from scheduler.claims import Reason
from scheduler.journal import OpenNote, ReadLine
from scheduler.limits import UNITS
from scheduler.snapshot import Snapshot
from scheduler.summary import BudgetLine
from tasks.job import Cost, Job, JobKey

#: Reasons of jobs that ended without a result: they count whole in admission's view.
WITHOUT_RESULT: frozenset[Reason] = frozenset({"late", "dead", "denied", "cancelled"})

Account = tuple[str, str, str]  # window, scope, unit


def over_limit(lines: Iterable[BudgetLine]) -> list[str]:
    """Windows in which reserved + spent is above limit + overrun, or an account is negative."""
    found = []
    for line in lines:
        where = f"{line.window} {line.scope} {line.unit}"
        if min(line.reserved, line.spent, line.overrun) < 0:
            found.append(f"{where}: negative account (reserved {line.reserved}, spent {line.spent})")
        if line.limit is not None and line.reserved + line.spent > line.limit + line.overrun:
            found.append(
                f"{where}: reserved {line.reserved} + spent {line.spent} > limit {line.limit} + overrun {line.overrun}"
            )
    return found


def wrong_reservations(ledger: Snapshot) -> list[str]:
    """The reserved accounts against the open jobs and unsettled attempts that hold them."""
    expected: Counter[Account] = Counter()
    opens: Counter[int] = Counter()
    found = []
    for key, record in ledger.jobs.items():
        if not record:
            found.append(f"job {key}: is listed as open but has no record")
            continue
        job = msgspec.json.decode(record[b"job"], type=Job)
        if job.key.text() != key or record[b"due"] != str(job.due).encode():
            found.append(f"job {key}: its record is of job {job.key.text()}, due at {job.due}")
        if record[b"state"] != b"held":
            opens[job.key.tick] += 1
            if int(record[b"claims"]) == 0:
                _add(expected, _cells(msgspec.json.decode(record[b"cells"])), job.reserved)
        waits = record[b"state"] == b"open" and record[b"token"] == b""
        if waits != (key in ledger.unclaimed):
            found.append(f"job {key}: unclaimed is {key in ledger.unclaimed}, its record says {waits}")
    for attempt in ledger.attempts.values():
        opens[int(attempt["tick"])] += 1
        _add(expected, _cells(attempt["cells"]), Cost(*attempt["reserved"]))
    for account in sorted(set(ledger.accounts) | set(expected)):
        actual = ledger.accounts.get(account, {}).get("reserved", 0)
        if account[0] in ledger.windows and actual != expected[account]:
            found.append(f"{' '.join(account)}: reserved {actual}, but jobs and attempts hold {expected[account]}")
    if ledger.open != dict(opens):
        found.append(f"open counters {ledger.open} are not those of the open jobs and attempts {dict(opens)}")
    return found


class Expected:
    """What admission's view and the windows must say, by the journal."""

    def __init__(self) -> None:
        self.open: dict[JobKey, OpenNote] = {}  # what admission gave to the jobs that are open
        self._view: Counter[Account] = Counter()
        self._known: Counter[Account] = Counter()  # what ended jobs' latest attempts cost
        self._unknown: Counter[Account] = Counter()  # what those of jobs without a result may have cost

    def add(self, line: ReadLine) -> None:
        """Take note of the next tick."""
        usage = {note.key: note.usage for note in line.notes.ended}
        for ended in line.core.ended:
            opened = self.open.pop(ended.key, None)
            if opened is None:
                continue  # budget had refused it
            if ended.reason in WITHOUT_RESULT:
                _add(self._unknown, opened.cells, opened.reserved)
            else:
                _add(self._known, opened.cells, usage[ended.key])
                _add(self._view, opened.cells, usage[ended.key])
                _add(self._view, opened.cells, opened.reserved, -1)
        for opened in line.notes.opened:
            self.open[opened.key] = opened
            _add(self._view, opened.cells, opened.reserved)

    def problems(self, ledger: Snapshot) -> list[str]:
        """Where the ledger disagrees."""
        return [*self._wrong_view(ledger), *self._wrong_spending(ledger)]

    def _wrong_view(self, ledger: Snapshot) -> list[str]:
        """Admission's view, field by field; a tick's window may have been forgotten when no open job names it."""
        kept = {field.partition("|")[0] for field in ledger.view}
        kept |= {cell.window for opened in self.open.values() for cell in opened.cells}
        found = []
        fields = {"|".join(account): amount for account, amount in self._view.items()}
        for field in sorted(fields.keys() | ledger.view.keys()):
            window = field.partition("|")[0]
            said, held = ledger.view.get(field, 0), fields.get(field, 0)
            if said != held and (window in kept or not window.startswith("tick:")):
                found.append(f"admission's view of {field} is {said}, by the journal it is {held}")
        return found

    def _wrong_spending(self, ledger: Snapshot) -> list[str]:
        """What latest attempts hold or cost: reserved + spent, less what the retry pool carries of earlier ones.

        It is known of open jobs and of those that ended with a result; of one that ended without, it is at most its
        reservation, and what it used above that is overrun.
        """
        known = Counter(self._known)
        for record in ledger.jobs.values():
            if record and record[b"state"] != b"held":
                job = msgspec.json.decode(record[b"job"], type=Job)
                over = int(record[b"claims"]) and record[b"token"] == b""
                cost = Cost(*msgspec.json.decode(record[b"last"], type=list[int])) if over else job.reserved
                _add(known, _cells(msgspec.json.decode(record[b"cells"])), cost)
        found = []
        for account in sorted(set(ledger.accounts) | set(known)):
            if account[0] not in ledger.windows:
                continue
            actual = ledger.accounts.get(account, {})
            latest = actual.get("reserved", 0) + actual.get("spent", 0) - actual.get("pool", 0)
            most = known[account] + self._unknown[account] + (actual.get("overrun", 0) if self._unknown[account] else 0)
            if not known[account] <= latest <= most:
                found.append(
                    f"{' '.join(account)}: latest attempts hold or cost {latest}, "
                    f"by the journal and the open jobs from {known[account]} to {most}"
                )
        return found


def _cells(flat: list[str]) -> list[Cell]:
    return [Cell(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]


def _add(to: Counter[Account], cells: Iterable[Cell], cost: Cost, sign: int = 1) -> None:
    for cell in cells:
        for unit, amount in zip(UNITS, amounts(cost), strict=True):
            if amount:
                to[cell.window, cell.scope, unit] += sign * amount
