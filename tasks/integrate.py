"""Integrates significant events into the owner's long-term summary (routing design, strategy 2).

The events are in the stream, in full, before this job is requested (`cogitate.memory.routing.routing`), so a failure
here leaves the design's simple update. The head of the stream records which events wait: the counter "integrate.asked"
(the tick of the latest event to integrate, set with the event), the counter "integrate.done" (the tick up to which all
events are integrated), and the cursor "integrate" (the number of the last integrated event). So the kind searches a
stream only if an event waits, integrates no event twice, and leaves events that arrive meanwhile to the next job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from pydantic import BaseModel

from cogitate.memory.clock import day_and_time
from cogitate.memory.effects import AdvanceCursor, Effect, ReplaceSummary, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.language.text import normal
from cogitate.memory.language.times import anchor_days
from cogitate.memory.routing.context import Context, context_window
from cogitate.memory.routing.history import is_shared
from cogitate.memory.routing.routing import INTEGRATE
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import SummarySize, estimate_tokens, fold_or_cut
from cogitate.memory.summaries.statements import told_apart
from cogitate.prompts.answers import IntegratedAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.kind import Case, Kind, Moment, NoParams, Prompt, WorldFacts
from cogitate.tasks.recall import LITTLE, access_marks, persona, stage_of, template_time
from cogitate.tasks.shown import (
    Piece,
    begun_in,
    begun_params,
    everything,
    oldest_first,
    progress,
    showing,
    whole_numbers,
    within,
)

ASKED, DONE = "integrate.asked", "integrate.done"  # counters: ticks
CURSOR = "integrate"
MEMORIES = 30  # of the owner's latest entries that a prompt shows
HISTORY = 20  # of the latest statements of the group
WINDOW = 12_000  # characters of summary, memories and history that a prompt shows (routing design, tier 1)
ROOM = 6_000  # characters of events that one job takes; further ones wait for the next
TOKENS = 250  # of the summary
SIZE = SummarySize(TOKENS)
NEW_TOKENS = 160  # of these, the most for new events


def asks_for_integration(owner: str, tick: int) -> SetCounter:
    """Return the effect that accompanies an event appended at `tick`, to request its integration."""
    return SetCounter(owner=owner, name=ASKED, value=tick)


class Integrate(Kind):
    """Due when an event waits for integration; one job integrates all that wait."""

    name = "integrate"
    params = NoParams
    order = 25
    latency = "10m"
    latency_least, latency_most = 2, 120  # game minutes: later events wait for it
    prompt_cap = 5_000
    output_cap = SIZE.output_cap
    packs = True
    batches = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return a request for the oldest events that wait."""
        head = moment.stream.head
        asked = head.counters.get(ASKED, -1)
        if asked <= head.counters.get(DONE, -1):
            return ()
        start = head.cursors.get(CURSOR, 0)
        newer = list(takewhile(lambda e: e.number > start, reversed(moment.stream.entries.values())))[::-1]
        waiting = [e for e in newer if INTEGRATE in e.tags]
        if not waiting:
            return ()
        taken = _fitting(waiting)
        rest = waiting[len(taken) :]
        groups = sorted({e.source_id for e in taken if is_shared(e.source_id) and e.source_id != moment.owner})
        later = any(INTEGRATE in e.tags for e in head.waiting)  # for a free cell, and not in the stream yet
        done = rest[0].tick - 1 if rest else asked - 1 if later else moment.tick
        params = {"start": start, "end": taken[-1].number if rest else head.last_number, "done": done}
        params |= begun_params(moment.stream, self.name, (taken[0].number,))
        reads = tuple(Reads(group, 0) for group in groups)
        return (Request(kind=self.name, owner=moment.owner, priority=3, params=params, reads=reads),)

    def wake(self, moment: Moment) -> int | None:
        """Return None: every event changes the stream."""
        return None

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an observed entry is an event to integrate."""
        return INTEGRATE in entry.tags

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the events, the long-term summary, and the newest older memories that fit.

        If hardly any memories fit, the newest events wait for the next job.
        """
        window = self._window(case, memory_share)
        material = [(entry, anchor_days(entry.text, entry.minute)) for entry in self._events(case)]
        pieces = oldest_first(material, min(1.0, memory_share / LITTLE), begun_in(case.job))
        rendered = self._templates.render(
            self.name,
            {
                **persona(case),
                "stage": stage_of(case.entries, case.job.minute),
                **template_time(case.job.minute, case.job.key.tick),
                "summary": window.summary,
                "history": [_in_full(e) for e in window.history],
                "memories": [_in_full(e) for e in window.memories],
                "events": [{"when": day_and_time(e.minute, e.tick), "text": text} for e, text, _ in pieces],
                "words": SIZE.words,
            },
        )
        return showing(
            rendered,
            IntegratedAnswer,
            pieces,
            lambda shown: self._integrated(case, shown, window.memories),
            besides=window.memories,
        )

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the new long-term summary, which replaces the one in the prompt.

        Raises:
            TooLong: if it exceeds the size of a stored summary.
            ValueError: if no event is left to integrate.
        """
        assert isinstance(answer, IntegratedAnswer)
        if not any(entry.number in used for entry in self._events(case)):
            raise ValueError("none of the events to integrate can be read any more")
        return (self._replaced(case, within(SIZE, answer, answer.summary)),)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the old summary followed by the events, in full if they fit."""
        events = self._events(case)
        text, cut = merged(case.job.summary, events, case.world.display_names) if events else ("", 0)
        replaced = (self._replaced(case, text, cut),) if text else ()
        return *replaced, *self._passed(case, everything(events))

    def _events(self, case: Case) -> list[Entry]:
        start, end = case.job.param("start", 0), case.job.param("end", 0)
        return [e for e in case.entries if start < e.number <= end and INTEGRATE in e.tags]

    def _window(self, case: Case, share: float) -> Context:
        events = {e.number: normal(e.text) for e in self._events(case)}
        memories = [e for e in case.entries if e.number not in events][-MEMORIES:]
        shared = [e for owner, found in sorted(case.memories.items()) if is_shared(owner) for e in found[-HISTORY:]]
        shared = [e for e in shared if normal(e.text) not in events.values()]
        shared = [] if is_shared(case.job.key.owner) else shared
        return context_window(summary=case.job.summary, memories=memories, history=shared, limit=WINDOW, share=share)

    def _replaced(self, case: Case, text: str, cut: int = 0) -> ReplaceSummary:
        return ReplaceSummary(owner=case.job.key.owner, text=text, version=case.job.summary_version, cut=cut)

    def _integrated(self, case: Case, shown: Sequence[Piece], besides: Sequence[Entry]) -> tuple[Effect, ...]:
        """Return the effects of `_passed`, and the access marks of the entries that the prompt showed."""
        numbers = [entry.number for entry in (*(piece.entry for piece in shown), *besides)]
        return *self._passed(case, shown), *access_marks(case, numbers)

    def _passed(self, case: Case, shown: Sequence[Piece]) -> tuple[Effect, ...]:
        """Return the effects that mark the shown events as integrated."""
        if "end" not in case.job.params:
            return ()
        owner, start, whole = case.job.key.owner, case.job.param("start", 0), whole_numbers(shown)
        rest = [entry for entry in self._events(case) if entry.number not in whole]
        if rest and not whole:
            return progress(self.name, owner, shown)
        end = whole[-1] if rest else case.job.param("end", 0)
        done = min(case.job.param("done", 0), rest[0].tick - 1) if rest else case.job.param("done", 0)
        return (
            AdvanceCursor(owner=owner, name=CURSOR, start=start, end=end),
            SetCounter(owner=owner, name=DONE, value=done),
        )


def _in_full(entry: Entry) -> dict[str, str]:
    """Return an entry's template variables, with its full text and days as numbers."""
    return {"when": day_and_time(entry.minute, entry.tick), "text": anchor_days(entry.text, entry.minute)}


def merged(summary: str, events: Sequence[Entry], names: Mapping[str, str]) -> tuple[str, int]:
    """Merge new events into a long-term summary without a model: keep them in full if they fit, condense the summary.

    Returns:
        The text, and the number of tokens cut where condensing did not suffice.
    """
    new, old, cut_new, cut_old = " ".join(map(told_apart, events)), summary, 0, 0
    if estimate_tokens(new) > NEW_TOKENS:
        new, cut_new = fold_or_cut("", events, names, NEW_TOKENS)
    room = TOKENS - estimate_tokens(new)
    if estimate_tokens(summary) > room:
        old, cut_old = fold_or_cut(summary, (), names, room)
    return f"{old} {new}".strip(), cut_new + cut_old


def _fitting(events: Sequence[Entry]) -> list[Entry]:
    """Return the first events that fit into one job, at least one."""
    taken: list[Entry] = []
    length = 0
    for entry in events:
        length += len(entry.text)
        if taken and length > ROOM:
            break
        taken.append(entry)
    return taken
