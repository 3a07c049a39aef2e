"""The daily plan: 5 to 8 timed items, made in the morning, valid until the next (streams design, task 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel

from cogitate.memory.clock import DAY, clock_time, date, day_and_time, next_morning
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import MAX_TEXT, Entry, EntryType, PlanItem, resolve_name
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.times import parse_clock
from cogitate.memory.language.truncation import shorten
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import Activity, DailyPlan, StepPlan
from cogitate.prompts.render import Templates
from cogitate.tasks import timing
from cogitate.tasks.heuristics.identity import GOING_ON, pursuit_of
from cogitate.tasks.heuristics.plans.day_plan import FEWEST, MOST, Slot, first_said
from cogitate.tasks.heuristics.plans.planning import find_slots, status_of, unfinished_of
from cogitate.tasks.heuristics.thinking_language import thinking_language
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt, WorldFacts
from cogitate.tasks.meters import Meter, format_meters, meter_params
from cogitate.tasks.places import ANYWHERE, place_meant, places_shown
from cogitate.tasks.plan_times import FROM, one_after_another, window, within
from cogitate.tasks.recall import (
    LITTLE,
    access_marks,
    brief,
    long_term_context,
    persona,
    recall,
    replaced_entry,
    share_of,
    stage_of,
    template_entry,
    template_time,
    told_routine,
)

QUERY = "plan today tomorrow want need goal"  # streams design, task 7
SHOWN = 15  # memories (streams design)
REMEMBERED: tuple[EntryType, ...] = ("observation", "message", "summary", "reflection")
EVERY = 10  # ticks between two checks whether to request the next day's plan
OUTCOMES = {"completed": "done", "cancelled": "given up"}
STEPS = "plan_steps"  # the template of a plan without times of day
ENDLESS = 1_000_000 * DAY  # game minutes: a plan without times of day is valid until the next


class Unfinished(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan item that the agent did not finish."""

    description: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    location: Annotated[str, msgspec.Meta(max_length=500)] | None = None  # id
    priority: Annotated[int, msgspec.Meta(ge=1, le=5)] = 3


class PlanParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a host's request: the agent's meters, and its unfinished items."""

    status: dict[str, float | Meter] = {}
    unfinished: tuple[Unfinished, ...] = ()


class Plan(Kind):
    """Due at the first tick of an agent's morning without a current plan, and for an agent that joins during the day.

    Where ticks have no times of day, a plan is made only on request: steps without times, valid until the next plan.

    Where due ticks follow the models' latencies, the plan is requested before the morning by its expected latency, at
    the agent's own turns. It covers the coming day and is due in the morning; the previous plan is valid until then.
    """

    name = "plan"
    params = PlanParams
    order = 10
    latency = "5m"
    latency_least, latency_most = 2, 480  # game minutes: the night before the planned day
    prompt_cap = 2_500
    output_cap = 800
    packs = True
    batches = True
    recalls = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request while no plan is valid. Before the morning, an agent without a plan sleeps on."""
        if not timing.is_agent(moment) or not moment.world.clock.has_times:
            return ()
        is_day = moment.minute % DAY >= timing.morning_of(moment.owner, moment.world)
        if is_day and moment.stream.current_plan(moment.minute) is None:
            return (Request(kind=self.name, owner=moment.owner, priority=5, params=self._params(moment)),)
        return self._ahead(moment)

    def known_params(self, moment: Moment) -> Mapping[str, object]:
        """Return the unfinished items of the last plan, and the meters of the host's brief."""
        return self._params(moment)

    def wake(self, moment: Moment) -> int | None:
        """Return the tick at which the current plan ends, or the next morning."""
        if not timing.is_agent(moment) or not moment.world.clock.has_times:
            return None
        plan = moment.stream.current_plan(moment.minute)
        ends = plan.valid_until if plan is not None else 0
        begins = max(ends, _next_morning(moment))
        morning = timing.tick_at(moment, begins)
        if not moment.lead(self.name):
            return morning
        # Turns must not depend on the latency known now: a host that resumes the run knows more.
        first = timing.tick_at(moment, begins - self.latency_most) - EVERY
        return min(morning, timing.next_turn(moment, EVERY, first))

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an observed entry is a plan."""
        return entry.type == "plan"

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the agent, the places, its condition, its last plan, unfinished items and memories."""
        profile, names, minute = case.profile, case.world.display_names, window(case)[0]
        memories = sorted(share_of(self._recalled(case), memory_share), key=lambda e: (e.minute, e.number))
        previous = _previous(case) if memory_share >= LITTLE else []
        unfinished = [str(item.get("description", "")) for item in unfinished_of(case)]
        shown = {line["text"] for line in previous}
        places = places_shown(case, memories)
        has_times = case.world.clock.has_times
        of_a_day = {
            "routine": told_routine(case),
            "home": resolve_name(profile.home, names),
            "work": resolve_name(profile.work, names),
            "more_places": [place for place in places.case if place.id not in (profile.home, profile.work)],
            "end": clock_time(timing.morning_of(case.job.key.owner, case.world)),
        }
        rendered = self._templates.render(
            self.name if has_times else STEPS,
            {
                **persona(case),
                **places.values,
                **(of_a_day if has_times else {}),
                **template_time(minute, case.job.key.tick),
                "stage": stage_of(case.entries, case.job.minute),
                "status": format_meters(status_of(case)),
                "previous": previous,
                "unfinished": [item for item in unfinished if item not in shown],
                "memories": [template_entry(e, minute) for e in memories],
                **long_term_context(case, memory_share),
            },
        )
        where = places.choice("activities.location", ANYWHERE)
        return Prompt.of(rendered, DailyPlan if has_times else StepPlan, memories, where)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the plan as an entry.

        Raises:
            ValueError: for an unknown place, for two items that begin at the same time, for items out of order, or if
                fewer than 5 lie between now and the next morning.
        """
        start, end = window(case)
        if isinstance(answer, StepPlan):
            steps = answer.activities[:MOST]
            slots = [Slot(start, one.description, place_meant(one.location, case), one.priority, 0) for one in steps]
            return self._appended(case, slots, used)
        assert isinstance(answer, DailyPlan)
        timed, astray = [], _astray(answer.activities, case)
        for activity in answer.activities:
            clock = parse_clock(activity.time)
            minute = None if clock is None else within(clock, start, end)
            if minute is not None and activity not in astray:
                place = place_meant(activity.location, case)
                timed.append(Slot(minute, activity.description, place, activity.priority, 0))
        if sum(one.minute > other.minute for one, other in pairwise(timed)) > 1:  # one item may be out of order
            raise ValueError("the plan items are out of order: write them from the first of the day to the last")
        slots = one_after_another(timed, start)
        if len(slots) < FEWEST:
            raise ValueError(
                f"{len(slots)} of {len(answer.activities)} plan items have a time of their own between "
                f"{clock_time(start)} and the next morning; at least {FEWEST} are needed"
            )
        slots = sorted(slots, key=lambda s: -s.priority)[:MOST]
        return self._appended(case, sorted(slots, key=lambda s: s.minute), used)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the plan that `heuristics.plans.planning` finds."""
        language = thinking_language(case)
        slots, used = find_slots(case, *window(case), language)
        return self._appended(case, slots, used, language)

    def _ahead(self, moment: Moment) -> Iterable[Request]:
        """Return the request for the coming day's plan, once it is time for it."""
        lead, begins = moment.lead(self.name), _next_morning(moment)
        morning, plan = timing.tick_at(moment, begins), moment.stream.latest("plan")
        if not lead or morning - moment.tick > lead + EVERY or (plan is not None and plan.valid_until > begins):
            return ()
        if moment.last is not None and morning > moment.last:
            return ()
        params = self._params(moment) | {FROM: begins}
        return (Request(kind=self.name, owner=moment.owner, priority=5, params=params, at=morning),)

    def _params(self, moment: Moment) -> dict[str, Any]:
        """Return the values of head and world that the plan needs and that a job cannot look up as of its tick."""
        params: dict[str, Any] = {}
        plan = moment.stream.latest("plan")
        if plan is not None and moment.minute - plan.valid_until < DAY:
            items = moment.stream.plan_items(plan)
            # Items planned for later today may still happen.
            left = [i for i in items if i.status in ("pending", "active") and (i.minute or 0) <= moment.minute]
            if not moment.world.clock.has_times:  # a step that an earlier plan had too is given up
                earlier = (one for one in moment.stream.live("plan") if one is not plan)
                before = {first_said(i.description) for one in earlier for i in one.items}
                left = [i for i in left if first_said(i.description) not in before]
            params["unfinished"] = [
                {"description": i.description, "location": i.location, "priority": i.priority} for i in left[:MOST]
            ]
            if ended := {item.id: item.status for item in items if item.status in ("completed", "cancelled")}:
                params["ended"] = ended
        if plan is not None and (done := _fulfilled(moment)):
            params["done"] = done
        status = moment.brief.get("status")
        if isinstance(status, Mapping):
            params["status"] = meter_params(status)
        return params

    def _recalled(self, case: Case) -> list[Entry]:
        return recall(case, QUERY, SHOWN, REMEMBERED)

    def _appended(
        self, case: Case, slots: Iterable[Slot], used: tuple[int, ...], language: str = ""
    ) -> tuple[Effect, ...]:
        owner, tick, has_times = case.job.key.owner, case.job.key.tick, case.world.clock.has_times
        items = tuple(
            PlanItem(
                id=f"{tick}-{index}",
                description=shorten(slot.text, MAX_TEXT, "…"),
                location=slot.location,
                minute=slot.minute if has_times else None,
                priority=max(1, min(5, slot.priority)),
            )
            for index, slot in enumerate(slots)
        )
        start, end = window(case)
        text = _listed(items, start, language or thinking_language(case))
        entry = Entry(
            type="plan",
            text=shorten(text, MAX_TEXT, "…"),
            minute=start,
            importance=6,  # streams design, task 4: base 5, plans one more
            source="internal",
            subjects=(owner,),
            items=items,
            valid_until=end if has_times else start + ENDLESS,
        )
        return Append(owner=owner, entry=entry, replaces=replaced_entry(case.job)), *access_marks(case, used)


