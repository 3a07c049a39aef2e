"""Compare two runs: their first difference, how it spreads, and what each owner thought in only one of them.

The comparison reads and verifies both journals side by side, tick by tick. It keeps a few differing thoughts for each
owner and window of time, so its memory grows with the number of owners, not of ticks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from redis import Redis

from cogitate.memory.effects import Append, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.inspection.compared.carried import Carried, carried_by, profiles_of
from cogitate.scheduler.inspection.compared.first_difference import (
    FirstDifference,
    first_difference,
    next_unequal,
    told_data,
)
from cogitate.scheduler.inspection.compared.run import ComparedRun, compared_run
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.changes import Origin
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.journal.exported import all_lines, exported_journal
from cogitate.scheduler.journal.history import hashes_before, read_journal
from cogitate.scheduler.journal.lines import ReadLine, reason_of
from cogitate.scheduler.journal.origin import origin_of
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import UNREADABLE, load_streams

WINDOWS = 48  # at most
KEPT = 3  # differing thoughts kept for each owner, window and run
Side = Literal["a", "b"]


class OwnerDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference between an owner's two streams, and its source."""

    owner: str
    tick: int
    minute: int  # game time, total minutes
    by: str  # "observation", "boundary", "world", "profile", or the kind of a job
    #: The owner from which the difference came: the job's owner, or a differing owner that the observation names.
    through: str = ""
    a: str = ""  # the change in run A, in words; "": none
    b: str = ""


