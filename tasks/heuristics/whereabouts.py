"""Which of several places an agent goes to: by who it is, what lies near, and where it goes anyway."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from cogitate.memory.profile import Location, Profile

#: What counts, in parts: a place at the other end of the world, one's taste, the mood of the day, a habit of visits.
_FAR, _TASTE, _MOOD, _HABIT = 1.0, 0.7, 0.3, 0.5
_MANY_VISITS = 5


def eating_place(
    profile: Profile, places: Sequence[Location], visits: Mapping[str, int], day: int, work: str
) -> str | None:
    """Return the id of the place where an agent eats out; its home where there is none."""
    found = [p.id for p in places if _serves_food(p.type, p.name)]
    return choose_place(profile.name, found, places, near=work or profile.home, visits=visits, day=day) or (
        profile.home or None
    )


def social_place(
    profile: Profile, places: Sequence[Location], visits: Mapping[str, int], day: int, work: str
) -> str | None:
    """Return the id of the place where an agent meets people after work, which is elsewhere if there is another."""
    tagged = [p.id for p in places if "social" in p.tags] or [p.id for p in places if _gathers(p.type, p.name)]
    found = [place for place in tagged if place != work] or tagged
    return choose_place(profile.name, found, places, near=profile.home or work, visits=visits, day=day)


def choose_place(
    name: str, candidates: Iterable[str], places: Sequence[Location], *, near: str, visits: Mapping[str, int], day: int
) -> str | None:
    """Return one of the candidates: the same for the same arguments, another for another agent or day.

    Places know no distance; those that the host lists close to each other count as close.
    """
    order = {place.id: index for index, place in enumerate(places)}
    here = order.get(near)

    def cost(place: str) -> float:
        far = abs(order[place] - here) / len(order) if here is not None else 0.0
        habit = min(visits.get(place, 0), _MANY_VISITS) / _MANY_VISITS
        taste, mood = _of_seed(name, place), _of_seed(name, place, str(day))
        return _FAR * far + _TASTE * taste + _MOOD * mood - _HABIT * habit

    return min(candidates, key=lambda place: (cost(place), place), default=None)


def _of_seed(*parts: str) -> float:
    """Return a number from 0 to 1 that depends on the parts alone, on any machine."""
    digest = blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest) / 0xFFFFFFFF


@lru_cache(maxsize=4096)  # a big town's places are looked at once for each plan that its host has to make
def _serves_food(kind: str, name: str) -> bool:
    return re.search(r"restaurant|cafe|café|diner|canteen|pub|bakery", f"{kind} {name}", re.I) is not None


@lru_cache(maxsize=4096)
def _gathers(kind: str, name: str) -> bool:
    return re.search(r"plaza|square|park|pub|bar|cafe", f"{kind} {name}", re.I) is not None
