"""The changes that a fork makes, and its origin: the source run, the last repeated tick, and these changes.

The first tick after the repeated ones applies requests (a limit, a cadence) once. Settings and templates hold from that
tick on. A change of the world names its tick: an observation added, dropped or reworded, or a profile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from cogitate.scheduler.config.controls import SetCadence, SetLimit


class SetSetting(msgspec.Struct, frozen=True, tag="setting"):
    """A setting that applies from the first tick after the repeated ones."""

    name: str  # as in cogitate.toml, without its table
    value: Any  # as JSON gives it


class SetTemplate(msgspec.Struct, frozen=True, tag="template"):
    """A prompt template that applies from the first tick after the repeated ones."""

    name: str  # of its file, without ".j2"
    text: str


class SetProfile(msgspec.Struct, frozen=True, tag="profile"):
    """Fields of an owner's profile that apply from a tick on."""

    tick: int
    owner: str
    fields: dict[str, Any]


class AddObservation(msgspec.Struct, frozen=True, tag="add"):
    """An observation that an owner makes at a tick, before those that the host reports."""

    tick: int
    owner: str
    observation: dict[str, Any]  # as `loop.observe` takes it


class AddEvent(msgspec.Struct, frozen=True, tag="event"):
    """An event that all owners concerned remember at a tick, before those that the host reports."""

    tick: int
    event: dict[str, Any]  # as `loop.broadcast` takes it
    also: tuple[str, ...] = ()


class DropObservation(msgspec.Struct, frozen=True, tag="drop"):
    """A request to drop observations and events of a tick, for all owners or for one."""

    tick: int
    text: str  # that an observation must contain
    owner: str = ""  # "": every owner


class RewordObservation(msgspec.Struct, frozen=True, tag="reword"):
    """A request to reword observations and events of a tick, for all owners or for one."""

    tick: int
    text: str  # that an observation must contain
    to: str  # the replacement
    owner: str = ""  # "": every owner


WorldChange = SetProfile | AddObservation | AddEvent | DropObservation | RewordObservation
Change = SetLimit | SetCadence | SetSetting | SetTemplate | WorldChange


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a fork: the new run repeats it up to a tick, and then continues independently.

    A job whose inputs are the same as in the source gets the source's outcome, without a call.
    """

    run: str  # the source, on the same server unless a capsule holds it
    tick: int  # the last repeated tick
    changes: tuple[Change, ...] = ()  # none may affect a repeated tick
    capsule: Path | None = None  # the file that holds the source


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force after a tick, and the templates that replace others from then on."""

    after: int  # tick
    settings: dict[str, Any]  # in the form that a run stores, with the limits of its creation
    templates: dict[str, str] = {}


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run and the tick with which a fork begins, and its changes."""

    run: str
    incarnation: str
    tick: int
    last: int  # tick of the source's last line that the fork has copied
    digest: str  # of the source after the fork's tick
    chain: str  # likewise
    changes: tuple[Change, ...] = ()
    inherited: tuple[WorldChange, ...] = ()  # changes that the source, a fork itself, made
    conditions: tuple[Conditions, ...] = ()  # one for each change of settings or templates, by tick; the first after 0

    @property
    def parts(self) -> bool:
        """Return whether inputs of jobs may differ from the source's from the fork's tick on."""
        return any(isinstance(change, SetSetting | SetTemplate) for change in self.changes)

    @property
    def requests(self) -> list[SetLimit | SetCadence]:
        """Return the requests that the first tick after the repeated ones applies."""
        return [change for change in self.changes if isinstance(change, SetLimit | SetCadence)]

    @property
    def world_changes(self) -> list[WorldChange]:
        return [*self.inherited, *(change for change in self.changes if isinstance(change, WorldChange))]

    def conditions_after(self, tick: int) -> Conditions | None:
        """Return the conditions that begin after a tick; None: the earlier ones stay in force."""
        return next((conditions for conditions in self.conditions if conditions.after == tick), None)
