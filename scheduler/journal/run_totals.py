"""The totals of a journal's lines, without the streams: for reports, the auditor and checkpoints.

The totals in a checkpoint replace all lines before it, so reports and audits treat a trimmed journal like a complete
one. They grow with owners, kinds and open jobs, not with ticks (`forget`).

Each attempt is charged once, when its usage becomes known. A job's end records the usage of its winning attempt and of
earlier attempts whose usage is known by then. For a job that ended without a result, a correction records the usage of
its newest attempt; a separate note records earlier attempts whose usage arrives later. Usage that never becomes known
is charged in full, but only to the windows of the budget.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from cogitate.memory.profile import Profile
from cogitate.scheduler.budget.admission import DecidedLine, Grant
from cogitate.scheduler.budget.budget import Cell, amounts
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.journal.ends import UNCLAIMED, Shortfalls, how_ended, note_shortfall
from cogitate.scheduler.journal.lines import Correction, EndNote, ReadLine, Retried, reason_of
from cogitate.scheduler.ledger.answer_times import Timed
from cogitate.scheduler.ledger.claims import Reason
from cogitate.tasks.job import Cost, JobKey, added


class Spent(NamedTuple):
    """One charge for a job."""

    key: JobKey
    cost: Cost


class SpendingNotes(Protocol):
    """The notes of a line that charge for attempts."""

    @property
    def ended(self) -> Sequence[EndNote]: ...

    @property
    def corrected(self) -> Sequence[Correction]: ...

    @property
    def retried(self) -> Sequence[Retried]: ...


def spending(notes: SpendingNotes) -> Iterator[Spent]:
    """Yield the charges of a line."""
    for note in notes.ended:
        yield Spent(note.key, added(note.spent, note.retried))
    for correction in notes.corrected:
        yield Spent(correction.key, correction.spent)
    for retried in notes.retried:
        yield Spent(retried.key, retried.used)


WITHOUT_RESULT: frozenset[Reason] = frozenset({"late", "dead", "cancelled"})  # reasons of jobs that count in full


MOST = 5_000  # jobs that a run remembers until their correction


def oldest(charged: Mapping[JobKey, int], tick: int) -> list[JobKey]:
    """Return the jobs to forget: of those that ended before `tick`, all but the `MOST` newest.

    Jobs that end with `tick` do not count, because the usage of most becomes known with its commit.
    """
    ended = sorted((at, key) for key, at in charged.items() if at < tick)
    return [key for _, key in ended[: max(0, len(ended) - MOST)]]


FACTS = ("decision", "end", "source", "reason")

Amounts = dict[str, int]  # "window|scope|unit" -> amount


class JobBeginning(msgspec.Struct, frozen=True):
    """The beginning of a job, from the journal."""

    decided: DecidedLine
    note: Grant | None  # None: not admitted
    answered: Cost | None = None  # usage of its call, if its answer waits for the due tick

    @property
    def counted(self) -> Cost:
        """Return the cost that admission's view counts."""
        return self.answered if self.answered is not None else self.note.reserved if self.note is not None else Cost()


class Charge(msgspec.Struct, frozen=True):
    """The reservation of an ended job that admission counts in full."""

    ended: int  # tick
    note: Grant


