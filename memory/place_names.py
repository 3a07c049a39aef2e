"""The places that a text names, found in time that grows with the text and not with the number of places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from cogitate.memory.profile import Location

_WORD = re.compile(r"\w+")
_TEXTS = 16_384  # whose place is known at a time; an owner's sentences are read again by each heuristic
_KEPT = 8  # worlds whose places are known at a time


class PlaceNames:
    """The names and ids of places, each by the word with which it begins."""

    def __init__(self, places: Sequence[Location]) -> None:
        self.places = places
        self.find = lru_cache(maxsize=_TEXTS)(self._find)
        self._by_word: dict[str, list[tuple[str, int]]] = {}
        self._others: list[tuple[str, int]] = []  # which begin with no word
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
        for name, at in sorted((*named, *self._others), key=lambda one: (-len(one[0]), one[1])):
            # Not a pattern of all names: a big town has more places than `re` keeps, and compiling takes long.
            if name in folded and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded):
                return self.places[at]
        return None


_known: tuple[PlaceNames, ...] = ()  # the newest first


def find_place(text: str, places: Sequence[Location]) -> Location | None:
    """Return the known place that `text` names, by name or id; the longest name wins."""
    if not places:
        return None
    names = next((one for one in _known if one.places is places), None) or _read(places)
    return names.find(text)


def _read(places: Sequence[Location]) -> PlaceNames:
    global _known
    names = PlaceNames(places)
    if isinstance(places, tuple):  # any other sequence may change
        _known = (names, *_known)[:_KEPT]
    return names
