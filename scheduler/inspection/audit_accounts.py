"""Audit of accounts, open jobs and keys: limits, reservations, spending, indexes, stray keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain

from cogitate.memory import typed_json
from cogitate.memory.clock import day_of
from cogitate.scheduler.budget.budget import Cell, amounts, format_cell
from cogitate.scheduler.budget.budget_lines import BudgetLine
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot
from cogitate.scheduler.journal.run_totals import JobBeginning, RunTotals
from cogitate.scheduler.ledger.claims import Result
from cogitate.scheduler.ledger.connect import ledger_of_run, scan_keys
from cogitate.scheduler.ledger.keys import OF_OWNERS, OF_RUN, incarnation_key, moving_key, run_base
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.commit import KEPT_DAYS
from cogitate.tasks.job import Cost, Job, JobKey

Account = tuple[str, str, str]  # window, scope, unit


def over_limit(lines: Iterable[BudgetLine]) -> list[str]:
    """Return the windows in which reserved + spent exceeds limit + overrun, or an account is negative."""
    faults = []
    for line in lines:
        where = format_cell(f"{line.window} {line.scope} {line.unit}")
        if min(line.reserved, line.spent, line.overrun) < 0:
            faults.append(f"{where}: negative account (reserved {line.reserved}, spent {line.spent})")
        if line.limit is not None and line.reserved + line.spent > line.limit + line.overrun:
            faults.append(
                f"{where}: reserved {line.reserved} + spent {line.spent} > limit {line.limit} + overrun {line.overrun}"
            )
    return faults


def wrong_reservations(ledger: AccountsSnapshot) -> list[str]:
    """Compare the reserved accounts with the open jobs and unsettled attempts that hold them."""
    expected: Counter[Account] = Counter()
    opens: Counter[int] = Counter()
    faults = []
    for key, record in ledger.jobs.items():
        if not record:
            faults.append(f"job {key}: is listed as open but has no record")
            continue
        job = typed_json.decode(record[b"job"], Job)
        if job.key.text() != key or record[b"due"] != str(job.due).encode():
            faults.append(f"job {key}: its record belongs to job {job.key.text()}, due at {job.due}")
        if record[b"state"] != b"held":
            opens[job.key.tick] += 1
            if int(record[b"claims"]) == 0:
                _add(expected, _cells(typed_json.decode(record[b"cells"])), job.reserved)
        waits = record[b"state"] == b"open" and record[b"token"] == b""
        if waits != (key in ledger.unclaimed):
            faults.append(f"job {key}: unclaimed is {key in ledger.unclaimed}, but its record says {waits}")
    for attempt in ledger.attempts.values():
        opens[int(attempt["tick"])] += 1
        _add(expected, _cells(attempt["cells"]), Cost(*attempt["reserved"]))
    for account in sorted(set(ledger.accounts) | set(expected)):
        actual = ledger.accounts.get(account, {}).get("reserved", 0)
        if account[0] in ledger.windows and actual != expected[account]:
            faults.append(
                f"{format_cell(' '.join(account))}: reserved {actual}, but jobs and attempts hold {expected[account]}"
            )
    if ledger.open != dict(opens):
        faults.append(f"open counters {ledger.open} differ from the open jobs and attempts {dict(opens)}")
    return faults


def wrong_view(totals: RunTotals, ledger: AccountsSnapshot) -> list[str]:
    """Compare admission's view field by field. A closed window that no open job names may be missing."""
    kept = {field.partition("|")[0] for field in ledger.view}
    kept |= {cell.window for opening in totals.open.values() if opening.note for cell in opening.note.cells}
    faults = []
    for field in sorted(totals.view.keys() | ledger.view.keys()):
        stored, journalled = ledger.view.get(field, 0), totals.view.get(field, 0)
        window = field.partition("|")[0]
        if stored != journalled and (window in kept or not _may_be_forgotten(window, totals.minute)):
            faults.append(f"admission's view of {field} is {stored}, but {journalled} by the journal")
    return faults


def wrong_spending(totals: RunTotals, ledger: AccountsSnapshot) -> list[str]:
    """Compare what the latest attempts hold or cost with the journal: reserved + spent - usage of earlier attempts.

    The retry pool pays for earlier attempts. The cost is known for open jobs and for jobs that ended with a result. For
    a job that ended without one it is at most the reservation; any usage above that is overrun.
    """
    known: Counter[Account] = Counter({_account(field): amount for field, amount in totals.known.items()})
    unknown: Counter[Account] = Counter({_account(field): amount for field, amount in totals.unknown.items()})
    for record in ledger.jobs.values():
        if record and record[b"state"] != b"held":
            job = typed_json.decode(record[b"job"], Job)
            over = int(record[b"claims"]) and record[b"token"] == b""
            cost = Cost(*typed_json.decode(record[b"last"], list[int])) if over else job.reserved
            _add(known, _cells(typed_json.decode(record[b"cells"])), cost)
    faults = []
    for account in sorted(set(ledger.accounts) | set(known)):
        if account[0] not in ledger.windows:
            continue
        actual = ledger.accounts.get(account, {})
        latest = actual.get("reserved", 0) + actual.get("spent", 0) - actual.get("pool", 0)
        most = known[account] + unknown[account] + (actual.get("overrun", 0) if unknown[account] else 0)
        if not known[account] <= latest <= most:
            faults.append(
                f"{format_cell(' '.join(account))}: latest attempts hold or cost {latest}, "
                f"but {known[account]} to {most} by the journal and the open jobs"
            )
    return faults


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


