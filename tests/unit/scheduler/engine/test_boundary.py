"""The boundary: every due job gets one end, in one order, regardless of which finished first."""

from __future__ import annotations

import random
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.effects import Append, Archive, Effect, SetCounter, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.repairs import FAILED
from cogitate.scheduler.engine.boundary import Closing, cancelled, close_due
from cogitate.scheduler.engine.late_answers import apply_late
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.intake.kind_effects import EFFECTS_REFUSED, KindEffects
from cogitate.scheduler.journal.ends import Shortfalls, note_shortfall
from cogitate.scheduler.ledger.claims import PromptCount, Result
from cogitate.scheduler.ledger.step_replies import DueJob, JobState
from cogitate.tasks.job import Cost, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, open_job, seen

KINDS = {"first": Thinker("first", 10), "second": Thinker("second", 20)}
USED = Cost(calls=1, tokens=7)


def thought(owner: str, text: str) -> Append:
    return Append(owner=owner, entry=Entry(type="reflection", text=text, minute=0))


def result(*effects: Effect, **fields: object) -> Result:
    return Result(effects=effects, source="llm", usage=USED, **fields)  # type: ignore[arg-type]


def streams() -> dict[str, Stream]:
    made = {ANN: Stream(ANN), BOB: Stream(BOB)}
    for stream in made.values():
        for i in range(3):
            stream.append(seen(f"{i}"), 1)
    return made


def close(
    rows: list[DueJob], jobs: list[OpenJob], on: dict[str, Stream] | None = None, ahead: KindEffects | None = None
) -> list[Closing]:
    def case_of(item: OpenJob) -> Case:
        return Case(job=item.job, profile=Profile(name="A"), world=WorldFacts(), memories={})

    return close_due(
        rows,
        {item.job.key: item for item in jobs},
        on if on is not None else streams(),
        tick=5,
        kind_of=KINDS.__getitem__,
        case_of=case_of,
        made_ahead=lambda row: ahead,
    )


jobs = st.lists(
    st.builds(
        open_job,
        st.sampled_from(sorted(KINDS)),
        st.sampled_from([ANN, BOB]),
        due=st.integers(4, 6),
        tick=st.integers(1, 3),
        ordinal=st.integers(0, 2),
    ),
    unique_by=lambda item: item.job.key,
    max_size=10,
)