class RunTotals(msgspec.Struct, kw_only=True):
    """The totals of a run at the end of a tick, from the lines of its journal."""

    tick: int = 0
    minute: int = 0  # game time, total minutes
    profiles: dict[str, Profile] = msgspec.field(default_factory=dict)  # of the present owners
    facts: dict[int, Facts] = msgspec.field(default_factory=dict)  # by the tick from which on they hold
    jobs: dict[str, dict[str, dict[str, int]]] = msgspec.field(default_factory=dict)  # kind, fact, value -> count
    refused: dict[str, int] = msgspec.field(default_factory=dict)  # "day kind:plan calls" -> refused requests
    late_answers: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)  # kind -> end -> count
    warnings: dict[str, int] = msgspec.field(default_factory=dict)
    usage: dict[str, Cost] = msgspec.field(default_factory=dict)  # owner -> known usage of its jobs' attempts
    service_tiers: dict[str, int] = msgspec.field(default_factory=dict)  # tier that answered -> results of jobs
    discount: int = 0  # micro-dollars saved against the standard service tier
    shortfalls: Shortfalls = msgspec.field(default_factory=dict)
    open: dict[str, JobBeginning] = msgspec.field(default_factory=dict)  # jobs without an end, by key
    promised: dict[str, int] = msgspec.field(default_factory=dict)  # successor of a deferred job -> tick that named it
    view: Amounts = msgspec.field(default_factory=dict)  # the amounts in admission's view
    known: Amounts = msgspec.field(default_factory=dict)  # cost of ended jobs' latest attempts
    unknown: Amounts = msgspec.field(default_factory=dict)  # upper bound of this cost for jobs without a result
    charged: dict[str, Charge] = msgspec.field(default_factory=dict)  # such jobs, while a correction may follow

    @property
    def figures(self) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
        """Return the counts of the engine's parts by name, each as kind -> end -> count."""
        return {"late_answers": self.late_answers}

    def add(self, line: ReadLine) -> None:
        """Add the next tick."""
        core, notes = line.core, line.notes
        self.tick, self.minute = core.tick, core.minute
        self.profiles.update((*core.joined, *core.profiled))
        for owner in core.left:
            self.profiles.pop(owner, None)
        if core.facts is not None:
            self.facts[core.tick] = core.facts
        for name, count in notes.warnings.items():
            self.warnings[name] = self.warnings.get(name, 0) + count
        noted = {note.key: note for note in notes.ended}
        for ended in core.ended:
            note = noted.get(ended.key) or EndNote(key=ended.key, source="none")  # missing in a damaged journal
            for fact, value in (("end", how_ended(ended, note)), ("source", note.source), ("reason", ended.reason)):
                self._count(ended.key.kind, fact, value)
            opening = self.open.get(ended.key.text())
            model = opening.decided.model if opening is not None else note.model
            note_shortfall(self.shortfalls, ended, note, model, core.tick, core.minute)
            self._close(ended.key, ended.reason, note, core.tick)
        for note in (*notes.ended, *notes.late):
            if note.service_tier and not note.saved:
                self.service_tiers[note.service_tier] = self.service_tiers.get(note.service_tier, 0) + 1
                self.discount += note.discount
        for correction in notes.corrected:
            self._correct(correction)
        for timed in notes.timed:
            self._count_answer(timed)
        for spent in spending(notes):
            self.usage[spent.key.owner] = added(self.usage.get(spent.key.owner, Cost()), spent.cost)
        if len(self.charged) > MOST:
            by_tick = {JobKey.parse(text): charge.ended for text, charge in self.charged.items()}
            for key in oldest(by_tick, core.tick):
                del self.charged[key.text()]
        for ended in core.late:
            ends = self.late_answers.setdefault(ended.key.kind, {})
            ends[ended.end] = ends.get(ended.end, 0) + 1
        opened = {note.key: note for note in notes.opened}
        for decided in core.decided:
            key = decided.key
            self._count(key.kind, "decision", decided.decision)
            if decided.refused:
                cell = _of_any_window(decided.refused)
                self.refused[cell] = self.refused.get(cell, 0) + 1
            self.promised.pop(key.text(), None)
            if decided.successor is not None:
                self.promised[decided.successor.text()] = core.tick
            if decided.decision in ("admitted", "heuristic"):
                opening = JobBeginning(decided, opened.get(key))
                self.open[key.text()] = opening
                if opening.note is not None:
                    _book(self.view, opening.note.cells, opening.note.reserved)
                    self._count_job(opening.note)
            else:
                for fact, value in (
                    ("end", decided.decision),
                    ("source", "none"),
                    ("reason", reason_of(decided.refused)),
                ):
                    self._count(key.kind, fact, value)
        for text in [text for text in self.promised if JobKey.parse(text).owner in core.left]:
            del self.promised[text]

    def forget(self, kept: Collection[str]) -> None:
        """Drop old facts, and the amounts of windows that neither the ledger stores nor an open job names.

        Args:
            kept: the windows that the ledger stores.
        """
        ticks = {JobKey.parse(text).tick for text in self.open} | {self.tick}
        used = {max((version for version in self.facts if version <= tick), default=0) for tick in ticks}
        self.facts = {version: facts for version, facts in self.facts.items() if version in used}
        named = {cell.window for opening in self.open.values() if opening.note for cell in opening.note.cells}
        for account in (self.view, self.known, self.unknown):
            for field in [field for field in account if field.partition("|")[0] not in {*kept, *named}]:
                del account[field]

    def _close(self, key: JobKey, reason: Reason, note: EndNote, tick: int) -> None:
        opening = self.open.pop(key.text(), None)
        if opening is None or opening.note is None:
            return  # it had no reservation
        cells, reserved = opening.note.cells, opening.note.reserved
        _book(self.view, cells, opening.counted, -1)
        if reason in WITHOUT_RESULT:
            _book(self.view, cells, reserved)
            _book(self.unknown, cells, reserved)
            if reserved != Cost():
                self.charged[key.text()] = Charge(tick, opening.note)
        else:
            _book(self.known, cells, note.spent)
            _book(self.view, cells, note.usage)

    def _count_answer(self, timed: Timed) -> None:
        """Replace the reservation of an answered job with its actual usage while it waits for its due tick."""
        text = timed.key.text()
        opening = self.open.get(text)
        if opening is None or opening.note is None or timed.used == Cost():
            return
        _book(self.view, opening.note.cells, opening.counted, -1)
        _book(self.view, opening.note.cells, timed.used)
        self.open[text] = msgspec.structs.replace(opening, answered=timed.used)

    def _correct(self, correction: Correction) -> None:
        """Count a job by its final usage, in those of its windows that are not forgotten."""
        charge = self.charged.pop(correction.key.text(), None)
        if charge is None:
            return
        reserved = charge.note.reserved
        cells = [c for c in charge.note.cells if any(f"{c.window}|{c.scope}|{unit}" in self.unknown for unit in UNITS)]
        _book(self.unknown, cells, reserved, -1)
        _book(self.known, cells, correction.spent)
        if not correction.kept:
            _book(self.view, cells, reserved, -1)
            _book(self.view, cells, correction.usage)

    def _count_job(self, note: Grant) -> None:
        for cell in note.cells:
            field = f"{cell.window}|{cell.scope}|jobs"
            self.view[field] = self.view.get(field, 0) + 1

    def _count(self, kind: str, fact: str, value: str) -> None:
        counts = self.jobs.setdefault(kind, {name: {} for name in FACTS})[fact]
        counts[value] = counts.get(value, 0) + 1


