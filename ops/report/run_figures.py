"""Figures of a run over time, from one pass over its journal; memory grows with time steps, not with jobs.

The figures contain no text of an entry or a prompt; they identify a prompt by the content hash of its template.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from redis import Redis

from cogitate.memory.clock import DAY, Clock, day_of
from cogitate.memory.effects import Append, Archive, Effect, TakeWaiting
from cogitate.scheduler.config.controls import FULL, ControlAnswer, SetCadence
from cogitate.scheduler.config.facts import kept_settings
from cogitate.scheduler.inspection.stored_run import unjournalled
from cogitate.scheduler.journal.checkpoint import load_checkpoint, load_checkpoint_streams
from cogitate.scheduler.journal.exported import all_lines
from cogitate.scheduler.journal.lines import EndNote, ReadLine
from cogitate.scheduler.journal.run_totals import Spent, spending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, added

STEPS = 48  # the most time steps in a chart
_WIDTHS = (10, 30, 60, 120, 360, 720, DAY)  # game minutes of one step; longer steps are full days
MOST_ANSWERS = 50  # the newest answers to operators that are kept
BOUNDARY = "boundary"  # in place of a kind: the boundary archived entries to enforce a limit


class PromptUse(NamedTuple):
    """A template with its kind and model."""

    kind: str
    model: str
    prompt: str  # content hash of the template


@dataclass
class Warned:
    """The count of a warning, and its first and last tick."""

    count: int = 0
    first: int = 0
    last: int = 0


def _counters() -> defaultdict[Any, Counter[Any]]:
    return defaultdict(Counter)


@dataclass(kw_only=True)
class RunFigures:
    """The figures of a run over time. A step is `width` game minutes; its number is its first minute over `width`."""

    width: int
    first: int = 0  # tick; 0: none
    last: int = 0
    minute: int = 0  # game time of the last tick
    sources: defaultdict[int, Counter[str]] = field(default_factory=_counters)  # step -> source of ended jobs
    postponed: Counter[int] = field(default_factory=Counter)  # step -> reflections postponed
    cadence: list[tuple[int, float]] = field(default_factory=list)  # game minute, share of the usual from then
    live: dict[int, int] = field(default_factory=dict)  # step -> entries at its end
    archived: dict[int, int] = field(default_factory=dict)  # step -> archived entries, not deleted, at its end
    compacted: defaultdict[int, Counter[str]] = field(default_factory=_counters)  # step -> kind -> entries archived
    spent: dict[int, dict[str, Cost]] = field(default_factory=dict)  # day of the request -> kind -> all attempts
    asked: defaultdict[int, Counter[str]] = field(default_factory=_counters)  # day -> kind -> requests, first trials
    admitted: defaultdict[int, Counter[str]] = field(default_factory=_counters)  # day -> kind -> jobs
    denied: defaultdict[int, Counter[str]] = field(default_factory=_counters)  # the part of `asked` that was refused
    ticks: defaultdict[str, Counter[int]] = field(default_factory=_counters)  # kind -> ticks from enqueue to end
    attempts: Counter[str] = field(default_factory=Counter)  # kind -> attempts of ended jobs
    ended: Counter[str] = field(default_factory=Counter)  # kind -> jobs
    late: Counter[str] = field(default_factory=Counter)  # kind -> jobs
    owners: dict[str, Cost] = field(default_factory=dict)
    prompts: dict[PromptUse, Cost] = field(default_factory=dict)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)  # kind, class
    warnings: dict[str, Warned] = field(default_factory=dict)
    answers: list[tuple[int, ControlAnswer]] = field(default_factory=list)  # game minute, to operators
    clock: Clock = Clock()
    entries: int = 0  # live, at the last tick
    archive: int = 0  # archived entries that are not deleted, at the last tick

    def add(self, line: ReadLine) -> None:
        core, notes = line.core, line.notes
        self.first = self.first or core.tick
        self.last, self.minute = core.tick, core.minute
        step = core.minute // self.width
        noted = {note.key: note for note in notes.ended}
        for ended in core.ended:
            note = noted[ended.key]
            kind = ended.key.kind
            self.sources[step][note.source] += 1
            self.ticks[kind][core.tick - ended.key.tick] += 1
            self.ended[kind] += 1
            self.attempts[kind] += note.attempts
            self.late[kind] += ended.reason == "late"
            if ended.end != "stale" and (ended.reason in ("failed", "dead") or note.failure):
                self.failures[kind, note.failure or ended.reason] += 1
        for ended, note in line.ends:
            if ended.end == "applied":
                self._count(step, ended.key.kind, ended.effects)
            self._prompt(ended.key.kind, note)
        for spent in spending(notes):
            self.charge(spent)
        self._count(step, BOUNDARY, core.world_effects)
        self._count(step, BOUNDARY, core.cuts)
        self.entries += len(core.observed)
        self.entries -= sum(len(numbers) for _, numbers in core.unread)
        self.archive -= sum(len(numbers) for _, numbers in core.deleted)
        self.live[step], self.archived[step] = self.entries, self.archive
        self.postponed[step] += len(core.postponed)
        for control in core.controls:
            if isinstance(control, SetCadence) and control.factor is not None:
                self.cadence.append((core.minute, control.factor / FULL))
        if core.stepped is not None and core.stepped.factor != core.stepped.before:
            self.cadence.append((core.minute, core.stepped.factor / FULL))
        day = day_of(core.minute)
        for decided in core.decided:
            if decided.decision == "admitted":
                self.admitted[day][decided.key.kind] += 1
            if decided.key.trial == 0:
                self.asked[day][decided.key.kind] += 1
                if decided.decision != "admitted":
                    self.denied[day][decided.key.kind] += 1
        self.answers = [*self.answers, *((core.minute, one) for one in notes.answers)][-MOST_ANSWERS:]
        for name, count in notes.warnings.items():
            warned = self.warnings.setdefault(name, Warned(first=core.tick))
            warned.count += count
            warned.last = core.tick

    def _minute(self, tick: int) -> int:
        return self.minute - self.clock.minutes(self.last - tick)

    def charge(self, spent: Spent) -> None:
        """Charge the day, kind and owner of a job."""
        day, kind = day_of(self._minute(spent.key.tick)), spent.key.kind
        if spent.cost == Cost():
            return
        by_kind = self.spent.setdefault(day, {})
        by_kind[kind] = added(by_kind.get(kind, Cost()), spent.cost)
        self.owners[spent.key.owner] = added(self.owners.get(spent.key.owner, Cost()), spent.cost)

    def _prompt(self, kind: str, note: EndNote) -> None:
        if note.prompt and note.spent != Cost():
            use = PromptUse(kind, note.model, note.prompt)
            self.prompts[use] = added(self.prompts.get(use, Cost()), note.spent)

    def _count(self, step: int, kind: str, effects: tuple[Effect, ...]) -> None:
        removed = 0
        for effect in effects:
            match effect:
                case Append():
                    self.entries += 1
                    removed += bool(effect.replaces)
                case TakeWaiting():
                    self.entries += effect.count
                case Archive():
                    removed += len(effect.numbers)
        if removed:
            self.entries -= removed
            self.archive += removed
            self.compacted[step][kind] += removed


def run_figures(client: Redis, run: str, data_dir: Path) -> RunFigures:
    """Return the figures of a run, from its journal in the ledger and in the files of the data folder.

    Raises:
        RunMissing: if the run does not exist.
        JournalError: when its journal was changed.
    """
    store = RunStore.open(client, run)
    tick, settings = store.tick(), kept_settings(store.state_field("settings"))
    clock = settings.game_clock()
    minutes = clock.minutes(tick)
    width = next((w for w in _WIDTHS if minutes <= w * STEPS), DAY * -(-minutes // (DAY * STEPS)))
    figures = RunFigures(width=width, clock=clock)
    for line in all_lines(client, data_dir, run):
        if not figures.first and line.core.tick > 1:
            _begin(store, line.core.tick - 1, figures)
        figures.add(line)
    for spent in spending(unjournalled(store)):
        figures.charge(spent)
    return figures


def _begin(store: RunStore, tick: int, figures: RunFigures) -> None:
    """Count the entries at the tick before the journal's first remaining line."""
    for stream in load_checkpoint_streams(store, load_checkpoint(store, tick)).values():
        live = sum(stream.is_live(number) for number in stream.entries)
        figures.entries += live
        figures.archive += len(stream.entries) - live
