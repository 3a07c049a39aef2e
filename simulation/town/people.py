"""Generates the town's people from a seed; the first ones are the same for any size of town."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from cogitate.memory.profile import Profile
from cogitate.simulation.naming import slug
from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.places import district_of, home_id, public_id, public_name
from cogitate.simulation.usual_day import usual_day

Episodes = tuple[tuple[str, int], ...]  # events, with their importance


class Trade(msgspec.Struct, frozen=True):
    """An occupation. Times are minutes after 00:00."""

    title: str
    article: str
    place: str  # kind of a public place, or "home"
    start: int
    end: int
    duty: str  # "who …", for the background
    activities: tuple[str, ...]  # visible activities, "-ing" forms
    episodes: Episodes  # at work
    shares: tuple[str, ...]  # remarks about work
    ages: tuple[int, int] = (22, 64)
    asked: str = "How is work"  # opens the question that others ask about it


class _Work(msgspec.Struct, frozen=True):
    common_episodes: Episodes
    indoor_episodes: Episodes
    trades: tuple[Trade, ...]


_WORK = read_table(__package__, "trades", _Work)
TRADES = _WORK.trades
COMMON_EPISODES = _WORK.common_episodes  # at any work
INDOOR_EPISODES = _WORK.indoor_episodes  # only under a roof


MAX_PEOPLE = 1000

SHY, OUTGOING = frozenset({"shy", "cautious", "dreamy"}), frozenset({"warm", "cheerful", "witty", "curious"})


class _Names(msgspec.Struct, frozen=True):
    given: tuple[str | tuple[str, str], ...]
    family: tuple[str | tuple[str, str], ...]
    traits: tuple[str, ...]
    hobbies: tuple[tuple[str, str], ...]
    projects: tuple[str, ...]


_NAMES = read_table(__package__, "people", _Names)


@dataclass(frozen=True)
class Person:
    """One inhabitant: the profile for prompts, and what the simulation needs."""

    owner: str
    profile: Profile
    trade: Trade
    hobby: str
    hobby_place: str  # id of a location
    district: int
    wake: int  # minutes after 00:00
    bed: int  # minutes after 00:00
    sociable: int  # per cent of full chattiness

    @property
    def first_name(self) -> str:
        return self.profile.name.split()[0]


def _spelt(name: str | tuple[str, str]) -> tuple[str, str]:
    """Return a name and its ASCII form for an id."""
    if isinstance(name, tuple):
        return name
    return name, slug(name)


def _name(index: int) -> tuple[str, str]:
    """Return the index-th name and its id. All 1,000 differ; the first 25 share neither given nor family names."""
    turn, step = divmod(index, len(_NAMES.given))
    given, given_id = _spelt(_NAMES.given[step])
    family, family_id = _spelt(_NAMES.family[(step + turn) % len(_NAMES.family)])
    return f"{given} {family}", f"agent:{given_id}-{family_id}"


def person(seed: int, index: int) -> Person:
    """Return the inhabitant with this index (from 0)."""
    chance = Chance(seed, "person", index)
    name, owner = _name(index)
    district = district_of(index)
    kinds = len(TRADES)
    trade = TRADES[(index + index // kinds * 5 + seed) % kinds]
    hobby, hobby_kind = _NAMES.hobbies[(index * 5 + chance.below(3)) % len(_NAMES.hobbies)]
    traits = tuple(chance.shuffled(_NAMES.traits)[:3])
    age = trade.ages[0] + chance.below(trade.ages[1] - trade.ages[0] + 1)
    wake = min(330 + chance.below(7) * 15, trade.start - 60)
    bed = 1320 + chance.below(5) * 15
    sociable = 60 + 25 * len(OUTGOING & set(traits)) - 20 * len(SHY & set(traits))
    home = home_id(index)
    work = home if trade.place == "home" else public_id(trade.place, district)
    years = 1 + chance.below(max(2, age - 18))
    place_name = "home" if trade.place == "home" else public_name(trade.place, district)
    project = chance.pick(_NAMES.projects).format(hobby=hobby)
    profile = Profile(
        name=name,
        age=age,
        occupation=trade.title,
        traits=traits,
        background=f"{name} is {trade.article} {trade.title}, {trade.duty}, and has lived in the town for {years} "
        f"{'year' if years == 1 else 'years'}. {name.split()[0]} loves {hobby}.",
        currently=f"{name} {project}.",
        home=home,
        work=work,
    )
    routine = usual_day(profile, place_name, wake=wake, bed=bed, hours=(trade.start, trade.end))
    profile = msgspec.structs.replace(profile, routine=routine)
    return Person(owner, profile, trade, hobby, public_id(hobby_kind, district), district, wake, bed, sociable)


def population(seed: int, count: int) -> dict[str, Person]:
    """Return the first `count` inhabitants by owner id.

    Raises:
        ValueError: if the count is not between 1 and 1000.
    """
    if not 1 <= count <= MAX_PEOPLE:
        raise ValueError(f"a town of {count} agents cannot be built: use 1 to {MAX_PEOPLE}")
    people = [person(seed, index) for index in range(count)]
    return {p.owner: p for p in people}
