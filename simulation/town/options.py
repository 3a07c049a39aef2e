"""The actions available to an agent at this place and hour, in words that name the place."""

from __future__ import annotations

from collections.abc import Iterator

from cogitate.memory.clock import DAY, day_of
from cogitate.simulation.town.action import AT_PLACE, FED, LEISURE, is_night, meal_of
from cogitate.simulation.town.people import Person
from cogitate.simulation.town.places import public_id
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import Body

MOST = 8
LEAVES = 20  # minutes before work begins
MEALTIMES = ((300, 600), (690, 840), (1050, 1260))  # minutes after 00:00


def options(setting: Setting, person: Person, body: Body, minute: int) -> list[str]:
    """Return the actions for a free person, best first."""
    return list(dict.fromkeys(_options(setting, person, body, minute)))[:MOST]


def doing_of(option: str) -> str:
    """Return an option as onlookers see it, without its place."""
    return option.rpartition(" at ")[0] or option


def _options(setting: Setting, person: Person, body: Body, minute: int) -> Iterator[str]:
    home, work, of_day = person.profile.home, person.profile.work, minute % DAY
    at_work = person.trade.start - LEAVES <= of_day < person.trade.end
    item = body.agenda.current(minute)
    if item is not None and not (at_work and item.location == work):
        yield item.description
    if body.hunger < FED and not _has_eaten(body, minute) and any(a <= of_day < b for a, b in MEALTIMES):
        yield from (f"having {meal_of(minute)} at {place}" for place in ("home", _public(setting, person, "cafe")))
    if at_work:
        where = "home" if work == home else setting.where(work)
        yield from (f"{activity} at {where}" for activity in person.trade.activities)
        return
    if is_night(person, minute) or body.place == home:
        yield from (f"{doing} at home" for doing in AT_PLACE["home"])
    elif body.place and body.place != work:
        kind = setting.place_types[body.place]
        yield from (f"{doing} at {setting.where(body.place)}" for doing in AT_PLACE.get(kind, ()))
    if not is_night(person, minute):
        yield f"enjoying {person.hobby} at {setting.where(person.hobby_place)}"
        yield from (f"{doing} at {_public(setting, person, kind)}" for kind, doing in LEISURE)


def _has_eaten(body: Body, minute: int) -> bool:
    return body.ate >= 0 and day_of(body.ate) == day_of(minute) and meal_of(body.ate) == meal_of(minute)


def _public(setting: Setting, person: Person, kind: str) -> str:
    return setting.where(public_id(kind, person.district))
