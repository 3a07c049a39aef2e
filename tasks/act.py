"""Chooses an action (streams design, task 12): by rule, or else by a job that reads the plan and memories.

The rules are needs (a meter below 20), a plan item at another place, and the night. A world that follows its agents'
plans applies these rules itself, so this kind is due only where no rule decides, or where the host lists the available
actions (`brief["actions"]`): for an agent that the host marks as free (`brief["free"]`), at the agent's own turns, and
within the run's limit for this kind. Until the answer is due, and when the budget refuses the job, the agent continues
its plan or idles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel

from cogitate.memory.clock import DAY, clock_in_force, clock_time
from cogitate.memory.effects import Effect, SetPlanStatus, Tell
from cogitate.memory.entry import MAX_TEXT, Entry, EntryType, PlanItem, present_items
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.text import normal
from cogitate.memory.retrieval.scoring import rating
from cogitate.memory.routing.routing import stage_of
from cogitate.memory.routing.scopes import mentions
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import resolve_name
from cogitate.prompts.answers import ActionAnswer
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Templates, neutral, plain
from cogitate.tasks import timing
from cogitate.tasks.heuristics.chosen_action import choose_action
from cogitate.tasks.heuristics.pressing import find_pressing, quote
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt, WorldFacts
from cogitate.tasks.meters import Meter, format_meters, meter_params, read_meters
from cogitate.tasks.persona import language_of, persona
from cogitate.tasks.places import HERE, place_meant, places_shown
from cogitate.tasks.recall import access_marks, brief, long_term_context, recall, share_of, template_entry

SHOWN = 8  # memories (streams design)
REMEMBERED: tuple[EntryType, ...] = ("observation", "message", "summary", "reflection")
NIGHT = (22 * 60, 6 * 60)  # minutes after 00:00 (streams design)
FOOD = ("restaurant", "cafe", "café", "diner", "pub")  # types of places, the best first
MOST_NEAR, MOST_ACTIONS = 20, 30
NEEDS = {"hunger": "eat food meal", "energy": "rest sleep"}  # words of what meets a need
LONG = 100  # characters of an answer that may be the beginning of a longer action
#: What an action without a model says, and by which name packs of other languages say it.
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

#: JSON: "location", "activity", "status", "near", "actions", "item" and "later", where known.
Situation = Mapping[str, Any]
_Short = Annotated[str, msgspec.Meta(max_length=500)]


class ActParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a host's request: the agent's situation."""

    location: Annotated[str, msgspec.Meta(max_length=500)] = ""  # id
    activity: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    status: dict[str, float | Meter] = {}
    near: Annotated[tuple[_Short, ...], msgspec.Meta(max_length=MOST_NEAR)] = ()  # owners or names
    actions: Annotated[tuple[_Short, ...], msgspec.Meta(max_length=MOST_ACTIONS)] = ()  # available ones


