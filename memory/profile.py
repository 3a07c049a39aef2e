"""Profiles of owners and the places of the world: a host states them once, prompts and heuristics use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's identity. Only `name` is required; prompts omit empty fields."""

    name: str
    age: int | None = None
    occupation: str = ""
    traits: tuple[str, ...] = ()
    background: str = ""  # what the agent has learned about itself
    currently: str = ""  # its current concern
    routine: str | tuple[str, ...] = ""  # habits ("07:00 breakfast @home"), one a line; "": the group's or the world's
    language: str = ""  # of its thoughts, an ISO 639 code ("fr"); "": the group's or the world's, or that of its texts
    group: str = ""  # an owner, such as "group:crew"
    home: str = ""  # id of a location
    work: str = ""  # id of a location
    weight: float = 1.0  # of its thoughts against those of others, where calls are spent by value


class Location(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place of the world. `type` is free ("restaurant", "home"); a routine names a place by id, name, type or tag."""

    id: str
    name: str
    type: str = ""
    tags: tuple[str, ...] = ()
    activities: tuple[str, ...] = ()  # activities there ("repair the hull"), the most common first


class PlaceIndex:
    """An index of a world's places by id, name, type, tag and activity, built once for the plans of a crowd.

    `places` and `order` keep the host's order. Ids, names, types and tags are compared case-insensitively.
    """

    def __init__(self, places: Iterable[Location] = ()) -> None:
        self.places: Sequence[Location] = tuple(places)
        self.order: Mapping[str, int] = {place.id: at for at, place in enumerate(self.places)}
        self._called: dict[str, str] = {}
        self.kinds: dict[str, list[str]] = {}  # ids by type and by tag
        self.activities: dict[str, list[str]] = {}  # ids by activity
        for place in self.places:
            for word in (place.id, place.name):
                self._called.setdefault(word.casefold(), place.id)
            for word in dict.fromkeys((place.type.casefold(), *(tag.casefold() for tag in place.tags))):
                self.kinds.setdefault(word, []).append(place.id)
            for activity in dict.fromkeys(place.activities):
                self.activities.setdefault(activity, []).append(place.id)

    def name_of(self, place: str) -> str:
        """Return the name of a place, or the id of an unknown one."""
        return self.places[self.order[place]].name if place in self.order else place

    def called(self, word: str) -> str | None:
        """Return the id of the place with this id or name."""
        return self._called.get(word.casefold())

    def of_kind(self, word: str) -> Sequence[str]:
        """Return the ids of the places with this type or tag."""
        return self.kinds.get(word.casefold(), ())

    def activities_of(self, place: str | None) -> Sequence[str]:
        """Return the activities at a place."""
        return self.places[self.order[place]].activities if place is not None and place in self.order else ()
