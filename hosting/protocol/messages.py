"""Messages of hosts, the same over HTTP and over a pipe. This module checks each of them, once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from cogitate.hosting.protocol.answers import malformed
from cogitate.memory import typed_json
from cogitate.memory.effects import Effect
from cogitate.memory.errors import InputError, quoted, require_list, text_of
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.routing import Event
from cogitate.scheduler.intake.checks import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_LABEL,
    MAX_MINUTE,
    MAX_OWNER,
    MAX_TOLD,
    MAX_WEIGHT,
    depth,
)
from cogitate.scheduler.intake.observations import Number, SeenFields
from cogitate.scheduler.tick.arguments import MAX_TICKS
from cogitate.tasks.job import Reads

MOST = 10_000  # items of one list in a message
MAX_CHECKPOINT = 4_000_000  # characters of a world's state

Owner = Annotated[str, Field(min_length=1, max_length=MAX_OWNER, examples=["agent:ada"])]
Label = Annotated[str, StringConstraints(max_length=MAX_LABEL)]
Told = Annotated[str, StringConstraints(max_length=MAX_TOLD)]
Owners = Annotated[tuple[Owner, ...], BeforeValidator(require_list), Field(max_length=MOST)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(require_list), Field(max_length=MOST)]
Figure = Annotated[Number, Field(ge=0, le=MAX_INTEGER)]


def read_json(body: bytes) -> Any:
    """Decode a JSON text; refuse NaN, lone surrogates, deep nesting and repeated keys.

    Raises:
        Refusal: with the position of the error.
    """
    try:
        value = typed_json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(f"this is not JSON in UTF-8: {text_of(error)[:200]}") from None
    if depth(value) > MAX_DEPTH:
        raise malformed(f"this JSON is nested deeper than {MAX_DEPTH} levels")
    with suppress(ValueError):  # msgspec has checked it; long numbers do not matter here
        json.loads(body.decode(), object_pairs_hook=_without_repeats, parse_int=len, parse_float=len)
    return value


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise malformed(f"this JSON gives the key {quoted(key)} twice in one object")
        seen.add(key)


def with_known_fields(model: type[BaseModel], given: Any) -> Any:
    """Return the values unchanged, after checking their names against a model.

    Raises:
        ValidationError: naming the first unknown field.
    """
    if isinstance(given, dict) and (name := next((one for one in given if one not in model.model_fields), None)):
        fault = InitErrorDetails(type=_fault(model, name), loc=(name,), input=given[name])
        raise ValidationError.from_exception_data(model.__name__, [fault])
    return given


def _fault(model: type[BaseModel], name: str) -> PydanticCustomError:
    near = get_close_matches(name[:MAX_LABEL], model.model_fields, 1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(model.model_fields)}"
    return PydanticCustomError("no_such_field", "there is no such field; {hint}", {"hint": hint})


class Message(BaseModel):
    """A message of a host. Unknown fields are refused, since they may be misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        return with_known_fields(cls, given)

    def digest(self) -> str:
        """Return a digest of the content, which does not depend on order and white space in its JSON."""
        return digest_of(self.model_dump(mode="json", exclude_defaults=True))


# -- opening a run -------------------------------------------------------------------------------------


class ProfileFields(Message):
    """An agent's identity, with the fields of `Profile`; only `name` is required."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    age: Annotated[Number, Field(ge=0, le=MAX_INTEGER)] | None = None
    occupation: Told = ""
    traits: Labels = ()
    background: Told = ""
    currently: Told = ""
    routine: Told | Annotated[tuple[Told, ...], BeforeValidator(require_list), Field(max_length=MOST)] = ""
    language: Label = ""
    group: Label = ""
    home: Label = ""
    work: Label = ""
    weight: Annotated[float, Field(ge=0, le=MAX_WEIGHT, allow_inf_nan=False)] = 1.0

    def profile(self) -> Profile:
        return Profile(**self.model_dump())


class LocationFields(Message):
    """A place of the world, which plans may name."""

    id: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    name: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    type: Label = ""
    tags: Labels = ()
    activities: Labels = ()

    def location(self) -> Location:
        return Location(**self.model_dump())


class OpenRun(Message):
    """Open a run: `create` it, `resume` it if it exists, or `replace` it with all its memories."""

    owners: dict[Owner, ProfileFields] = Field(default_factory=dict, max_length=MOST)
    exist: Literal["create", "resume", "replace"] = "create"
    locations: Annotated[tuple[LocationFields, ...], BeforeValidator(require_list)] = ()
    ticks: Annotated[Number, Field(ge=0, le=MAX_TICKS)] | None = None  # number of ticks; null: unlimited
    start_minute: Annotated[Number, Field(ge=0, le=MAX_MINUTE)] = 0
    real_seconds_per_tick: Annotated[float, Field(gt=0, le=86_400)] | None = None  # null: no pace
    event_types: dict[Label, Literal["simple", "integrate"]] = Field(default_factory=dict, max_length=100)
    take_over: bool = False  # take the run even from another active host
    settings: dict[Label, JsonValue] = Field(default_factory=dict, examples=[{"seconds_per_tick": 600}])


# -- a tick --------------------------------------------------------------------------------------------


class Seen(SeenFields):
    """Something that an owner perceived or heard; `minute` defaults to the tick's game time."""

    owner: Owner

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        return with_known_fields(cls, given)


