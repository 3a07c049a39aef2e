"""Summarises conversations (streams design, tasks 9 and 10), or any span that a host requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from cogitate.memory.clock import day_and_time
from cogitate.memory.effects import Append, Archive, Effect
from cogitate.memory.entry import OBSERVED_TYPES, Entry, is_dialogue, rating, resolve_name
from cogitate.memory.language.times import anchor_days
from cogitate.memory.policies.compaction import deserves_summary, summary_entry
from cogitate.memory.routing.history import is_shared
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import conversations, shown_line, summarise_entries
from cogitate.memory.summaries.long_term import SummarySize
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks import long_term, timing
from cogitate.tasks.heuristics.thinking_language import language_params, quoting_language
from cogitate.tasks.job import Request, ticks_of
from cogitate.tasks.kind import Case, Kind, Moment, NoParams, Prompt, WorldFacts
from cogitate.tasks.recall import delay_of, language_of_texts, replaced_entry, template_time
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

SETTLED = 24 * 60  # game minutes after which a long or valuable conversation is summarised (streams design)
LATEST = 48 * 60  # game minutes by which every conversation must be summarised (streams design, success criterion 4)
MARGIN = 3 * 60  # game minutes kept free before that
EVERY = 10  # ticks between two checks of an owner's conversations
SIZE = SummarySize(250)  # of a conversation's summary


class Summarise(Kind):
    """Due for a long or valuable conversation when it is a day old, and for any other before it is two days old.

    `prune` normally compacts ordinary ones before that, without a model. A group's shared history stays verbatim
    (routing design).
    """

    name = "summarise"
    params = NoParams
    order = 30
    latency = "20m"
    latency_least, latency_most = 2, 480  # game minutes: the conversation has settled for a day, and has `LATEST`
    prompt_cap = 3_000
    output_cap = max(SIZE.output_cap, long_term.LARGEST.output_cap)
    packs = True
    batches = True
    gathers = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return the requests of the owner's policy.

        With the policy "stream" these come at the owner's turn, one for each due conversation that no open job reads.
        """
        if moment.world.limits.policy_of(moment.owner) != "stream":
            return long_term.due(moment, self.name)
        oldest = _oldest_line(moment) if timing.is_turn(moment, EVERY, moment.turn_of(self.name)) else None
        if oldest is None or moment.minute - oldest < min(SETTLED, self._latest(moment)):
            return ()
        busy = timing.open_numbers(moment)
        free = [e for e in moment.stream.live() if e.number not in busy]
        return [
            Request(
                kind=self.name,
                owner=moment.owner,
                priority=2,
                numbers=talk.numbers,
                params=begun_params(moment.stream, self.name, talk.numbers) | language_params(moment),
            )
            for talk in conversations(moment.owner, free)
            if (age := moment.minute - talk.oldest) >= self._latest(moment)
            or (age > SETTLED and deserves_summary(len(talk.entries), talk.importance, moment.world.limits))
        ]

    def wake(self, moment: Moment) -> int | None:
        """Return the owner's next turn at which a line of its conversations is old enough.

        Cells and token windows need none: they change only with the stream.
        """
        if moment.world.limits.policy_of(moment.owner) != "stream":
            return None
        oldest = _oldest_line(moment)
        if oldest is None:
            return None
        of_age = oldest + min(SETTLED, self._latest(moment))
        return timing.next_turn(moment, EVERY, timing.tick_at(moment, of_age))

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether an observed entry is a line of a conversation, or counts in a cell or a token window."""
        return is_dialogue(entry) or world.limits.policy_of(stream.owner) != "stream"

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the lines of the conversation; if not all fit, the newest wait for the next job.

        A repair shows all lines, since it replaces the summary of all of them.
        """
        if long_term.policy_of(case.job.params):
            return long_term.prompt(case, self._templates, memory_share)
        group, names = self._group(case), case.world.display_names
        lines = {entry.number: shown_line(entry, names) for entry in group}
        pieces = oldest_first(
            [(entry, anchor_days(lines[entry.number].text, entry.minute)) for entry in group],
            1.0 if replaced_entry(case.job) else memory_share,
            begun_in(case.job),
        )
        first = group[0] if group else Entry(type="message", text="", minute=case.job.minute)
        rendered = self._templates.render(
            self.name,
            {
                "name": case.profile.name,
                "participants": [resolve_name(s, names) for s in dict.fromkeys(s for e in group for s in e.subjects)],
                **template_time(first.minute, case.job.key.tick),
                "place": resolve_name(first.location, names),
                "lines": [
                    {"when": day_and_time(e.minute, e.tick), "speaker": lines[e.number].speaker, "text": text}
                    for e, text, _ in pieces
                ],
                "words": SIZE.words,
                "language": language_of_texts(case, group),
            },
        )
        return showing(rendered, SummaryAnswer, pieces, lambda shown: self._passed(case, shown))

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the summary of the entries that the prompt showed.

        Raises:
            TooLong: if it exceeds the size of a stored summary.
            ValueError: if nothing is left to summarise.
        """
        assert isinstance(answer, SummaryAnswer)
        if long_term.policy_of(case.job.params):
            return long_term.effects(case, answer, used)
        group = [entry for entry in self._group(case) if entry.number in set(used)]
        if not group:
            raise ValueError("none of the entries to summarise can be read any more")
        return (self._summary(case, group, within(SIZE, answer, answer.summary)),)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return a summary of the most informative sentences, in the third person; none if there are no entries."""
        if long_term.policy_of(case.job.params):
            return long_term.heuristic(case)
        group = self._group(case)
        if not group:
            return ()
        when, owner = case.job.minute + delay_of(case), case.job.key.owner
        language = quoting_language(case)
        text = summarise_entries(group, case.world.display_names, minute=when, owner=owner, language=language)
        return self._summary(case, group, text), *self._passed(case, everything(group))

    def _latest(self, moment: Moment) -> int:
        """Return the age at which a summary must be requested to be applied before `LATEST`."""
        clock = moment.world.clock
        latency = ticks_of(self.latency, tick_rate=None, clock=clock)
        ahead = clock.minutes(max(latency, moment.lead(self.name)) + EVERY + 2)
        return max(0, LATEST - max(MARGIN, ahead))

    def _group(self, case: Case) -> Sequence[Entry]:
        """Return the entries to summarise, in order of time: those named, or else the oldest conversation."""
        readable = [e for e in case.entries if e.type in OBSERVED_TYPES]
        if any(r.numbers is not None for r in case.job.reads if r.owner == case.job.key.owner):
            return sorted(readable, key=lambda e: (e.minute, e.number))
        talks = conversations(case.job.key.owner, readable)
        return talks[0].entries if talks else ()

    def _summary(self, case: Case, group: Sequence[Entry], text: str) -> Append:
        entry = summary_entry(group, text, max(map(rating, group)))
        return Append(owner=case.job.key.owner, entry=entry, replaces=replaced_entry(case.job))

    def _passed(self, case: Case, shown: Sequence[Piece]) -> tuple[Effect, ...]:
        """Return the effects that archive the shown entries; none for a repair, whose entries are archived already."""
        owner, numbers = case.job.key.owner, whole_numbers(shown)
        if replaced_entry(case.job):
            return ()
        archived = (Archive(owner=owner, numbers=numbers, into_appended=True),) if numbers else ()
        return *archived, *progress(self.name, owner, shown)


def _oldest_line(moment: Moment) -> int | None:
    """Return the game time of the oldest line that awaits a summary."""
    if is_shared(moment.owner):
        return None
    return moment.stream.oldest_line()
