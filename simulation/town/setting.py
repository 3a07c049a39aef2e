"""The constants of a town: its people, its places and the radius of perception."""

from __future__ import annotations

from functools import cached_property

from cogitate.simulation.town.people import Person, population
from cogitate.simulation.town.perception import Perception
from cogitate.simulation.town.places import Place, build


class Setting:
    """The immutable part of a town, derived from the seed and the number of agents.

    Raises:
        ValueError: if the number of agents is not between 1 and 1000.
    """

    def __init__(self, seed: int, agents: int, perception: Perception | None = None) -> None:
        self.seed = seed
        self.agents = agents
        self.perception = perception or Perception()
        self.people: dict[str, Person] = population(seed, agents)
        self.places: dict[str, Place] = build(agents)
        self._spots: dict[tuple[str, str], tuple[int, int]] = {}  # a cache of hashes

    @cached_property
    def place_types(self) -> dict[str, str]:
        return {place.id: place.location.type for place in self.places.values()}

    def name(self, owner: str) -> str:
        return self.people[owner].profile.name

    def where(self, place: str) -> str:
        return self.places[place].location.name

    def spot(self, owner: str, place: str) -> tuple[int, int]:
        """Return an agent's tile in a place."""
        found = self._spots.get((owner, place))
        if found is None:
            found = self._spots[owner, place] = self.places[place].spot(self.seed, owner)
        return found
