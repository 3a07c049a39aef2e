"""The people, places and groups of the valley, and the memory design of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cogitate.memory.limits import Policy
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.simulation.tables import read_table
from cogitate.simulation.usual_day import usual_day

REEVE, MILLER, HEALER, SMITH, SHEPHERD = "agent:maud", "agent:tobias", "agent:ines", "agent:rolf", "agent:bettany"
RANGER, SOLDIER, SCHOLAR = "agent:kestrel", "agent:dunstan", "agent:liesl"
INNKEEPER, FERRYWOMAN, CHAPLAIN, PEDDLER, BURNER = (
    "npc:oswin",
    "npc:hester",
    "npc:agnes",
    "npc:barnaby",
    "npc:wyn",
)
COUNCIL, COMPANY, REGULARS = "group:council", "group:company", "group:regulars"

COUNCILLORS = (REEVE, MILLER, HEALER, SMITH, SHEPHERD)
TRAVELLERS = (RANGER, SOLDIER, SCHOLAR)


class _Valley(msgspec.Struct, frozen=True):
    people: dict[str, Profile]  # by owner, without their routines
    places: tuple[Location, ...]


_VALLEY = read_table(__package__, "people", _Valley)
PLACES = _VALLEY.places
NAMES = {place.id: place.name for place in PLACES}


def _with_routine(owner: str, profile: Profile) -> Profile:
    if not owner.startswith("agent:"):
        return profile
    work = "home" if profile.work == profile.home else NAMES.get(profile.work, "")
    return msgspec.structs.replace(profile, routine=usual_day(profile, work))


PEOPLE: Mapping[str, Profile] = {owner: _with_routine(owner, profile) for owner, profile in _VALLEY.people.items()}

#: Owners with memories but no jobs of agents: the groups, the world, and the places of visits.
SCOPES: Mapping[str, Profile] = {
    WORLD: Profile(name="Ellerdale"),
    COUNCIL: Profile(name="the council of Ellerdale"),
    COMPANY: Profile(name="the company of the kestrel"),
    REGULARS: Profile(name="the regulars of the Grey Heron"),
    **{
        location_owner(place.id): Profile(name=place.name)
        for place in PLACES
        if place.id in ("hall", "tavern", "pasture", "ford", "chapel", "mine", "woods", "mill")
    },
}
OWNERS: Mapping[str, Profile] = {**PEOPLE, **SCOPES}

#: All designs of memory: cells for the soldier, token windows for two busy listeners, streams for the others.
POLICIES: Mapping[str, Policy] = {SOLDIER: "cells", RANGER: "tokens", SCHOLAR: "tokens"}
#: Small enough for a day to fill them.
SETTINGS: Mapping[str, Any] = {"policies": dict(sorted(POLICIES.items())), "cells": 5, "token_limit": 700}


def name(owner: str) -> str:
    return OWNERS[owner].name
