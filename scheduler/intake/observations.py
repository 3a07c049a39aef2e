"""Validate observations and events, which report what an owner perceived, heard or was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cogitate.memory.clock import DAY, USUAL, Clock
from cogitate.memory.entry import MAX_TEXT, Entry, EntrySource, EntryType
from cogitate.memory.errors import HostInput, InputError, first_fault, quoted, require_list
from cogitate.memory.routing.routing import Event
from cogitate.scheduler.intake.checks import MAX_INTEGER, MAX_LABEL, MAX_NAMES, as_read, check_text, reason
from cogitate.scheduler.intake.effects import wrong_entry

EARLIEST = 30  # days before the tick, or ticks if they are longer; older memories belong into a profile


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("true and false are not numbers")
    return value


def _no_bytes(value: object) -> object:
    if isinstance(value, bytes):
        raise ValueError("bytes are not text: decode them")
    return value


Text = Annotated[str, BeforeValidator(_no_bytes)]
Number = Annotated[int, BeforeValidator(_no_bool)]
Short = Annotated[str, Field(max_length=MAX_LABEL)]
Several = Annotated[tuple[Short, ...], BeforeValidator(require_list), Field(max_length=MAX_NAMES)]


class ObservationFields(BaseModel):
    """The fields of an observation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Text = Field(max_length=MAX_TEXT)
    minute: Number = Field(ge=0, le=MAX_INTEGER)  # game time, total minutes
    type: EntryType = "observation"
    location: Short = ""
    subjects: Several = ()
    keywords: Several = ()
    importance: Number = Field(0, ge=0, le=10)  # 0: not rated
    source: EntrySource = "perception"
    source_id: Short = ""
    tags: Several = ()
    quest_id: Short = ""
    encounter_id: Short = ""

    def entry(self) -> Entry:
        return Entry(**self.__dict__)


class SeenFields(ObservationFields):
    """The fields of an observation at a tick; `minute` may give another game time than the tick's."""

    minute: Number | None = Field(None, ge=0, le=MAX_INTEGER)  # type: ignore[assignment]  # None: the tick's

    def entry_at(self, minute: int) -> Entry:
        """Return the entry that the boundary appends; without a `minute` of its own, it gets the given one."""
        return Entry(**(self.__dict__ | {"minute": minute} if self.minute is None else self.__dict__))


class Observation(HostInput, SeenFields):
    """An observation: something that an owner perceived, heard or was told.

    `minute` is the game time at which it happened; the default is the tick's. A tick's number is not its game time
    unless ticks take a minute: leave `minute` out, or give `tick.minute`.
    """

    _label: ClassVar[str] = "observation"

    if not TYPE_CHECKING:  # mypy knows the arguments from the fields

        def __init__(self, /, **given: Any) -> None:
            super().__init__(**given)
            check_text("observation: text", self.text, MAX_TEXT)


def check_entry(owner: str, entry: Entry | Observation | Mapping[str, object], now: int, clock: Clock = USUAL) -> Entry:
    """Return the entry that an observation becomes, after validating it.

    Args:
        now: game time of the tick; an observation without `minute` gets it.
    """
    what = _Observed(owner)
    checked = _as_entry(what, entry, now)
    unit = clock.day_or_tick
    if not now - EARLIEST * unit <= checked.minute <= now + unit:
        named = "day" if unit == DAY else "tick"
        raise InputError(
            f"{what}: minute {checked.minute} is far from the tick's, which is {now}: give one from "
            f"{EARLIEST} {named}s before to 1 {named} after it"
        )
    return checked


class _Observed(NamedTuple):
    """The subject of an error message, formatted only when an error occurs."""

    owner: str

    def __str__(self) -> str:
        return f"observation for {quoted(self.owner)}"


def check_event(owner: str, event: object) -> Event:
    """Return the event that a host reports, after validating it."""
    what = f"event for {quoted(owner)}"
    if isinstance(event, Event):
        return event
    if not isinstance(event, Mapping):
        raise InputError(f"{what} is {quoted(event)}: give a dict or an Event")
    try:
        return Event(**{str(name): value for name, value in event.items()})
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _as_entry(what: object, entry: object, now: int) -> Entry:
    if isinstance(entry, Entry):
        checked = as_read(what, entry, Entry)
        if checked.number or checked.tick or checked.rated or checked.items or checked.provisional:
            raise InputError(f"{what}: an observed entry has no number, tick, items or provisional mark")
        if wrong := wrong_entry(checked):
            raise InputError(f"{what}: {wrong}")
        return checked
    if isinstance(entry, ObservationFields):
        return _as_entry(what, entry.entry_at(now) if isinstance(entry, SeenFields) else entry.entry(), now)
    if not isinstance(entry, Mapping):
        raise InputError(f"{what} is {quoted(entry)}: give a dict, an Observation or an Entry")
    try:
        seen = SeenFields.model_validate(dict(entry)).entry_at(now)
    except ValidationError as error:
        raise InputError(f"{what}: {first_fault(error)}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{what}: {reason(error)}") from None
    check_text(f"{what}: text", seen.text, MAX_TEXT)
    return seen