def _listed(items: Iterable[PlanItem], start: int, language: str) -> str:
    """Return the text of a plan: its day, and each item with its time if it has one."""
    if language == ENGLISH:
        listed = f"Plan for {date(start)}: {'; '.join(_timed(item, clock_time) for item in items)}"
        return listed if has_end(listed) else with_end(listed)  # a quoted question keeps its mark
    phrases = pack_of(language)
    listed = phrases.listed(_timed(item, lambda minute: f"{minute % DAY // 60:02}:{minute % 60:02}") for item in items)
    return phrases.labelled(phrases.day(start), listed if has_end(listed) else with_end(listed))


def _timed(item: PlanItem, format_time: Callable[[int], str]) -> str:
    return item.description if item.minute is None else f"{format_time(item.minute)} {item.description}"


def _next_morning(moment: Moment) -> int:
    return next_morning(moment.minute, timing.morning_of(moment.owner, moment.world))


def _astray(activities: Sequence[Activity], case: Case) -> list[Activity]:
    """Return the activities at unknown places, which a plan leaves out if enough others remain.

    Raises:
        ValueError: naming a place, if too few remain.
    """
    astray = []
    for activity in activities:
        try:
            place_meant(activity.location, case)
        except ValueError:
            astray.append(activity)
            if len(activities) - len(astray) < FEWEST:
                raise
    return astray


def _previous(case: Case) -> list[dict[str, str]]:
    """Return the items of the previous plan, each with its outcome."""
    minute, replaced = case.job.minute, replaced_entry(case.job)
    plans = [e for e in case.entries if e.type == "plan" and e.number != replaced]
    if not plans or minute - plans[-1].valid_until >= DAY:
        return []
    statuses: dict[str, object] = case.job.param("ended", {})
    return [
        {
            "when": day_and_time(item.minute) if item.minute is not None else date(plans[-1].minute),
            "text": brief(item.description),
            "came": OUTCOMES.get(str(statuses.get(item.id)), "not done" if (item.minute or 0) <= minute else "to come"),
        }
        for item in plans[-1].items
    ]


def _fulfilled(moment: Moment) -> list[str]:
    """Return the agent's occupation if it is a one-time task that a plan item completed."""
    wish = pursuit_of(moment.profile)
    if not wish or wish.startswith(GOING_ON):
        return []
    items = (item for plan in moment.stream.live("plan") for item in moment.stream.plan_items(plan))
    done = any(i.status == "completed" and first_said(i.description) == wish for i in items)
    return [wish] if done else []
