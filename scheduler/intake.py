"""The edge where a host's input enters: observations and requests are checked before anything is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.entry import MAX_TEXT, Entry, EntrySource, EntryType
from tasks.job import Request

MAX_OWNER = 200  # characters
MAX_PARAMS = 20_000  # bytes of JSON
_SCOPES = ("agent", "npc", "location", "group", "world")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f]")

Short = Annotated[str, Field(max_length=500)]


class InputError(ValueError):
    """Something a host passed in cannot be used; the message names the value and what would be right."""


class Observation(BaseModel):
    """What a host may say an owner perceived, heard or was told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(max_length=MAX_TEXT)
    minute: int = Field(ge=0)  # game time, total minutes
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
    if isinstance(entry, Entry):
        if (entry.number or entry.tick) or entry.items or entry.provisional:
            raise InputError(
                f"observation for {owner}: an observed entry has no number, tick, items or provisional mark"
            )
        fields: Mapping[str, Any] = {name: getattr(entry, name) for name in Observation.model_fields}
    elif isinstance(entry, Observation):
        return entry.entry()
    else:
        fields = entry
    try:
        checked = Observation.model_validate(fields).entry()
    except ValidationError as error:
        raise InputError(f"observation for {owner}: {_first(error)}") from error
    return entry if isinstance(entry, Entry) else checked


def check_owner(owner: str) -> str:
    """An owner's name: "<scope>:<name>", or "world".

    Raises:
        InputError: when it is not.
    """
    scope, colon, name = owner.partition(":")
    fits = scope in _SCOPES and (bool(name) if colon else scope == "world")
    if not fits or len(owner) > MAX_OWNER or _HIDDEN.search(owner):
        raise InputError(
            f"{owner[:80]!r} is not an owner: use <scope>:<name> with a scope of {', '.join(_SCOPES)}, "
            f"at most {MAX_OWNER} characters and no control characters"
        )
    return owner


def check_request(request: Request, owners: Iterable[str], kinds: Iterable[str]) -> Request:
    """A request that admission may decide on.

    Raises:
        InputError: for an unknown owner or kind, or parameters that are no JSON or too large.
    """
    known = list(kinds)
    if request.kind not in known:
        raise InputError(f"there is no kind {request.kind[:80]!r}; there are {', '.join(known)}")
    if request.owner not in owners:
        raise InputError(
            f"there is no owner {request.owner[:80]!r} in this run; owners join with loop.join(owner, profile)"
        )
    try:
        size = len(json.dumps(request.params, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"{request.kind} for {request.owner}: params must be JSON values: {error}") from error
    if size > MAX_PARAMS:
        raise InputError(f"{request.kind} for {request.owner}: params have {size} bytes, at most {MAX_PARAMS} fit")
    return request


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"])
    return f"{where} {str(found['input'])[:80]!r}: {found['msg']}"
