"""Places that a prompt lists, and the place that an answer names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cogitate.memory.entry import Entry
from cogitate.memory.place_names import find_place
from cogitate.memory.profile import Location
from cogitate.prompts.constraints import Constraint
from cogitate.tasks.kind import Case

MOST = 40  # places a prompt lists
ANYWHERE, HERE = "anywhere", "here"  # value for "no particular place"
_NONE = frozenset({"none", ANYWHERE, HERE, "n/a"})


def places_shown(case: Case, memories: Iterable[Entry]) -> list[Location]:
    """Return the places to show in a prompt: the agent's, those in its memories, then others in the world's order."""
    own = {case.profile.home, case.profile.work, *(e.location for e in memories)}
    places = sorted(case.world.locations, key=lambda p: p.id not in own)[:MOST]
    return [p for p in case.world.locations if p in places]


def choice_of_place(field: str, shown: Iterable[Location], otherwise: str) -> Iterator[Constraint]:
    """Yield the constraint that a field holds the id of a shown place, or the word for no particular place."""
    if ids := tuple(place.id for place in shown):
        yield Constraint(field=field, choices=(*ids, otherwise))


def place_meant(text: str, case: Case) -> str | None:
    """Resolve the place in an answer by id, by name, or as the agent's home or work; None for anywhere.

    Raises:
        ValueError: when it matches no known place.
    """
    said, places = text.strip(), case.world.locations
    if not said or not places or said.casefold() in _NONE:
        return None
    own = {"home": case.profile.home, "work": case.profile.work}.get(said.casefold())
    found = own or next((p.id for p in places if said.casefold() in (p.id.casefold(), p.name.casefold())), None)
    if found is None:
        meant = find_place(said, places) or _named_in_part(said, places)
        found = meant.id if meant else None
    if found is None:
        raise ValueError(f"no place is called {said!r}; known are {', '.join(p.id for p in places)}")
    return found


def _named_in_part(said: str, places: tuple[Location, ...]) -> Location | None:
    """Return the only place whose name contains the answer ("the cafe"); None if several do."""
    word = said.casefold().removeprefix("the ").strip()
    found = [p for p in places if len(word) > 2 and word in p.name.casefold()]
    return found[0] if len(found) == 1 else None
