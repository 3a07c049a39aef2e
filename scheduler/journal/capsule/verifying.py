"""Verify a capsule: check each hash, then replay its journal up to the digest, without server, key or network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump_with_profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.tables import LONGEST_DAY, LONGEST_TICK
from cogitate.scheduler.intake.checks import MAX_MINUTE
from cogitate.scheduler.journal.capsule.container import CapsuleError, Container, changed
from cogitate.scheduler.journal.capsule.manifest import (
    ANSWERS,
    JOURNAL,
    MEMORIES,
    PROMPTS,
    RECORDING,
    SETTINGS,
    Manifest,
    read_manifest,
)
from cogitate.scheduler.journal.exported import ExportedEntry, read_entry, steps_of
from cogitate.scheduler.journal.history import JournalStep
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.journal.rebuilt_streams import RebuiltStreams
from cogitate.scheduler.ledger.streams import UNREADABLE
from cogitate.tasks.job import JobKey


class Rebuilt:
    """The state that results from the lines of a journal."""

    def __init__(self) -> None:
        self.ticks = 0
        self.digest = self.chain = ""
        self.jobs: set[JobKey] = set()  # that have ended
        self.prompts: set[str] = set()  # versions of the templates of their prompts
        self.facts = Facts()
        self.profiles: dict[str, Profile] = {}  # of the present owners
        self._streams = RebuiltStreams()

    def add(self, step: JournalStep) -> None:
        """Apply the next tick.

        Raises:
            JournalError: if the tick does not follow from those before it.
        """
        line = step.line
        self._streams.add(step)
        if line.core.facts is not None:
            self.facts = line.core.facts
            _check_clock(self.facts, line.core.tick)
        if line.core.minute != self.facts.minute(line.core.tick):
            raise JournalError(f"tick {line.core.tick}: its game time is not that of the run's clock")
        self.profiles |= dict((*line.core.joined, *line.core.profiled))
        for owner in line.core.left:
            self.profiles.pop(owner, None)
        for _, note in line.ends:
            self.jobs.add(note.key)
            if note.prompt:
                self.prompts.add(note.prompt)
        self.ticks, self.digest, self.chain = line.core.tick, line.digest, step.chain

    @property
    def streams(self) -> dict[str, Stream]:
        """Return the streams of all owners by name, including those of owners that have left."""
        return dict(sorted(self._streams.all().items()))

    def memories(self) -> Iterator[bytes]:
        """Yield the lines of the member with memories."""
        for owner, stream in self.streams.items():
            yield dump_with_profile(stream, self.profiles.get(owner))


def _check_clock(facts: Facts, tick: int) -> None:
    """Check the clock of a foreign journal, because readers count its days one by one.

    Raises:
        JournalError: if no run can have such a clock.
    """
    clock = facts.clock
    seconds, day = 0 < clock.seconds_per_tick <= LONGEST_TICK, 60 <= clock.day_seconds <= LONGEST_DAY
    if not (seconds and day and 0 <= clock.start <= MAX_MINUTE):
        raise JournalError(f"tick {tick}: no run has a clock like that")


class Verified(NamedTuple):
    """The result of verifying a capsule."""

    run: str
    ticks: int
    digest: str
    chain: str
    owners: int
    entries: int
    jobs: int  # that have ended
    answers: int  # attempts with prompt and answer
    other_prompts: int  # versions of templates that jobs used but the capsule lacks
    versions: dict[str, str]  # of the programs that wrote it
    sha256: str  # of the file


class Capsule:
    """A capsule whose members match its manifest. It verifies its journal while reading it."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self.path = container.path
        self.manifest: Manifest = read_manifest(container)

    @property
    def settings(self) -> bytes:
        """Return the settings that the run stores, as JSON."""
        return self._container.read(SETTINGS)

    @property
    def recording(self) -> bytes:
        """Return the files of the recording that the run plays, as JSON.

        Raises:
            CapsuleError: if it plays none.
        """
        if RECORDING not in self.manifest.members:
            raise CapsuleError(f"{self.path} cannot be forked: its world is a recording, which is not in it")
        return self._container.read(RECORDING)

    def entries(self) -> Iterator[ExportedEntry]:
        """Yield the unverified entries of the journal, after checking that they have the form that Cogitate writes."""
        for raw in self._container.lines(JOURNAL):
            entry = read_entry(raw)
            if entry.raw() != raw:
                raise changed(self.path, "an entry of its journal is not written as such")
            yield entry

    def steps(self, entries: Iterable[ExportedEntry] | None = None) -> Iterator[JournalStep]:
        """Yield the verified lines of the journal.

        Args:
            entries: the journal's entries, if the caller reads them too.

        Raises:
            CapsuleError, JournalError: if the journal differs from the manifest.
        """
        step = None
        for step in steps_of(self.entries() if entries is None else entries):
            yield step
        end = (step.line.core.tick, step.line.digest, step.chain) if step is not None else (0, "", "")
        if end != (self.manifest.ticks, self.manifest.digest, self.manifest.chain):
            raise changed(self.path, f"its journal ends at tick {end[0]} with digest {end[1]}, unlike its manifest")

    def verify(self) -> Rebuilt:
        """Return the state that results from the journal, after comparing the memories with it.

        Raises:
            CapsuleError, JournalError: at the first difference.
        """
        rebuilt = Rebuilt()
        for step in self.steps():
            rebuilt.add(step)
        self.check(rebuilt)
        return rebuilt

    def check(self, rebuilt: Rebuilt) -> None:
        """Check the memories and settings against the state that results from the journal.

        Raises:
            CapsuleError: at the first difference.
        """
        for expected, stored in zip_longest(rebuilt.memories(), self._container.lines(MEMORIES)):
            if expected != stored:
                raise changed(self.path, "its memories differ from those that its journal leads to")
        if not isinstance(typed_json.decode(self.settings), dict):
            raise changed(self.path, "its settings are not a JSON object")

    def answers(self, jobs: Iterable[JobKey]) -> Iterator[tuple[JobKey, bytes]]:
        """Yield the attempts with prompt and answer, as JSON, each with its job.

        Args:
            jobs: the jobs that the journal ends.

        Raises:
            CapsuleError: if an attempt belongs to another job.
        """
        known = {key.text(): key for key in jobs}
        for raw in self.answer_lines():
            key = known.get(typed_json.decode(raw, _OfJob).job)
            if key is None:
                raise changed(self.path, "an answer is of a job that its journal does not end")
            yield key, raw

    def answer_lines(self) -> Iterable[bytes]:
        """Return the attempts with prompt and answer, as JSON."""
        return self._container.lines(ANSWERS) if ANSWERS in self.manifest.members else ()

    def templates(self) -> set[str]:
        """Return the versions of the prompt templates."""
        named = (name for name in self.manifest.members if name.startswith(PROMPTS))
        return {hashlib.sha256(self._container.read(name)).hexdigest()[:16] for name in named}


