"""The places that a text names, found in time that depends on the text and not on the number of places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from cogitate.memory.profile import Location

_WORD = re.compile(r"\w+")
_TEXTS = 16_384  # with a cached place; an owner's sentences are read again by each heuristic
_KEPT = 8  # worlds whose places are cached


class PlaceNames:
    """The names and ids of places, each by the word with which it begins."""

    def __init__(self, places: Sequence[Location]) -> None:
        self.places = places
        self.find = lru_cache(maxsize=_TEXTS)(self._find)
        self._by_word: dict[str, list[tuple[str, int]]] = {}
        self._others: list[tuple[str, int]] = []  # names that do not begin with a word
        for at, place in enumerate(places):
            for name in dict.fromkeys((place.name.casefold(), place.id.casefold())):
                first = _WORD.match(name)
                if first:
                    self._by_word.setdefault(first[0], []).append((name, at))
                elif name:
                    self._others.append((name, at))

    def _find(self, text: str) -> Location | None:
        """Return the place that a text names in full; of several the one with the longest name, then the first."""
        folded = text.casefold()
        named = [one for word in {*_WORD.findall(folded)} for one in self._by_word.get(word, ())]
        found = [(-len(name), at) for name, at in (*named, *self._others) if name in folded and _stands(name, folded)]
        return self.places[min(found)[1]] if found else None


def _stands(name: str, text: str) -> bool:
    """Return whether a name is in a text as whole words."""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] if at else "", text[at + len(name) : at + len(name) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
        at = text.find(name, at + 1)
    return False


_known: tuple[PlaceNames, ...] = ()  # the newest first


def find_place(text: str, places: Sequence[Location]) -> Location | None:
    """Return the known place that `text` names, by name or id; the longest name wins."""
    return place_finder(places)(text) if places else None


def place_finder(places: Sequence[Location]) -> Callable[[str], Location | None]:
    """Return the function that finds the known place that a text names."""
    names = next((one for one in _known if one.places is places), None) or _read(places)
    return names.find


def _read(places: Sequence[Location]) -> PlaceNames:
    global _known
    names = PlaceNames(places)
    if isinstance(places, tuple):  # any other sequence may change
        _known = (names, *_known)[:_KEPT]
    return names
