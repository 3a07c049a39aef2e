"""What one tick does to a run: whom it lets join and leave, whom operators and outages hold up, and its journal."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.routing.scopes import WORLD, location_owner
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound
from cogitate.scheduler.budget.rules import ThrottleRules
from cogitate.scheduler.config.controls import SetLimit, SetMode
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.scheduler.engine.triggers import location_left
from cogitate.scheduler.journal.lines import Core, ReadLine, TickNotes
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.tasks.job import JobKey, Reads, Request
from tests.unit.scheduler.engine.engine_case import Run, row
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen


@pytest.fixture
def run() -> Run:
    return Run()


def test_joining_owners_are_present_in_that_tick_and_facts_name_the_agents(run: Run) -> None:
    done = run.turn(joins={"npc:cy": Profile(name="Cy"), "agent:di": Profile(name="Di")})
    assert [owner for owner, _ in done.core.joined] == ["agent:di", "npc:cy"]
    assert done.core.facts is run.state.facts
    assert {*run.state.facts.names} == {ANN, BOB, "agent:di"}
    assert run.state.facts.scope_names == {"npc:cy": "Cy"}
    assert run.state.facts_version == 2
    assert run.turn().core.facts is None


def test_a_moment_gives_lead_last_tick_and_estimates(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