class Act(Kind):
    """Due at an agent's own turns, every `World.act_interval` ticks, while its host marks it as free."""

    name = "act"
    params = ActParams
    order = 15
    latency = "3m"
    latency_least, latency_most = 2, 60  # game minutes; half of the agent's interval, if that is shorter
    on_denied = "drop"
    needs_brief = True  # marks an agent as free
    prompt_cap = 2_000
    output_cap = 200
    packs = True
    gathers = True
    recalls = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request where the host lists actions, or where no rule decides."""
        interval = moment.world.act_interval
        if (
            not interval
            or not timing.is_agent(moment)
            or not timing.is_turn(moment, interval, moment.turn_of(self.name))
        ):
            return ()
        if moment.brief.get("free") is not True:
            return ()
        situation = _situation(moment)
        home, food = moment.profile.home, _eating_place(moment.world)
        by_host = bool(_texts(situation, "actions"))  # a rule does not know them
        if not by_host and by_rule(situation, moment.minute, home=home, food=food) is not None:
            return ()
        return (Request(kind=self.name, owner=moment.owner, params=situation),)

    def known_params(self, moment: Moment) -> Mapping[str, object]:
        """Return the host's brief, and the present items of the plan."""
        return _situation(moment)

    def wake(self, moment: Moment) -> int | None:
        """Return the agent's next turn."""
        interval = moment.world.act_interval
        return timing.next_turn(moment, interval) if interval and timing.is_agent(moment) else None

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return False: an agent acts at its turn, whatever it observes."""
        return False

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the agent, the places, the situation and current plan item, and relevant memories."""
        situation, names = case.job.params, case.world.display_names
        memories = sorted(share_of(self._recalled(case), memory_share), key=lambda e: (e.minute, e.number))
        places = places_shown(case, memories, _text(situation, "location"))
        rendered = self._templates.render(
            self.name,
            {
                **persona(case),
                **places.values,
                **timing.told(case.job.minute, case.job.key.tick),
                "place": resolve_name(_text(situation, "location"), names),
                "activity": brief(_text(situation, "activity")),
                "status": format_meters(_meters(situation)),
                "stage": stage_of(case.entries, case.job.minute),
                "near": [brief(resolve_name(who, names)) for who in _texts(situation, "near")],
                "actions": [brief(action) for action in _texts(situation, "actions")],
                "item": _format_item(_item(situation, "item"), names),
                "later": _format_item(_item(situation, "later"), names),
                "memories": [template_entry(e, case.job.minute) for e in memories],
                **long_term_context(case, memory_share),
            },
        )
        choices = [*places.choice("location", HERE), *_choice_of_action(situation)]
        return Prompt.of(rendered, ActionAnswer, memories, choices)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the action as a message to the world; the answer may also complete the current plan item.

        An action that the world lists with its place happens there, even if the answer names another place.

        Raises:
            ValueError: for an unknown place or an unavailable action.
        """
        assert isinstance(answer, ActionAnswer)
        owner, situation = case.job.key.owner, case.job.params
        here, doing = _text(situation, "location"), _available(answer.doing, situation)
        place = _place_named(doing, case) if _texts(situation, "actions") else ""
        place = place or place_meant(answer.location, case) or here
        action = _action("move_to" if place != here else "stay", place, doing, answer.reason)
        item = _item(situation, "item")
        done: tuple[Effect, ...] = ()
        if item is not None and answer.completing_plan_item:
            done = (SetPlanStatus(owner=owner, item=item.id, status="completed", expects=item.status),)
        return *done, Tell(owner=owner, topic="action", data=action), *access_marks(case, used)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the action of a rule, or else the plan item, company at the best remembered place, or idling.

        Where the world lists actions, the result is always one of them.
        """
        owner, situation, world = case.job.key.owner, case.job.params, case.world
        if _texts(situation, "actions"):
            chosen, used = _choice(case)
            return Tell(owner=owner, topic="action", data=_told(case, chosen, ("reason",))), *access_marks(case, used)
        home, food = case.profile.home, _eating_place(world)
        action = by_rule(situation, case.job.minute, home=home, food=food)
        here, item = _text(situation, "location"), _item(situation, "item")
        used = ()
        if action is None and item is not None:
            action = _action("stay", here, item.description, "Going on with the plan")
        if action is None:
            place, used = _company(case, here)
            if place:
                action = _action("move_to", place, "Meeting people", _meeting(case, place))
        if action is None:
            action = _action("idle", here, "", "Deciding what to do")  # the streams design's fallback
        return Tell(owner=owner, topic="action", data=_told(case, action)), *access_marks(case, used)

    def _recalled(self, case: Case) -> list[Entry]:
        situation, names = case.job.params, case.world.display_names
        item = _item(situation, "item") or _item(situation, "later")
        words = [
            resolve_name(_text(situation, "location"), names),
            _text(situation, "activity"),
            item and item.description,
        ]
        return recall(case, ". ".join(word for word in words if word), SHOWN, REMEMBERED)


