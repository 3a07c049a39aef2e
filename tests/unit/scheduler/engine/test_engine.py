"""What one tick does to a run: joins, leaves, ends, what they count for, and whom operators and outages hold up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Archive, Rate
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.budget.rules import Rules, ThrottleRules
from cogitate.scheduler.config.controls import ControlRequest, SetLimit, SetMode
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.engine import RunEngine
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.run_data import FinishedTick, WorldTurn
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.engine.triggers import location_left
from cogitate.scheduler.engine.world_turn import Remembering
from cogitate.scheduler.journal.history import redo
from cogitate.scheduler.journal.lines import Core, ReadLine, TickNotes
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import PromptCount, Result
from cogitate.scheduler.ledger.step_replies import BoundaryInput, DueJob
from cogitate.tasks.job import Cost, JobKey, Reads, Request
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, seen

RESERVED, USED = Cost(calls=1, tokens=30), Cost(calls=1, tokens=7)
RUN = Cell("run:0", "run")


def offered(key: JobKey) -> dict[str, list[bytes]]:
    """What the ledger shows of a late answer."""
    return {"offered": [key.text().encode(), msgspec.json.encode(row(key).result)]}


class Run:
    """A run of two owners and a kind that a host asks for, whose heuristic guesses."""

    def __init__(
        self, *more: Thinker, limits: dict[str, int] | None = None, model: str = "default", **rules: Any
    ) -> None:
        kinds = [Thinker("think"), Thinker("muse", 20, on_denied="defer"), Thinker("recount", 35), *more]
        chosen = Rules(
            kinds=kinds,
            offers_of=lambda kind, tier: [ModelOption(model, 100, RESERVED)],
            latency_of=lambda kind: 2,
            brief=lambda owner: {},
            **rules,
        )
        view = BudgetView(LimitTable(limits or {}), retry_share=0.0, guarantees={})
        self.state = RunState(run="r", rules=chosen, facts=Facts(), view=view)
        self.engine, self.tick = RunEngine(self.state), 0
        self.turn(joins={owner: Profile(name=owner) for owner in (ANN, BOB)})

    def turn(
        self,
        *requests: Request,
        rows: Sequence[DueJob] = (),
        boundary: BoundaryInput | None = None,
        controls: Sequence[Any] = (),
        away: bool = False,
        **world: Any,
    ) -> FinishedTick:
        """Live through the next tick."""
        self.tick += 1
        self.engine.begin(self.tick, boundary or BoundaryInput([*rows]))
        asked = [ControlRequest(f"id{n}", control) for n, control in enumerate(controls)]
        done = self.engine.end(self.tick, WorldTurn(requests=[*requests], **world), asked, away=away)
        for stream in self.state.streams.values():
            stream.take_changes()
        return done

    def asked(self, kind: str = "think", owner: str = ANN, **request: Any) -> JobKey:
        """Ask for a job, and return its key."""
        done = self.turn(Request(kind=kind, owner=owner, **request))
        return done.core.decided[-1].key

    def held(self) -> int:
        """Tokens that admission counts."""
        return self.state.view.get(RUN, "tokens")


def row(key: JobKey, state: Any = "staged", **result: Any) -> DueJob:
    effect = Append(owner=key.owner, entry=Entry(type="reflection", text="So it is.", minute=1, importance=3))
    values = {"effects": (effect,), "source": "llm", "usage": USED, "model": "default"} | result
    return DueJob(key, state, Result(**values) if state == "staged" else None, 1, arrival=1)


@pytest.fixture
def run() -> Run:
    return Run()


# -- ends --------------------------------------------------------------------------------------------


def test_a_job_counts_its_reservation_until_its_cost_is_known(run: Run) -> None:
    key = run.asked()
    assert (run.held(), [*run.state.open]) == (30, [key])
    done = run.turn(rows=[row(key)])
    assert [(end.key, end.end, end.reason) for end in done.core.ended] == [(key, "applied", "none")]
    assert (run.held(), run.state.open) == (7, {})
    assert [entry.text for entry in run.state.streams[ANN].live("reflection")] == ["So it is."]
    assert not run.state.warnings


@pytest.mark.parametrize(
    ("result", "warnings"),
    [
        ({}, {}),
        ({"unreported": True}, {"job.usage_unreported": 1}),
        ({"usage": RESERVED}, {}),
        ({"usage": Cost(1, 31)}, {"job.overrun": 1}),
        ({"usage": Cost(1, 31), "model": ""}, {}),
        ({"usage": Cost(1, 31), "unreported": True, "saved": True, "source": "cached"}, {}),
        ({"effects": (), "refusal": "odd"}, {"job.effects_refused": 1}),
        ({"effects": (), "source": "heuristic", "reason": "failed"}, {"job.nothing_recorded": 1}),
        ({"effects": (), "source": "llm"}, {}),
        ({"effects": (Archive(owner=ANN, numbers=(99,)),)}, {"job.stale": 1}),
    ],
)
def test_anomalies_of_an_end_are_counted(run: Run, result: dict[str, Any], warnings: dict[str, int]) -> None:
    run.turn(rows=[row(run.asked(), **result)])
    assert dict(run.state.warnings) == warnings


@pytest.mark.parametrize("saved", [False, True])
def test_estimates_learn_from_each_reported_prompt_size(run: Run, saved: bool) -> None:
    run.turn(rows=[row(run.asked(), count=PromptCount(100, 130), saved=saved)])
    assert run.state.estimates.correction("default").plain == 1_365
    assert run.state.estimates.correction("other").plain == 1_000


@pytest.mark.parametrize(("end", "learns"), [("applied", True), ("stale", False)])
def test_ratings_of_a_model_are_learned_where_they_were_applied(run: Run, end: str, learns: bool) -> None:
    run.turn(observed=[(ANN, Entry(type="observation", text="A fire in the barn.", minute=1))])
    (number,) = [entry.number for entry in run.state.streams[ANN].live()]
    rate = Rate(owner=ANN, numbers=(number,), ratings=(9,), paid=True)
    effects = (rate,) if end == "applied" else (rate, Archive(owner=ANN, numbers=(99,)))
    done = run.turn(rows=[row(run.asked(), effects=effects)])
    assert done.core.ended[0].end == end
    estimate = run.state.rater.estimate(ANN, Entry(type="observation", text="A fire in the barn.", minute=5))
    assert (estimate == 9) is learns


def test_a_job_without_a_result_counts_in_full_until_it_is_corrected(run: Run) -> None:
    key = run.asked()
    done = run.turn(rows=[row(key, "open")])
    assert done.core.ended[0].reason == "late"
    assert (run.held(), [*run.engine.part(Corrections).charged]) == (30, [key])


@pytest.mark.parametrize(
    ("bounds", "model", "reason", "samples"),
    [
        (Bounds(1, 9), "default", "late", [4]),
        (None, "default", "late", []),
        (Bounds(1, 9), "", "late", []),
        (Bounds(1, 9), "default", "dead", []),
    ],
)
def test_a_late_job_is_a_sample_where_due_ticks_follow_its_model(
    bounds: Bounds | None, model: str, reason: str, samples: list[int]
) -> None:
    run = Run(bounds_of=lambda kind: bounds, model=model)
    key = run.asked()
    run.turn()
    row_of_it = row(key, "open" if reason == "late" else "dead")
    done = run.turn(boundary=BoundaryInput([row_of_it], overdue=[Overdue(key, 2)]))
    assert done.core.ended[0].reason == reason
    assert [sample.ticks for sample in run.state.latencies.samples("think", "default")] == samples
    assert run.state.latencies.samples("think", "") == ()


def test_changes_are_handed_on_in_the_order_of_ends_and_then_of_late_answers(run: Run) -> None:
    keys = [run.asked(owner=owner) for owner in (BOB, ANN)]
    late = run.asked()
    run.turn(rows=[row(late, "open")])
    changes = run.engine.begin(run.tick + 1, BoundaryInput([row(key) for key in keys], shown=offered(late)))
    assert [(change.owner, change.source, change.reason) for change in changes] == [
        (BOB, "llm", "none"),
        (ANN, "llm", "none"),
        (ANN, "llm", "none"),
    ]
    done = run.engine.end(run.tick + 1, WorldTurn())
    assert [end.key for end in done.core.late] == [late]
    assert [note.key for note in done.notes.late] == [late]
    assert run.state.warnings["job.late_answer_unused"] == 0


def test_an_effect_on_an_unknown_entry_is_refused_and_counted(run: Run) -> None:
    wrong = Archive(owner=ANN, numbers=(99,))
    sound = Append(owner=ANN, entry=seen("A cow.", 2))
    done = run.turn(world_effects=[wrong, sound, wrong])
    assert done.core.world_effects == (sound,)
    assert run.state.warnings["world.effect_refused"] == 2
    assert [entry.text for entry in run.state.streams[ANN].live()] == ["A cow."]


def test_owners_come_and_go_in_one_order(run: Run) -> None:
    new = ["agent:zoe", "agent:cy", "npc:bo"]
    joined = run.turn(joins={owner: Profile(name=owner) for owner in new})
    assert [owner for owner, _ in joined.core.joined] == sorted(new)
    assert joined.core.facts is not None
    left = run.turn(leaves=new)
    assert left.core.left == tuple(sorted(new))
    assert run.state.retired == {*new}
    assert {*run.state.profiles} == {*run.state.streams} == {ANN, BOB}


def test_only_streams_that_changed_are_written_in_one_order(run: Run) -> None:
    assert run.turn().streams == ()
    done = run.turn(observed=[(BOB, seen("A cow.", 3)), (ANN, seen("A bee.", 3))])
    assert [stream.owner for stream in done.streams] == [ANN, BOB]
    assert [owner for owner, _ in done.core.observed] == [BOB, ANN], "as the world said it"
    assert [stream.owner for stream in run.turn(observed=[(BOB, seen("A hen.", 4))]).streams] == [BOB]


def test_an_answer_waiting_for_its_due_tick_counts_its_usage(run: Run) -> None:
    key, other = run.asked(), run.asked(owner=BOB)
    timed = [Timed(key, "default", 0, 1, USED), Timed(other, "default", 0, 1, Cost())]
    run.engine.begin(4, BoundaryInput([], timed=timed))
    assert run.held() == 37
    run.engine.end(4, WorldTurn())
    assert [(item.job.key, item.answered) for item in run.engine.part(AnswerTimes)._answered] == [(key, USED)]
    run.tick = 4
    run.turn(rows=[row(key), row(other)])
    assert run.held() == 14


def test_a_late_answer_that_is_of_no_use_is_counted(run: Run) -> None:
    key = run.asked()
    run.turn(rows=[row(key, "open")])
    (guess,) = run.state.streams[ANN].live("reflection")
    assert [*run.engine.part(LateAnswers).awaited] == [key]
    run.state.streams[ANN].archive(guess.number, run.tick)
    done = run.turn(boundary=BoundaryInput([], shown=offered(key)))
    assert [end.end for end in done.core.late] == ["stale"]
    assert run.state.warnings["job.late_answer_unused"] == 1


# -- owners ------------------------------------------------------------------------------------------


def test_joining_owners_are_present_in_that_tick_and_facts_name_the_agents(run: Run) -> None:
    done = run.turn(joins={"npc:cy": Profile(name="Cy"), "agent:di": Profile(name="Di")})
    assert [owner for owner, _ in done.core.joined] == ["agent:di", "npc:cy"]
    assert done.core.facts is run.state.facts
    assert {*run.state.facts.names} == {ANN, BOB, "agent:di"}
    assert run.state.facts.scope_names == {"npc:cy": "Cy"}
    assert run.state.facts_version == 2
    assert run.turn().core.facts is None


def test_kinds_may_ask_how_long_a_crowd_needs_when_the_run_ends_and_how_much_a_text_matters(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(run.state.due, "lead", lambda kind, crowd: asked.append((kind, crowd)) or 7)
    monkeypatch.setattr(run.state.due, "last", 99)
    monkeypatch.setattr(run.state.rater, "estimate", lambda owner, entry: (owner, entry.text))
    moment = run.state.moments(3, 4)(ANN)
    assert (moment.owner, moment.tick, moment.minute, moment.last) == (ANN, 3, 4, 99)
    assert moment.lead("think") == 7
    assert asked == [("think", 2)]
    assert moment.estimate(seen("Fire!")) == (ANN, "Fire!")


def test_an_owner_leaves_with_jobs_that_read_it_and_its_deferrals() -> None:
    run = Run(limits={"run.run.calls": 2})
    own, reading = run.asked(), run.asked(owner=BOB, reads=(Reads(ANN, 0),))
    run.asked("muse")  # refused, and put off
    run.asked("muse", BOB)
    done = run.turn(Request(kind="think", owner=ANN), leaves=[ANN])
    assert [(end.key, end.end, end.reason) for end in done.core.ended] == [
        (key, "cancelled", "cancelled") for key in sorted([own, reading])
    ]
    assert done.core.left == (ANN,)
    assert [(line.decision, line.refused) for line in done.core.decided] == [("dropped", "left")], "not asked for"
    assert [waiting.request.owner for waiting in run.state.deferred] == [BOB]
    assert ANN not in run.state.streams
    assert ANN in run.state.retired
    assert run.held() == 60, "what they used is not known yet"


# -- operators and outages ---------------------------------------------------------------------------


def test_while_the_ledger_is_away_nothing_is_admitted(run: Run) -> None:
    done = run.turn(Request(kind="think", owner=ANN), away=True)
    assert [(line.decision, line.refused) for line in done.core.decided] == [("heuristic", "away")]
    assert run.held() == 0


def test_a_limit_holds_from_the_tick_in_which_it_is_set(run: Run) -> None:
    done = run.turn(Request(kind="think", owner=ANN), controls=[SetLimit("run.run.calls", 0)])
    assert done.core.controls == (SetLimit("run.run.calls", 0),)
    assert [line.refused for line in done.core.decided] == ["run:0 run calls"]


def test_jobs_of_a_cancelled_run_end_in_the_order_of_their_keys(run: Run) -> None:
    run.turn(*(Request(kind="think", owner=owner, priority=ord(owner[-1])) for owner in (BOB, ANN)))
    done = run.turn(controls=[SetMode("cancelled")])
    assert [end.key.owner for end in done.core.ended] == [ANN, BOB]


def test_repairs_are_made_with_the_first_tick_of_each_ten_minutes_from_their_hour_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, made = Run(repair_from=20), list[int]()

    def repaired(streams: Any, at: AdmissionRound, busy: Any) -> list[Any]:
        assert (at.minute, at.rules, at.view, at.due) == (at.tick, run.state.rules, run.state.view, run.state.due)
        made.append(at.tick)
        return []

    monkeypatch.setattr("cogitate.scheduler.engine.admitting.admit_repairs", repaired)
    for tick in range(2, 41):
        run.turn(away=tick == 30)
    assert made == [20, 40], "and not while the ledger is away"


@pytest.mark.parametrize("mode", ["draining", "cancelled"])
def test_a_run_that_ends_admits_nothing_more(run: Run, mode: Any) -> None:
    key = run.asked()
    done = run.turn(Request(kind="think", owner=BOB), controls=[SetMode(mode)])
    if mode == "cancelled":
        assert [(end.key, end.reason) for end in done.core.ended] == [(key, "cancelled")]
        assert (done.core.decided, run.state.open) == ((), {})
        assert run.state.steering.over
    else:
        assert [line.refused for line in done.core.decided] == ["draining"]
        assert not run.state.steering.over, "a job is open"
        run.turn(rows=[row(key)])
        assert run.state.steering.over


def test_deferred_jobs_return_in_ten_ticks_and_end_with_a_cancelled_run() -> None:
    run = Run(limits={"run.run.calls": 0})
    first = run.asked("muse", within=30)
    assert [(waiting.at, waiting.request.within) for waiting in run.state.deferred] == [(first.tick + 10, 20)]
    decided = [run.turn().core.decided for _ in range(10)]
    assert [len(lines) for lines in decided] == [0] * 9 + [1]
    assert decided[-1][0].key == JobKey(first.tick + 10, "muse", ANN, 0, 1)
    assert [(waiting.at, waiting.request.trial) for waiting in run.state.deferred] == [(first.tick + 20, 2)]
    run.turn(controls=[SetMode("cancelled")])
    assert run.state.deferred == []


def test_a_cancelled_drain_evaluates_every_owner(run: Run) -> None:
    asked: list[str] = []
    think: Any = run.state.rules.kinds[0]
    think.when = lambda moment: bool(asked.append(moment.owner))
    run.asked()  # a job is open, so that the run is not left
    asked.clear()
    run.turn(controls=[SetMode("draining")])
    assert asked == []
    run.turn(controls=[SetMode("running")])
    assert asked == [BOB], "the other is busy"


def test_the_last_admitted_owner_is_remembered_for_the_next_turn(run: Run) -> None:
    key = run.asked()
    assert run.state.last_served("think", ANN) == key.tick
    assert run.state.last_served("think", BOB) == -1


@pytest.mark.parametrize(("bounds", "told"), [(Bounds(1, 9), [("times", "1")]), (None, [])])
def test_workers_note_when_answers_come_if_due_ticks_follow_them(bounds: Bounds | None, told: Any) -> None:
    run = Run(bounds_of=lambda kind: bounds)
    assert [write.args for write in run.state.latencies.take_writes() if write.key == "state"] == told


def test_the_controller_takes_its_step_with_the_first_tick_of_an_interval() -> None:
    run = Run(throttle=ThrottleRules(interval=4))
    rows = [row(run.asked(owner=owner), "open") for owner in (ANN, BOB)]
    assert run.tick == 3
    stepped = run.turn(rows=rows).core.stepped
    assert stepped is not None
    assert (stepped.ended, stepped.late, stepped.factor) == (2, 2, 500)
    assert [run.turn().core.stepped for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("disabled", [False, True])
def test_a_scope_recounts_in_the_tick_of_its_trigger_unless_that_is_switched_off(disabled: bool) -> None:
    run = Run(disabled=frozenset({"recount"} if disabled else ()))
    inn = location_owner("inn")
    run.turn(joins={owner: Profile(name=owner) for owner in (WORLD, inn)})
    message = Entry(type="message", text="The ale!", minute=3, importance=3, location="inn")
    run.turn(observed=[(WORLD, message)])
    left = location_left("inn", [], run.tick + 1)
    done = run.turn(triggers=left)
    assert [line.key for line in done.core.decided] == ([] if disabled else [JobKey(run.tick, "recount", inn, 0, 0)])
    assert len(run.state.triggers) == (0 if disabled else 1), "it is seen through"
    assert run.turn(triggers=left).core.decided == (), "its job is open"


# -- observations ------------------------------------------------------------------------------------


def test_an_observation_is_appended_or_counted_as_a_repeat() -> None:
    limits, streams = Facts().limits, {ANN: Stream(ANN)}
    remembering = Remembering(coalesce=True)

    def take(text: str, importance: int, minute: int = 5) -> Any:
        entry = Entry(type="observation", text=text, minute=minute, importance=importance)
        return remembering.take_in(streams, [(ANN, entry)], 1, limits)

    assert len(take("The forge is cold.", 6).observed) == 1
    for importance, counted in ((4, 4), (0, 6)):
        (repeat,) = take("The forge is cold.", importance).repeated
        assert (repeat.number, repeat.minute, repeat.importance) == (1, 5, counted)
    assert take("The forge is cold.", 7).repeated == (), "it matters more now"
    assert take("The forge is cold.", 4, minute=1445).repeated == (), "of another day"


def test_observations_of_a_former_owner_are_not_repeats() -> None:
    remembering, told = Remembering(coalesce=True), [(ANN, seen("The forge is cold.", 5))]
    for left in (False, True):
        streams = {ANN: Stream(ANN)}
        found = remembering.take_in(streams, told * 2, 1, Facts().limits)
        assert (len(found.observed), [repeat.number for repeat in found.repeated]) == (1, [1]), left
        assert [entry.text for entry in streams[ANN].live()] == ["The forge is cold."]
        remembering._indexes.pop(ANN, None)


def test_an_owner_that_leaves_is_forgotten_with_its_repeats() -> None:
    run = Run()
    run.turn(joins={ANN: Profile(name="Ann"), BOB: Profile(name="Bob")})
    run.turn(observed=[(ANN, seen("The forge is cold.", 1)), (BOB, seen("The forge is cold.", 1))])
    run.turn(leaves=[ANN])
    assert run.engine.part(Remembering)._indexes.keys() == {BOB}


def test_repeats_are_kept_where_each_statement_counts() -> None:
    for limits, owner, coalesce in (
        (msgspec.structs.replace(Facts().limits, policy="cells"), ANN, True),
        (Facts().limits, ANN, False),
    ):
        streams, remembering = {owner: Stream(owner)}, Remembering(coalesce=coalesce)
        observed = [(owner, seen("The forge is cold.", 5))] * 2
        assert len(remembering.take_in(streams, observed, 1, limits).observed) == 2


def test_owners_are_rated_in_the_order_of_their_names() -> None:
    run, owners = Run(), [f"agent:{letter}" for letter in "hgfedcba"]
    run.turn(joins={owner: Profile(name=owner) for owner in owners})
    done = run.turn(observed=[(owner, seen(f"Saw {owner}.", 3)) for owner in owners])
    assert [rated.owner for rated in done.core.rated] == sorted(owners)


# -- the journal of it -------------------------------------------------------------------------------


class Journalled(Run):
    """A run whose ticks are redone from their lines as they happen."""

    def __init__(self, **rules: Any) -> None:
        self.redone: dict[str, Stream] = {}
        super().__init__(**rules)

    def turn(self, *requests: Request, **more: Any) -> FinishedTick:
        done = super().turn(*requests, **more)
        line = ReadLine(typed_json.decode(msgspec.json.encode(done.core), Core), TickNotes(epoch=1), "", "")
        gone = redo(line, self.redone)
        assert sorted(stream.owner for stream in gone) == [*done.core.left]
        assert self.redone.keys() == self.state.streams.keys()
        for owner, stream in self.state.streams.items():
            assert dump(self.redone[owner]) == dump(stream), owner
        return done


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("policy", ["stream", "cells"])
def test_a_journal_reproduces_the_runs_state(seed: int, policy: Any) -> None:
    chance, run = random.Random(seed), Journalled(limits={"run.run.calls": 25})
    limits = msgspec.structs.replace(
        run.state.facts.limits,
        policy=policy,
        cells=3,
        max_observations=6,
        max_reflections=2,
        retention=8,
        max_archived=9,
    )
    run.state.facts = msgspec.structs.replace(run.state.facts, limits=limits)
    open_keys: list[JobKey] = []
    for number in range(60):
        owners = sorted(run.state.streams)
        observed = [
            (chance.choice(owners), seen(chance.choice(("A cow.", "A bee.", f"The {number}th bell.")), run.tick + 1))
            for _ in range(chance.randrange(4))
        ]
        observed = [
            (owner, msgspec.structs.replace(entry, importance=chance.choice((0, 0, 6)))) for owner, entry in observed
        ]
        due, open_keys = open_keys, []
        rows = [row(key, chance.choice(("staged", "open", "dead"))) for key in due if key in run.state.open]
        joins = {f"agent:{number}": Profile(name=f"Guest {number}")} if number % 7 == 3 else {}
        leaves = [owner for owner in owners if owner not in (ANN, BOB) and chance.random() < 0.2]
        effects = [Append(owner=ANN, entry=seen("A gift.", run.tick + 1))] if number % 5 == 0 else []
        asked = [Request(kind="think", owner=owner) for owner in owners if chance.random() < 0.3]
        done = run.turn(
            *asked,
            rows=rows,
            observed=[one for one in observed if one[0] not in leaves],
            joins=joins,
            leaves=leaves,
            world_effects=effects,
        )
        open_keys = [key for key in run.state.open if key not in {line.key for line in done.core.ended}]
    if policy == "stream":
        assert run.state.streams[ANN].head.last_number > len(run.state.streams[ANN].entries), "something was deleted"
