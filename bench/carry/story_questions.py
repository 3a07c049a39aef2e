"""Questions about the memories of the story's people: votes, statements, decisions, promises, quests and letters.

Each person perceives the story by the rules of a run. The answers come from the data that generates the story's days.
The questions were worded once, before any figure was known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from bench.carry.questions import Asked, Question
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import Event, Routing, route
from cogitate.simulation.story.council import Session
from cogitate.simulation.story.days import day_of_story
from cogitate.simulation.story.people import COUNCILLORS, name
from cogitate.simulation.story.story import Story
from cogitate.simulation.story.tavern import Promise
from cogitate.simulation.world import Heard


def memories(days: int, seed: int) -> list[Asked]:
    """Return the memories of the story's people after some days, each with questions; omit memories without any."""
    story = Story(seed)
    entries: dict[str, list[Entry]] = {owner: [] for owner in story.owners()}
    kinds: dict[str, list[Event | None]] = {owner: [] for owner in entries}
    names = {owner: profile.name for owner, profile in story.owners().items()}
    routing = Routing().with_types(story.event_types)

    def remember(owner: str, told: Entry | Event, minute: int) -> None:
        if owner not in entries:
            return
        event = told if isinstance(told, Event) else None
        entry = _routed(event, minute, names, routing) if event is not None else told
        assert isinstance(entry, Entry)
        entries[owner].append(msgspec.structs.replace(entry, number=len(entries[owner]) + 1))
        kinds[owner].append(event)

    for minute in range(days * DAY):
        for report in story.step(minute, minute):
            match report:
                case Heard(event, also):
                    for owner in dict.fromkeys((event.speaker, event.group, *event.subjects, *also)):
                        remember(owner, event, minute)
                case (str() as owner, (Entry() | Event()) as told):
                    remember(owner, told, minute)
                case _:
                    pass
    sessions = [day_of_story(seed, day).session for day in range(days)]
    promises = [day_of_story(seed, day).evening.promise for day in range(days)]
    tasks = {quest.task: quest.giver for day in range(days) for quest in (day_of_story(seed, day).journey.quest,)}
    asked = (
        Asked(f"story {seed}, {o}", known, tuple(_questions(known, kinds[o], sessions, promises, tasks)))
        for o, known in entries.items()
    )
    return [one for one in asked if one.questions]


def _routed(event: Event, minute: int, names: Mapping[str, str], routing: Routing) -> Entry:
    named = event.model_copy(update={"name": names.get(event.speaker, event.name)})
    return route(named, minute=minute, routing=routing).entry


def _questions(
    entries: Sequence[Entry],
    events: Sequence[Event | None],
    sessions: Sequence[Session],
    promises: Sequence[Promise],
    tasks: Mapping[str, str],
) -> Iterator[Question]:
    found: dict[tuple[str, str], set[int]] = {}

    def add(kind: str, text: str, number: int) -> None:
        found.setdefault((kind, text), set()).add(number)

    topics = {session.matter.topic for session in sessions}
    for entry, event in zip(entries, events, strict=True):
        if event is not None and event.topic in topics:
            who = name(event.speaker) if event.speaker else ""
            if event.kind == "voting_confirmed":
                add("votes", f"Which side did {who} take on {event.topic}?", entry.number)
            if event.kind == "discussion_statement" and event.speaker in COUNCILLORS:
                add("arguments", f"What did {who} say about {event.topic}?", entry.number)
                add("all arguments", f"Who had something to say about {event.topic}?", entry.number)
            if event.kind == "ballot_completed":
                add("decision", f"What did the council decide on {event.topic}?", entry.number)
            if event.kind == "final_results":
                add("earnings", f"How much did I gain or lose by {event.topic}?", entry.number)
        if event is not None and event.kind == "letter_read":
            add("letter", f"What did {event.topic} write to us?", entry.number)
        if entry.text in tasks:
            add("task", f"What work does {name(tasks[entry.text])} have for the travellers?", entry.number)
        for promise in promises:
            if {promise.giver, promise.taker} <= set(entry.subjects) and event is None:
                one, other = name(promise.giver), name(promise.taker)
                if _is_promise(entry, one, other) or _is_outcome(entry, promise):
                    add("promise", f"What did {one} promise {other}, and did it come true?", entry.number)
    for (kind, text), numbers in found.items():
        yield Question(text, kind, frozenset(numbers))


def _is_promise(entry: Entry, giver: str, taker: str) -> bool:
    return entry.text.startswith(f"{giver}: {taker.split()[0]}, I promise to ")


def _is_outcome(entry: Entry, promise: Promise) -> bool:
    told = entry.text.startswith(name(promise.giver)) and entry.subjects == (promise.giver, promise.taker)
    return entry.type == "observation" and told