class _OfJob(msgspec.Struct, frozen=True):
    """The job of an answer."""

    job: str


@contextmanager
def open_capsule(path: Path) -> Iterator[Capsule]:
    """Yield a capsule; errors of reading it name the file.

    Raises:
        OSError: if the file cannot be read.
        CapsuleError: if it is not a capsule, was altered, or its journal does not lead to its digest.
    """
    try:
        with Container.open(path) as container:
            yield Capsule(container)
    except CapsuleError:
        raise
    except JournalError as error:
        raise CapsuleError(f"{path}: {error}") from error
    except (*UNREADABLE, OverflowError, MemoryError) as error:
        raise changed(path, f"it cannot be read ({type(error).__name__}: {str(error)[:200]})") from error


def verify_capsule(path: Path) -> Verified:
    """Verify a capsule: its checksum, each member's hash, the journal's chain and digest, and the resulting memories.

    Raises:
        OSError: if the file cannot be read.
        CapsuleError: at the first difference from its manifest.
    """
    with open_capsule(path) as capsule:
        manifest, rebuilt = capsule.manifest, capsule.verify()
        answers, others = sum(1 for _ in capsule.answers(rebuilt.jobs)), len(rebuilt.prompts - capsule.templates())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    streams = rebuilt.streams
    return Verified(
        run=manifest.run,
        ticks=rebuilt.ticks,
        digest=rebuilt.digest,
        chain=rebuilt.chain,
        owners=len(streams),
        entries=sum(len(stream.entries) for stream in streams.values()),
        jobs=len(rebuilt.jobs),
        answers=answers,
        other_prompts=others,
        versions=dict(manifest.versions),
        sha256=digest,
    )
