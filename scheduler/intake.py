"""The edge where a host's input enters: observations and requests are checked before anything is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.entry import MAX_TEXT, Entry, EntrySource, EntryType
from memory.errors import InputError as InputError
from memory.profile import Profile
from scheduler.limits import LimitName
from tasks.job import Request

MAX_OWNER = 200  # characters
MAX_PARAMS = 20_000  # bytes of JSON
MAX_DEPTH = 50  # levels of nesting
MAX_NUMBERS = 10_000  # entries that a request may name
MAX_PRIORITY = 1_000_000
MAX_WITHIN = 1_000_000  # ticks
MAX_INTEGER = 2**53 - 1  # what every reader of JSON holds exactly
_SCOPES = ("agent", "npc", "location", "group", "world")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, and halves of characters

Short = Annotated[str, Field(max_length=500)]


class Observation(BaseModel):
    """What a host may say an owner perceived, heard or was told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(max_length=MAX_TEXT)
    minute: int = Field(ge=0, le=MAX_INTEGER)  # game time, total minutes
    type: EntryType = "observation"
    location: Short = ""
    subjects: tuple[Short, ...] = ()
    keywords: tuple[Short, ...] = ()
    importance: int = Field(0, ge=0, le=10)  # 0: not rated
    source: EntrySource = "perception"
    source_id: Short = ""
    tags: tuple[Short, ...] = ()
    quest_id: Short = ""
    encounter_id: Short = ""

    def entry(self) -> Entry:
        """The entry that is appended at the boundary."""
        return Entry(**self.model_dump())


def check_entry(owner: str, entry: Entry | Observation | Mapping[str, Any]) -> Entry:
    """The entry that an observation becomes.

    Raises:
        InputError: naming the owner, the field and the value.
    """
    what = f"observation for {owner[:80]!r}"
    if isinstance(entry, Observation):
        return entry.entry()
    if not isinstance(entry, Entry):
        try:
            return Observation.model_validate(entry).entry()
        except ValidationError as error:
            raise InputError(f"{what}: {_first(error)}") from error
    if entry.number or entry.tick or entry.rated or entry.items or entry.provisional:
        raise InputError(f"{what}: an observed entry has no number, tick, items or provisional mark")
    checked: Entry = _as_read(what, entry, Entry)
    try:
        Observation.model_validate({name: getattr(checked, name) for name in Observation.model_fields})
    except ValidationError as error:
        raise InputError(f"{what}: {_first(error)}") from error
    return checked


def check_profile(owner: str, profile: Profile) -> Profile:
    """An owner's profile.

    Raises:
        InputError: naming the owner and what is wrong.
    """
    checked: Profile = _as_read(f"profile of {owner[:80]!r}", profile, Profile)
    return checked


def check_owner(owner: str) -> str:
    """An owner's name: "<scope>:<name>", or "world".

    A "}" ends the part of a key that names the run: in an owner's name it could make the key of a memory look like that
    of a job, which workers may write.

    Raises:
        InputError: when it is not.
    """
    scope, colon, name = owner.partition(":")
    fits = scope in _SCOPES and (bool(name) if colon else scope == "world")
    if not fits or len(owner) > MAX_OWNER or "}" in owner or _HIDDEN.search(owner):
        raise InputError(
            f"{owner[:80]!r} is not an owner: use <scope>:<name> with a scope of {', '.join(_SCOPES)}, "
            f"at most {MAX_OWNER} characters, none of them a control character or }}"
        )
    return owner


def check_owners(limits: Iterable[LimitName]) -> None:
    """Check the owners that limits name. A run that has others already goes on with them.

    Raises:
        InputError: for one that nobody can be called.
    """
    for name in limits:
        if name.owner:
            check_owner(name.owner)


def check_request(request: Request, kinds: Iterable[str], most: int = MAX_PARAMS) -> Request:
    """A request that admission may decide on; its parameters are a copy.

    Raises:
        InputError: for an unknown kind, entry numbers or a priority that are none, or parameters that are no JSON,
            too large or too deep.
    """
    known = list(kinds)
    what = f"{str(request.kind)[:80]} for {request.owner[:80]!r}"
    if request.kind not in known:
        raise InputError(f"there is no kind {str(request.kind)[:80]!r}; there are {', '.join(known)}")
    if not _integer(request.priority, -MAX_PRIORITY, MAX_PRIORITY):
        raise InputError(f"{what}: priority {str(request.priority)[:80]} is not an integer of at most {MAX_PRIORITY}")
    for name, ticks, longest in (("at", request.at, MAX_INTEGER), ("within", request.within, MAX_WITHIN)):
        if not _integer(ticks, 0, longest):
            raise InputError(f"{what}: {name} {str(ticks)[:80]} is not a number of ticks from 0 to {longest}")
    numbers = None if request.numbers is None else tuple(request.numbers)
    for number in numbers or ():
        if not _integer(number, 1, MAX_INTEGER):
            raise InputError(f"{what}: {str(number)[:80]!r} is not the number of an entry (1, 2, 3, …)")
    if len(numbers or ()) > MAX_NUMBERS:
        raise InputError(f"{what}: it names {len(numbers or ())} entries, at most {MAX_NUMBERS} fit")
    try:
        text = json.dumps(request.params, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{what}: params must be JSON values: {str(error)[:200]}") from error
    if not isinstance(request.params, Mapping):
        raise InputError(f"{what}: params must be a JSON object, not {type(request.params).__name__}")
    if len(text) > most:
        raise InputError(f"{what}: params have {len(text)} bytes, at most {most} fit")
    params = json.loads(text)
    if depth(params) > MAX_DEPTH:
        raise InputError(f"{what}: params are nested {depth(params)} deep, at most {MAX_DEPTH}")
    checked: Request = _as_read(what, msgspec.structs.replace(request, numbers=numbers, params=params), Request)
    return checked


def check_within(ticks: int | None) -> int:
    """Return the ticks within which a result is wanted; 0 for None.

    Raises:
        InputError: when they are not a number of ticks.
    """
    if ticks is None:
        return 0
    if not _integer(ticks, 1, MAX_WITHIN):
        raise InputError(f"within {str(ticks)[:80]!r} is not a number of ticks from 1 to {MAX_WITHIN}")
    return ticks


def _as_read(what: str, value: object, wanted: Any) -> Any:
    """A value as the journal and the workers will read it, so that nobody holds anything else.

    Raises:
        InputError: when they cannot read it: a wrong type, a number out of range, half a character.
    """
    try:
        return _decoder(wanted).decode(msgspec.json.encode(value))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{what}: {str(error)[:200]}") from error


@cache  # making one takes longer than decoding with it
def _decoder(wanted: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(wanted)


def _integer(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def depth(value: object) -> int:
    """How deep JSON values are nested; found level by level, not by recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where} {str(found['input'])[:80]!r}: {found['msg']}"
