"""Conversations become summaries (streams design, tasks 9 and 10); a host may ask for any span outright."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from memory.clock import clock_time, day_and_time, day_number
from memory.effects import Append, Archive, Effect
from memory.entry import OBSERVED_TYPES, Entry
from memory.policies.compaction import deserves_summary, rating, summary_entry
from memory.routing.history import is_shared
from memory.summaries.conversations import conversations, is_dialogue, parse_line, resolve_name, summarise_entries
from prompts.answers import SummaryAnswer
from prompts.render import Templates
from tasks import long_term, timing
from tasks.job import Request
from tasks.kind import Case, Moment, NoParams, OnDenied, Prompt
from tasks.recall import brief, display_names, replaced_entry, share_of

SETTLED = 24 * 60  # game minutes after which a long or valuable conversation is summarised (streams design)
LATEST = 48 * 60  # game minutes at which none may be left unsummarised (streams design, success criterion 4)
MARGIN = 3 * 60  # game minutes kept free before that
EVERY = 10  # ticks between two looks at an owner's conversations


class Summarise:
    """Due for conversations older than a day that are long or valuable, and for any before it is two days old.

    Ordinary ones are normally compacted by prune before that, without a model. What a group shares stays word for
    word (routing design) and is not summarised.
    """

    name = "summarise"
    params = NoParams
    order = 30
    latency = 20
    latency_least, latency_most = 2, 480  # game minutes: the conversation has settled for a day, and has `LATEST`
    on_denied: OnDenied = "heuristic"
    prompt_cap = 3_000
    output_cap = 400

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return the requests of the owner's policy; by policy "stream", at the owner's turn, one for each conversation
        that is due and that no open job reads."""
        if moment.world.limits.policy_of(moment.owner) != "stream":
            return long_term.due(moment, self.name)
        oldest = _oldest_line(moment) if timing.is_turn(moment, EVERY) else None
        if oldest is None or moment.minute - oldest < min(SETTLED, self._latest(moment)):
            return ()
        busy = timing.open_numbers(moment)
        free = [e for e in moment.stream.live() if e.number not in busy]
        return [
            Request(kind=self.name, owner=moment.owner, priority=2, numbers=talk.numbers)
            for talk in conversations(moment.owner, free)
            if (age := moment.minute - talk.oldest) >= self._latest(moment)
            or (age > SETTLED and deserves_summary(len(talk.entries), talk.importance, moment.world.limits))
        ]

    def wake(self, moment: Moment) -> int | None:
        """Return the owner's next turn at which a line of its conversations is old enough.

        Cells and token windows change only when the stream does.
        """
        if moment.world.limits.policy_of(moment.owner) != "stream":
            return None
        oldest = _oldest_line(moment)
        if oldest is None:
            return None
        of_age = oldest + min(SETTLED, self._latest(moment))
        return timing.next_turn(moment, EVERY, timing.tick_at(moment, of_age))

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return the lines of the conversation; where not all fit, the least important are left out."""
        if long_term.policy_of(case.job.params):
            rendered, shown = long_term.render(case, self._templates, memory_share)
            return Prompt.of(rendered, SummaryAnswer, shown)
        group, names = self._group(case), display_names(case.world)
        kept = share_of(sorted(group, key=lambda e: (-rating(e), e.minute, e.number)), memory_share) if group else []
        told = [(e, parse_line(e, names)) for e in sorted(kept, key=lambda e: (e.minute, e.number))]
        first = group[0] if group else Entry(type="message", text="", minute=case.job.minute)
        rendered = self._templates.render(
            self.name,
            {
                "name": case.profile.name,
                "participants": [resolve_name(s, names) for s in dict.fromkeys(s for e in group for s in e.subjects)],
                "day": day_number(first.minute),
                "time": clock_time(first.minute),
                "place": resolve_name(first.location, names) if first.location else "",
                "lines": [
                    {"when": day_and_time(e.minute), "speaker": said.speaker, "text": brief(said.text)}
                    for e, said in told
                ],
            },
        )
        return Prompt.of(rendered, SummaryAnswer, kept)

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the summary, which replaces its sources; all are archived, in the prompt or not.

        Raises:
            ValueError: when there is nothing left to summarise.
        """
        assert isinstance(answer, SummaryAnswer)
        if long_term.policy_of(case.job.params):
            return long_term.effects(case, answer.summary)
        group = self._group(case)
        if not group:
            raise ValueError("none of the entries to be summarised can be read any more")
        return self._replaced(case, group, answer.summary)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the sentences that say most, in the third person; nothing when there is nothing to summarise."""
        if long_term.policy_of(case.job.params):
            return long_term.heuristic(case)
        group = self._group(case)
        return self._replaced(case, group, summarise_entries(group, display_names(case.world))) if group else ()

    def _latest(self, moment: Moment) -> int:
        """Return the age at which a summary must be asked for, so that it is applied before `LATEST`."""
        ahead = (max(self.latency, moment.lead(self.name)) + EVERY + 2) * moment.world.minutes_per_tick
        return max(0, LATEST - max(MARGIN, ahead))

    def _group(self, case: Case) -> Sequence[Entry]:
        """Return the entries to summarise, in order of time: those named, or else the oldest conversation."""
        readable = [e for e in case.entries if e.type in OBSERVED_TYPES]
        if any(r.numbers is not None for r in case.job.reads if r.owner == case.job.key.owner):
            return sorted(readable, key=lambda e: (e.minute, e.number))
        talks = conversations(case.job.key.owner, readable)
        return talks[0].entries if talks else ()

    def _replaced(self, case: Case, group: Sequence[Entry], text: str) -> tuple[Effect, ...]:
        owner, repairs = case.job.key.owner, replaced_entry(case.job)
        entry = summary_entry(group, text, max(map(rating, group)))
        append = Append(owner=owner, entry=entry, replaces=repairs)
        # A repair writes again what stands for entries that were archived with the first attempt.
        return (append,) if repairs else (append, Archive(owner=owner, numbers=entry.evidence, into_appended=True))


def _oldest_line(moment: Moment) -> int | None:
    """Game time of the oldest line of a conversation that is to be summarised."""
    if is_shared(moment.owner):
        return None
    return min((e.minute for e in moment.stream.live() if is_dialogue(e)), default=None)
