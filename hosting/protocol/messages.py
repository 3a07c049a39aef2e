"""Messages of hosts, over HTTP and over a pipe alike: each is checked here, once."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from cogitate.hosting.protocol.unknown_fields import with_known_fields
from cogitate.memory import typed_json
from cogitate.memory.effects import Effect
from cogitate.memory.errors import InputError, quoted, require_list
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import Event
from cogitate.scheduler.intake.checks import MAX_INTEGER, MAX_LABEL, MAX_OWNER, MAX_TOLD
from cogitate.scheduler.intake.observations import Number, SeenFields
from cogitate.scheduler.tick.arguments import MAX_MINUTE, MAX_TICKS
from cogitate.tasks.job import Reads

MOST = 10_000  # items of one list in a message
MAX_CHECKPOINT = 4_000_000  # characters of a world's state

Owner = Annotated[str, Field(min_length=1, max_length=MAX_OWNER, examples=["agent:ada"])]
Label = Annotated[str, StringConstraints(max_length=MAX_LABEL)]
Told = Annotated[str, StringConstraints(max_length=MAX_TOLD)]
Owners = Annotated[tuple[Owner, ...], BeforeValidator(require_list), Field(max_length=MOST)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(require_list), Field(max_length=MOST)]
Figure = Annotated[Number, Field(ge=0, le=MAX_INTEGER)]


class Message(BaseModel):
    """A message of a host. A field that nobody reads is refused, since it may be a misspelt one."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        return with_known_fields(cls, given)

    def digest(self) -> str:
        """Return a digest of what the message says, whatever the order and the spaces of its JSON."""
        return digest_of(self.model_dump(mode="json", exclude_defaults=True))


# -- opening a run -------------------------------------------------------------------------------------


class ProfileFields(Message):
    """An agent's identity; only `name` is required."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    age: Annotated[Number, Field(ge=0, le=MAX_INTEGER)] | None = None
    occupation: Told = ""
    traits: Labels = ()
    background: Told = ""
    currently: Told = ""
    routine: Told = ""
    home: Label = ""
    work: Label = ""

    def profile(self) -> Profile:
        """Return it as the loop takes it."""
        return Profile(**self.model_dump())


class LocationFields(Message):
    """A place of the world, which plans may name."""

    id: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    name: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    type: Label = ""
    tags: Labels = ()

    def location(self) -> Location:
        """Return it as the loop takes it."""
        return Location(**self.model_dump())


class OpenRun(Message):
    """Open a run: `create` it, `resume` it where it exists, or `replace` it with all its memories."""

    owners: dict[Owner, ProfileFields] = Field(default_factory=dict, max_length=MOST)
    exist: Literal["create", "resume", "replace"] = "create"
    locations: Annotated[tuple[LocationFields, ...], BeforeValidator(require_list)] = ()
    ticks: Annotated[Number, Field(ge=0, le=MAX_TICKS)] | None = None  # how many the run has; null: without end
    start_minute: Annotated[Number, Field(ge=0, le=MAX_MINUTE)] = 0
    seconds_per_tick: Annotated[float, Field(gt=0, le=86_400)] | None = None  # real time of a tick; null: no pace
    event_types: dict[Label, Literal["simple", "integrate"]] = Field(default_factory=dict, max_length=100)
    take_over: bool = False  # take it also from another host that is at work on it
    settings: dict[Label, JsonValue] = Field(default_factory=dict, examples=[{"minutes_per_tick": 10}])


# -- a tick --------------------------------------------------------------------------------------------


class Seen(SeenFields):
    """Something that an owner perceived, heard or was told; without `minute` at the tick's game time."""

    owner: Owner

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        return with_known_fields(cls, given)


class Happened(Message):
    """An event that one owner remembers, or without `owner` everybody whom it concerns, and those in `also`."""

    event: Annotated[Event, BeforeValidator(partial(with_known_fields, Event))]
    owner: Owner | None = None
    also: Owners = ()


class Left(Message):
    """A location that the players leave: it recounts the visit, and so does each NPC that is there."""

    location: Owner
    present: Owners = ()


class Story(Message):
    """An event of the story, after which the world recounts what has happened."""

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    tags: Labels = ()
    related: dict[Label, Label | Labels] = Field(default_factory=dict, max_length=100)


class Part(Message):
    """A part of another owner's stream that a job reads."""

    owner: Owner
    upto: Figure
    numbers: tuple[Figure, ...] | None = Field(None, max_length=MOST)


class Wanted(Message):
    """A request for a job, beside those of its kind's cadence."""

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    owner: Owner
    numbers: tuple[Figure, ...] | None = Field(None, max_length=MOST)
    reads: tuple[Part, ...] = Field((), max_length=MOST)
    priority: Annotated[Number, Field(ge=-1_000_000, le=1_000_000)] = 0
    params: dict[Label, JsonValue] = Field(default_factory=dict)
    within: Annotated[Number, Field(ge=1, le=1_000_000)] | None = None

    def parts(self) -> tuple[Reads, ...]:
        """Return what it reads of others as the loop takes it."""
        return tuple(Reads(part.owner, part.upto, part.numbers) for part in self.reads)


class Turn(Message):
    """The world's turn in one tick, in this order: all of it is committed, or nothing."""

    joins: dict[Owner, ProfileFields] = Field(default_factory=dict, max_length=MOST)
    observations: tuple[Seen, ...] = Field((), max_length=MOST)
    events: tuple[Happened, ...] = Field((), max_length=MOST)
    left_locations: tuple[Left, ...] = Field((), max_length=MOST)
    story_events: tuple[Story, ...] = Field((), max_length=MOST)
    requests: tuple[Wanted, ...] = Field((), max_length=MOST)
    effects: tuple[dict[str, JsonValue], ...] = Field((), max_length=MOST)  # of the world's own, each with its `type`
    leaves: Owners = ()
    briefs: dict[Owner, dict[str, JsonValue]] = Field(default_factory=dict, max_length=MOST)  # for jobs of this tick
    checkpoint: Annotated[str, Field(max_length=MAX_CHECKPOINT)] | None = None  # the world's state, as text


def effect_of(given: dict[str, JsonValue]) -> Effect:
    """Return an effect of the world's own.

    Raises:
        InputError: when it is none.
    """
    try:
        return typed_json.convert(given, Effect)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise InputError(f"effect {quoted(given)}: {error}") from None


# -- steering ------------------------------------------------------------------------------------------


class Steer(Message):
    """A request of an operator's kind, which takes effect with the next tick: exactly one of these."""

    mode: Literal["running", "paused", "draining", "cancelled"] | None = None
    limit: Annotated[str, Field(max_length=MAX_LABEL, examples=["day.run.calls"])] | None = None
    value: Annotated[Number, Field(ge=0, le=MAX_INTEGER)] | None = None  # of the limit; null: none any more
    throttle: Annotated[str, Field(max_length=100, examples=["reflect"])] | None = None  # a kind
    factor: Annotated[float, Field(ge=0, le=1)] | None = None  # share of its usual cadence; null: unchanged
    pinned: bool | None = None  # the controller leaves that share alone; null: unchanged


def digest_of(said: object) -> str:
    """Return a digest of plain values, whatever the order of their keys."""
    return hashlib.blake2b(msgspec.json.encode(said, order="deterministic"), digest_size=16).hexdigest()
