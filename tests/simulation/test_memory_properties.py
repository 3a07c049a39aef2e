"""Any interleaving of writes, archives, compactions, answers and failures, over days, in the state of a whole run.

Owners of every policy live side by side. What a model answers, whether it fails, is late or was never asked, and what
the world writes and archives meanwhile is drawn by hypothesis. It must keep every owner's limits, lose nothing
important that no summary tells, never summarise anything twice, and come back the same from the journal and from JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cogitate.memory.effects import Archive, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.policies import cells
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.policies.window import total_tokens
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump, load
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.conversations import conversations
from cogitate.prompts.answers import Activity, DailyPlan, ReflectionAnswer, SummaryAnswer
from cogitate.scheduler.budget.rules import rules_of, view_of
from cogitate.scheduler.config.facts import SCHEMA, facts_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.engine import RunEngine
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.lines import EndNote, TickNotes, read_line, write_line
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.ledger.claims import Result
from cogitate.scheduler.ledger.step_replies import BoundaryInput, DueJob
from cogitate.tasks.registry import kind_of, kinds
from cogitate.tasks.shown import effects_of
from tests.simulation.lived import UNSUMMARISED, lost

ANN, BO, CELLS, WINDOW = "agent:ann", "agent:bo", "npc:cells", "npc:window"
OWNERS = (ANN, BO, CELLS, WINDOW)
SETTINGS = Settings.tuned(
    seconds_per_tick=3600,
    latency={"plan": 1, "reflect": 2, "summarise": 3, "prune": 1, "act": 1},
    llm="openai",
    limits={"tick.run.calls": 3},
    limit_tokens=10_000_000,
    max_observations=14,
    max_reflections=2,
    max_plans=2,
    policies={CELLS: "cells", WINDOW: "tokens"},
    cells=3,
    token_limit=120,
    retention_days=0,
)
ANSWERS: dict[str, Any] = {
    "plan": DailyPlan(
        activities=[Activity(time=f"{h}:00", description=f"Deed {h}", location="", priority=3) for h in range(8, 14)]
    ),
    "reflect": ReflectionAnswer(insight="The bridge will not hold.", significance=8, relationship_changes=[]),
    "summarise": SummaryAnswer(summary="They spoke of the bridge."),
}
TEXTS = ("Saw a heron.", "Maria promised 12 planks.", "The bridge is down!", "Мост закрыт.", "Read " + "on and " * 20)

Fate = Literal["answers", "fails", "is late", "dies"]


class Written(NamedTuple):
    """An observation that one owner takes in."""

    owner: str
    text: str
    importance: int  # 0: not rated
    talk: bool


class Turn(NamedTuple):
    """The events of one tick."""

    written: Sequence[Written]
    fates: Sequence[Fate]  # of the jobs that are due, in turn
    archived: int | None  # the host archives one of Ann's memories by itself


written = st.builds(Written, st.sampled_from(OWNERS), st.sampled_from(TEXTS), st.integers(0, 10), st.booleans())
fate: st.SearchStrategy[Fate] = st.sampled_from(["answers", "fails", "is late", "dies"])
turns = st.lists(
    st.builds(
        Turn, st.lists(written, max_size=6), st.lists(fate, min_size=1, max_size=3), st.none() | st.integers(0, 9)
    ),
    min_size=60,
    max_size=80,
)


class Run:
    """The state of a run, what was done to it by hand, and a second one that is made of its journal."""

    def __init__(self) -> None:
        self.state = RunState(
            run="any",
            rules=rules_of(SETTINGS, kinds(), lambda owner: {"free": True}),
            facts=facts_of(SETTINGS, (), 0),
            view=view_of(SETTINGS),
        )
        self.engine = RunEngine(self.state)
        self.tick = 0
        self.digest = self.chain = ""
        self.redone: dict[str, Stream] = {}
        self.by_hand: set[int] = set()
        self.told: dict[tuple[str, int], int] = {}  # which summary stands for an entry
        self.world = WorldTurn()
        self.world.joins.update({owner: Profile(name=owner.partition(":")[2].title()) for owner in OWNERS})
        self.live(Turn((), ("answers",), None))

    def live(self, turn: Turn) -> None:
        """One tick."""
        self.tick += 1
        due = [item for item in self.state.open.values() if item.job.due <= self.tick]
        fates = (turn.fates[i % len(turn.fates)] for i in range(len(due)))
        rows = [self._row(item, fate) for item, fate in zip(due, fates, strict=False)]
        self.engine.begin(self.tick, BoundaryInput(rows))
        minute = self.state.facts.minute(self.tick)
        for owner, text, importance, talk in turn.written:
            source: Any = "dialogue" if talk else "perception"
            subjects = (owner, BO if owner == ANN else ANN)
            entry = Entry(
                type="observation", text=text, minute=minute, importance=importance, source=source, subjects=subjects
            )
            self.world.observed.append((owner, entry))
        if turn.archived is not None and (live := self.state.streams[ANN].live("observation")):
            number = live[turn.archived % len(live)].number
            self.by_hand.add(number)
            self.world.world_effects.append(Archive(owner=ANN, numbers=(number,)))
        core = self.engine.end(self.tick, self.world).core
        self.world = WorldTurn()
        notes = TickNotes(epoch=1, ended=tuple(EndNote(key=ended.key, source="llm") for ended in core.ended))
        stored, digest, chain = write_line(core, notes, self.digest, self.chain, SCHEMA)
        line = read_line(stored, self.tick, self.digest, self.chain)
        self.digest, self.chain = digest, chain
        redo(line, self.redone)
        for owner, stream in self.state.streams.items():
            self._note_told(owner, stream, stream.newly_archived)
            stream.take_changes()

    def _row(self, item: OpenJob, fate: Fate) -> DueJob:
        key = item.job.key
        if not item.admitted:
            return DueJob(key, "held", None, 0)
        if fate in ("is late", "dies"):
            return DueJob(key, "open" if fate == "is late" else "dead", None, 1)
        kind, case = kind_of(key.kind), self.state.case_of(item)
        effects: tuple[Effect, ...] = ()
        if fate == "answers" and key.kind in ANSWERS:
            try:
                effects = effects_of(kind, case, ANSWERS[key.kind], kind.prompt(case))
            except ValueError:
                fate = "fails"
        if fate == "answers" and key.kind in ANSWERS:
            return DueJob(key, "staged", Result(effects=effects, source="llm"), 1, 1)
        return DueJob(key, "staged", Result(effects=kind.heuristic(case), source="heuristic", reason="failed"), 1, 1)

    def _note_told(self, owner: str, stream: Stream, archived: Sequence[int]) -> None:
        """Each entry goes into one summary, which says so; a repair takes the place of the summary it repairs."""
        for number in archived:
            into = stream.archived[number].into
            if into > 0:
                assert self.told.setdefault((owner, number), into) == into
                summary = stream.entries[into]
                replaced = stream.entries[number].evidence and summary.evidence == stream.entries[number].evidence
                assert number in summary.evidence or replaced or summary.type == stream.entries[number].type


def check(run: Run) -> None:
    """Check the invariants that hold after every tick."""
    limits, minute = run.state.facts.limits, run.state.facts.minute(run.tick)
    for owner, stream in run.state.streams.items():
        assert enforce_limits(stream, limits, minute) == ()
        assert stream.count("reflection") <= limits.max_reflections
        assert stream.count("plan") <= limits.max_plans
        if owner == CELLS:
            assert stream.observed() <= limits.cells
            assert len(stream.head.waiting) <= cells.most_waiting(limits)
        elif owner == WINDOW:
            assert total_tokens(stream) <= limits.token_limit
        else:
            assert stream.observed() <= limits.max_observations
            ages = [minute - talk.oldest for talk in conversations(owner, stream.live())]
            assert max(ages, default=0) <= UNSUMMARISED
        missing = {e.number for e in lost(stream, limits.importance_threshold)}
        assert missing <= (run.by_hand if owner == ANN else set())


@given(turns)
@settings(max_examples=8, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
def test_any_interleaving_over_days_keeps_important_memories(turns: Sequence[Turn]) -> None:
    run = Run()
    for turn in turns:
        run.live(turn)
        check(run)
    assert run.redone.keys() == run.state.streams.keys()
    for owner, stream in run.state.streams.items():
        data = dump(stream)
        assert dump(run.redone[owner]) == data
        assert dump(load(data)) == data
