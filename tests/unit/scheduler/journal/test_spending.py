"""Who is charged for what attempts used: once for each, whenever it becomes known."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeRedis

from cogitate.scheduler.engine.corrections import RetriedAttempt, Retries
from cogitate.scheduler.inspection.stored_run import Unjournalled, unjournalled
from cogitate.scheduler.journal.lines import Correction, EndNote, Retried
from cogitate.scheduler.journal.run_totals import Spent, spending
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey

PLAN, ACT, SUM = (JobKey(7, kind, "agent:ada", 0, 0) for kind in ("plan", "act", "summarise"))
ONE, TWO, FOUR = Cost(1, 100, 10), Cost(2, 200, 20), Cost(4, 400, 40)


def note(key: JobKey, usage: Cost = ONE, **fields: Any) -> EndNote:
    return EndNote(key=key, source="llm", usage=usage, **fields)


def test_an_ended_job_carries_its_earlier_attempts_usage() -> None:
    retries = Retries()
    shown = [RetriedAttempt("a", PLAN, ONE), RetriedAttempt("b", PLAN, TWO), RetriedAttempt("c", ACT, FOUR)]
    plan, summary = retries.close(shown, [note(PLAN, FOUR, retried=ONE), note(SUM)])
    assert (plan.key, plan.usage, plan.retried) == (PLAN, FOUR, FOUR), "what was known before, and both attempts"
    assert summary == note(SUM)
    assert retries.rest(shown, [PLAN, SUM], [ACT]) == (), "of what is open still the end carries it"
    assert retries.take_writes() == [Write("HDEL", "retries", ("a", "b"))]
    assert retries.take_writes() == [], "once"


def test_spending_known_after_a_jobs_end_is_charged_once() -> None:
    retries = Retries()
    shown = [RetriedAttempt("b", PLAN, TWO), RetriedAttempt("a", ACT, ONE)]
    assert retries.rest(shown, [SUM], [ACT]) == (Retried(PLAN, TWO),)
    assert retries.take_writes() == [Write("HDEL", "retries", ("b",))]


def test_a_line_charges_each_attempt_once() -> None:
    ended = note(PLAN, ONE, retried=TWO)
    line = Unjournalled(
        ended=(ended, note(SUM, FOUR, saved=True)),
        corrected=(Correction(key=ACT, usage=TWO, at=3), Correction(key=PLAN, usage=ONE, at=3, saved=True)),
        retried=(Retried(SUM, ONE),),
    )
    assert list(spending(line)) == [
        Spent(PLAN, Cost(3, 300, 30)),
        Spent(SUM, Cost()),
        Spent(ACT, TWO),
        Spent(PLAN, Cost()),
        Spent(SUM, ONE),
    ]


def test_a_missing_run_has_no_spending() -> None:
    assert unjournalled(RunStore(FakeRedis(), "cogitate:run:{none}:")) == Unjournalled()
