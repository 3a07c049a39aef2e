"""Apply a fork's changes to its host's reports: added, dropped and reworded observations, and profiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.memory.entry import MAX_TEXT, Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    DropObservation,
    RewordObservation,
    SetProfile,
    WorldChange,
)

log = structlog.get_logger()


class Turn(Protocol):
    """The calls of a world's turn that changes use."""

    redelivering: bool

    def observe(self, owner: str, entry: Mapping[str, object]) -> object: ...

    def broadcast(self, event: Mapping[str, object], also: Iterable[str] = ()) -> object: ...

    def change_profile(self, owner: str, fields: Mapping[str, object]) -> object: ...


class WorldChanges:
    """Makes the changes of one run at their ticks. A failed change is logged and counted, and the run continues."""

    def __init__(self, state: RunState, changes: Iterable[WorldChange] = ()) -> None:
        self._state = state
        self._of_tick: dict[int, list[WorldChange]] = defaultdict(list)
        for change in changes:
            self._of_tick[change.tick].append(change)
        self._now: list[WorldChange] = []
        self._matched: set[int] = set()  # indexes in it of changes that have matched an observation

    def begin(self, tick: int, turn: Turn) -> None:
        """Make the changes with which a tick's turn begins."""
        self._matched.clear()
        self._now = []  # so added observations are neither dropped nor reworded
        present = self._of_tick.get(tick, [])
        for change in present:
            try:
                match change:
                    case AddObservation():
                        turn.observe(change.owner, change.observation)
                    case AddEvent():
                        turn.broadcast(change.event, change.also)
                    case SetProfile():
                        turn.change_profile(change.owner, change.fields)
            except InputError as error:
                self._tell(turn, tick, change, str(error))
        self._now = present

    def remembered(self, owner: str, entry: Entry) -> Entry | None:
        """Return an observation after the changes; None if a change drops it."""
        for place, change in enumerate(self._now):
            if not isinstance(change, DropObservation | RewordObservation):
                continue
            if change.owner not in ("", owner) or change.text not in entry.text:
                continue
            self._matched.add(place)
            if isinstance(change, DropObservation):
                return None
            text = entry.text.replace(change.text, change.to)[:MAX_TEXT]
            entry = msgspec.structs.replace(entry, text=text)
        return entry

    def end(self, turn: Turn) -> None:
        """Warn about changes of the tick that matched no observation."""
        for place, change in enumerate(self._now):
            if isinstance(change, DropObservation | RewordObservation) and place not in self._matched:
                self._tell(turn, change.tick, change, "no observation contains this text")
        self._now = []

    def _tell(self, turn: Turn, tick: int, change: WorldChange, why: str) -> None:
        if not turn.redelivering:
            kind = type(change).__struct_config__.tag
            log.warning("fork.change_unmade", run=self._state.run, tick=tick, change=kind, why=why)
            self._state.warnings["fork.change_unmade"] += 1


def with_fields(owner: str, profile: Profile, fields: Mapping[str, object]) -> Profile:
    """Return a profile with other values of some fields.

    Raises:
        InputError: if a field is unknown, or its value has the wrong type.
    """
    if unknown := sorted(fields.keys() - set(Profile.__struct_fields__)):
        raise InputError(f"profile of {quoted(owner)} has no field {quoted(unknown[0])}")
    try:
        return typed_json.convert(msgspec.to_builtins(profile) | dict(fields), Profile)
    except msgspec.ValidationError as error:
        raise InputError(f"profile of {quoted(owner)}: {error}") from None
