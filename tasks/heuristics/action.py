"""An action without a model: the best of the actions that the world lists, or else one by a rule or the plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cogitate.memory.clock import DAY, clock_in_force
from cogitate.memory.entry import Entry, PlanItem, rating, resolve_name
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.routines import read_routine
from cogitate.tasks.heuristics.chosen_action import choose_action
from cogitate.tasks.heuristics.plans.day_plan import UNDER_WAY
from cogitate.tasks.heuristics.pressing import find_pressing, quote
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.situation import Situation, item_of, meters_of, text_of, texts_of

MOST_EVIDENCE = 8  # memories that support an action
NIGHT = (22 * 60, 6 * 60)  # minutes after 00:00 (streams design)
FOOD = ("restaurant", "cafe", "café", "diner", "pub")  # types of places, the best first
NEEDS = {"hunger": "eat food meal", "energy": "rest sleep"}  # words for what meets a need
WAYS = {"hunger": "food", "energy": "sleep"}  # keys of such words in the packs of other languages
#: English reasons and doings of an action without a model, and their keys in the packs of other languages.
REASONS = {
    "Going on with the plan": "plan",
    "In need": "need",
    "Need food": "need",
    "Need rest": "rest",
    "Night time": "night",
    "Time to sleep": "night",
    "Eating": "eat",
    "Meeting people": "meet",
    "Having time for it": "free",
    "Nothing calls for another action": "free",
    "Deciding what to do": "free",
}
_AT_HOME = re.compile(r"\bat home\b", re.IGNORECASE)


def find_action(case: Case, language: str) -> tuple[dict[str, str], tuple[int, ...]]:
    """Return the action of a rule, or else the plan item, company at the best remembered place, or idling.

    Also return the numbers of the memories that support it. If the world lists actions, it is always one of them.

    Args:
        language: ISO 639 code of the agent's language.
    """
    situation, world = case.job.params, case.world
    if texts_of(situation, "actions"):
        chosen, used = _choice(case, language)
        return _told(case, language, chosen, ("reason",)), used
    action = by_rule(situation, case.job.minute, home=case.profile.home, food=eating_place(world))
    here, item = text_of(situation, "location"), item_of(situation, "item")
    used = ()
    if action is None and item is not None:
        action = action_of("stay", here, item.description, "Going on with the plan")
    if action is None:
        place, used = _company(case, here)
        if place:
            action = action_of("move_to", place, "Meeting people", _meeting(case, place))
    if action is None:
        action = action_of("idle", here, "", "Deciding what to do")  # the streams design's fallback
    return _told(case, language, action), used


def by_rule(situation: Situation, minute: int, *, home: str, food: str) -> dict[str, str] | None:
    """Return the action of the first rule that applies: a need, a plan item elsewhere, sleep at night; else None."""
    here, item = text_of(situation, "location"), item_of(situation, "item")
    pressing = {name for name, meter in meters_of(situation).items() if meter.presses}
    if "energy" in pressing:
        return action_of("move_to" if home and here != home else "sleep", home or here, "", "Need rest")
    if "hunger" in pressing:
        place = food or home or here
        return action_of("move_to" if place != here else "stay", place, "Eating", "Need food")
    if item is not None and item.location and item.location != here:
        return action_of("move_to", item.location, "", item.description)
    if _is_night(minute):
        if home and here != home:
            return action_of("move_to", home, "", "Time to sleep")
        return action_of("sleep", here, "", "Night time")
    return None


def _choice(case: Case, language: str) -> tuple[dict[str, str], tuple[int, ...]]:
    """Return the available action that fits best, with the memories that support it.

    In order: what a need calls for, what resembles a pressing matter or the current plan item, sleep at night, company
    at the best remembered place, what resembles the agent's activity, place or trade, and the first that is listed.
    """
    situation, profile, world = case.job.params, case.profile, case.world
    names = world.display_names
    here, actions, item = text_of(situation, "location"), texts_of(situation, "actions"), item_of(situation, "item")
    places = {action: place_named(action, case) or here for action in actions}
    needs = [
        need
        for name, meter in meters_of(situation).items()
        if meter.presses
        for need in (f"{name} {meter.end} {NEEDS.get(name, '')}", *pack_of(language).ways(WAYS.get(name, "")))
    ]
    chosen, reason = _likest(actions, [(need, "In need") for need in needs])
    used: tuple[int, ...] = ()
    if not chosen:
        pressing = find_pressing(profile.name, case.entries, names, world.locations, case.job.minute, language=language)
        for matter in pressing:
            if chosen := choose_action(actions, matter.text, whole_words=True):
                used, reason = (matter.number,), quote(matter, names, language)
                break
    if not chosen:
        if item and not (_is_night(case.job.minute) and _is_over(item, case)):
            chosen, reason = _likest(_planned_at(item, actions, case), [(item.description, "Going on with the plan")])
        if not chosen and _is_night(case.job.minute):
            words = (NEEDS["energy"], *pack_of(language).ways("sleep"))
            chosen, reason = _likest(actions, [(word, "Night time") for word in words])
    if not chosen:
        place, remembered = _company(case, here)
        chosen = next((action for action in actions if place and places[action] == place), "")
        if chosen:
            used, reason = remembered, _meeting(case, place)
    if not chosen:
        texts = (
            text_of(situation, "activity"),
            resolve_name(here, names),
            profile.occupation,
            profile.currently,
        )
        chosen, reason = _likest(actions, [(text, "Having time for it") for text in texts])
    if not chosen:
        chosen, reason = actions[0], "Nothing calls for another action"
    place = places[chosen]
    return action_of("move_to" if place != here else "stay", place, chosen, reason), used


def _is_over(item: PlanItem, case: Case) -> bool:
    """Return whether a plan item that has no end in the routine began too long ago to keep its owner up at night."""
    if item.minute is None or case.job.minute - item.minute <= UNDER_WAY:
        return False
    habits = read_routine(case.world.routine_of(case.profile), case.profile.name)
    return not any(habit.ends is not None and habit.what == item.description for habit in habits)


def _planned_at(item: PlanItem, actions: Iterable[str], case: Case) -> list[str]:
    """Return the actions that a plan item's place allows: those at this place, and at none in particular."""
    named = find_place(item.description, case.world.locations)
    place = item.location or (named.id if named is not None else "")
    return [action for action in actions if not place or place_named(action, case) in ("", place)]


