"""Choose an agent's next action: need, plan, night, chosen action, routine, or none (streams, task 12)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cogitate.memory.clock import DAY
from cogitate.memory.entry import PlanItem
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.people import Person
from cogitate.simulation.town.places import public_id
from cogitate.simulation.town.state import Body

LOW = 2_000  # a meter under 20% is a need
RESTED, FED = 6_000, 8_000  # level at which a need ends

SLEEP_WORDS = re.compile(r"\b(go(ing)? to (bed|sleep)|sleep(ing)?|nap|turn in)\b", re.IGNORECASE)
MEAL_WORDS = re.compile(r"\b(breakfast|lunch|dinner|supper|meal|eat(ing)?|snack)\b", re.IGNORECASE)
LEISURE = (
    ("park", "taking a walk"),
    ("plaza", "sitting by the fountain"),
    ("pub", "having a drink"),
    ("cafe", "having a cup of tea"),
    ("library", "browsing the shelves"),
    ("harbour", "watching the boats"),
    ("market", "doing the shopping"),
)
AT_PLACE = {
    "restaurant": ("having coffee", "talking with the guests"),
    "shop": ("looking at the goods", "shopping"),
    "library": ("reading", "browsing the shelves"),
    "school": ("visiting the school",),
    "clinic": ("waiting in the clinic",),
    "workshop": ("looking at the workbench",),
    "park": ("taking a walk", "resting on a bench"),
    "office": ("reading the notices",),
    "pub": ("having a drink", "listening to the band"),
    "harbour": ("watching the boats",),
    "plaza": ("sitting by the fountain", "strolling around"),
    "home": (
        "tidying up",
        "reading the newspaper",
        "cooking",
        "writing a letter",
        "watering the plants",
        "mending a coat",
        "listening to the radio",
    ),
}


@dataclass(frozen=True)
class Action:
    """A place and an activity there."""

    place: str  # id of a location
    doing: str  # an "-ing" form; empty: idle
    intent: str
    sleep: bool = False
    eat: bool = False


def is_night(person: Person, minute: int) -> bool:
    of_day = minute % DAY
    return of_day >= person.bed or of_day < person.wake


def meal_of(minute: int) -> str:
    """Return the name of a meal at this time."""
    hour = minute % DAY // 60
    return "breakfast" if 4 <= hour < 11 else "lunch" if 11 <= hour < 16 else "dinner" if hour >= 16 else "a bite"


def choose(seed: int, person: Person, body: Body, minute: int, place_type: dict[str, str]) -> Action:
    """Choose the next action. Deterministic; changes only `body.need`."""
    profile = person.profile
    if body.energy < LOW or (body.need == "rest" and body.energy < RESTED):
        body.need = "rest"
        return Action(profile.home, "", "needs rest", sleep=True)
    if body.hunger < LOW or (body.need == "food" and body.hunger < FED):
        body.need = "food"
        at_home = body.place == profile.home or is_night(person, minute)
        return Action(profile.home if at_home else public_id("cafe", person.district), "eating", "needs food", eat=True)
    body.need = ""
    night = is_night(person, minute)
    item = body.agenda.current(minute)
    if item is not None and not (night and _before_night(person, item, minute)):
        place = item.location if item.location in place_type else _anywhere(person, body, minute)
        if SLEEP_WORDS.search(item.description):
            return Action(place, "", item.description, sleep=True)
        eat = MEAL_WORDS.search(item.description) is not None and body.hunger < FED
        doing = "having a meal" if eat else _chosen(seed, person, body, place, minute, place_type)
        return Action(place, doing, item.description, eat=eat)
    if night:
        return Action(profile.home, "", "sleeping", sleep=True)
    if body.advice in place_type and minute < body.advice_until:
        eat = MEAL_WORDS.search(body.advised) is not None and body.hunger < FED
        doing = _chosen(seed, person, body, body.advice, minute, place_type)
        return Action(body.advice, doing, "has decided to go there", eat=eat)
    if body.agenda.valid_until > minute:
        return Action(body.place or profile.home, "", "deciding what to do")
    return routine(seed, person, body, minute, place_type)


def _before_night(person: Person, item: PlanItem, minute: int) -> bool:
    """Return whether an item was planned for the day that ends with this night."""
    at, of_day = item.minute or 0, minute % DAY
    if of_day >= person.bed:
        return at % DAY < person.bed
    return of_day < person.wake and at // DAY < minute // DAY


def _chosen(seed: int, person: Person, body: Body, place: str, minute: int, place_type: dict[str, str]) -> str:
    """Return a person's activity at a place: the chosen one, or the usual one."""
    if body.advised and place == body.advice and minute < body.advice_until:
        return body.advised
    return _looks_like(seed, person, place, minute, place_type)


def _anywhere(person: Person, body: Body, minute: int) -> str:
    """Return the place of an activity without one: the present place, or home after work."""
    at_work = body.place == person.profile.work
    return person.profile.home if not body.place or (at_work and minute % DAY >= person.trade.end) else body.place


def _looks_like(seed: int, person: Person, place: str, minute: int, place_type: dict[str, str]) -> str:
    options = AT_PLACE.get(place_type[place], ("spending time",))
    if place == person.profile.work and place != person.profile.home:
        options = person.trade.activities
    return options[_turn(seed, person.owner, place, minute // 120, len(options))]


@lru_cache(maxsize=2_048)
def _turn(seed: int, owner: str, place: str, two_hours: int, count: int) -> int:
    """Return the index of the activity in these two hours; cached, since it is read every minute."""
    return Chance(seed, "doing", owner, place, two_hours).below(count)


@lru_cache(maxsize=2_048)
def _habits(seed: int, owner: str, day: int) -> tuple[int, tuple[str, str], bool, bool, bool]:
    """Return the habits of a day without a plan: time of lunch, place after work; hobby instead, pub, lunch out?"""
    chance = Chance(seed, "routine", owner, day)
    lunch = 705 + chance.below(4) * 15
    return lunch, chance.pick(LEISURE), chance.percent(45), chance.percent(40), chance.percent(60)


def routine(seed: int, person: Person, body: Body, minute: int, place_type: dict[str, str]) -> Action:
    """Return this person's activity on an ordinary day, without a plan."""
    of_day, day = minute % DAY, minute // DAY
    trade, profile = person.trade, person.profile
    lunch, out, favourite, in_pub, lunch_out = _habits(seed, person.owner, day)
    if of_day < trade.start - 20:
        eat = body.hunger < FED
        return Action(profile.home, "having breakfast" if eat else "getting ready", "morning at home", eat=eat)
    if lunch <= of_day < lunch + 45:
        place = public_id("cafe", person.district) if lunch_out else profile.work
        return Action(place, "having lunch", "lunch", eat=body.hunger < FED)
    if of_day < trade.end:
        return Action(profile.work, _looks_like(seed, person, profile.work, minute, place_type), "work")
    if of_day < max(trade.end, 1020) + 120:
        if favourite:
            return Action(person.hobby_place, f"enjoying {person.hobby}", person.hobby)
        return Action(public_id(out[0], person.district), out[1], "leisure")
    if of_day < max(trade.end, 1020) + 180:
        return Action(profile.home, "having dinner", "dinner", eat=body.hunger < FED)
    if in_pub and of_day < person.bed - 60:
        return Action(public_id("pub", person.district), "having a drink", "evening out")
    return Action(profile.home, _looks_like(seed, person, profile.home, minute, place_type), "evening at home")
