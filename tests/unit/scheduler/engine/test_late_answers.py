"""Who is awaited after its job's end, for how long, and what is done with an answer that comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory.clock import DAY
from cogitate.memory.effects import Append, Tell
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import LeftOut
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine import late_answers
from cogitate.scheduler.engine.boundary import Closing, close_due
from cogitate.scheduler.engine.late_answers import Awaited, LateAnswer, LateAnswers, ProvisionalEntry, covers
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.run_data import RunData, Streams
from cogitate.scheduler.ledger.claims import Result
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import DueJob, JobState
from cogitate.tasks.job import Cost, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from tests.unit.scheduler.scheduler_case import ANN, BOB, Thinker, open_job, seen

PREFIX = "cogitate:{r}:0:"
USED = Cost(calls=1, tokens=7)


def asking(item: OpenJob, model: str = "m", **params: int) -> OpenJob:
    """The same job, for which a model was to be asked."""
    return msgspec.structs.replace(item, job=msgspec.structs.replace(item.job, model=model, params=params))


def answer(owner: str = ANN, text: str = "a thought") -> Result:
    append = Append(owner=owner, entry=Entry(type="reflection", text=text, minute=0))
    return Result(effects=(append,), source="llm", usage=USED, model="m", prompt="p")


def data_of(streams: Mapping[str, Stream], *left_out: LeftOut) -> RunData:
    """The data of a run that has these streams."""
    run = RunData(run="r", rules=cast(Any, None), facts=Facts(), view=cast(Any, None))
    run.streams, run.left_out = Streams(streams), [*left_out]
    return run


class Run:
    """Two owners, who saw three things each, and the end of some jobs."""

    def __init__(self) -> None:
        self.streams = {owner: Stream(owner) for owner in (ANN, BOB)}
        for stream in self.streams.values():
            for i in range(3):
                stream.append(seen(f"{i}"), 1)
        self.late = LateAnswers(data_of(self.streams))

    def end(self, *items: OpenJob, state: JobState = "open", claims: int = 1, minute: int = 60) -> list[Closing]:
        jobs = {item.job.key: item for item in items}

        def case_of(item: OpenJob) -> Case:
            return Case(job=item.job, profile=Profile(name="A"), world=WorldFacts(), memories={})

        closings = close_due(
            [DueJob(key, state, answer(key.owner) if state == "staged" else None, claims) for key in jobs],
            jobs,
            self.streams,
            tick=5,
            kind_of=Thinker,
            case_of=case_of,
        )
        self.late.expect(closings, {key: item.job for key, item in jobs.items()}, self.streams, minute)
        return closings

    def take(self, *offers: LateAnswer, minute: int = 120) -> list[Closing]:
        return self.late.take(offers, self.streams, 6, minute)

    def forget(self, *left: str, minute: int = 120) -> set[JobKey]:
        """Forget, and say who is awaited still."""
        self.late.forget(self.streams, left, minute)
        return set(self.late.awaited)


@pytest.fixture
def run() -> Run:
    return Run()


JOB = asking(open_job())
KEY = JOB.job.key


@pytest.mark.parametrize("state", ["open", "dead"])
def test_an_answer_is_awaited_while_its_replacement_stands(run: Run, state: JobState) -> None:
    run.end(JOB, state=state)
    assert run.late.awaited == {KEY: Awaited(60, (ProvisionalEntry(ANN, 4),))}
    assert run.late.take_records().jobs == [(KEY, b'{"minute":60,"made":[["agent:ann",4]]}')]
    assert run.late.take_records().jobs == []
    assert run.forget() == {KEY}
    run.streams[ANN].archive(4, 6)
    assert run.forget() == set()
    assert [(write.command, write.key, write.args) for write in run.late.take_writes()] == [
        ("HDEL", "awaited", (KEY.text(),)),
        ("HDEL", "offered", (KEY.text(),)),
    ]
    assert run.late.take_writes() == []


@pytest.mark.parametrize(
    ("item", "state", "claims"),
    [
        (JOB, "open", 0),  # no worker has it
        (JOB, "staged", 1),  # its answer was there
        (asking(open_job(admitted=False)), "held", 0),
        (asking(open_job(), model=""), "open", 1),  # the heuristic is what was asked for
    ],
)
def test_an_answer_that_cannot_come_is_not_awaited(run: Run, item: OpenJob, state: JobState, claims: int) -> None:
    run.end(item, state=state, claims=claims)
    assert run.late.awaited == {}


def test_a_heuristic_that_makes_nothing_provisional_leaves_nothing_to_replace(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Thinker, "heuristic", lambda self, case: (Tell(ANN, "action", {}),))
    run.end(JOB)
    assert run.late.awaited == {}


def test_a_late_repair_leaves_its_target_to_be_replaced(run: Run) -> None:
    run.streams[ANN].append(Entry(type="reflection", text="a guess", minute=0, provisional=True), 2)
    run.end(asking(open_job(), replaces=4), asking(open_job(ordinal=1), replaces=2))
    assert run.late.awaited == {KEY: Awaited(60, (ProvisionalEntry(ANN, 4),))}, (
        "the other one's target is not provisional"
    )
    (closing,) = run.take(LateAnswer(KEY, answer()))
    assert closing.ended.end == "applied"
    assert run.streams[ANN].archived[4].into == 5


def test_an_answer_awaited_for_no_tick_is_never_written(run: Run) -> None:
    run.end(JOB)
    run.streams[ANN].archive(4, 5)
    assert run.forget() == set()
    assert (run.late.take_records().jobs, run.late.take_writes()) == ([], [])


def test_late_answers_for_leaving_owners_are_not_awaited(run: Run) -> None:
    run.end(JOB, asking(open_job(owner=BOB)))
    assert {key.owner for key in run.forget(ANN)} == {BOB}


def test_late_answers_are_awaited_for_at_most_a_day(run: Run) -> None:
    run.end(JOB, minute=60)
    run.end(asking(open_job(owner=BOB)), minute=61)
    assert len(run.forget(minute=59 + DAY)) == 2
    assert {key.owner for key in run.forget(minute=60 + DAY)} == {BOB}


def test_the_oldest_of_too_many_are_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_answers, "MOST", 2)
    run.end(asking(open_job(tick=3)), minute=60)
    run.end(asking(open_job(tick=2)), asking(open_job(tick=1)), minute=61)
    assert {key.tick for key in run.forget()} == {1, 2}
    run.end(asking(open_job(tick=4)), minute=62)
    assert {key.tick for key in run.forget()} == {2, 4}


def test_an_answer_replaces_the_heuristic_result(run: Run) -> None:
    (closing,) = run.end(JOB)
    (late,) = run.take(LateAnswer(KEY, answer()))
    assert (late.ended.key, late.ended.end, late.ended.reason) == (KEY, "applied", "none")
    assert (late.note.source, late.note.usage, late.note.model, late.note.appended) == ("llm", USED, "m", (5,))
    (change,) = late.changes
    assert (change.source, change.reason, change.entry) == ("llm", "none", run.streams[ANN].entries[5])
    assert [(e.text, e.provisional) for e in run.streams[ANN].live("reflection")] == [("a thought", False)]
    assert run.streams[ANN].archived[4].into == 5
    assert (closing.ended.reason, closing.counts_as) == ("late", JOB.job.reserved), "its end stays what it was"
    assert run.late.awaited == {}
    assert run.take(LateAnswer(KEY, answer())) == [], "once"


def test_an_answer_is_stale_when_its_target_went_at_the_same_boundary(run: Run) -> None:
    run.end(JOB)
    run.streams[ANN].archive(4, 6)
    (late,) = run.take(LateAnswer(KEY, answer()))
    assert (late.ended.end, late.note.failure) == ("stale", "entry 4 to be replaced is not live")
    assert late.changes == ()
    assert run.streams[ANN].live("reflection") == []


def test_an_answer_of_another_sort_is_dropped(run: Run) -> None:
    run.end(JOB)
    summary = Append(owner=ANN, entry=Entry(type="summary", text="They met.", minute=0))
    (late,) = run.take(LateAnswer(KEY, Result(effects=(summary,), source="llm")))
    assert (late.ended.end, late.ended.effects, late.changes) == ("dropped", (), ())


def test_answers_are_taken_in_the_order_of_their_jobs(run: Run) -> None:
    items = [asking(open_job(owner=owner, tick=tick)) for tick in (1, 2) for owner in (ANN, BOB)]
    run.end(*items)
    offers = [LateAnswer(item.job.key, answer(item.job.key.owner)) for item in reversed(items)]
    assert [closing.ended.key for closing in run.take(*offers)] == [item.job.key for item in items]


@pytest.mark.parametrize("offer", [LateAnswer(KEY, None), LateAnswer(open_job(owner=BOB).job.key, answer(BOB))])
def test_unreadable_and_unawaited_answers_are_removed(run: Run, offer: LateAnswer) -> None:
    run.end(JOB)
    run.late.take_records()
    assert run.take(offer) == []
    assert [write.args for write in run.late.take_writes()] == [(offer.key.text(),)] * 2


def test_a_host_that_resumes_awaits_the_same_in_the_same_order(run: Run) -> None:
    for tick, minute in ((9, 60), (2, 61), (3, 61)):
        run.end(asking(open_job(tick=tick)), minute=minute)
    client, kept = FakeRedis(), dict(run.late.take_records().jobs)
    client.hset(PREFIX + "awaited", mapping={key.text(): raw for key, raw in reversed(kept.items())})
    resumed = LateAnswers(data_of(run.streams))
    resumed.load(RunStore(client, PREFIX))
    assert list(resumed.awaited.items()) == list(run.late.awaited.items())
    run.streams[ANN].archive(4, 6)
    with pytest.raises(ValueError, match="not provisional"):
        LateAnswers(data_of(run.streams)).load(RunStore(client, PREFIX))


def test_a_job_that_has_had_its_answer_is_not_awaited(run: Run) -> None:
    """Its answer was of no use, so that what stands in its place is provisional all the same."""
    key = JOB.job.key
    failed = msgspec.structs.replace(answer(), source="heuristic", reason="failed")
    closings = close_due(
        [DueJob(key, "staged", failed, 1)],
        {key: JOB},
        run.streams,
        tick=5,
        kind_of=Thinker,
        case_of=lambda item: None,  # type: ignore[return-value]
    )
    assert [change.entry.provisional for change in closings[0].changes if change.entry] == [True]
    run.late.expect(closings, {key: JOB.job}, run.streams, 60)
    assert run.late.awaited == {}


def test_results_for_a_former_owner_are_not_kept(run: Run) -> None:
    guess = run.streams[ANN].append(Entry(type="reflection", text="a guess", minute=0, provisional=True), 2)
    assert Awaited(60, (ProvisionalEntry(ANN, guess.number),)).is_replaceable(run.streams)
    assert not Awaited(60, (ProvisionalEntry("agent:gone", guess.number),)).is_replaceable(run.streams)
    assert not Awaited(60, (ProvisionalEntry(ANN, guess.number), ProvisionalEntry(ANN, 1))).is_replaceable(
        run.streams
    ), "one is no guess"


@pytest.mark.parametrize(
    ("upto", "other", "all_of_it"),
    [(None, None, True), (None, 1, False), (1, None, True), (7, 7, True), (6, 7, False), (8, 7, True)],
)
def test_a_summary_covers_another_that_reaches_no_further(upto: int | None, other: int | None, all_of_it: bool) -> None:
    def summary(since: int | None, *evidence: int) -> Entry:
        return Entry(type="summary", text="They met.", minute=1, since_number=since, evidence=evidence)

    assert covers(summary(upto, 1, 2), summary(other, 2)) is all_of_it
    assert not covers(summary(9, 1), summary(None, 1, 2)), "one of its lines is missing"
    assert covers(seen("1"), summary(9, 1, 2)), "no summary has no lines to tell"


def test_an_answer_for_a_missing_entry_is_no_longer_awaited_and_leaves_the_ledger(run: Run) -> None:
    run.end(JOB, asking(open_job(ordinal=1)))
    client = FakeRedis()
    client.hset(PREFIX + "awaited", mapping={key.text(): raw for key, raw in run.late.take_records().jobs})
    resumed = LateAnswers(data_of(run.streams, LeftOut(ANN, 4, "odd")))
    resumed.load(RunStore(client, PREFIX))
    assert [key.ordinal for key in resumed.awaited] == [1]
    assert [(write.key, write.args) for write in resumed.take_writes()] == [
        ("awaited", (KEY.text(),)),
        ("offered", (KEY.text(),)),
    ]
