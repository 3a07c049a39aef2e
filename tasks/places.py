"""The places that a prompt lists by name, and the place that an answer names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.language.place_names import find_place
from cogitate.memory.profile import Location
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Case

MOST = 40  # places of the world that a prompt lists
PRIVATE = "home"  # type of places that matter only to a few owners
ANYWHERE, HERE = "anywhere", "here"  # value for "no particular place"
_NONE = frozenset({"none", ANYWHERE, HERE, "n/a"})


class PlacesShown(NamedTuple):
    """The places in a prompt, each with a name that no other place has."""

    world: list[Location]  # the same in every prompt, so that prompts share their beginning
    case: list[Location]  # further places that matter to the owner

    @property
    def values(self) -> dict[str, list[Location]]:
        """Return the variables of a template."""
        return {"places": self.world, "more_places": self.case}

    def choice(self, field: str, otherwise: str) -> Iterator[Constraint]:
        """Yield the constraint that a field names a shown place or is `otherwise`, the word for no particular place."""
        if shown := (*self.world, *self.case):
            named = dict.fromkeys((*(p.name for p in shown), *(p.id for p in shown), otherwise))
            yield Constraint(field=field, choices=tuple(named))


def places_shown(case: Case, memories: Iterable[Entry], here: str = "") -> PlacesShown:
    """Return the places to show in a prompt: the world's first, and those of the owner, of its memories and around it.

    Homes are shown only where they matter to the owner.
    """
    known = case.world.locations
    name_count = Counter(place.name.casefold() for place in known)
    named = [msgspec.structs.replace(p, name=p.id) if name_count[p.name.casefold()] > 1 else p for p in known]
    world = [place for place in named if place.type != PRIVATE][:MOST]
    listed, own = {p.id for p in world}, {case.profile.home, case.profile.work, here, *(e.location for e in memories)}
    further = [place for place in named if place.id in own - listed][:MOST]
    home_type = f"home of {case.profile.name}"
    types = [home_type if place.id == case.profile.home else place.type for place in further]
    return PlacesShown(world, [msgspec.structs.replace(p, type=t) for p, t in zip(further, types, strict=True)])


def place_meant(text: str, case: Case) -> str | None:
    """Resolve the place in an answer by id, by name, or as the agent's home or work; None for anywhere.

    Raises:
        ValueError: if it matches no known place.
    """
    said, places = text.strip(), case.world.locations
    if not said or not places or said.casefold() in _NONE:
        return None
    own = {"home": case.profile.home, "work": case.profile.work}.get(said.casefold())
    meant = own or next((p.id for p in places if said.casefold() in (p.id.casefold(), p.name.casefold())), None)
    if meant is None:
        place = find_place(said, places) or _named_in_part(said, places)
        meant = place.id if place else None
    if meant is None:
        raise ValueError(f"no place is called {said!r}; known places: {', '.join(p.id for p in places)}")
    return meant


def _named_in_part(said: str, places: tuple[Location, ...]) -> Location | None:
    """Return the only place whose name contains the answer ("the cafe"); None if several do."""
    word = said.casefold().removeprefix("the ").strip()
    containing = [p for p in places if len(word) > 2 and word in p.name.casefold()]
    return containing[0] if len(containing) == 1 else None