class Happened(Message):
    """An event for one owner to remember, or without `owner`, for each owner that it concerns and those in `also`."""

    event: Annotated[Event, BeforeValidator(partial(with_known_fields, Event))]
    owner: Owner | None = None
    also: Owners = ()


class Left(Message):
    """A location that the players left: it recounts the visit, and so does each NPC in `present`."""

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
    """A request for a job, in addition to those of its kind's cadence."""

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    owner: Owner
    numbers: tuple[Figure, ...] | None = Field(None, max_length=MOST)
    reads: tuple[Part, ...] = Field((), max_length=MOST)
    priority: Annotated[Number, Field(ge=-1_000_000, le=1_000_000)] = 0
    params: dict[Label, JsonValue] = Field(default_factory=dict)
    within: Annotated[Number, Field(ge=1, le=1_000_000)] | None = None

    def parts(self) -> tuple[Reads, ...]:
        """Return the parts of other owners' streams as the loop takes them."""
        return tuple(Reads(part.owner, part.upto, part.numbers) for part in self.reads)


class Turn(Message):
    """The world's turn in one tick, applied in this order and committed atomically."""

    joins: dict[Owner, ProfileFields] = Field(default_factory=dict, max_length=MOST)
    observations: tuple[Seen, ...] = Field((), max_length=MOST)
    events: tuple[Happened, ...] = Field((), max_length=MOST)
    left_locations: tuple[Left, ...] = Field((), max_length=MOST)
    story_events: tuple[Story, ...] = Field((), max_length=MOST)
    requests: tuple[Wanted, ...] = Field((), max_length=MOST)
    effects: tuple[dict[str, JsonValue], ...] = Field((), max_length=MOST)  # the world's effects, each with its `type`
    leaves: Owners = ()
    briefs: dict[Owner, dict[str, JsonValue]] = Field(default_factory=dict, max_length=MOST)  # for jobs of this tick
    checkpoint: Annotated[str, Field(max_length=MAX_CHECKPOINT)] | None = None  # the world's state as text


def effect_of(given: dict[str, JsonValue]) -> Effect:
    """Decode an effect of the world.

    Raises:
        InputError: when the fields are not a valid effect.
    """
    try:
        return typed_json.convert(given, Effect)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise InputError(f"effect {quoted(given)}: {error}") from None


# -- steering ------------------------------------------------------------------------------------------


class Steer(Message):
    """A steering request: a mode, a limit or a throttle. It takes effect with the next tick."""

    mode: Literal["running", "paused", "draining", "cancelled"] | None = None
    limit: Annotated[str, Field(max_length=MAX_LABEL, examples=["day.run.calls"])] | None = None
    value: Annotated[Number, Field(ge=0, le=MAX_INTEGER)] | None = None  # of the limit; null: remove it
    throttle: Annotated[str, Field(max_length=100, examples=["reflect"])] | None = None  # a kind
    factor: Annotated[float, Field(ge=0, le=1)] | None = None  # share of the usual cadence; null: unchanged
    pinned: bool | None = None  # keep the controller from changing that share; null: unchanged


def digest_of(value: object) -> str:
    """Return a digest of a JSON value, which does not depend on the order of keys."""
    return hashlib.blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=16).hexdigest()