class Thought(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, or a message to the world, that the other run does not have."""

    tick: int
    minute: int  # game time, total minutes
    type: str  # of the entry; for a message to the world its topic, such as "action"
    text: str
    by: str  # "observation" or the kind of a job
    source: str = ""  # of a job: llm, cached, heuristic or none
    numbers: tuple[int, ...] = ()  # of the entries that it rests on
    evidence: tuple[str, ...] = ()  # texts of these entries, if the run still has them


class Window(msgspec.Struct, kw_only=True):
    """A span of time: what an owner thought, observed and did in one run only."""

    window: int
    shared: int = 0  # entries and messages to the world that both runs have
    only_a: int = 0
    only_b: int = 0
    a: tuple[Thought, ...] = ()  # some of those only in A; actions and thoughts before observations
    b: tuple[Thought, ...] = ()

    @property
    def share(self) -> float:
        """Return the share of both runs' entries and messages that are in one run only, from 0 to 1."""
        return (self.only_a + self.only_b) / ((2 * self.shared + self.only_a + self.only_b) or 1)


class KindFigures(msgspec.Struct, kw_only=True):
    """The ended jobs of a kind in one run."""

    jobs: int = 0
    by_model: int = 0  # jobs with a model's answer, asked or cached
    late: int = 0
    denied: int = 0  # requests that the budget refused, with or without a heuristic in their place
    tokens: int = 0
    usd_micros: int = 0


class Comparison(msgspec.Struct, kw_only=True):
    """Two runs side by side, over the ticks that both have."""

    a: str  # names of the runs
    b: str
    first: int  # tick
    last: int
    ends: tuple[int, int]  # the last tick of each run
    width: int  # ticks of a window
    runs: dict[Side, ComparedRun] = msgspec.field(default_factory=dict)
    population: int = 0  # owners of either run
    origins: dict[Side, Origin] = msgspec.field(default_factory=dict)  # of the runs that are forks
    minutes: list[int] = msgspec.field(default_factory=list)  # game time at which each window begins
    differs_before: bool = False  # the digests differ before the first compared tick
    difference: FirstDifference | None = None  # None: no compared tick differs
    differing_ticks: int = 0
    spread: list[OwnerDifference] = msgspec.field(default_factory=list)  # in the order in which it reached the owners
    owners: dict[str, list[Window]] = msgspec.field(default_factory=dict)  # windows of each differing owner, by time
    figures: dict[Side, dict[str, KindFigures]] = msgspec.field(default_factory=lambda: {"a": {}, "b": {}})


def compare_runs(
    client: Redis, a: str, b: str, data_dir: Path, since: int = 1, *, of_b: Redis | None = None
) -> Comparison:
    """Compare the ticks from `since` on that both runs have.

    The files in the data folder supply trimmed ticks. If they are missing, the comparison begins later.

    Args:
        of_b: the client of the second run, if another server has it.

    Raises:
        RunMissing: if a run does not exist.
        JournalError: if a journal was altered.
        InputError: if the runs have no tick in common from `since` on.
    """
    sources = (client, a), (of_b or client, b)
    stores = RunStore.open(*sources[0]), RunStore.open(*sources[1])
    ends = stores[0].tick(), stores[1].tick()
    first = max(since, *(_first_tick(store, data_dir, name) for store, (_, name) in zip(stores, sources, strict=True)))
    last = min(ends)
    if first > last:
        raise InputError(
            f"runs {a!r} and {b!r} have no tick in common from tick {first:,} on: "
            f"the last ticks are {ends[0]:,} and {ends[1]:,}"
        )
    comparison = Comparison(a=a, b=b, first=first, last=last, ends=ends, width=-(-(last - first + 1) // WINDOWS))
    comparison.runs = {side: compared_run(store) for side, store in zip(get_args(Side), stores, strict=True)}
    sides = zip(get_args(Side), stores, strict=True)
    comparison.origins = {side: origin for side, store in sides if (origin := origin_of(store)) is not None}
    reading = _Reading(comparison, (_settings(stores[0]), _settings(stores[1])), partial(_text_of, stores[0]))
    before = [_Lines(store, data_dir, name, first, last) for store, (_, name) in zip(stores, sources, strict=True)]
    comparison.differs_before = before[0].digest != before[1].digest
    for one, other in zip(before[0].lines, before[1].lines, strict=True):
        reading.add(one, other)
    reading.end()
    _add_evidence(stores[0], comparison, "a")
    _add_evidence(stores[1], comparison, "b")
    return comparison


def _first_tick(store: RunStore, data_dir: Path, run: str) -> int:
    trimmed = trimmed_tick(store)
    return 1 if exported_journal(store.client, data_dir, run).covers(trimmed) else trimmed + 1


def _settings(store: RunStore) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(store.state_field("settings"))
    return kept


class _Lines:
    """The lines of a run from a tick on, and the digest before it."""

    def __init__(self, store: RunStore, data_dir: Path, run: str, first: int, last: int) -> None:
        trimmed = trimmed_tick(store)
        self.digest = ""
        if first > trimmed:
            self.digest = hashes_before(store, first, trimmed)[0]
            self.lines: Iterator[ReadLine] = read_journal(store, first, last)
            return
        lines = (line for line in all_lines(store.client, data_dir, run) if line.core.tick <= last)
        for line in lines if first > 1 else ():
            self.digest = line.digest
            if line.core.tick == first - 1:
                break
        self.lines = lines


class _Reading:
    """Reads pairs of lines and adds their differences to a comparison."""

    def __init__(
        self,
        comparison: Comparison,
        settings: tuple[Mapping[str, Any], Mapping[str, Any]],
        text_of: Callable[[str, int], str],
    ) -> None:
        self._comparison = comparison
        self._text_of = text_of  # returns the text of an entry that both runs have
        self._settings = settings
        self._facts: Facts | None = None  # after the last tick at which the runs were equal
        self._profiles: dict[str, Profile] = {}  # likewise, by owner
        self._names: dict[str, str] = {}  # owner by name
        self._present: set[str] = set()
        self._digests: tuple[str, str] = ("", "")
        self._differing: set[str] = set()  # owners whose streams differ
        self._window = 0
        self._thoughts: dict[str, tuple[list[Thought], list[Thought]]] = {}  # by owner, of the window

    def add(self, a: ReadLine, b: ReadLine) -> None:
        """Compare two lines of one tick."""
        comparison = self._comparison
        window = (a.core.tick - comparison.first) // comparison.width
        if window != self._window:
            self.close()
            self._window = window
        if len(comparison.minutes) <= window:
            comparison.minutes.append(a.core.minute)
        self._digests = a.digest, b.digest
        for line in (a, b):
            self._present.update(owner for owner, _ in line.core.joined)
            self._names.update((profile.name, owner) for owner, profile in profiles_of(line))
        for index, line in enumerate((a, b)):
            for owner, thought in _thoughts(line):
                self._thoughts.setdefault(owner, ([], []))[index].append(thought)
        self._count("a", a)
        self._count("b", b)
        if a.core == b.core:
            self._facts = a.core.facts or self._facts
            self._profiles.update(profiles_of(a))
            return
        comparison.differing_ticks += 1
        if comparison.difference is None:
            comparison.difference = first_difference(
                self._in_full(a), self._in_full(b), self._settings, self._profiles, self._text_of
            )
        self._spread(a, b)

    def _in_full(self, line: ReadLine) -> ReadLine:
        """Return a line with the constants in force at its tick, even if the tick did not change them."""
        core = msgspec.structs.replace(line.core, facts=line.core.facts or self._facts)
        return msgspec.structs.replace(line, core=core)

    def _spread(self, a: ReadLine, b: ReadLine) -> None:
        changes: dict[str, tuple[list[Carried], list[Carried]]] = {}
        for index, line in enumerate((a, b)):
            for carried in carried_by(line):
                if carried.owner not in self._differing:
                    changes.setdefault(carried.owner, ([], []))[index].append(carried)
        for owner, (of_a, of_b) in changes.items():
            pair = next_unequal(of_a, of_b, _identity)  # unpacked here, mypy would infer T as optional
            one, other = pair
            first = one or other
            if first is None:
                continue
            self._differing.add(owner)
            self._comparison.spread.append(
                OwnerDifference(
                    owner=owner,
                    tick=a.core.tick,
                    minute=a.core.minute,
                    by=first.by,
                    through=self._through(first) or (self._through(other) if other is not None else ""),
                    a=one.words if one is not None else "",
                    b=other.words if other is not None else "",
                )
            )

    def _through(self, carried: Carried) -> str:
        """Return the owner from which a change came: the job's owner, or a differing owner that the text names."""
        if carried.through or carried.entry is None:
            return carried.through if carried.through != carried.owner else ""
        named = [self._names.get(name, name) for name in carried.entry.subjects]
        named += [owner for name, owner in self._names.items() if name in carried.entry.text]
        return next((owner for owner in named if owner in self._differing and owner != carried.owner), "")

    def _count(self, side: Side, line: ReadLine) -> None:
        kinds = self._comparison.figures[side]
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
            figures = kinds.setdefault(ended.key.kind, KindFigures())
            figures.jobs += 1
            figures.by_model += note.source in ("llm", "cached")
            figures.late += ended.reason == "late"
        for decided in line.core.decided:
            if decided.refused and reason_of(decided.refused) == "denied":
                kinds.setdefault(decided.key.kind, KindFigures()).denied += 1
        for spent in spending(line.notes):
            figures = kinds.setdefault(spent.key.kind, KindFigures())
            figures.tokens += spent.cost.tokens
            figures.usd_micros += spent.cost.usd_micros

    def end(self) -> None:
        """Complete the comparison after its last tick."""
        self.close()
        comparison = self._comparison
        comparison.population = len(self._present)
        for side, digest in zip(get_args(Side), self._digests, strict=True):
            comparison.runs[side] = msgspec.structs.replace(comparison.runs[side], digest=digest)

    def close(self) -> None:
        """Compare the thoughts of the window that ends."""
        for owner, (of_a, of_b) in self._thoughts.items():
            counted = Counter(map(_same, of_a)), Counter(map(_same, of_b))
            only = counted[0] - counted[1], counted[1] - counted[0]
            if not (only[0] or only[1]):
                continue
            self._comparison.owners.setdefault(owner, []).append(
                Window(
                    window=self._window,
                    shared=(counted[0] & counted[1]).total(),
                    only_a=only[0].total(),
                    only_b=only[1].total(),
                    a=_chosen(of_a, only[0]),
                    b=_chosen(of_b, only[1]),
                )
            )
        self._thoughts.clear()


def _identity(carried: Carried) -> object:
    return carried.by, carried.what


def _same(thought: Thought) -> tuple[int, str, str]:
    return thought.minute, thought.type, thought.text


def _chosen(thoughts: Iterable[Thought], only: Counter[tuple[int, str, str]]) -> tuple[Thought, ...]:
    differing = [thought for thought in thoughts if _same(thought) in only]
    differing.sort(key=lambda thought: thought.by == "observation")
    return tuple(sorted(differing[:KEPT], key=lambda thought: thought.tick))


def _thoughts(line: ReadLine) -> Iterator[tuple[str, Thought]]:
    core = line.core
    for ended, note in line.ends:
        if ended.end != "applied":
            continue
        for effect in ended.effects:
            facts: dict[str, Any] = {"tick": core.tick, "by": ended.key.kind, "source": note.source}
            if isinstance(effect, Append):
                yield effect.owner, _thought(effect.entry, facts)
            elif isinstance(effect, Tell):
                yield effect.owner, Thought(minute=core.minute, type=effect.topic, text=told_data(effect.data), **facts)
    for owner, entry in (*core.observed, *core.waiting):
        yield owner, _thought(entry, {"tick": core.tick, "by": "observation"})


def _thought(entry: Entry, facts: dict[str, Any]) -> Thought:
    text = entry.text
    if entry.items:
        text = "\n".join((text, *(f"- {item.description}" for item in entry.items)))
    return Thought(minute=entry.minute, type=entry.type, text=text, numbers=entry.evidence, **facts)


def _text_of(store: RunStore, owner: str, number: int) -> str:
    """Return the text of an owner's entry; "" if it does not exist any more."""
    try:
        entry = load_streams(store, [owner])[owner].entries.get(number)
    except UNREADABLE:
        return ""  # `cogitate audit` reports it
    return entry.text if entry is not None else ""


def _add_evidence(store: RunStore, comparison: Comparison, side: Side) -> None:
    """Add to the kept thoughts the texts that they rest on, one stream at a time."""
    for owner, windows in comparison.owners.items():
        if not any(thought.numbers for window in windows for thought in getattr(window, side)):
            continue
        try:
            entries = load_streams(store, [owner])[owner].entries
        except UNREADABLE:
            continue  # `cogitate audit` reports it
        for window in windows:
            kept = [
                msgspec.structs.replace(
                    thought,
                    evidence=tuple(entries[number].text for number in thought.numbers if number in entries),
                )
                for thought in getattr(window, side)
            ]
            setattr(window, side, tuple(kept))
