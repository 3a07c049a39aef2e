"""Recounts what was said at a location, with an NPC or in the world, as a memory of that scope (scopes design).

The request names the messages of the world's stream that the scope has not recounted yet, and the scope's cursor. The
effects append one summary and move the cursor past the recounted messages, or do neither, so a scope never recounts a
message twice. The next job, which the same trigger requests (`cogitate.scheduler.engine.triggers`), takes the messages
that did not fit; those of a failed recount wait for the next trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.memory import typed_json
from cogitate.memory.clock import day_and_time
from cogitate.memory.effects import AdvanceCursor, Append, Effect
from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.times import anchor_days
from cogitate.memory.routing.scopes import WORLD, cursor_of, place_of
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import shown_line, summarise_entries
from cogitate.memory.summaries.long_term import SummarySize
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.heuristics.thinking_language import quoting_language
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.kind import Case, Kind, Moment, NoParams, Prompt, WorldFacts
from cogitate.tasks.recall import delay_of, language_of_texts, replaced_entry, template_entry, template_time
from cogitate.tasks.shown import Piece, begun_in, everything, oldest_first, progress, showing, whole_numbers, within

IMPORTANCE = 5  # no limit drops such an entry without a summary
SIZE = SummarySize(250)
TEMPLATES = {"location": "recount_location", "npc": "recount_npc"}  # by scope; any other: recount_world


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The subject of one recount; it travels as the request's parameters."""

    start: int  # the scope's cursor for the place
    end: int  # its next value: a number in the world's stream
    minute: int  # game time of the visit's end, or of the story event
    events: tuple[str, ...] = ()  # kinds of the story events
    tags: tuple[str, ...] = ()
    location: str = ""
    subjects: tuple[str, ...] = ()
    quest_id: str = ""
    encounter_id: str = ""


class _Material(NamedTuple):
    """A job's parameters and the messages to recount."""

    span: Span
    messages: Sequence[Entry]


def progress_name(cursor: str) -> str:
    """Return the counter of a scope's progress in a message that is longer than a prompt."""
    place = place_of(cursor)
    return f"{Recount.name}:{place}" if place else Recount.name


def recount_request(
    scope: str,
    span: Span,
    numbers: tuple[int, ...],
    begun: Mapping[str, Any] | None = None,
    earlier: tuple[int, ...] = (),
) -> Request:
    """Return the request for a scope to recount these messages of the world's stream.

    Args:
        begun: the parameter with the progress in the first message.
        earlier: numbers of the scope's memories that the prompt shows, so that the model does not repeat them.
    """
    own = (*earlier, *numbers) if scope == WORLD else earlier
    reads = () if scope == WORLD else (Reads(WORLD, span.end, numbers),)
    params: dict[str, Any] = {**msgspec.to_builtins(span), **(begun or {})}
    return Request(kind=Recount.name, owner=scope, priority=2, params=params, numbers=own, reads=reads)


class Recount(Kind):
    """Due when a host reports that players left a location, or a story event."""

    name = "recount"
    params = NoParams
    order = 35
    latency = "10m"
    latency_least, latency_most = 2, 120  # game minutes: the scene is still topical
    on_denied = "defer"
    prompt_cap = 3_500
    output_cap = SIZE.output_cap
    packs = True
    batches = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return no request: only a host's report makes it due."""
        return ()

    def wake(self, moment: Moment) -> int | None:
        """Return None: only a host's report makes it due."""
        return None

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return False: only a host's report makes it due."""
        return False

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the messages in order; if not all fit, the newest wait for the next job."""
        span, messages = _material(case)
        names = case.world.display_names
        lines = {entry.number: shown_line(entry, names) for entry in messages}
        pieces = oldest_first(
            [(e, anchor_days(lines[e.number].text, e.minute)) for e in messages], memory_share, begun_in(case.job)
        )
        template = TEMPLATES.get(case.job.key.owner.partition(":")[0], "recount_world")
        place = span.location or (messages[0].location if messages else "")
        values: dict[str, Any] = {
            "name": case.profile.name,
            "place": resolve_name(place, names),
            **template_time(span.minute, case.job.key.tick),
            "lines": [
                {"when": day_and_time(e.minute, e.tick), "speaker": lines[e.number].speaker, "text": text}
                for e, text, _ in pieces
            ],
            "words": SIZE.words,
            "earlier": [template_entry(entry, span.minute) for entry in _earlier(case)],
            "language": language_of_texts(case, messages),
        }
        if template == "recount_world":
            related = [tag for tag in span.tags if tag.partition(":")[2] not in span.events]
            values |= {"events": [event.replace("_", " ") for event in span.events], "related": related}
        rendered = self._templates.render(template, values)
        return showing(rendered, SummaryAnswer, pieces, lambda shown: _passed(case, shown))

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return one memory of the scope, which covers the messages that the prompt showed.

        Raises:
            TooLong: if it exceeds the size of a stored summary.
            ValueError: if no message is left to recount.
        """
        assert isinstance(answer, SummaryAnswer)
        messages = [entry for entry in _material(case).messages if entry.number in set(used)]
        if not messages:
            raise ValueError("none of the messages to recount can be read any more")
        return (self._recorded(case, messages, within(SIZE, answer, answer.summary)),)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return a memory of the most informative sentences; none after a model failed, unless configured otherwise."""
        messages = _material(case).messages
        failed = bool(case.job.model)
        if not messages or (failed and case.world.limits.recount_on_failure == "unchanged"):
            return ()
        when = case.job.minute + delay_of(case)
        owner, names = case.job.key.owner, case.world.display_names
        text = summarise_entries(messages, names, minute=when, owner=owner, language=quoting_language(case))
        return self._recorded(case, messages, text), *_passed(case, everything(messages))

    def _recorded(self, case: Case, messages: Sequence[Entry], text: str) -> Append:
        span = _material(case).span
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
        return Append(owner=case.job.key.owner, entry=entry, replaces=replaced_entry(case.job))


def _passed(case: Case, shown: Sequence[Piece]) -> tuple[Effect, ...]:
    """Return the effects that move the cursor past the shown messages; none for a repair, whose cursor has moved."""
    span, messages = _material(case)
    owner, numbers = case.job.key.owner, whole_numbers(shown)
    if replaced_entry(case.job):
        return ()
    end = span.end if len(numbers) == len(messages) else max(numbers, default=span.start)
    cursor = cursor_of(owner, span.location)
    moved = (AdvanceCursor(owner=owner, name=cursor, start=span.start, end=end),) if end > span.start else ()
    return *moved, *progress(progress_name(cursor), owner, shown)


def _earlier(case: Case) -> list[Entry]:
    """Return the scope's memories that the job may read, except the one that it repairs."""
    return [entry for entry in case.entries if entry.type == "summary" and entry.number != replaced_entry(case.job)]


def _material(case: Case) -> _Material:
    """Return the parameters and messages of the job; a request without parameters has no messages to recount."""
    messages = [entry for entry in case.memories.get(WORLD, ()) if entry.type != "summary"]
    given = {key: value for key, value in case.job.params.items() if key in Span.__struct_fields__}
    try:
        return _Material(typed_json.convert(given, Span), messages)
    except msgspec.ValidationError:
        return _Material(Span(start=0, end=0, minute=case.job.minute), ())