def _choice(case: Case) -> tuple[dict[str, str], tuple[int, ...]]:
    """Return the available action that fits best, with the memories that support it.

    In order: what a need calls for, what resembles a pressing matter or the current plan item, sleep at night, company
    at the best remembered place, what resembles the agent's activity, place or trade, and the first that is listed.
    """
    situation, profile, world = case.job.params, case.profile, case.world
    names, language = world.display_names, language_of(case)
    here, actions, item = _text(situation, "location"), _texts(situation, "actions"), _item(situation, "item")
    places = {action: _place_named(action, case) or here for action in actions}
    needs = [f"{name} {meter.end} {NEEDS.get(name, '')}" for name, meter in _meters(situation).items() if meter.presses]
    reasons = [(need, "In need") for need in needs]
    chosen, reason = _likest(actions, reasons)
    used: tuple[int, ...] = ()
    if not chosen:
        pressing = find_pressing(profile.name, case.entries, names, world.locations, case.job.minute, language=language)
        for matter in pressing:
            if chosen := choose_action(actions, matter.text, whole_words=True):
                used, reason = (matter.number,), quote(matter, names, language)
                break
    if not chosen:
        if item:
            chosen, reason = _likest(_planned_at(item, actions, case), [(item.description, "Going on with the plan")])
        if not chosen and _is_night(case.job.minute):
            chosen, reason = _likest(actions, [(NEEDS["energy"], "Night time")])
    if not chosen:
        place, remembered = _company(case, here)
        chosen = next((action for action in actions if place and places[action] == place), "")
        if chosen:
            used, reason = remembered, _meeting(case, place)
    if not chosen:
        texts = (
            _text(situation, "activity"),
            resolve_name(here, names),
            profile.occupation,
            profile.currently,
        )
        chosen, reason = _likest(actions, [(text, "Having time for it") for text in texts])
    if not chosen:
        chosen, reason = actions[0], "Nothing calls for another action"
    place = places[chosen]
    return _action("move_to" if place != here else "stay", place, chosen, reason), used


def _planned_at(item: PlanItem, actions: Iterable[str], case: Case) -> list[str]:
    """Return the actions that a plan item's place allows: those at this place, and at none in particular."""
    named = find_place(item.description, case.world.locations)
    place = item.location or (named.id if named is not None else "")
    return [action for action in actions if not place or _place_named(action, case) in ("", place)]


