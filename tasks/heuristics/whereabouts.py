"""The place of a habit in an agent's routine: the one that it names, or one of several of a type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from cogitate.memory.language.place_names import find_place
from cogitate.memory.profile import PlaceIndex, Profile
from cogitate.memory.routines import Habit
from cogitate.tasks.heuristics.chosen_action import choose_action

#: Weights of a place's cost: its distance (1: across the world), personal taste, the mood of the day, past visits.
_FAR, _TASTE, _MOOD, _HABIT = 1.0, 0.7, 0.3, 0.5
_MANY_VISITS = 5


def place_of(habit: Habit, profile: Profile, places: PlaceIndex, *, visits: Mapping[str, int], day: int) -> str | None:
    """Return the id of the place of a habit; None for no place in particular.

    That is the place whose id, name, type or tag stands after "@", else the one that the habit names, else one with an
    activity like it. Of several, it is the one nearest to work or, for leisure, nearest to the agent's home. A place
    unknown to the world stays as it is written.
    """
    said = habit.place
    if said.casefold() in ("home", "work"):
        return (profile.home if said.casefold() == "home" else profile.work) or None
    found: Sequence[str] = ()
    if said:
        exact, found = places.called(said), places.of_kind(said)
        if exact or not found:
            return exact or said
    elif named := find_place(habit.what, places.places):
        return named.id
    elif places.activities:
        found = places.activities.get(choose_action(tuple(places.activities), habit.what), ())
    near = profile.work or profile.home
    if habit.loose:  # leisure is elsewhere than at work, if possible
        found, near = [place for place in found if place != profile.work] or found, profile.home or profile.work
    return choose_place(profile.name, found, places.order, near=near, visits=visits, day=day)


def choose_place(
    name: str, candidates: Iterable[str], order: Mapping[str, int], *, near: str, visits: Mapping[str, int], day: int
) -> str | None:
    """Return one of the candidates: the same for the same arguments, another for another agent or day.

    Args:
        order: position in the host's list, by id. Places have no distances: neighbours in the list count as close.
    """
    here = order.get(near)

    def known(place: str) -> float:
        far = abs(order[place] - here) / len(order) if here is not None else 0.0
        return _FAR * far - _HABIT * min(visits.get(place, 0), _MANY_VISITS) / _MANY_VISITS

    best: tuple[float, str] | None = None
    for least, place in sorted((known(place), place) for place in candidates):
        if best is not None and least > best[0]:
            break  # taste and mood only add to it
        cost = least + _TASTE * _of_seed(name, place) + _MOOD * _of_seed(name, place, str(day))
        best = min(best or (cost, place), (cost, place))
    return best[1] if best else None


def _of_seed(*parts: str) -> float:
    """Return a number from 0 to 1 that depends on the parts alone, the same on any machine."""
    digest = blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest) / 0xFFFFFFFF
