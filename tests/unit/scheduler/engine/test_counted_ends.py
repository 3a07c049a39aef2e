"""What the ends of jobs count for in a run, and in which order they are handed on."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.effects import Append, Archive, Rate
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.engine.answer_times import AnswerTimes
from cogitate.scheduler.engine.corrections import Corrections
from cogitate.scheduler.engine.late_answers import LateAnswers
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.latency.due_ticks import Bounds
from cogitate.scheduler.ledger.answer_times import Overdue, Timed
from cogitate.scheduler.ledger.claims import PromptCount
from cogitate.scheduler.ledger.step_replies import BoundaryInput
from cogitate.tasks.job import Cost
from tests.unit.scheduler.engine.engine_case import RESERVED, USED, Run, offered, row
from tests.unit.scheduler.scheduler_case import ANN, BOB, seen


@pytest.fixture
def run() -> Run:
    return Run()


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
