"""Who is asked again, and who is not: jobs that wait for another trial, and reflections that the throttle postponed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.tasks.kind import Moment
from tests.unit.scheduler.engine.test_engine import Run
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, seen


def reflecting(when: Callable[[Moment], bool], *, trigger: str = "interval") -> Run:
    """A run in which Ann reflects when a test says so, and enough has happened with an importance of 10."""
    run = Run(Thinker("reflect", 30, when=lambda moment: moment.owner == ANN and when(moment)))
    facts = run.state.facts
    limits = msgspec.structs.replace(facts.limits, reflection_trigger=trigger, reflection_trigger_max=10)
    run.state.facts = msgspec.structs.replace(facts, limits=limits)
    return run


def pondering_in_vain() -> Run:
    """A run in which everybody of whom anything changes is to ponder, and each job is refused and put off."""
    kind = Thinker("ponder", 30, on_denied="defer", when=lambda moment: moment.tick > 1)
    return Run(kind, limits={"run.run.calls": 0})


def asked(done: FinishedTick) -> list[tuple[str, str]]:
    return [(line.key.kind, line.key.owner) for line in done.core.decided]


def postponed(done: FinishedTick) -> list[str]:
    return [one.owner for one in done.core.postponed]


def test_a_kind_waiting_for_another_trial_is_not_requested_again() -> None:
    run = pondering_in_vain()
    assert asked(run.turn(observed=[(ANN, seen("Rain."))])) == [("ponder", ANN)]
    assert asked(run.turn(observed=[(ANN, seen("Snow.")), (BOB, seen("Snow."))])) == [("ponder", BOB)]
    assert [waiting.request.owner for waiting in run.state.deferred] == [ANN, BOB]


def test_a_returning_trial_is_its_kinds_only_request_of_the_tick() -> None:
    run = pondering_in_vain()
    run.turn(observed=[(ANN, seen("Rain."))])
    (waiting,) = run.state.deferred
    while run.tick < waiting.at - 1:
        run.turn()
    done = run.turn(observed=[(ANN, seen("Snow."))])
    assert [(line.key.owner, line.key.trial) for line in done.core.decided] == [(ANN, 1)]


def test_a_postponed_reflection_is_requested_at_full_cadence() -> None:
    run = reflecting(lambda moment: moment.tick > 1)
    done = run.turn(observed=[(ANN, seen("Rain."))], controls=[SetCadence("reflect", 0, True)])
    assert (asked(done), postponed(done)) == ([], [ANN])
    assert asked(run.turn()) == []
    assert asked(run.turn(controls=[SetCadence("reflect", FULL)])) == [("reflect", ANN)]
    assert asked(run.turn()) == [], "it waits no more"


def test_a_postponed_reflection_that_is_no_longer_due_is_not_requested() -> None:
    run = reflecting(lambda moment: moment.tick == 2)
    assert postponed(run.turn(observed=[(ANN, seen("Rain."))], controls=[SetCadence("reflect", 0, True)])) == [ANN]
    assert asked(run.turn(controls=[SetCadence("reflect", FULL)])) == []


def test_a_postponed_reflection_waits_for_the_hosts_open_one() -> None:
    run = reflecting(lambda moment: moment.tick > 1)
    done = run.turn(observed=[(ANN, seen("Rain."))], controls=[SetCadence("reflect", 0, True)])
    assert postponed(done) == [ANN]
    key = run.asked("reflect")
    assert asked(run.turn(controls=[SetCadence("reflect", FULL)])) == []
    assert [*run.state.open] == [key]


def test_an_importance_trigger_fires_again_after_as_much_importance() -> None:
    def told_twice(trigger: str) -> list[tuple[str, str]]:
        run = reflecting(lambda moment: moment.tick > 1, trigger=trigger)
        fire = msgspec.structs.replace(seen("A fire."), importance=10)
        done = run.turn(observed=[(ANN, fire)], controls=[SetCadence("reflect", FULL // 2, True)])
        assert (asked(done), postponed(done)) == ([], [ANN])
        return asked(run.turn(observed=[(ANN, msgspec.structs.replace(fire, text="A flood."))]))

    assert told_twice("importance") == [("reflect", ANN)]
    assert told_twice("interval") == [], "only time makes it due"