def wrong_facts(kept: Mapping[int, Facts], totals: RunTotals) -> bool:
    """Return whether the stored facts differ from the journal's."""
    journalled = totals.facts
    wrong = any(journalled.get(version) != facts for version, facts in kept.items())
    return wrong or max(journalled, default=0) not in kept


def same_figures(a: RunTotals, b: RunTotals) -> bool:
    """Return whether two totals agree, apart from windows that only `a` has dropped.

    Hosts up to 0.3.0 count no late jobs that no worker claimed, so these do not matter.
    """
    windows = {field.partition("|")[0] for field in a.known | a.view | a.unknown}
    kept = msgspec.structs.replace(b, view=dict(b.view), known=dict(b.known), unknown=dict(b.unknown))
    kept.forget(windows)
    kept.shortfalls = _without_unclaimed(b.shortfalls)
    return msgspec.structs.replace(a, shortfalls=_without_unclaimed(a.shortfalls)) == kept


def _without_unclaimed(shortfalls: Shortfalls) -> Shortfalls:
    return {name: one for name, one in shortfalls.items() if one.failure != UNCLAIMED}


def _of_any_window(cell: str) -> str:
    """Return a refusing cell without its window's index; other reasons for a refusal stay unchanged."""
    window, space, rest = cell.partition(" ")
    return window.partition(":")[0] + space + rest


def _book(to: Amounts, cells: Iterable[Cell], cost: Cost, sign: int = 1) -> None:
    for cell in cells:
        for unit, amount in zip(UNITS, amounts(cost), strict=True):
            if amount:
                field = f"{cell.window}|{cell.scope}|{unit}"
                to[field] = to.get(field, 0) + sign * amount
