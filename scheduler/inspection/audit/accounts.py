"""Audit of the accounts: limits, reservations, admission's view and spending, each computed from two sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from cogitate.memory import typed_json
from cogitate.memory.clock import day_of
from cogitate.scheduler.budget.budget import Cell, amounts, format_cell
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.tick.commit import KEPT_DAYS
from cogitate.tasks.job import Cost, Job

Account = tuple[str, str, str]  # window, scope, unit


def over_limit(lines: Iterable[BudgetLine]) -> list[str]:
    """Return the windows in which reserved + spent exceeds limit + overrun, or an account is negative."""
    found = []
    for line in lines:
        where = format_cell(f"{line.window} {line.scope} {line.unit}")
        if min(line.reserved, line.spent, line.overrun) < 0:
            found.append(f"{where}: negative account (reserved {line.reserved}, spent {line.spent})")
        if line.limit is not None and line.reserved + line.spent > line.limit + line.overrun:
            found.append(
                f"{where}: reserved {line.reserved} + spent {line.spent} > limit {line.limit} + overrun {line.overrun}"
            )
    return found


def wrong_reservations(ledger: AccountsSnapshot) -> list[str]:
    """Compare the reserved accounts with the open jobs and unsettled attempts that hold them."""
    expected: Counter[Account] = Counter()
    opens: Counter[int] = Counter()
    found = []
    for key, record in ledger.jobs.items():
        if not record:
            found.append(f"job {key}: is listed as open but has no record")
            continue
        job = typed_json.decode(record[b"job"], Job)
        if job.key.text() != key or record[b"due"] != str(job.due).encode():
            found.append(f"job {key}: its record belongs to job {job.key.text()}, due at {job.due}")
        if record[b"state"] != b"held":
            opens[job.key.tick] += 1
            if int(record[b"claims"]) == 0:
                _add(expected, _cells(typed_json.decode(record[b"cells"])), job.reserved)
        waits = record[b"state"] == b"open" and record[b"token"] == b""
        if waits != (key in ledger.unclaimed):
            found.append(f"job {key}: unclaimed is {key in ledger.unclaimed}, but its record says {waits}")
    for attempt in ledger.attempts.values():
        opens[int(attempt["tick"])] += 1
        _add(expected, _cells(attempt["cells"]), Cost(*attempt["reserved"]))
    for account in sorted(set(ledger.accounts) | set(expected)):
        actual = ledger.accounts.get(account, {}).get("reserved", 0)
        if account[0] in ledger.windows and actual != expected[account]:
            found.append(
                f"{format_cell(' '.join(account))}: reserved {actual}, but jobs and attempts hold {expected[account]}"
            )
    if ledger.open != dict(opens):
        found.append(f"open counters {ledger.open} differ from the open jobs and attempts {dict(opens)}")
    return found


def wrong_view(totals: RunTotals, ledger: AccountsSnapshot) -> list[str]:
    """Compare admission's view field by field; a closed window that no open job names may have been dropped."""
    kept = {field.partition("|")[0] for field in ledger.view}
    kept |= {cell.window for opening in totals.open.values() if opening.note for cell in opening.note.cells}
    found = []
    for field in sorted(totals.view.keys() | ledger.view.keys()):
        said, held = ledger.view.get(field, 0), totals.view.get(field, 0)
        window = field.partition("|")[0]
        if said != held and (window in kept or not _may_be_forgotten(window, totals.minute)):
            found.append(f"admission's view of {field} is {said}, but {held} by the journal")
    return found


def wrong_spending(totals: RunTotals, ledger: AccountsSnapshot) -> list[str]:
    """Compare what the latest attempts hold or cost with the journal: reserved + spent, less earlier attempts' usage.

    The retry pool carries the usage of earlier attempts. The cost is known for open jobs and for those that ended with
    a result. For a job that ended without one it is at most the reservation; any usage above that is overrun.
    """
    known: Counter[Account] = Counter({_account(field): amount for field, amount in totals.known.items()})
    unknown: Counter[Account] = Counter({_account(field): amount for field, amount in totals.unknown.items()})
    for record in ledger.jobs.values():
        if record and record[b"state"] != b"held":
            job = typed_json.decode(record[b"job"], Job)
            over = int(record[b"claims"]) and record[b"token"] == b""
            cost = Cost(*typed_json.decode(record[b"last"], list[int])) if over else job.reserved
            _add(known, _cells(typed_json.decode(record[b"cells"])), cost)
    found = []
    for account in sorted(set(ledger.accounts) | set(known)):
        if account[0] not in ledger.windows:
            continue
        actual = ledger.accounts.get(account, {})
        latest = actual.get("reserved", 0) + actual.get("spent", 0) - actual.get("pool", 0)
        most = known[account] + unknown[account] + (actual.get("overrun", 0) if unknown[account] else 0)
        if not known[account] <= latest <= most:
            found.append(
                f"{format_cell(' '.join(account))}: latest attempts hold or cost {latest}, "
                f"but {known[account]} to {most} by the journal and the open jobs"
            )
    return found


def _may_be_forgotten(window: str, minute: int) -> bool:
    period, _, index = window.partition(":")
    return period == "tick" or (period == "day" and int(index) + KEPT_DAYS < day_of(minute))


def _account(field: str) -> Account:
    window, rest = field.split("|", 1)
    scope, unit = rest.rsplit("|", 1)
    return window, scope, unit


def _cells(flat: list[str]) -> list[Cell]:
    return [Cell(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)]


def _add(to: Counter[Account], cells: Iterable[Cell], cost: Cost) -> None:
    for cell in cells:
        for unit, amount in zip(UNITS, amounts(cost), strict=True):
            if amount:
                to[cell.window, cell.scope, unit] += amount
