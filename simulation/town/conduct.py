"""One minute of an agent (choose, walk, wake, eat, tire, advance the plan), and the actions it may choose from."""

from __future__ import annotations

from collections.abc import Iterator

from cogitate.memory.clock import DAY, clock_time, day_of
from cogitate.simulation.town.action import AT_PLACE, FED, LEISURE, Action, choose, is_night, meal_of
from cogitate.simulation.town.people import Person
from cogitate.simulation.town.perception import Seen, thought
from cogitate.simulation.town.phrases import sky
from cogitate.simulation.town.places import public_id
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import FULL, Body, Meeting, State

SPEED = 8  # tiles per minute

# Hundredths of a per cent per minute: a waking day takes about 70% of the energy, ten hours without food 70% of hunger.
TIRES, RESTS, HUNGERS, HUNGERS_ASLEEP, FEEDS, EASES = 7, 17, 11, 3, 300, 1
USUAL_MOOD = 6_000


def act(setting: Setting, state: State, person: Person, minute: int, due: Meeting | None) -> list[Seen]:
    """Simulate a minute of an agent; `due` is an appointment to set out for. Return its memories."""
    owner, body = person.owner, state.bodies[person.owner]
    seen: list[Seen] = []
    if not body.talk:
        action = choose(state.seed, person, body, minute, setting.place_types)
        if due is not None and not action.sleep and not body.need:
            action = Action(due.place, "meeting people", due.what)
        if body.condition == "sleeping" and not action.sleep:
            weather, _, _ = sky(state.seed, day_of(minute))
            text = f"Woke up at {clock_time(minute)}. It is {weather} day."
            seen.append(thought(owner, text, minute, 1, place=body.place))
        seen += _carry_out(setting, person, body, action, minute)
    resting = body.condition == "sleeping"
    body.energy = max(0, min(FULL, body.energy + (RESTS if resting else -TIRES)))
    body.hunger = max(0, body.hunger - (HUNGERS_ASLEEP if resting else HUNGERS))
    body.mood += EASES * ((body.mood < USUAL_MOOD) - (body.mood > USUAL_MOOD))
    asleep = resting and is_night(person, minute)  # a nap does not end the day
    state.effects += body.agenda.follow(owner, minute, body.place, asleep)
    return seen


def _carry_out(setting: Setting, person: Person, body: Body, action: Action, minute: int) -> list[Seen]:
    """Walk towards the action's place, or perform the action there."""
    owner, where = person.owner, setting.where(action.place)
    body.intent = action.intent
    seen: list[Seen] = []
    if body.place != action.place:
        body.condition, body.place, body.doing = "walking", "", ""
        if not _walk(body, setting.spot(owner, action.place)):
            return seen
        body.place = action.place
        arrival = setting.perception.arrival(owner, body, where, minute)
        if arrival is not None:
            seen.append((owner, arrival))
    body.condition = "sleeping" if action.sleep else "activity" if action.doing else "idle"
    body.doing = action.doing
    if action.eat:
        body.hunger = min(FULL, body.hunger + FEEDS)
        if body.ate < 0 or day_of(body.ate) != day_of(minute) or meal_of(body.ate) != meal_of(minute):
            body.ate = minute
            seen.append(thought(owner, f"Had {meal_of(minute)} at {where}.", minute, 2, place=body.place))
    return seen


def _walk(body: Body, spot: tuple[int, int]) -> bool:
    """Walk for a minute, first along x, then along y; return True on arrival."""
    left = SPEED
    across = max(-left, min(left, spot[0] - body.x))
    left -= abs(across)
    body.x += across
    body.y += max(-left, min(left, spot[1] - body.y))
    return (body.x, body.y) == spot


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
