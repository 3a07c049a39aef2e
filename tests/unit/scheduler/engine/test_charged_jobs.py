"""Jobs that count in full until their cost is known: which these are, what corrects them, and what the ledger keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory import typed_json
from cogitate.scheduler.budget.admission import Grant
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.engine import corrections as module
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.corrections import Charged, Corrections, Learned
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import JobRecords
from cogitate.scheduler.journal import run_totals
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.journal.run_totals import oldest
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey

CELLS = (Cell("day:0", "run"), Cell("run:0", "run"))
RESERVED, USED = Cost(calls=1, tokens=500), Cost(calls=1, tokens=120)


def key(ordinal: int = 0, kind: str = "plan") -> JobKey:
    return JobKey(3, kind, "agent:ada", ordinal, 0)


def item(of: JobKey, reserved: Cost = RESERVED) -> OpenJob:
    job = Job(run="town", key=of, minute=3, due=9, reads=(), model="default", reserved=reserved)
    return OpenJob(job=job, grant=Grant(key=of, reserved=reserved, cells=CELLS))


def closing(of: JobKey, reason: Any) -> Closing:
    return Closing(Ended(key=of, end="applied", reason=reason), EndNote(key=of, source="none"), Cost(), ())


def charged(*reasons: Any, waits: bool = False, reserved: Cost = RESERVED) -> Corrections:
    """Jobs of which the n-th ended at tick 9 + n for this reason."""
    found = Corrections()
    for number, reason in enumerate(reasons):
        found.charge(closing(key(number), reason), item(key(number), reserved), 9 + number, waits=waits)
    return found


def view() -> BudgetView:
    made = BudgetView(LimitTable({}), retry_share=0.0, guarantees={})
    made.move(CELLS, Cost(), Cost(calls=3, tokens=1500))
    made.take_changes()
    return made


def learned(ordinal: int, usage: Cost = USED, **more: Any) -> Learned:
    return Learned(key(ordinal), usage, more.get("saved", False), 10)


@pytest.mark.parametrize(
    ("reason", "counts"),
    [("late", True), ("dead", True), ("cancelled", True), ("none", False), ("failed", False), ("denied", False)],
)
def test_a_job_without_a_result_counts_in_full_unless_it_reserved_nothing(reason: Any, counts: bool) -> None:
    assert (key() in charged(reason).charged) is counts
    assert key() not in charged(reason, reserved=Cost()).charged


def test_charged_jobs_are_saved_with_their_corrections() -> None:
    assert charged("late").charged[key()] == Charged(
        ended=9, due=9, reserved=RESERVED, cells=CELLS, model="default", kept=False
    )


@pytest.mark.parametrize(
    ("reason", "waits", "kept"),
    [("cancelled", True, True), ("cancelled", False, False), ("late", True, False), ("dead", True, False)],
)
def test_where_boundaries_wait_a_cancelled_job_stays_counted_in_full(reason: Any, waits: bool, kept: bool) -> None:
    jobs, budget = charged(reason, waits=waits), view()
    (correction,) = jobs.take([learned(0)], budget)
    assert (correction.usage, correction.at, correction.kept) == (USED, 10, kept)
    assert budget.get(CELLS[0], "tokens") == (1500 if kept else 1120)
    assert jobs.charged == {}


@pytest.mark.parametrize(("waits", "kept"), [(True, False), (False, True)])
def test_a_fork_counts_a_cancelled_job_as_its_source_did(waits: bool, kept: bool) -> None:
    jobs, budget = charged("cancelled", waits=waits), view()
    (correction,) = jobs.take([learned(0)._replace(kept=kept)], budget)
    assert correction.kept is kept
    assert budget.get(CELLS[0], "tokens") == (1500 if kept else 1120)


def test_each_correction_is_made_once_in_the_order_of_the_jobs() -> None:
    jobs, budget = charged("late", "dead", "late"), view()
    made = jobs.take([learned(2), learned(0, Cost(), saved=True), learned(7)], budget)
    assert [(one.key.ordinal, one.usage, one.saved) for one in made] == [(0, Cost(), True), (2, USED, False)]
    assert [budget.get(cell, "tokens") for cell in CELLS] == [1500 - 500 - 380] * 2
    assert [budget.get(cell, "calls") for cell in CELLS] == [2, 2]
    assert jobs.take([learned(0)], budget) == ()
    assert [*jobs.charged] == [key(1)]


def commands(writes: Sequence[Write]) -> dict[str, list[Any]]:
    return {write.key: [*write.args] for write in writes if write.command == "HDEL"}


def test_the_ledger_learns_of_new_and_ended_jobs_once() -> None:
    jobs = charged("late", "dead")
    records = jobs.take_records().jobs
    assert [name for name, _ in records] == [key(0), key(1)]
    assert typed_json.decode(records[1][1], Charged) == jobs.charged[key(1)]
    assert (jobs.take_records().jobs, jobs.take_writes()) == ([], [])
    jobs.take([learned(0), learned(7)], view())
    gone = [key(0).text()]
    assert commands(jobs.take_writes()) == {"charged": gone, "unsettled": gone, "corrections": [*gone, key(7).text()]}
    assert jobs.take_writes() == []


def test_a_job_known_in_the_tick_of_its_end_never_reaches_the_ledger() -> None:
    jobs = charged("late")
    jobs.take([learned(0)], view())
    assert jobs.take_records().jobs == []
    assert commands(jobs.take_writes()) == {"corrections": [key(0).text()]}


def test_a_resume_restores_charged_jobs() -> None:
    store, jobs = RunStore.of(FakeRedis(), "town", "now"), charged("late", "dead")
    for name, raw in jobs.take_records().jobs:
        store.client.hset(store.key("charged"), name.text(), raw)
    resumed = Corrections()
    resumed.load(store)
    assert resumed.charged == jobs.charged
    assert resumed.take_records().jobs == []


def test_the_newest_are_remembered_and_all_of_this_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    for of in (module, run_totals):
        monkeypatch.setattr(of, "MOST", 2)
    jobs = charged("late", "late", "late", "late")
    jobs.take_records()
    jobs.forget(12)
    assert [*jobs.charged] == [key(1), key(2), key(3)], "the last ends with this tick"
    assert commands(jobs.take_writes())["charged"] == [key(0).text()]
    jobs.forget(13)
    assert [*jobs.charged] == [key(2), key(3)]


def test_the_oldest_go_by_tick_and_then_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_totals, "MOST", 1)
    ended = {key(2): 5, key(1): 5, key(0): 6, key(3): 9}
    assert oldest(ended, 9) == [key(1), key(2)]
    assert oldest(ended, 6) == [key(1)]
    assert oldest(ended, 5) == []


# -- records in step with a hash ---------------------------------------------------------------------


class Note(msgspec.Struct):
    text: str


def test_a_record_that_the_ledger_does_not_have_yet_is_not_removed_there() -> None:
    jobs = JobRecords[Note]()
    jobs.remember(key(1), Note("b"))
    jobs.remember(key(0), Note("a"))
    jobs.drop(key(1))
    assert [name for name, _ in jobs.take_records()] == [key(0)]
    assert jobs.take_gone() == []
    jobs.drop(key(0))
    jobs.drop(key(5))
    assert jobs.take_gone() == [key(0).text(), key(5).text()], "the ledger may know one that this host does not"
    assert jobs.take_gone() == []
    assert jobs.records == {}


def test_the_ledger_is_written_in_key_order() -> None:
    jobs, keys = JobRecords[Note](), [key(ordinal, kind) for ordinal in range(8) for kind in ("act", "plan")]
    for one in reversed(keys):
        jobs.remember(one, Note("x"))
    assert [found for found, _ in jobs.take_records()] == sorted(keys)
    for one in (*keys[1::2], *keys[::2]):
        jobs.drop(one)
    assert jobs.take_gone() == [one.text() for one in sorted(keys)]
    assert (jobs.take_records(), jobs.take_gone(), jobs.records) == ([], [], {})


def test_corrections_are_removed_in_the_order_of_their_jobs() -> None:
    found = Corrections()
    found.take([learned(ordinal) for ordinal in reversed(range(12))], view())
    (write,) = found.take_writes()
    assert write == Write("HDEL", "corrections", tuple(key(ordinal).text() for ordinal in range(12)))