def _likest(actions: Sequence[str], reasons: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the action that is like the first text that any is like, and the reason beside this text; or ("", "")."""
    found = ((choose_action(actions, text), reason) for text, reason in reasons)
    return next(((action, reason) for action, reason in found if action), ("", ""))


def _told(case: Case, action: dict[str, str], fields: Iterable[str] = ("doing", "reason")) -> dict[str, str]:
    """Return an action, fields of which are told in the agent's language."""
    language = language_of(case)
    if language == ENGLISH:
        return action
    pack, place = pack_of(language), resolve_name(action["location"], case.world.display_names)
    told = {said: pack.reason(name) for said, name in REASONS.items()}
    told[f"People meet at {place}"] = pack.bracketed(pack.reason("meet"), place)
    return action | {field: told.get(action[field], action[field]) for field in fields}


def _meeting(case: Case, place: str) -> str:
    return f"People meet at {resolve_name(place, case.world.display_names)}"


def _choice_of_action(situation: Situation) -> list[Constraint]:
    """Return the constraint that the answer is one of the actions that the world lists, if it lists any."""
    actions = tuple(dict.fromkeys(map(plain, _texts(situation, "actions"))))
    return [Constraint(field="doing", choices=actions)] if actions else []


def _available(doing: str, situation: Situation) -> str:
    """Return the available action that an answer means, or the answer itself where the world lists no actions.

    Raises:
        ValueError: when the answer matches no available action.
    """
    actions = _texts(situation, "actions")
    if not actions:
        return doing
    said = normal(neutral(doing.removesuffix("…")))
    named = {action: normal(neutral(action)) for action in actions}
    found = next((action for action in actions if _is_said(named[action], said)), None)
    if found is None:
        alike = [action for action in actions if mentions(action, said) or mentions(said, named[action])]
        found = alike[0] if len(alike) == 1 else None
    if found is None:
        raise ValueError(f"{doing[:100]!r} is not available; choose one of: {'; '.join(actions)}"[:MAX_TEXT])
    return found


def _is_said(action: str, said: str) -> bool:
    return action == said or (len(said) > LONG and action.startswith(said))  # answers are cut


def _place_named(doing: str, case: Case) -> str:
    """Return the place of an available action, if it or its plan item names one; else ""."""
    item = _item(case.job.params, "item")
    if item is not None and item.description == doing:
        return item.location or _text(case.job.params, "location")
    if _AT_HOME.search(doing) and case.profile.home:
        return case.profile.home
    place = find_place(doing, case.world.locations)
    return place.id if place is not None else ""


def by_rule(situation: Situation, minute: int, *, home: str, food: str) -> dict[str, str] | None:
    """Return the action of the first rule that applies: a need, a plan item elsewhere, sleep at night; else None."""
    here, item = _text(situation, "location"), _item(situation, "item")
    pressing = {name for name, meter in _meters(situation).items() if meter.presses}
    if "energy" in pressing:
        return _action("move_to" if home and here != home else "sleep", home or here, "", "Need rest")
    if "hunger" in pressing:
        place = food or home or here
        return _action("move_to" if place != here else "stay", place, "Eating", "Need food")
    if item is not None and item.location and item.location != here:
        return _action("move_to", item.location, "", item.description)
    if _is_night(minute):
        if home and here != home:
            return _action("move_to", home, "", "Time to sleep")
        return _action("sleep", here, "", "Night time")
    return None


def _is_night(minute: int) -> bool:
    return clock_in_force().has_times and not NIGHT[1] <= minute % DAY < NIGHT[0]


def _action(kind: str, location: str, doing: str, reason: str) -> dict[str, str]:
    return {"type": kind, "location": location, "doing": doing, "reason": reason}


def _situation(moment: Moment) -> dict[str, Any]:
    """Return the host's brief and the state of the plan, which a job cannot look up as of its tick."""
    found: dict[str, Any] = {}
    for name in ("location", "activity"):
        if isinstance(said := moment.brief.get(name), str) and said:
            found[name] = said
    status = moment.brief.get("status")
    if isinstance(status, Mapping):
        found["status"] = meter_params(status)
    for name, most in (("near", MOST_NEAR), ("actions", MOST_ACTIONS)):
        if isinstance(given := moment.brief.get(name), list | tuple) and given:
            found[name] = [str(one)[:500] for one in given[:most]]
    plan = moment.stream.current_plan(moment.minute)
    items = moment.stream.plan_items(plan) if plan is not None else []
    now, later = present_items(items, moment.minute)
    if now is not None:
        found["item"] = _kept(now)
    if later is not None:
        found["later"] = _kept(later)
    return found


def _kept(item: PlanItem) -> dict[str, Any]:
    kept = {"id": item.id, "description": item.description, "minute": item.minute, "status": item.status}
    return kept | ({"location": item.location} if item.location else {})


def _item(situation: Situation, name: str) -> PlanItem | None:
    kept = situation.get(name)
    if not isinstance(kept, Mapping):
        return None
    return PlanItem(
        id=str(kept.get("id", "")),
        description=str(kept.get("description", "")),
        location=str(kept.get("location") or "") or None,
        minute=kept["minute"] if isinstance(kept.get("minute"), int) else None,
        status="active" if kept.get("status") == "active" else "pending",
    )


def _format_item(item: PlanItem | None, names: Mapping[str, str]) -> str:
    if item is None:
        return ""
    at = f"{clock_time(item.minute)} " if item.minute is not None else ""
    return f"{at}{item.description}" + (f" ({resolve_name(item.location, names)})" if item.location else "")


def _text(situation: Situation, name: str) -> str:
    said = situation.get(name, "")
    return said if isinstance(said, str) else ""


def _texts(situation: Situation, name: str) -> list[str]:
    given = situation.get(name, ())
    return [str(one) for one in given] if isinstance(given, list | tuple) else []


def _meters(situation: Situation) -> dict[str, Meter]:
    return read_meters(situation.get("status"))


def _eating_place(world: WorldFacts) -> str:
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
    spoke = sorted(memories[best], key=lambda e: (-rating(e), -e.number))[:SHOWN]
    return best, tuple(sorted(e.number for e in spoke))
