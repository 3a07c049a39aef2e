"""Verify a capsule: each hash, then the replay of its journal to the digest, without server, key or network."""

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
    """The state that the lines of a journal lead to."""

    def __init__(self) -> None:
        self.ticks = 0
        self.digest = self.chain = ""
        self.jobs: set[JobKey] = set()  # that have ended
        self.prompts: set[str] = set()  # versions of the templates that their prompts came from
        self.facts = Facts()
        self.profiles: dict[str, Profile] = {}  # of the owners that are here
        self._streams = RebuiltStreams()

    def add(self, step: JournalStep) -> None:
        """Apply the next tick.

        Raises:
            JournalError: when it does not follow from those before it.
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
        """The streams of all owners by name, those of owners that have left included."""
        return dict(sorted(self._streams.all().items()))

    def memories(self) -> Iterator[bytes]:
        """Yield the lines of its memories."""
        for owner, stream in self.streams.items():
            yield dump_with_profile(stream, self.profiles.get(owner))


def _check_clock(facts: Facts, tick: int) -> None:
    """Check the clock of a journal from elsewhere: readers count its days one by one.

    Raises:
        JournalError: when no run has such a clock.
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
    answers: int  # of attempts, with their prompts
    other_prompts: int  # versions of templates that jobs used and the capsule does not have
    versions: dict[str, str]  # that wrote it
    sha256: str  # of the file


class Capsule:
    """A capsule whose members are what its manifest says. Its journal is verified as it is read."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self.path = container.path
        self.manifest: Manifest = read_manifest(container)

    @property
    def settings(self) -> bytes:
        """The settings that the run keeps, as JSON."""
        return self._container.read(SETTINGS)

    @property
    def recording(self) -> bytes:
        """The files of the recording that the run plays, as JSON.

        Raises:
            CapsuleError: when it plays none.
        """
        if RECORDING not in self.manifest.members:
            raise CapsuleError(f"{self.path} cannot be forked: its world is a recording, which is not in it")
        return self._container.read(RECORDING)

    def entries(self) -> Iterator[ExportedEntry]:
        """Yield the entries of its journal, which are in the form in which Cogitate writes them, but not verified."""
        for raw in self._container.lines(JOURNAL):
            entry = read_entry(raw)
            if entry.raw() != raw:
                raise changed(self.path, "an entry of its journal is not written as such")
            yield entry

    def steps(self, entries: Iterable[ExportedEntry] | None = None) -> Iterator[JournalStep]:
        """Yield the verified lines of its journal.

        Args:
            entries: of the journal, if the caller reads them too.

        Raises:
            CapsuleError, JournalError: when the journal is not that of the manifest.
        """
        step = None
        for step in steps_of(self.entries() if entries is None else entries):
            yield step
        told = (step.line.core.tick, step.line.digest, step.chain) if step is not None else (0, "", "")
        if told != (self.manifest.ticks, self.manifest.digest, self.manifest.chain):
            raise changed(self.path, f"its journal ends at tick {told[0]} with digest {told[1]}, not as its manifest")

    def verify(self) -> Rebuilt:
        """Return the state that its journal leads to, which its memories must match.

        Raises:
            CapsuleError, JournalError: at the first difference.
        """
        rebuilt = Rebuilt()
        for step in self.steps():
            rebuilt.add(step)
        self.check(rebuilt)
        return rebuilt

    def check(self, rebuilt: Rebuilt) -> None:
        """Check its memories and settings against the state that its journal leads to.

        Raises:
            CapsuleError: at the first difference.
        """
        for found, told in zip_longest(rebuilt.memories(), self._container.lines(MEMORIES)):
            if found != told:
                raise changed(self.path, "its memories differ from those that its journal leads to")
        if not isinstance(typed_json.decode(self.settings), dict):
            raise changed(self.path, "its settings are not a JSON object")

    def answers(self, jobs: Iterable[JobKey]) -> Iterator[tuple[JobKey, bytes]]:
        """Yield its attempts with prompt and answer, as JSON, each with its job.

        Args:
            jobs: that its journal ends.

        Raises:
            CapsuleError: when one is of another job.
        """
        known = {key.text(): key for key in jobs}
        for raw in self.answer_lines():
            key = known.get(typed_json.decode(raw, _OfJob).job)
            if key is None:
                raise changed(self.path, "an answer is of a job that its journal does not end")
            yield key, raw

    def answer_lines(self) -> Iterable[bytes]:
        """Return its attempts with prompt and answer, as JSON."""
        return self._container.lines(ANSWERS) if ANSWERS in self.manifest.members else ()

    def templates(self) -> set[str]:
        """Return the versions of its prompt templates."""
        named = (name for name in self.manifest.members if name.startswith(PROMPTS))
        return {hashlib.sha256(self._container.read(name)).hexdigest()[:16] for name in named}


class _OfJob(msgspec.Struct, frozen=True):
    """The job of an answer."""

    job: str


@contextmanager
def open_capsule(path: Path) -> Iterator[Capsule]:
    """Yield a capsule; what cannot be read in it is an error that names the file.

    Raises:
        OSError: when the file cannot be read.
        CapsuleError: when it is not a capsule, was changed, or its journal does not lead to its digest.
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
    """Verify a capsule: its checksum, each member's hash, the journal's chain and digest, and the memories it leads to.

    Raises:
        OSError: when the file cannot be read.
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
