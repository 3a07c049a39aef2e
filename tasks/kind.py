"""The base class of kinds of job, and the arguments of its methods.

Kinds are stateless: they use nothing but their arguments.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.memory.clock import USUAL, Clock
from cogitate.memory.effects import Effect
from cogitate.memory.entry import Entry, as_known
from cogitate.memory.importance import rate_by_rule
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.profile import Location, PlaceIndex, Profile
from cogitate.memory.retrieval.profiles import ProfileChoice
from cogitate.memory.routing.scopes import WORLD
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import UnreadableEntry
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Rendered
from cogitate.tasks.job import Job, Latency, Reads, Request

OnDenied = Literal["heuristic", "defer", "drop"]
_NUMBER = attrgetter("number")


@dataclass(frozen=True, kw_only=True)
class WorldFacts:
    """Facts that hold for every job of a run: places, limits and the clock."""

    locations: tuple[Location, ...] = ()
    limits: MemoryLimits = MemoryLimits()
    clock: Clock = USUAL
    morning: int = 360  # minutes after 00:00 at which plans are made and end
    spread: int = 0  # minutes after it over which the owners' mornings are spread (`cogitate.tasks.timing.morning_of`)
    act_interval: int = 0  # ticks between two actions that an agent chooses; 0: it chooses none
    names: Mapping[str, str] = field(default_factory=dict)  # owner -> name, of all agents
    scope_names: Mapping[str, str] = field(default_factory=dict)  # of NPCs, places, groups and the world
    routines: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)  # of groups and the world
    languages: Mapping[str, str] = field(default_factory=dict)  # of groups and the world
    spoken: str | None = None  # the language detected in all profiles together, if not English
    retrieval: ProfileChoice = "default"  # how memories are scored

    @cached_property
    def display_names(self) -> Mapping[str, str]:
        """The display names of owners and places by id, computed once: a crowd has thousands."""
        places = {owner.removeprefix("location:"): name for owner, name in self.scope_names.items()}
        places |= {place.id: place.name for place in self.locations}
        return {**places, **self.scope_names, **self.names}

    @cached_property
    def namesakes(self) -> frozenset[str]:
        """The names that several agents share, computed once."""
        return frozenset(name for name, times in Counter(map(str.casefold, self.names.values())).items() if times > 1)

    @cached_property
    def places(self) -> PlaceIndex:
        """The index of the places, built once."""
        return PlaceIndex(self.locations)

    @cached_property
    def digest(self) -> str:
        """The hash of these facts, equal in every process, computed once."""
        return hashlib.blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=16).hexdigest()

    def routine_of(self, profile: Profile) -> str | tuple[str, ...]:
        """Return the routine of an owner: its own, or else its group's, or else the world's."""
        return profile.routine or self.routines.get(profile.group) or self.routines.get(WORLD, "")

    def language_of(self, profile: Profile) -> str:
        """Return the language that a host declared for an owner, its group or the world; "" without one."""
        return profile.language or self.languages.get(profile.group) or self.languages.get(WORLD, "")


class Backlog(NamedTuple):
    """The entries of all owners that wait for a rating."""

    entries: int
    oldest: int  # game time of the oldest, total minutes; 0 if none waits


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One owner at the end of one tick, from which a kind decides whether it is due. Read-only."""

    owner: str
    stream: Stream
    profile: Profile
    tick: int
    minute: int
    world: WorldFacts
    #: The host's current facts about the owner: "location", "status" meters, whether it is "free", …
    brief: Mapping[str, Any]
    estimate: Callable[[Entry], int] = rate_by_rule  # predicts an entry's importance
    turn_of: Callable[[str], int] = lambda kind: 1  # ticks between a kind's turns that owners share; 1: they share none
    unrated: Callable[[], Backlog] = lambda: Backlog(0, 0)
    lead: Callable[[str], int] = lambda kind: 0  # expected ticks until a kind's result; 0 if due ticks are fixed
    last: int | None = None  # the run's last tick, if it has one


@dataclass(frozen=True, kw_only=True)
class Case:
    """All input of a job: identical on every machine and at any time."""

    job: Job
    profile: Profile
    world: WorldFacts
    memories: Mapping[str, Sequence[Entry]]  # owner -> entries it may read, as of the job's tick, by number
    #: Returns the similarity of entries to a query by entry number, for prompts only: no decision depends on it.
    similarity: Callable[[str, Sequence[Entry]], Mapping[int, float]] | None = field(default=None, compare=False)

    @property
    def entries(self) -> Sequence[Entry]:
        """Return the entries of the job's own owner."""
        return self.memories.get(self.job.key.owner, ())


