"""The interface of a kind of job. Kinds are stateless; everything they know is in their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
from pydantic import BaseModel

from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry, as_known
from cogitate.memory.importance import rate_by_rule
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Location, Profile
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Rendered
from cogitate.tasks.job import Job, Latency, Reads, Request

OnDenied = Literal["heuristic", "defer", "drop"]


@dataclass(frozen=True, kw_only=True)
class WorldFacts:
    """Facts that hold for every job of a run: places, limits and the length of a tick."""

    locations: tuple[Location, ...] = ()
    limits: MemoryLimits = MemoryLimits()
    minutes_per_tick: int = 1
    morning: int = 360  # minutes after 00:00 at which plans are made and end
    spread: int = (
        0  # minutes after it within which each owner's own morning begins (`cogitate.tasks.timing.morning_of`)
    )
    act_interval: int = 0  # ticks between two choices of an action; 0: none are made
    names: Mapping[str, str] = field(default_factory=dict)  # owner -> name, of all agents
    scope_names: Mapping[str, str] = field(default_factory=dict)  # of NPCs, places, groups and the world
    retrieval: ProfileChoice = "default"  # how memories are scored
    kind_retrieval: Mapping[str, ProfileChoice] = field(default_factory=dict)  # of a kind, where it differs

    @cached_property
    def display_names(self) -> Mapping[str, str]:
        """The display names of owners and places by id, put together once: a crowd has thousands."""
        places = {owner.removeprefix("location:"): name for owner, name in self.scope_names.items()}
        places |= {place.id: place.name for place in self.locations}
        return {**places, **self.scope_names, **self.names}


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One owner at the end of one tick, as a kind sees it when it decides whether it is due. Read only."""

    owner: str
    stream: Stream
    profile: Profile
    tick: int
    minute: int
    world: WorldFacts
    brief: Mapping[str, Any]  # what the host says of the owner now: "location", "status" meters, if it is "free", …
    estimate: Callable[[Entry], int] = rate_by_rule  # an entry's importance, as far as it can be predicted
    lead: Callable[[str], int] = lambda kind: 0  # ticks that a result of a kind takes; 0 where due ticks are fixed
    last: int | None = None  # the run's last tick, where it has one


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything a job works from. The same whoever computes it and whenever."""

    job: Job
    profile: Profile
    world: WorldFacts
    memories: Mapping[str, Sequence[Entry]]  # owner -> entries it may read, as of the job's tick, by number

    @property
    def entries(self) -> Sequence[Entry]:
        """Return the entries of the job's own owner."""
        return self.memories.get(self.job.key.owner, ())


def build_case(job: Job, profile: Profile, world: WorldFacts, stored: Callable[[Reads], Iterable[Entry]]) -> Case:
    """Build the case of a job: the entries that it may read, as they were known at its tick, in order of number.

    Args:
        profile: of the job's owner.
        world: as it was when the job was created.
        stored: returns the entries of one owner that were live at the job's tick, or those that the job names.
    """
    memories: dict[str, list[Entry]] = {}
    for reads in job.reads:
        found = sorted(stored(reads), key=lambda entry: entry.number)
        memories[reads.owner] = [
            as_known(entry, job.key.tick)
            for entry in found
            if entry.number <= reads.upto and not isinstance(entry, UnreadableEntry)
        ]
    return Case(job=job, profile=profile, world=world, memories=memories)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The text that is sent to a model, stable parts first."""

    system: str
    user: str
    answer: type[BaseModel]
    version: str  # content hash of the template
    used: tuple[int, ...] = ()  # numbers of the entries that were shown, in part or to the end
    shown: tuple[int, ...] | None = None  # those of them to the end that the job passes; None: it passes none
    then: tuple[Effect, ...] = ()  # what follows from what was shown, whatever the answer: archives, cursors
    constraints: tuple[Constraint, ...] = ()  # of the answer, by what was shown: they are part of what is sent
    built_in: bool = False  # the instructions are ours, so an answer is held to all that they ask for

    @classmethod
    def of(
        cls,
        rendered: Rendered,
        answer: type[BaseModel],
        shown: Iterable[Entry] = (),
        constraints: Iterable[Constraint] = (),
    ) -> Prompt:
        """Return a rendered template, the answer it promises with its constraints, and the owner's entries it shows."""
        return cls(
            system=rendered.system,
            user=rendered.user,
            answer=answer,
            version=rendered.version,
            used=tuple(sorted(entry.number for entry in shown)),
            constraints=tuple(constraints),
            built_in=rendered.built_in,
        )


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a host's request to a kind that finds out by itself what it needs."""


class Kind(Protocol):
    """One kind of job.

    It may also have `params`, a msgspec.Struct that forbids unknown fields: what a host may give with a request; any
    JSON where there is none. And `brief_keys`: what it reads of the host's brief beyond what the built-in kinds do.
    """

    name: str
    order: int  # place within a boundary: plan 10, reflect 20, summarise 30, prune 40
    on_denied: OnDenied  # what happens when budget refuses it
    prompt_cap: int  # tokens
    output_cap: int  # tokens, reasoning included; 0: this kind never asks a model

    @property
    def latency(self) -> Latency:
        """Return the time from enqueue to due where ticks wait for results: ticks, or seconds such as "5s"."""

    # A kind may also have `needs_brief = True`: it is never due where the host gives no brief.
    # And `recalls = True`: it chooses memories by the run's retrieval profile (`cogitate.tasks.recall.recall`).
    # And, both in game minutes, see `bounds`:
    # latency_least: where due ticks follow the model's latency, results are due no sooner than after so long
    # latency_most: a result that takes longer is of no use, and is not asked for

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return the jobs that are due for this owner now, by the kind's own cadence."""

    def wake(self, moment: Moment) -> int | None:
        """Return the next tick at which `due` may say something although the owner's stream has not changed."""

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return the prompt; `memory_share` below 1 leaves out the lowest-scored memories first."""

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the effects of a validated answer.

        Raises:
            ValueError: when the answer is well-formed but unusable (unknown agents, too few plan items, …).
        """

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects without a model. It never fails, takes milliseconds and is deterministic."""


class Heeding(Protocol):
    """A kind that says which observations concern it; any other is asked whether it is due whenever one is made."""

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an entry that the stream's owner has observed may change the answer of `due` or `wake`."""


LEAST, MOST = 1, 60  # game minutes, of a kind that says nothing


def bounds(kind: Kind) -> tuple[int, int]:
    """Return after how many game minutes a kind's results are due at the soonest, and are of no use any more."""
    return getattr(kind, "latency_least", LEAST), getattr(kind, "latency_most", MOST)


@runtime_checkable
class Halving(Protocol):
    """A kind whose question can be made smaller: what failed as a whole may succeed in parts."""

    def halve(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects instead of the heuristic's when a model answered twice and neither answer was usable.

        The effects have less asked for next time, or are those of the heuristic where there is nothing left to halve.
        """