def wrong_lists(ledger: AccountsSnapshot) -> list[str]:
    """Return the sets and counters that contradict the records of the open jobs."""
    faults: list[str] = []
    due: dict[str, set[str]] = {}
    staged: set[str] = set()
    waiting: Counter[str] = Counter()
    for key, record in ledger.jobs.items():
        if not record:
            continue  # `wrong_reservations` reports it
        at = record[b"due"].decode()
        due.setdefault(at, set()).add(key)
        if int(at) <= ledger.tick:
            faults.append(f"job {key}: was due at tick {at} but is still open at tick {ledger.tick}")
        match record[b"state"]:
            case b"open":
                waiting[at] += 1
                token = record[b"token"].decode()
                if token and ledger.attempts.get(token, {}).get("job") != key:
                    faults.append(f"job {key}: is claimed by an attempt that does not exist")
            case b"staged":
                staged.add(key)
                try:
                    typed_json.decode(record[b"result"], Result)
                except ValueError as error:
                    faults.append(f"job {key}: its staged result cannot be read: {error}")
            case b"dead" | b"held":
                pass
            case state:
                faults.append(f"job {key}: has the unknown state {state[:40]!r}")
    if ledger.due != due:
        faults.append(f"the lists of due jobs differ from the open jobs: {_differing(ledger.due, due)}")
    if ledger.staged != staged:
        faults.append(f"staged jobs differ from their records: {sorted(ledger.staged ^ staged)[:5]}")
    if ledger.waiting != dict(waiting):
        faults.append(f"waiting counters {ledger.waiting} differ from the open jobs {dict(waiting)}")
    return faults


def wrong_attempts(ledger: AccountsSnapshot, opened: Collection[JobKey], openings: Iterable[JobBeginning]) -> list[str]:
    """Return the attempts of unknown jobs, and the reservations that differ from the journal's.

    Args:
        opened: every job of the untrimmed lines that was admitted or left to its heuristic.
        openings: the beginnings of the open jobs.
    """
    faults = []
    asked = {key.text() for key in opened}
    for token, attempt in sorted({**ledger.attempts, **ledger.lost}.items()):
        if attempt["job"] not in asked and JobKey.parse(attempt["job"]).tick > ledger.trimmed:
            faults.append(f"attempt {token}: holds a reservation for job {attempt['job']}, which never existed")
    notes = {opening.note.key: opening.note for opening in openings if opening.note is not None}
    for key, note in sorted(notes.items()):
        record = ledger.jobs.get(key.text())
        if not record:
            continue  # the comparison of open jobs reports it
        reserved = [int(record[unit]) for unit in (b"calls", b"tokens", b"usd_micros")]
        cells = typed_json.decode(record[b"cells"])
        given = [note.reserved.calls, note.reserved.tokens, note.reserved.usd_micros]
        if reserved != given or cells != [part for cell in note.cells for part in cell]:
            faults.append(f"job {key.text()}: reserves {reserved} in {cells}, but {given} by the journal")
    return faults


def _differing(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))[:5]


def stray_keys(store: RunStore, run: str, take: Callable[[], AccountsSnapshot]) -> list[str]:
    """Return the keys under a run's name that belong to none of its incarnations, owners, open jobs, windows or ticks.

    A live run creates and removes keys during the listing, so keys that look stray are checked again.
    """
    base, prefix = run_base(run), store.prefix
    listed = chain.from_iterable(scan_keys(ledger_of_run(store.client, run), _escaped(base) + "*", 1000))
    suspects = sorted({raw.decode(errors="replace") for raw in listed} - {incarnation_key(run), moving_key(run)})
    for _ in range(2):
        owners = _owners(store)
        ledger = take()
        suspects = [
            key for key in suspects if not key.startswith(prefix) or not _known(key[len(prefix) :], ledger, owners)
        ]
    return [f"key {key[:200]!r} is stray" for key in suspects if store.client.exists(key)]


def _owners(store: RunStore) -> set[str]:
    return {name.decode(errors="replace") for name in (*store.fields("owners"), *store.fields("retired"))}


def _known(key: str, ledger: AccountsSnapshot, owners: Collection[str]) -> bool:
    name, _, of = key.partition(":")
    match name:
        case "job":
            return of in ledger.jobs
        case "window":
            return of in ledger.windows
        case "due":
            return of in {record.get(b"due", b"").decode() for record in ledger.jobs.values()}
        case "ready":
            return of.isdecimal() and int(of) > ledger.tick
        case "answered":
            return True  # this key expires
        case "journal_checkpoint":
            return of in ledger.checkpoints
        case _ if name in OF_OWNERS:
            return of in owners
        case _:
            return key in OF_RUN


def _escaped(text: str) -> str:
    """Return a pattern that matches only this text; run names contain no other special characters."""
    return text.replace("[", "\\[").replace("]", "\\]")
