"""The auditor: reads a run's ledger, streams and journal, and checks every invariant that these can show.

It may run at any moment, on a live or a finished run. It reports and never repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from redis import Redis
from redis.client import Pipeline

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget_lines import BudgetLine, budget_lines, jobs_of, lines_of
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.engine import PARTS
from cogitate.scheduler.engine.part import AuditedRun
from cogitate.scheduler.engine.run_data import LoopState
from cogitate.scheduler.inspection.audit_accounts import (
    over_limit,
    stray_keys,
    wrong_attempts,
    wrong_lists,
    wrong_reservations,
    wrong_spending,
    wrong_view,
)
from cogitate.scheduler.inspection.audit_streams import passed_unseen, wrong_streams
from cogitate.scheduler.inspection.snapshot import AccountsSnapshot, take_snapshot
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.journal.checkpoint import content_hash, load_base, load_checkpoint_streams
from cogitate.scheduler.journal.history import JournalTrimmed, pass_journal
from cogitate.scheduler.journal.lines import JournalError, ReadLine
from cogitate.scheduler.journal.rebuilt_streams import RebuiltStreams
from cogitate.scheduler.journal.run_totals import RunTotals, same_figures, wrong_facts
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, load_streams
from cogitate.tasks.job import JobKey


def audit(client: Redis, run: str) -> list[str]:
    """Return a sentence for each violated invariant of a run; an empty list for a sound run.

    It checks that:

    * each job has exactly one end, and each deferred job a successor;
    * effects were applied once, and only if their preconditions held: each stored stream follows from the journal;
    * reserved + spent <= limit + overrun in every window;
    * reservations add up over open jobs and unsettled attempts, each of a job that was decided;
    * spending equals what the attempts reported;
    * admission's view, the open jobs, the lists that index them, and both hashes match the journal;
    * a model's job archived, or moved its cursor past, only entries that its prompt showed;
    * an answer is awaited only while it can replace an entry, and never for a cancelled job;
    * a heuristic replaces a job only if an operator cancelled the job;
    * an ended job counts in full until its actual usage is known;
    * entries are numbered without gaps, and the summary of an archived entry exists;
    * the journal's checkpoints match its lines;
    * every key belongs to a part of the run.

    An unreadable value is a finding too. The auditor trusts the first checkpoint of a trimmed journal.

    Raises:
        RunMissing: if the run does not exist.
        NewerSchema, OlderSchema: if another version wrote it.
        TimeoutError: if the run advances faster than it can be read.
    """
    store = RunStore.open(client, run)
    while True:
        try:
            return _audit_once(store, run)
        except JournalTrimmed:
            continue  # the host trimmed it during the audit, which happens once a game day


def _audit_once(store: RunStore, run: str) -> list[str]:
    taken: list[AccountsSnapshot] = []
    faults = _or_unreadable("the ledger", lambda: taken.append(take_snapshot(store)))
    if not taken:
        return faults
    ledger = taken[0]
    return [
        *_or_unreadable("limits", lambda: over_limit(_lines(ledger, limits_of(store)))),
        *_or_unreadable("reservations", lambda: wrong_reservations(ledger)),
        *_or_unreadable("open jobs", lambda: wrong_lists(ledger)),
        *_or_unreadable("journal", lambda: _Walk(store, ledger).problems()),
        *_or_unreadable("keys", lambda: stray_keys(store, run, lambda: take_snapshot(store))),
    ]


def audit_budget(store: RunStore) -> list[str]:
    """Return the windows in which reserved + spent exceeds limit + overrun, or an account is negative."""
    return over_limit(budget_lines(store, limits_of(store).limit_of))


def _lines(ledger: AccountsSnapshot, limits: LimitHistory) -> list[BudgetLine]:
    return lines_of(ledger.accounts | jobs_of(ledger.view), limits.limit_of)


def _or_unreadable(what: str, check: Callable[[], list[str] | None]) -> list[str]:
    try:
        return check() or []
    except JournalTrimmed:
        raise
    except JournalError as error:
        return [str(error)]
    except UNREADABLE as error:
        return [f"{what} cannot be read: {type(error).__name__}: {str(error)[:200]}"]


class _Walk:
    """Rebuilds the run's state line by line from the start of the journal, and compares it with the ledger."""

    def __init__(self, store: RunStore, ledger: AccountsSnapshot) -> None:
        self._store = store
        self._ledger = ledger
        self._base = load_base(store)
        self._totals = RunTotals()
        self._opened: set[JobKey] = set()
        self._ended: set[JobKey] = set()
        self._cancelled: set[JobKey] = set()  # the cancelled ones of these
        self._digest = ""
        self._chains = {""}  # before and after a checkpoint at the last tick
        self._found: list[str] = []
        if self._base is not None:
            if self._base.tick != ledger.trimmed:
                raise JournalTrimmed(ledger.trimmed + 1, self._base.tick)
            self._totals, self._digest = self._base.totals, self._base.digest
            self._opened = {JobKey.parse(text) for text in self._totals.open}
        self._streams = RebuiltStreams(load_checkpoint_streams(store, self._base), self._base)

    def problems(self) -> list[str]:
        """Return all violations within the journal, and between the journal and the ledger."""
        ledger = self._ledger
        try:
            self._go_to(ledger.tick)
        except JournalTrimmed:
            raise
        except JournalError as error:
            return [*self._found, str(error)]
        audited = self._audited()
        for part in PARTS:
            self._found += _or_unreadable("the records " + ", ".join(part.hashes), partial(part.audit, audited))
        faults = [*self._found, *wrong_view(self._totals, ledger), *wrong_spending(self._totals, ledger)]
        if self._digest != ledger.digest or ledger.chain not in self._chains:
            faults.append(
                f"the run's digest {ledger.digest} and chain {ledger.chain} differ from the journal's {self._digest} "
                f"and {' or '.join(sorted(self._chains))}"
            )
        if ledger.lines != ledger.tick - ledger.trimmed:
            faults.append(
                f"the journal has {ledger.lines} lines, but the run is at tick {ledger.tick}"
                + (f" and was trimmed to tick {ledger.trimmed}" if ledger.trimmed else "")
            )
        if ledger.jobs.keys() != self._totals.open.keys():
            faults.append(
                f"open jobs differ from the journal's: {sorted(ledger.jobs.keys() ^ self._totals.open.keys())[:5]}"
            )
        faults += _or_unreadable("the run's state", self._wrong_state)
        faults += wrong_attempts(ledger, self._opened, self._totals.open.values())
        faults += self._changed_since_they_left()
        return faults + wrong_streams(self._store, self._streams.all(), self._follow)

    def _audited(self) -> AuditedRun:
        ledger = self._ledger
        return AuditedRun(
            tick=ledger.tick,
            trimmed=ledger.trimmed,
            hashes=ledger.hashes,
            open=ledger.jobs.keys(),
            attempts={token: attempt["job"] for token, attempt in (ledger.lost | ledger.attempts).items()},
            windows=ledger.windows,
            ended=self._ended,
            charged=self._totals.charged,
            streams=self._streams.here,
        )

    def _wrong_state(self) -> list[str]:
        """Check the profiles, the facts and the loop's state, from which a host resumes."""

        def queue(pipeline: Pipeline) -> None:
            pipeline.hmget(self._store.key("state"), "tick", "loop")
            pipeline.hgetall(self._store.key("owners"))
            pipeline.hgetall(self._store.key("facts"))

        (tick, loop), owners, facts = self._store.read_at_once(queue)
        self._follow(int(tick))
        if not self._totals.tick:
            return []
        faults = []
        typed_json.decode(loop, LoopState)
        if {owner.decode(): typed_json.decode(raw, Profile) for owner, raw in owners.items()} != self._totals.profiles:
            faults.append("the owners' profiles differ from the journal's")
        kept = {int(version): typed_json.decode(raw, Facts) for version, raw in facts.items()}
        if wrong_facts(kept, self._totals):
            faults.append("the run's facts differ from the journal's")
        return faults

    def _go_to(self, tick: int) -> None:
        for passed in pass_journal(self._store, self._totals.tick + 1, tick):
            line = passed.line
            self._ends(line)
            self._decisions(line)
            self._corrections(line)
            self._found += passed_unseen(line, self._streams.all(), self._totals.profiles)
            self._streams.add(passed)
            self._totals.add(line)
            self._successors(line.core.tick)
            self._digest, self._chains = line.digest, {line.chain, passed.chain}
            if passed.checkpoint is not None and not same_figures(passed.checkpoint.totals, self._totals):
                self._found.append(f"tick {line.core.tick}: the checkpoint differs from the lines before it")

    def _follow(self, tick: int) -> Mapping[str, Stream]:
        """Return the streams at a later tick of a live run."""
        if tick > self._totals.tick:
            self._go_to(tick)
        return self._streams.all()

    def _changed_since_they_left(self) -> list[str]:
        """Compare the streams of owners that left in trimmed ticks with their hashes in the checkpoint."""
        left = self._base.retired if self._base is not None else {}
        stored = load_streams(self._store, sorted(left))
        return [
            f"{owner}: its stream changed after it left"
            for owner, stream in stored.items()
            if content_hash(dump(stream)) != left[owner]
        ]

    def _ends(self, line: ReadLine) -> None:
        for end in line.core.ended:
            if end.key in self._ended or end.key not in self._opened:
                self._found.append(f"tick {line.core.tick}: job {end.key.text()} ended twice or was never opened")
            self._ended.add(end.key)
            if end.end == "cancelled":
                self._cancelled.add(end.key)
        for late in line.core.late:
            if late.key in self._cancelled:
                self._found.append(
                    f"tick {line.core.tick}: job {late.key.text()} was cancelled, but its answer was used"
                )

    def _decisions(self, line: ReadLine) -> None:
        at = f"tick {line.core.tick}"
        cancelled = {end.key for end in line.core.ended if end.end == "cancelled"}
        for decided in line.core.decided:
            if decided.key in self._opened or decided.key in self._ended:
                self._found.append(f"{at}: job {decided.key.text()} was decided twice")
            replaces = decided.instead in cancelled
            cancelled.discard(decided.instead or decided.key)
            if decided.instead is not None and not replaces:
                self._found.append(f"{at}: job {decided.key.text()} replaces one that was not cancelled")
            if (decided.key.trial > 0) != (replaces or decided.key.text() in self._totals.promised):
                self._found.append(f"{at}: job {decided.key.text()} is not the announced successor")
            (self._opened if decided.decision in ("admitted", "heuristic") else self._ended).add(decided.key)

    def _corrections(self, line: ReadLine) -> None:
        for correction in line.notes.corrected:
            if correction.key.text() not in self._totals.charged:
                self._found.append(
                    f"tick {line.core.tick}: job {correction.key.text()} was corrected but did not count in full"
                )

    def _successors(self, tick: int) -> None:
        for text in [text for text in self._totals.promised if JobKey.parse(text).tick <= tick]:
            self._found.append(f"tick {tick}: no successor {text}")
            del self._totals.promised[text]
