"""The people, places and groups of the valley, and the memory design of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from cogitate.memory.limits import Policy
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routing.scopes import WORLD, location_owner
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

#: Without their routines.
_PEOPLE: Mapping[str, Profile] = {
    REEVE: Profile(
        name="Maud Fenwick",
        age=58,
        occupation="reeve",
        traits=("fair", "dry-humoured"),
        home="reeves-house",
        work="hall",
        background="Maud Fenwick has chaired the council of Ellerdale for eleven years.",
        currently="Maud Fenwick wants every quarrel of the valley settled before the first snow.",
    ),
    MILLER: Profile(
        name="Tobias Crane",
        age=45,
        occupation="miller",
        traits=("thrifty", "quick to worry"),
        home="mill",
        work="mill",
        background="Tobias Crane's family has ground the valley's grain for four generations.",
        currently="Tobias Crane is looking for timber to mend the water wheel.",
    ),
    HEALER: Profile(
        name="Ines Calloway",
        age=37,
        occupation="healer",
        traits=("kind", "outspoken"),
        home="infirmary",
        work="infirmary",
        background="Ines Calloway learned her craft in the hospital of a river town.",
        currently="Ines Calloway is drying herbs for the winter.",
    ),
    SMITH: Profile(
        name="Rolf Harding",
        age=50,
        occupation="smith",
        traits=("stubborn", "generous"),
        home="forge",
        work="forge",
        background="Rolf Harding lost two fingers in the flood and his brother in the mine.",
        currently="Rolf Harding is forging a new gate for the ford.",
    ),
    SHEPHERD: Profile(
        name="Bettany Marsh",
        age=29,
        occupation="shepherd",
        traits=("watchful", "merry"),
        home="fold",
        work="pasture",
        background="Bettany Marsh took over the flock of the high pasture from her father.",
        currently="Bettany Marsh counts her sheep twice a day since the wolves came.",
    ),
    RANGER: Profile(
        name="Kestrel Vane",
        age=31,
        occupation="ranger",
        traits=("patient", "sharp-eyed"),
        home="tavern",
        background="Kestrel Vane leads a company of three that works for whoever pays fairly.",
        currently="Kestrel Vane is looking for her sister, who came through the valley in spring.",
    ),
    SOLDIER: Profile(
        name="Dunstan Reed",
        age=42,
        occupation="guard for hire",
        traits=("loyal", "gruff"),
        home="tavern",
        background="Dunstan Reed was a soldier for nine years and never speaks of the last one.",
        currently="Dunstan Reed is saving for a small farm.",
    ),
    SCHOLAR: Profile(
        name="Liesl Amory",
        age=26,
        occupation="scholar",
        traits=("curious", "talkative"),
        home="tavern",
        background="Liesl Amory left the university with a debt and a trunk of old maps.",
        currently="Liesl Amory is copying the inscriptions of the old chapel.",
    ),
    INNKEEPER: Profile(name="Oswin Pike", occupation="innkeeper of the Grey Heron"),
    FERRYWOMAN: Profile(name="Hester Lowe", occupation="ferrywoman at the ford"),
    CHAPLAIN: Profile(name="Mother Agnes", occupation="keeper of the old chapel"),
    PEDDLER: Profile(name="Barnaby Stout", occupation="peddler"),
    BURNER: Profile(name="Wyn Ashdown", occupation="charcoal burner"),
}

PLACES = (
    Location(id="hall", name="the moot hall", type="hall", tags=("work", "social")),
    Location(id="tavern", name="the Grey Heron", type="pub", tags=("food", "social")),
    Location(id="mill", name="the mill", type="workshop", tags=("work",)),
    Location(id="infirmary", name="the infirmary", type="clinic", tags=("work",)),
    Location(id="forge", name="the forge", type="workshop", tags=("work",)),
    Location(id="pasture", name="the high pasture", type="field", tags=("work", "outdoors")),
    Location(id="fold", name="the sheepfold", type="home"),
    Location(id="reeves-house", name="the reeve's house", type="home"),
    Location(id="ford", name="the ford", type="harbour", tags=("outdoors",)),
    Location(id="chapel", name="the old chapel", type="chapel", tags=("outdoors",)),
    Location(id="mine", name="the silver mine", type="mine", tags=("outdoors",)),
    Location(id="woods", name="Blackthorn Wood", type="wood", tags=("outdoors",)),
)
NAMES = {place.id: place.name for place in PLACES}


def _with_routine(owner: str, profile: Profile) -> Profile:
    if not owner.startswith("agent:"):
        return profile
    work = "home" if profile.work == profile.home else NAMES.get(profile.work, "")
    return msgspec.structs.replace(profile, routine=usual_day(profile, work))


PEOPLE: Mapping[str, Profile] = {owner: _with_routine(owner, profile) for owner, profile in _PEOPLE.items()}

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