def build_case(job: Job, profile: Profile, world: WorldFacts, stored: Callable[[Reads], Iterable[Entry]]) -> Case:
    """Build the case of a job: the entries that it may read, as of its tick, in order of number.

    Args:
        profile: the profile of the job's owner.
        world: the facts that held when the job was created.
        stored: returns the entries of one owner that were live at the job's tick, or those that the job names.
    """
    memories: dict[str, list[Entry]] = {}
    for reads in job.reads:
        memories[reads.owner] = [
            as_known(entry, job.key.tick) if entry.rated else entry
            for entry in sorted(stored(reads), key=_NUMBER)
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
    used: tuple[int, ...] = ()  # numbers of the entries shown, in part or to the end
    shown: tuple[int, ...] | None = None  # numbers of those shown to their end and passed; None: the job passes none
    then: tuple[Effect, ...] = ()  # effects on the shown entries, whatever the answer: archives, cursors
    constraints: tuple[Constraint, ...] = ()  # on the answer, from what the prompt shows
    enforced: tuple[Constraint, ...] = ()  # constraints in the schema too; a worker sets them for weak models
    built_in: bool = False  # whether it has the built-in instructions, so that all their checks apply to answers

    @classmethod
    def of(
        cls,
        rendered: Rendered,
        answer: type[BaseModel],
        shown: Iterable[Entry] = (),
        constraints: Iterable[Constraint] = (),
    ) -> Prompt:
        """Build a prompt from a rendered template, the class of its answer, and the entries that it shows."""
        return cls(
            system=rendered.system,
            user=rendered.user,
            answer=answer,
            version=rendered.version,
            used=tuple(sorted(map(_NUMBER, shown))),
            constraints=tuple(constraints),
            built_in=rendered.built_in,
        )


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a request to a kind that takes none."""


class Kind(ABC):
    """One kind of job: derive a class from this one, set its fields and register an instance.

    A kind needs `name`, `order` and `heuristic`. One that asks a model also needs `output_cap`, `prompt_cap`, `prompt`
    and `effects`; one that is due by itself needs `due` and `wake`. Everything else has the default shown here.
    """

    name: str
    """At most 64 letters, digits, "_", "-" and ".", beginning with a letter; also its queue's and its limits' name."""

    order: int
    """Its place within a boundary, different from every other kind's: plan 10, reflect 20, summarise 30, prune 40."""

    latency: Latency = "5m"
    """From request to result if ticks wait for results: ticks, game minutes ("5m") or seconds ("5s")."""

    latency_least: int = 1
    """Game minutes: the earliest time at which a result is due if due ticks follow the model's latency."""

    latency_most: int = 60
    """Game minutes: a result that takes longer has no value, so the model is not asked for it."""

    on_denied: OnDenied = "heuristic"
    """What happens when the budget refuses a job: its heuristic, another try at a later tick, or nothing."""

    prompt_cap: int = 0
    """The most tokens of a prompt."""

    output_cap: int = 0
    """The most tokens of an answer, reasoning included; 0: this kind never asks a model."""

    params: type[msgspec.Struct] | None = None
    """The parameters of a request, as a struct that forbids unknown fields; None: any JSON."""

    brief_keys: Collection[str] = ()
    """The keys that it reads from the host's brief, besides those that the built-in kinds read."""

    needs_brief: bool = False
    """True if it is never due without a brief from the host."""

    gathers: bool = False
    """True if requests may wait for a shared turn, up to an hour of game time, when a model's calls are packed."""

    recalls: bool = False
    """True if it chooses memories by the run's retrieval profile (`cogitate.tasks.recall.recall`)."""

    packs: bool = False
    """True if one request may ask for several owners' jobs of this kind."""

    batches: bool = False
    """True if batch files may hold jobs of this kind; an answer may take hours, and its tick waits."""

    def alike(self, case: Case) -> str | None:
        """Return a key of everything in a case that affects its answer, or None if it cannot share an answer.

        First attempts of jobs of one run with an equal key, model and due tick share one call while it is
        in flight in one worker. The model sees one of their prompts, and each job stores the answer as its own.
        """
        return None

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return requests for the jobs that are due for this owner now; none for a kind that only a host requests.

        The loop calls it when the owner's stream has changed, and at the tick that `wake` returned.
        """
        return ()

    def wake(self, moment: Moment) -> int | None:
        """Return the next tick at which `due` may return a request without a change of the owner's stream."""
        return None

    def known_params(self, moment: Moment) -> Mapping[str, object]:
        """Return parameters that a job cannot look up as of its tick, for a host's request without them."""
        return {}

    @property
    def time_of_day(self) -> str:
        """The time of day at which it is due; "" for other kinds. A run in rounds has none, and refuses the kind."""
        return ""

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an entry that the owner observed can change the result of `due` or `wake`."""
        return True

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return the prompt; `memory_share` below 1 leaves out the lowest-scored memories first.

        A kind that calls no model (`output_cap` 0) has neither this method nor `effects`; the loop never calls them.
        """
        raise NotImplementedError(f"{self.name} asks no model")

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the effects of a validated answer.

        Raises:
            ValueError: if the answer is valid JSON but unusable (unknown agents, too few plan items, …).
        """
        raise NotImplementedError(f"{self.name} asks no model")

    @abstractmethod
    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects without a model: deterministic, in milliseconds, and without errors."""

    def halve(self, case: Case) -> tuple[Effect, ...]:
        """Return the effects after two unusable answers of a model; by default the heuristic's.

        A kind that can ask a smaller question makes its next request smaller by these effects.
        """
        return self.heuristic(case)