def _likest(actions: Sequence[str], reasons: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the action that matches the first text with any match, and this text's reason; or ("", "")."""
    found = ((choose_action(actions, text), reason) for text, reason in reasons)
    return next(((action, reason) for action, reason in found if action), ("", ""))


def _told(
    case: Case, language: str, action: dict[str, str], fields: Iterable[str] = ("doing", "reason")
) -> dict[str, str]:
    """Return an action with these fields in the agent's language."""
    if language == ENGLISH:
        return action
    pack, place = pack_of(language), resolve_name(action["location"], case.world.display_names)
    told = {said: pack.reason(name) for said, name in REASONS.items()}
    told[f"People meet at {place}"] = pack.bracketed(pack.reason("meet"), place)
    return action | {field: told.get(action[field], action[field]) for field in fields}


def _meeting(case: Case, place: str) -> str:
    return f"People meet at {resolve_name(place, case.world.display_names)}"


def place_named(doing: str, case: Case) -> str:
    """Return the place of an available action, if it or its plan item names one; else ""."""
    item = item_of(case.job.params, "item")
    if item is not None and item.description == doing:
        return item.location or text_of(case.job.params, "location")
    if _AT_HOME.search(doing) and case.profile.home:
        return case.profile.home
    place = find_place(doing, case.world.locations)
    return place.id if place is not None else ""


def _is_night(minute: int) -> bool:
    return clock_in_force().has_times and not NIGHT[1] <= minute % DAY < NIGHT[0]


def action_of(kind: str, location: str, doing: str, reason: str) -> dict[str, str]:
    return {"type": kind, "location": location, "doing": doing, "reason": reason}


def eating_place(world: WorldFacts) -> str:
    found = [(FOOD.index(p.type), p.id) for p in world.locations if p.type in FOOD]
    return min(found)[1] if found else ""


def _company(case: Case, here: str) -> tuple[str, tuple[int, ...]]:
    """Return the best remembered social place, with the memories that support it; "" if none is remembered."""
    memories: dict[str, list[Entry]] = {p.id: [] for p in case.world.locations if "social" in p.tags and p.id != here}
    for entry in case.entries:
        if entry.location in memories and entry.type in ("observation", "message"):
            memories[entry.location].append(entry)
    if not memories:
        return "", ()
    best = max(sorted(memories), key=lambda place: sum(map(rating, memories[place])))
    spoke = sorted(memories[best], key=lambda e: (-rating(e), -e.number))[:MOST_EVIDENCE]
    return best, tuple(sorted(e.number for e in spoke))
