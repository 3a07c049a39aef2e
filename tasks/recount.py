"""Recounting: what was said at a location, with an NPC or in the world becomes one of its memories (scopes design).

The request names the messages of the world's stream that the scope has not told yet, and where its cursor stands; the
effects append one summary and move the cursor, or do neither. So a scope never tells a message twice, and what a failed
recount did not tell is told with the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from memory.clock import clock_time, day_and_time, day_number
from memory.effects import AdvanceCursor, Append, Effect
from memory.entry import Entry
from memory.routing.scopes import CURSOR, WORLD
from memory.summaries.conversations import parse_line, resolve_name, summarise_entries
from prompts.answers import SummaryAnswer
from prompts.render import Templates
from tasks.job import Reads, Request
from tasks.kind import Case, Moment, NoParams, OnDenied, Prompt
from tasks.recall import brief, display_names, replaced_entry

IMPORTANCE = 5  # what no limit drops without a summary
TEMPLATES = {"location": "recount_location", "npc": "recount_npc"}  # by scope; any other: recount_world


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one recount is about; it travels as the request's parameters."""

    start: int  # where the scope's cursor stands
    end: int  # where it stands afterwards: a number of the world's stream
    minute: int  # game time of the visit's end, or of the story event
    events: tuple[str, ...] = ()  # kinds of the story events
    tags: tuple[str, ...] = ()
    location: str = ""
    subjects: tuple[str, ...] = ()
    quest_id: str = ""
    encounter_id: str = ""


class _Told(NamedTuple):
    """A job's parameters and messages."""

    span: Span
    messages: Sequence[Entry]


def recount_request(scope: str, span: Span, numbers: tuple[int, ...]) -> Request:
    """Return the request that has a scope recount these messages of the world's stream."""
    own = numbers if scope == WORLD else ()
    reads = () if scope == WORLD else (Reads(WORLD, span.end, numbers),)
    params: dict[str, Any] = msgspec.to_builtins(span)
    return Request(kind=Recount.name, owner=scope, priority=2, params=params, numbers=own, reads=reads)


class Recount:
    """Due when a host says so: on leaving a location, and on a story event."""

    name = "recount"
    params = NoParams
    order = 35
    latency = 10
    latency_least, latency_most = 2, 120  # game minutes: the scene is still spoken of
    on_denied: OnDenied = "defer"
    prompt_cap = 3_500
    output_cap = 400

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Nothing: it has no cadence of its own."""
        return ()

    def wake(self, moment: Moment) -> int | None:
        """Never."""
        return None

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return the messages in order; where not all fit, the newest of them."""
        span, messages = _told(case)
        shown = messages[len(messages) - int(len(messages) * memory_share) :]
        names = display_names(case.world)
        told = [(entry, parse_line(entry, names)) for entry in shown]
        template = TEMPLATES.get(case.job.key.owner.partition(":")[0], "recount_world")
        place = span.location or (messages[0].location if messages else "")
        values: dict[str, Any] = {
            "name": case.profile.name,
            "place": resolve_name(place, names) if place else "",
            "day": day_number(span.minute),
            "time": clock_time(span.minute),
            "lines": [
                {"when": day_and_time(e.minute), "speaker": said.speaker, "text": brief(said.text)} for e, said in told
            ],
        }
        if template == "recount_world":
            values |= {"events": [event.replace("_", " ") for event in span.events], "related": span.tags}
        rendered = self._templates.render(template, values)
        return Prompt.of(rendered, SummaryAnswer)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return one memory of the scope and the advance of its cursor.

        Raises:
            ValueError: when there is nothing to tell.
        """
        assert isinstance(answer, SummaryAnswer)
        if not _told(case).messages:
            raise ValueError("none of the messages to be told can be read any more")
        return self._recorded(case, answer.summary)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the most informative sentences; nothing after a failed model, unless configured otherwise."""
        messages = _told(case).messages
        failed = bool(case.job.model)
        if not messages or (failed and case.world.limits.recount_on_failure == "unchanged"):
            return ()
        return self._recorded(case, summarise_entries(messages, display_names(case.world)))

    def _recorded(self, case: Case, text: str) -> tuple[Effect, ...]:
        span, messages = _told(case)
        owner, repairs = case.job.key.owner, replaced_entry(case.job)
        entry = Entry(
            type="summary",
            text=text,
            minute=span.minute,
            location=span.location,
            subjects=span.subjects,
            importance=IMPORTANCE,
            source="internal",
            tags=span.tags,
            quest_id=span.quest_id,
            encounter_id=span.encounter_id,
            since_minute=messages[0].minute,
            since_number=messages[-1].number,
        )
        append = Append(owner=owner, entry=entry, replaces=repairs)
        if repairs:  # it tells again what the cursor has passed already
            return (append,)
        return append, AdvanceCursor(owner=owner, name=CURSOR, start=span.start, end=span.end)


def _told(case: Case) -> _Told:
    """Return the subject of the job; a request without parameters has no messages."""
    messages = case.memories.get(WORLD, ())
    given = {key: value for key, value in case.job.params.items() if key in Span.__struct_fields__}
    try:
        return _Told(msgspec.convert(given, Span), messages)
    except msgspec.ValidationError:
        return _Told(Span(start=0, end=0, minute=case.job.minute), ())
