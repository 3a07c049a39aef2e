"""Observations that are probably not what the host means: each doubt is logged once, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

import structlog

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routines import read_routine
from cogitate.memory.routing.scopes import location_owner
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.intake.near_owners import near_owners
from cogitate.tasks.place_index import PlaceIndex

log = structlog.get_logger()

_MOST = 1_000  # doubts that one host remembers
_NAMED = 3  # owners that one of them names
_OWNERS = ("agent:", "npc:", "group:", "location:")


def _meant(owners: list[str]) -> str:
    return f"did you mean {' or '.join(map(repr, owners))}?"


class Doubts:
    """The doubts about what a host reports: names that nothing in the run has, and tick numbers given as game time.

    Args:
        is_here: returns whether an owner is in the run, or joins with the present tick.
    """

    def __init__(self, state: RunState, is_here: Callable[[str], bool]) -> None:
        self._state, self._is_here = state, is_here
        self._told: set[str] = set()

    def look(self, owner: str, entry: Entry, tick: int, minute: int) -> None:
        """Look at an observation of a tick."""
        state = self._state
        if entry.minute == tick != minute:
            self._tell(
                "observation.dated_by_tick",
                "",
                owner=owner,
                minute=entry.minute,
                now=minute,
                then="leave minute out, or give tick.minute",
            )
        if entry.location and not self._is_place(entry.location):
            self._unknown("observation.unknown_location", entry.location, [one.id for one in state.facts.locations])
        for subject in entry.subjects:
            if subject.startswith(_OWNERS) and subject not in state.retired and not self._is_here(subject):
                self._unknown("observation.unknown_subject", subject, list(state.streams))
            elif f"event.unknown_name {subject}" not in self._told and (called := self._called(subject)):
                self._tell("observation.unknown_subject", subject, what=subject, then=_meant(called))

    def look_at_names(self, names: Iterable[str]) -> None:
        """Check the names in an event, and warn about unknown ones."""
        for name in names:
            if not name.startswith(_OWNERS):  # others are looked at with each observation
                called = self._called(name) or near_owners(name, self._state.streams)
                self._tell("event.unknown_name", name, what=name, then=_meant(called) if called else "kept as it is")

    def _called(self, name: str) -> list[str]:
        """Return the owners with this display name, unless it is an owner's name itself."""
        if self._is_here(name):
            return []
        return sorted(owner for owner, profile in self._state.profiles.items() if profile.name == name)[:_NAMED]

    def look_at_profiles(self, profiles: Mapping[str, Profile]) -> None:
        """Look at homes, places of work and of habits, and groups; a run without locations lacks none."""
        places = PlaceIndex(self._state.facts.locations)
        known = [*places.order, *places.kinds]
        for owner, profile in sorted(profiles.items()):
            for field, place in (("home", profile.home), ("work", profile.work)):
                if place and not self._is_place(place):
                    self._unknown(f"profile.unknown_{field}", place, known, owner=owner)
            if profile.group and profile.group not in profiles and not self._is_here(profile.group):
                self._unknown("profile.unknown_group", profile.group, profiles, owner=owner)
            named = {habit.place for habit in read_routine(profile.routine)} - {"", "home", "work"}
            for place in sorted(named) if places.order else ():
                if not places.called(place) and not places.of_kind(place):
                    self._unknown("profile.unknown_place", place, known, owner=owner)

    def _is_place(self, place: str) -> bool:
        places = self._state.facts.locations
        return not places or any(place == one.id for one in places) or self._is_here(location_owner(place))

    def _unknown(self, event: str, name: str, known: Iterable[str], **more: str) -> None:
        near = get_close_matches(name, list(known), 1)
        self._tell(event, name, what=name, **more, then=f"did you mean {near[0]!r}?" if near else "kept as it is")

    def _tell(self, event: str, name: str, **told: object) -> None:
        doubt = f"{event} {name}"
        if doubt not in self._told and len(self._told) < _MOST:
            self._told.add(doubt)
            log.warning(event, run=self._state.run, **told)
