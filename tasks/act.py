"""Chooses an action (streams design, task 12): by rule, or else by a job that reads the plan and memories.

The rules are needs (a meter below 20), a plan item at another place, and the night. A world that follows its agents'
plans applies these rules itself, so this kind is due only where no rule decides, or where the host lists the available
actions (`brief["actions"]`): for an agent that the host marks as free (`brief["free"]`), at the agent's own turns, and
within the run's limit for this kind. Until the answer is due, and when the budget refuses the job, the agent continues
its plan or idles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from cogitate.memory.effects import Effect, SetPlanStatus, Tell
from cogitate.memory.entry import MAX_TEXT, Entry, EntryType, PlanItem, resolve_name
from cogitate.memory.language.text import normal
from cogitate.memory.routing.scopes import mentions
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import ActionAnswer, PlacedAction
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Templates, neutral, plain
from cogitate.tasks import timing
from cogitate.tasks.heuristics.action import action_of, by_rule, eating_place, find_action, place_named
from cogitate.tasks.heuristics.thinking_language import thinking_language
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt, WorldFacts
from cogitate.tasks.meters import format_meters
from cogitate.tasks.places import HERE, PlacesShown, place_meant, places_shown
from cogitate.tasks.recall import (
    access_marks,
    brief,
    long_term_context,
    persona,
    recall,
    share_of,
    stage_of,
    template_entry,
    template_time,
)
from cogitate.tasks.situation import (
    ActParams,
    Situation,
    format_item,
    item_of,
    meters_of,
    situation_of,
    text_of,
    texts_of,
)

SHOWN = 8  # memories (streams design)
REMEMBERED: tuple[EntryType, ...] = ("observation", "message", "summary", "reflection")
PLANNED = "the present plan item"  # in a prompt, instead of the item's description, which it shows in full
LONG = 100  # characters; a longer answer matches an action that begins with it, since answers are cut


class Act(Kind):
    """Due at an agent's own turns, every `World.act_interval` ticks, while its host marks it as free."""

    name = "act"
    params = ActParams
    order = 15
    latency = "3m"
    latency_least, latency_most = 2, 60  # game minutes; half of the agent's interval, if that is shorter
    on_denied = "drop"
    needs_brief = True  # which marks an agent as free
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
        situation = situation_of(moment)
        home, food = moment.profile.home, eating_place(moment.world)
        lists_actions = bool(texts_of(situation, "actions"))  # rules do not know a host's actions
        if not lists_actions and by_rule(situation, moment.minute, home=home, food=food) is not None:
            return ()
        return (Request(kind=self.name, owner=moment.owner, params=situation),)

    def known_params(self, moment: Moment) -> Mapping[str, object]:
        """Return the host's brief, and the current items of the plan."""
        return situation_of(moment)

    def wake(self, moment: Moment) -> int | None:
        """Return the agent's next turn."""
        interval = moment.world.act_interval
        return timing.next_turn(moment, interval) if interval and timing.is_agent(moment) else None

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return False: an agent acts at its turn, whatever it observes."""
        return False

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the agent, its situation and current plan item, and relevant memories.

        It shows places and asks for one, unless each action that the world lists determines its own.
        """
        situation, names = case.job.params, case.world.display_names
        memories = sorted(share_of(self._recalled(case), memory_share), key=lambda e: (e.minute, e.number))
        actions = texts_of(situation, "actions")
        if actions and all(place_named(action, case) for action in actions):
            places = PlacesShown([], [])
        else:
            places = places_shown(case, memories, text_of(situation, "location"))
        item, activity = item_of(situation, "item"), text_of(situation, "activity")
        rendered = self._templates.render(
            self.name,
            {
                **persona(case),
                **places.values,
                **template_time(case.job.minute, case.job.key.tick),
                "place": resolve_name(text_of(situation, "location"), names),
                "activity": brief(_worded(activity, item)),
                "status": format_meters(meters_of(situation)),
                "stage": stage_of(case.entries, case.job.minute),
                "near": [brief(resolve_name(who, names)) for who in texts_of(situation, "near")],
                "actions": [brief(_worded(action, item)) for action in actions],
                "item": format_item(item, names),
                "later": format_item(item_of(situation, "later"), names),
                "memories": [template_entry(e, case.job.minute) for e in memories],
                **long_term_context(case, memory_share),
            },
        )
        choices = [*places.choice("location", HERE), *_choice_of_action(situation)]
        return Prompt.of(rendered, ActionAnswer if any(places) else PlacedAction, memories, choices)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the action as a message to the world; the answer may also complete the current plan item.

        An action that the world lists with its place happens there, even if the answer names another place.

        Raises:
            ValueError: for an unknown place or an unavailable action.
        """
        assert isinstance(answer, ActionAnswer)
        owner, situation = case.job.key.owner, case.job.params
        here, doing = text_of(situation, "location"), _available(answer.doing, situation)
        place = place_named(doing, case) if texts_of(situation, "actions") else ""
        place = place or place_meant(answer.location, case) or here
        action = action_of("move_to" if place != here else "stay", place, doing, answer.reason)
        item = item_of(situation, "item")
        done: tuple[Effect, ...] = ()
        if item is not None and answer.completing_plan_item:
            done = (SetPlanStatus(owner=owner, item=item.id, status="completed", expects=item.status),)
        return *done, Tell(owner=owner, topic="action", data=action), *access_marks(case, used)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the action that `heuristics.action` finds."""
        action, used = find_action(case, thinking_language(case))
        return Tell(owner=case.job.key.owner, topic="action", data=action), *access_marks(case, used)

    def _recalled(self, case: Case) -> list[Entry]:
        situation, names = case.job.params, case.world.display_names
        item = item_of(situation, "item") or item_of(situation, "later")
        words = [
            resolve_name(text_of(situation, "location"), names),
            text_of(situation, "activity"),
            item and item.description,
        ]
        return recall(case, ". ".join(word for word in words if word), SHOWN, REMEMBERED)


def _worded(activity: str, item: PlanItem | None) -> str:
    """Return an activity as a prompt words it: the current plan item as `PLANNED`."""
    return PLANNED if item is not None and item.description == activity else activity


def _choice_of_action(situation: Situation) -> list[Constraint]:
    """Return the constraint that the answer is one of the actions that the world lists, if it lists any."""
    item = item_of(situation, "item")
    actions = tuple(dict.fromkeys(plain(_worded(action, item)) for action in texts_of(situation, "actions")))
    return [Constraint(field="doing", choices=actions)] if actions else []


def _available(doing: str, situation: Situation) -> str:
    """Return the available action that an answer means, or the answer itself if the world lists no actions.

    Raises:
        ValueError: if the answer matches no available action.
    """
    actions = texts_of(situation, "actions")
    if not actions:
        return doing
    answered = normal(neutral(doing.removesuffix("…")))
    item = item_of(situation, "item")
    named = {action: normal(neutral(action)) for action in actions}
    if item is not None and item.description in named and answered == PLANNED:
        return item.description
    meant = next((action for action in actions if _matches(named[action], answered)), None)
    if meant is None:
        similar = [action for action in actions if mentions(action, answered) or mentions(answered, named[action])]
        meant = similar[0] if len(similar) == 1 else None
    if meant is None:
        raise ValueError(f"{doing[:100]!r} is not available; choose one of: {'; '.join(actions)}"[:MAX_TEXT])
    return meant


def _matches(action: str, answered: str) -> bool:
    return action == answered or (len(answered) > LONG and action.startswith(answered))
