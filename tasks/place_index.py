"""The places of a world by what they are called and what is done there, put together once for a crowd's plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cogitate.memory.profile import Location


class PlaceIndex:
    """Places in the order in which the host lists them. Words are compared without regard to case."""

    def __init__(self, places: Iterable[Location] = ()) -> None:
        self.places: Sequence[Location] = tuple(places)
        self.order: Mapping[str, int] = {place.id: at for at, place in enumerate(self.places)}
        self._called: dict[str, str] = {}
        self.kinds: dict[str, list[str]] = {}  # ids by type and by tag
        self.activities: dict[str, list[str]] = {}  # ids of the places, by what is done there
        for place in self.places:
            for word in (place.id, place.name):
                self._called.setdefault(word.casefold(), place.id)
            for word in dict.fromkeys((place.type.casefold(), *(tag.casefold() for tag in place.tags))):
                self.kinds.setdefault(word, []).append(place.id)
            for activity in dict.fromkeys(place.activities):
                self.activities.setdefault(activity, []).append(place.id)

    def name_of(self, place: str) -> str:
        """Return the name of a place; of an unknown one its id."""
        return self.places[self.order[place]].name if place in self.order else place

    def called(self, word: str) -> str | None:
        """Return the id of the place with this id or name."""
        return self._called.get(word.casefold())

    def of_kind(self, word: str) -> Sequence[str]:
        """Return the ids of the places with this type or tag."""
        return self.kinds.get(word.casefold(), ())

    def activities_of(self, place: str | None) -> Sequence[str]:
        """Return what is done at a place."""
        return self.places[self.order[place]].activities if place is not None and place in self.order else ()
