"""Triggers of recounts (scopes design, "Triggers"): leaving a location, and events of the story.

While its scope has an open or deferred recount, a trigger waits in the run's state, so no two jobs start from the same
cursor. It gets its messages when it becomes a request: those since the cursor, up to the tick of the trigger. It
remains while its recount is open, because another request must recount what did not fit into that prompt. A failed
recount recounts nothing and leaves its messages to the next trigger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cogitate.memory.profile import Profile
from cogitate.memory.routing.context import latest
from cogitate.memory.routing.scopes import WORLD, around_mentions, covered, cursor_of, location_owner, messages_since
from cogitate.memory.stream import Stream
from cogitate.tasks.job import Request
from cogitate.tasks.recount import Recount, Span, progress_name, recount_request
from cogitate.tasks.shown import begun_params, part_counter, upto_counter

_ID = re.compile(r"_ids?$")


class ScopeTrigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason for a scope to recount the messages since its cursor."""

    scope: str  # owner of the resulting memory
    minute: int
    upto: int = 0  # newest number of the world's stream at the end of the tick; 0: the tick has not ended
    location: str = ""  # id; a location and an NPC recount only the messages at this place
    events: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    quest_id: str = ""
    encounter_id: str = ""
    asked: tuple[int, ...] = ()  # its scope's progress when it last became a request; (): it has not yet


def location_left(location: str, present: Iterable[str], minute: int) -> list[ScopeTrigger]:
    """Return the triggers of leaving a location: one for the location, and one for each NPC (an owner) in `present`."""
    place = location_owner(location)
    left = [ScopeTrigger(scope=place, minute=minute, location=location, tags=("session", place))]
    for npc in dict.fromkeys(present):
        tags = ("npc-session", place, npc)
        left.append(ScopeTrigger(scope=npc, minute=minute, location=location, tags=tags, subjects=(npc,)))
    return left


def story_event(
    kind: str, tags: Sequence[str], related: Mapping[str, str | Sequence[str]], minute: int
) -> ScopeTrigger:
    """Return the trigger of an event of the story.

    Args:
        kind: any name, such as "quest_completed" or "act_progressed".
        related: ids of related objects, each a string or a list of strings. "quest_id", "encounter_id", "location_id"
            and "npc_ids" become fields of the memory; any other becomes a tag: "objective_id" becomes "objective:<id>".
    """
    fields = {"quest_id": "", "encounter_id": "", "location_id": ""}
    subjects: tuple[str, ...] = ()
    extra: list[str] = []
    for key, value in related.items():
        values = (value,) if isinstance(value, str) else tuple(value)
        if key in fields and values:
            fields[key] = values[0]
        elif key == "npc_ids":
            subjects = values
        else:
            extra += [f"{_ID.sub('', key)}:{value}" for value in values]
    return ScopeTrigger(
        scope=WORLD,
        minute=minute,
        location=fields["location_id"],
        events=(kind,),
        tags=tuple(dict.fromkeys((f"world:{kind}", *tags, *extra))),
        subjects=subjects,
        quest_id=fields["quest_id"],
        encounter_id=fields["encounter_id"],
    )


def recounts(
    triggers: Iterable[ScopeTrigger],
    streams: Mapping[str, Stream],
    profiles: Mapping[str, Profile],
    busy: Callable[[str, str], bool],
) -> tuple[list[Request], list[ScopeTrigger]]:
    """Return the requests of triggers at the end of a tick, and the triggers that wait.

    A trigger without messages since the cursor, or whose scope has left, is dropped.

    Args:
        triggers: waiting triggers, then those of this tick.
        busy: returns whether a job of (kind, owner) is open or deferred.
    """
    world = streams.get(WORLD)
    if world is None:
        return [], []
    requests: list[Request] = []
    waiting: list[ScopeTrigger] = []
    taken: set[str] = set()
    for trigger in _gathered(triggers, world.head.last_number):
        scope = trigger.scope
        if scope not in streams:
            continue
        if scope in taken or busy(Recount.name, scope):
            waiting.append(trigger)
            continue
        head = streams[scope].head
        at = "" if scope == WORLD else trigger.location
        cursor = cursor_of(scope, at)
        start, progress = head.cursors.get(cursor, 0), progress_name(cursor)
        part, upto = (head.counters.get(name, 0) for name in (part_counter(progress), upto_counter(progress)))
        done = (start, part, upto)
        if trigger.asked == done:
            continue  # its recount made no progress
        messages = messages_since(world, covered(head, cursor), trigger.upto, at)
        if scope not in (WORLD, location_owner(trigger.location)):
            messages = around_mentions(messages, scope, profiles[scope].name)
        if messages:
            taken.add(scope)
            numbers = tuple(e.number for e in messages)
            begun = begun_params(streams[scope], progress, numbers)
            earlier = tuple(entry.number for entry in latest(streams[scope].live("summary")))
            requests.append(recount_request(scope, _span(trigger, start), numbers, begun, earlier))
            waiting.append(msgspec.structs.replace(trigger, asked=done))
    return requests, waiting


def _span(trigger: ScopeTrigger, start: int) -> Span:
    return Span(
        start=start,
        end=trigger.upto,
        minute=trigger.minute,
        events=trigger.events,
        tags=trigger.tags,
        location=trigger.location,
        subjects=trigger.subjects,
        quest_id=trigger.quest_id,
        encounter_id=trigger.encounter_id,
    )


def _gathered(triggers: Iterable[ScopeTrigger], newest: int) -> list[ScopeTrigger]:
    """Return the triggers in order, with those of one scope and location joined into one."""
    groups: dict[tuple[str, str], list[ScopeTrigger]] = {}
    for trigger in triggers:
        trigger = trigger if trigger.upto else msgspec.structs.replace(trigger, upto=newest)
        key = (trigger.scope, "" if trigger.scope == WORLD else trigger.location)
        groups.setdefault(key, []).append(trigger)
    return [_joined(group) for group in groups.values()]


def _joined(triggers: Sequence[ScopeTrigger]) -> ScopeTrigger:
    """Return the latest trigger with the events, tags and subjects of all."""

    def latest(values: Iterable[str]) -> str:
        return next((value for value in values if value), "")

    newest_first = triggers[::-1]
    return msgspec.structs.replace(
        triggers[-1],
        location=latest(t.location for t in newest_first),
        events=tuple(dict.fromkeys(event for t in triggers for event in t.events)),
        tags=tuple(dict.fromkeys(tag for t in triggers for tag in t.tags)),
        subjects=tuple(dict.fromkeys(subject for t in triggers for subject in t.subjects)),
        quest_id=latest(t.quest_id for t in newest_first),
        encounter_id=latest(t.encounter_id for t in newest_first),
    )