@given(jobs, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(jobs: list[OpenJob], chance: random.Random) -> None:
    rows = [DueJob(j.job.key, "staged", result(thought(j.job.key.owner, j.job.key.text())), 1) for j in jobs]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    one, other = streams(), streams()
    assert close(rows, jobs, one) == close(shuffled, jobs, other)
    assert [e.text for e in one[ANN].live()] == [e.text for e in other[ANN].live()]


def test_the_order_is_due_tick_kind_owner_ordinal() -> None:
    made = [
        open_job("second", ANN, due=4, tick=2),
        open_job("first", ANN, ordinal=1),
        open_job("first", ANN),
        open_job("first", BOB),
        open_job("second", ANN),
    ]
    rows = [DueJob(item.job.key, "open", None, 0) for item in reversed(made)]
    ends = [(c.ended.key.kind, c.ended.key.owner, c.ended.key.ordinal) for c in close(rows, made)]
    assert ends == [("second", ANN, 0), ("first", ANN, 0), ("first", ANN, 1), ("first", BOB, 0), ("second", ANN, 0)]


def test_jobs_of_one_kind_and_owner_come_by_ordinal_and_then_by_the_tick_that_asked() -> None:
    made = [open_job("first", ANN, tick=2), open_job("first", ANN, tick=3), open_job("first", ANN, tick=1, ordinal=1)]
    again = msgspec.structs.replace(made[2].job, key=made[2].job.key._replace(trial=1))
    made.append(msgspec.structs.replace(made[2], job=again))
    for rows in (made, made[::-1]):
        ends = [c.ended.key for c in close([DueJob(item.job.key, "open", None, 0) for item in rows], made)]
        assert [(key.ordinal, key.tick, key.trial) for key in ends] == [(0, 2, 0), (0, 3, 0), (1, 1, 0), (1, 1, 1)]


@pytest.mark.parametrize(
    ("state", "reason", "admitted"), [("open", "late", True), ("dead", "dead", True), ("held", "denied", False)]
)
def test_without_a_result_the_heuristic_applies(state: JobState, reason: str, admitted: bool) -> None:
    job = open_job("first", admitted=admitted)
    on = streams()
    (closing,) = close([DueJob(job.job.key, state, None, 2)], [job], on)
    assert (closing.ended.end, closing.ended.reason) == ("applied", reason)
    assert (closing.note.source, closing.note.attempts) == ("heuristic", 2)
    assert closing.counts_as == (job.job.reserved if admitted else Cost())
    assert [(e.text, e.provisional) for e in on[ANN].live("reflection")] == [("a guess", True)]


@pytest.mark.parametrize("state", ["open", "dead"])
def test_the_end_without_a_result_names_the_failure_of_the_attempt_before(state: JobState) -> None:
    item = open_job("first", ANN, model="small")
    (closing,) = close([DueJob(item.job.key, state, None, 1, failure="connection")], [item])
    assert (closing.note.failure, closing.note.model) == ("connection", "small")
    (closing,) = close([DueJob(item.job.key, state, None, 0)], [item])
    assert (closing.note.failure, closing.note.model) == ("", "")
    assert (closing.note.arrival, closing.note.empty) == (0, ""), "nothing has arrived"


@pytest.mark.parametrize("state", ["open", "dead"])
def test_a_heuristic_that_is_refused_too_does_not_hide_the_failure_before(
    state: JobState, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = open_job("first", ANN, model="small")
    monkeypatch.setattr(Thinker, "heuristic", lambda self, case: 1 // 0)
    (closing,) = close([DueJob(item.job.key, state, None, 1, failure="connection")], [item])
    assert (closing.note.failure, closing.note.model) == ("connection", "small")
    assert "ZeroDivisionError" in closing.note.refusal
    found: Shortfalls = {}
    note_shortfall(found, closing.ended, closing.note, "small", 5, 5)
    assert [one.failure for one in found.values()] == ["connection"]
    (closing,) = close([DueJob(item.job.key, state, None, 0)], [item])
    assert closing.note.failure == EFFECTS_REFUSED


def test_a_result_counts_as_its_usage() -> None:
    job = open_job("first")
    on = streams()
    (closing,) = close(
        [DueJob(job.job.key, "staged", result(thought(ANN, "deep"), model="m", prompt="p"), 1)], [job], on
    )
    assert (closing.ended.end, closing.ended.reason, closing.counts_as) == ("applied", "none", USED)
    assert (closing.note.model, closing.note.prompt, closing.note.appended) == ("m", "p", (4,))
    assert not on[ANN].entries[4].provisional


def test_a_failed_result_is_provisional() -> None:
    job = open_job("first")
    on = streams()
    failed = result(thought(ANN, "poor"), reason="failed", failure="refusal")
    (closing,) = close([DueJob(job.job.key, "staged", failed, 1)], [job], on)
    assert (closing.ended.reason, closing.note.failure) == ("failed", "refusal")
    assert on[ANN].entries[4].provisional


def test_a_result_of_a_job_that_is_dead_is_not_used() -> None:
    job = open_job("first")
    (closing,) = close([DueJob(job.job.key, "dead", result(thought(ANN, "too late")), 4)], [job])
    assert (closing.ended.reason, closing.counts_as) == ("dead", job.job.reserved)


def test_two_jobs_cannot_archive_one_entry() -> None:
    made = [open_job("first"), open_job("second")]
    rows = [
        DueJob(item.job.key, "staged", result(thought(ANN, item.job.key.kind), Archive(ANN, (1, 2), True)), 1)
        for item in made
    ]
    on = streams()
    first, second = close(rows, made, on)
    assert (first.ended.end, second.ended.end) == ("applied", "stale")
    assert second.changes == ()
    assert second.ended.effects == rows[1].result.effects, "what it would have changed is on record"  # type: ignore[union-attr]
    assert (second.counts_as, second.note.failure) == (USED, "entry 1 is not live")
    assert [e.text for e in on[ANN].live("reflection")] == ["first"]
    assert on[ANN].archived[1].into == 4


def test_the_world_receives_each_change_with_its_entry() -> None:
    job = open_job("first")
    effects = (thought(ANN, "one"), Tell(ANN, "action", {"go": "home"}), thought(BOB, "two"))
    (closing,) = close([DueJob(job.job.key, "staged", result(*effects), 1)], [job])
    assert [change.effect for change in closing.changes] == list(effects)
    assert [change.entry.number if change.entry else None for change in closing.changes] == [4, None, 4]
    assert {(change.kind, change.source, change.reason) for change in closing.changes} == {("first", "llm", "none")}
    assert isinstance(closing.ended.key, JobKey)


def test_a_kind_without_a_model_leaves_nothing_to_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KINDS["first"], "output_cap", 0)
    job = open_job("first", admitted=False)
    on = streams()
    close([DueJob(job.job.key, "held", None, 0)], [job], on)
    assert [e.provisional for e in on[ANN].live("reflection")] == [False]


def test_a_repair_without_a_result_changes_nothing() -> None:
    job = open_job("first")
    repair = msgspec.structs.replace(job, job=msgspec.structs.replace(job.job, params={"replaces": 1}))
    on = streams()
    (closing,) = close([DueJob(job.job.key, "open", None, 1)], [repair], on)
    assert closing.ended.effects == (SetCounter(owner=ANN, name=FAILED, value=1),)
    assert on[ANN].live("reflection") == []


def test_a_repair_with_a_result_is_applied() -> None:
    job = open_job("first")
    repair = msgspec.structs.replace(job, job=msgspec.structs.replace(job.job, params={"replaces": 1}))
    on = streams()
    (closing,) = close([DueJob(job.job.key, "staged", result(thought(ANN, "better")), 1)], [repair], on)
    assert (closing.ended.end, closing.ended.reason) == ("applied", "none")
    assert [entry.text for entry in on[ANN].live("reflection")] == ["better"]


def test_all_that_is_known_of_a_result_is_in_the_note_of_its_end() -> None:
    known = result(
        thought(ANN, "poor"),
        reason="failed",
        model="small",
        prompt="v7",
        failure="server",
        because="auth",
        refusal="no effects",
        count=PromptCount(70, 61),
        unreported=True,
        saved=True,
    )
    job = open_job("first")
    (closing,) = close([DueJob(job.job.key, "staged", known, 3, arrival=4)], [job])
    note = msgspec.structs.asdict(closing.note)
    in_common = {name: value for name, value in msgspec.structs.asdict(known).items() if name in note}
    assert {name: note[name] for name in in_common} == in_common
    assert {"source", "usage", "model", "prompt", "failure", "because", "refusal", "count", "unreported", "saved"} <= {
        *in_common
    }
    assert (note["attempts"], note["arrival"], note["key"]) == (3, 4, job.job.key)
    late = apply_late(job.job.key, known, (), streams(), 5)
    assert msgspec.structs.asdict(late.note) == note | {"attempts": 0, "arrival": 0, "appended": ()}
    assert (late.ended.end, late.ended.reason, late.counts_as) == ("dropped", "none", Cost())


def test_a_late_answer_that_still_changes_something_is_applied_and_counts_nothing_more() -> None:
    on = streams()
    late = apply_late(JobKey(1, "first", ANN, 0, 0), result(), (thought(ANN, "at last"),), on, 5)
    assert (late.ended.end, late.counts_as, late.note.appended) == ("applied", Cost(), (4,))
    assert not on[ANN].entries[4].provisional


def test_a_job_that_was_cancelled_counts_its_reservation_and_changes_nothing() -> None:
    job = open_job("first")
    closing = cancelled(job)
    assert (closing.ended.end, closing.ended.reason, closing.note.source) == ("cancelled", "cancelled", "none")
    assert (closing.counts_as, closing.changes) == (job.job.reserved, ())


def test_a_heuristic_made_ahead_is_on_time_for_a_job_without_a_model() -> None:
    made = KindEffects((thought(ANN, "made in idle time"),))
    for model, state, reason in (("", "open", "none"), ("m", "open", "late"), ("", "dead", "dead")):
        item = open_job("first", model=model)
        (closing,) = close([DueJob(item.job.key, cast(JobState, state), None, 1)], [item], ahead=made)
        (effect,) = closing.ended.effects
        assert (closing.ended.reason, closing.note.source) == (reason, "heuristic")
        assert isinstance(effect, Append)
        assert effect.entry.text == "made in idle time"
    (closing,) = close([DueJob(item.job.key, "open", None, 1)], [open_job("first")])
    assert closing.ended.reason == "late", "made at the boundary"
