"""A host in miniature for the tests of compaction policies: ticks, arrivals, a summarise job at a time for each owner.

What the tick loop does with a ledger is done here with plain streams: due jobs are applied, observations are taken in,
the limits are made to hold, new jobs are opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Effect, losses
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import receive
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.job import Job, JobKey, Reads, Request
from cogitate.tasks.kind import Case, Moment, WorldFacts
from cogitate.tasks.shown import effects_of
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import PROFILE, WORLD

KIND = Summarise(Templates())
OGILVY, HENDERSON, BORIN = "agent:ogilvy", "agent:henderson", "agent:borin"

Model = Callable[[Case], str | None]  # the summary that it writes; None: it fails


class Host:
    """Streams of some owners under one set of limits, and a model (None: no model is asked)."""

    def __init__(
        self, limits: MemoryLimits, model: Model | None = None, *, owners: Sequence[str] = (OGILVY,), latency: int = 1
    ) -> None:
        self.limits, self.model, self.latency = limits, model, latency
        self.world = WorldFacts(names=WORLD.names, limits=limits)
        self.streams = {owner: Stream(owner) for owner in owners}
        self.open: dict[str, Case] = {}
        self.tick = 0
        self.asked: list[str] = []  # owners whose job asked the model
        self.ends: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()

    def live(self, arrivals: Mapping[str, Sequence[str | Entry]] | None = None) -> None:
        """One tick."""
        self.tick += 1
        for owner, case in sorted(self.open.items()):
            if case.job.due <= self.tick:
                del self.open[owner]
                self._end(case)
        for owner, texts in (arrivals or {}).items():
            for text in texts:
                receive(self.streams[owner], self.entry(text), self.limits, self.tick)
        for stream in self.streams.values():
            self.change(enforce_limits(stream, self.limits, self.tick, WORLD.names))
        for owner, stream in self.streams.items():
            if owner not in self.open:
                for request in KIND.due(self.moment(stream)):
                    self.open[owner] = self._case(request)

    def entry(self, text: str | Entry) -> Entry:
        """What is observed now."""
        return text if isinstance(text, Entry) else Entry(type="observation", text=text, minute=self.tick)

    def change(self, effects: Sequence[Effect]) -> None:
        """Apply effects; each precondition must hold."""
        assert unmet(self.streams, effects) is None
        apply(self.streams, effects, self.tick)
        self._count(effects)

    def moment(self, stream: Stream) -> Moment:
        return Moment(
            owner=stream.owner,
            stream=stream,
            profile=PROFILE,
            tick=self.tick,
            minute=self.tick,
            world=self.world,
            brief={},
        )

    def _case(self, request: Request) -> Case:
        stream = self.streams[request.owner]
        assert request.numbers is not None
        entries = [stream.entries[number] for number in request.numbers]
        job = Job(
            run="test",
            key=JobKey(self.tick, request.kind, request.owner, 0, 0),
            minute=self.tick,
            due=self.tick + self.latency,
            reads=(Reads(request.owner, stream.head.last_number, request.numbers),),
            params=request.params,
            model="model" if self.model else "",
            summary=stream.head.summary,
            summary_version=stream.head.summary_version,
            character=stream.head.character,
        )
        return Case(job=job, profile=PROFILE, world=self.world, memories={request.owner: entries})

    def _end(self, case: Case) -> None:
        effects = self._result(case)
        failed = unmet(self.streams, effects)
        self.ends["stale" if failed else "applied"] += 1
        if failed is None:
            apply(self.streams, effects, self.tick)
            self._count(effects)

    def _result(self, case: Case) -> tuple[Effect, ...]:
        if self.model is None:
            return KIND.heuristic(case)
        self.asked.append(case.job.key.owner)
        prompt = KIND.prompt(case)
        assert prompt.answer is SummaryAnswer
        text = self.model(case)
        if text is None:
            return KIND.heuristic(case)
        try:
            return effects_of(KIND, case, SummaryAnswer(summary=text), prompt, cut=True)
        except ValueError:
            return KIND.heuristic(case)

    def _count(self, effects: Sequence[Effect]) -> None:
        for loss in losses(effects):
            self.lost[loss.name] += loss.amount
