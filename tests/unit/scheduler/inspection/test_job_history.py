"""How readers find a run's jobs: the newest, all, by kind, owner and state, in pages, also in a trimmed journal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.errors import InputError
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import NEWEST, JobQuery, Position
from cogitate.scheduler.journal.lines import (
    Ended,
    EndNote,
    JournalError,
)
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Job, JobKey
from tests.unit.scheduler.run_lines_case import (
    ANN,
    BOB,
    CY,
    GONE,
    LATE,
    OPEN,
    SOON,
    TICKS,
    decided,
    lines,
    put,
    store_of,
    trimmed_store,
)

# -- jobs one by one ---------------------------------------------------------------------------------


def names(found: Any) -> list[str]:
    return [record.id.removeprefix("town/") for record in found]


ALL = [OPEN.text(), SOON.text(), LATE.text(), GONE.text()]


@pytest.mark.parametrize(("last", "found"), [(0, ALL), (1, ALL[:1]), (2, ALL[:2]), (4, ALL), (9, ALL)])
def test_the_newest_jobs_are_open_ones_then_the_latest_ended(store: RunStore, last: int, found: list[str]) -> None:
    assert names(JobHistory(store.client, "town").newest(last)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (JobQuery(kind="muse"), [GONE]),
        (JobQuery(owner=CY), [OPEN, GONE]),
        (JobQuery(state="late"), [LATE]),
        (JobQuery(state="applied"), [SOON, LATE]),
        (JobQuery(state="open"), [OPEN]),
        (JobQuery(state="denied"), [GONE]),
        (JobQuery(kind="think", owner=CY), [OPEN]),
        (JobQuery(kind="hum"), []),
    ],
)
def test_jobs_are_found_by_kind_owner_and_state(store: RunStore, asked: JobQuery, found: list[JobKey]) -> None:
    assert names(JobHistory(store.client, "town").newest(0, asked)) == [key.text() for key in found]


@pytest.mark.parametrize("most", [1, 2, 3, 9])
@pytest.mark.parametrize("read", [1, 2, 99])
def test_pages_follow_each_other_without_a_gap_or_a_repeat(store: RunStore, most: int, read: int) -> None:
    history, found, start = JobHistory(store.client, "town"), [], NEWEST
    while start is not None:
        page = history.page(JobQuery(), start, most=most, read=read)
        found += names(page.jobs)
        assert len(page.jobs) <= most
        start = page.older
    assert found == ALL


def test_a_page_reads_no_more_ticks_than_it_may(store: RunStore) -> None:
    page = JobHistory(store.client, "town").page(JobQuery(kind="hum"), most=1, read=1)
    assert (page.jobs, page.older, page.since) == ([], Position(len(TICKS) - 1), len(TICKS))


@pytest.mark.parametrize("text", ["", "4", "4.", "4.x", "-4.1", "4.1.1", "4.1" + "0" * 20])
def test_a_wrong_position_is_named(text: str) -> None:
    with pytest.raises(InputError, match="is not a position"):
        Position.parse(text)


def test_all_jobs_are_ordered_by_their_ends(store: RunStore) -> None:
    assert names(JobHistory(store.client, "town").all()) == [GONE.text(), SOON.text(), LATE.text(), OPEN.text()]


def test_a_job_without_a_request_is_a_journal_fault() -> None:
    odd = JobKey(1, "think", ANN, 9, 0)
    ends = {"ended": (Ended(key=odd, end="applied"),)}, {"ended": (EndNote(key=odd, source="llm"),)}
    store = store_of(lines(ticks=[TICKS[0], ends]))
    with pytest.raises(JournalError, match=f"tick 1: the journal has no decision for job {odd.text()}"):
        JobHistory(store.client, "town").newest(0)


def test_an_unknown_job_is_named(store: RunStore) -> None:
    with pytest.raises(InputError, match="has no job 'town/2/think/agent:ann/0/0'"):
        JobHistory(store.client, "town").find(JobKey(2, "think", ANN, 0, 0))


def test_a_job_that_ends_during_the_read_is_not_open(store: RunStore) -> None:
    store.client.sadd(store.key("jobs"), JobKey(4, "think", ANN, 7, 0).text())
    assert names(JobHistory(store.client, "town").newest(1)) == [OPEN.text()]


def test_reading_all_jobs_keeps_no_ended_requests(store: RunStore) -> None:
    history = JobHistory(store.client, "town")
    list(history.all())
    assert set(history._openings) == {OPEN}


def test_open_jobs_are_ordered_by_newest_tick_then_name() -> None:
    keys = [JobKey(tick, "think", owner, 0, 0) for tick, owner in ((4, CY), (5, BOB), (5, ANN), (6, CY))]
    ticks: list[Any] = [
        ({"decided": tuple(decided(key) for key in keys if key.tick == tick)}, {}) for tick in range(1, 7)
    ]
    store = store_of(lines(ticks=ticks))
    for key in keys:
        put(store, key, job=msgspec.json.encode(Job(run="town", key=key, minute=4, due=9, reads=())))
    history = JobHistory(store.client, "town")
    assert names(history.newest(0)) == [keys[3].text(), keys[2].text(), keys[1].text(), keys[0].text()]
    assert names(history.all()) == [keys[0].text(), keys[2].text(), keys[1].text(), keys[3].text()]
    assert names(history.newest(2)) == [keys[3].text(), keys[2].text()]


# -- of a trimmed journal ----------------------------------------------------------------------------


def test_jobs_that_ended_after_the_trimmed_lines_are_unaffected(store: RunStore) -> None:
    trimmed = trimmed_store()
    for key in (SOON, LATE, OPEN):
        assert JobHistory(trimmed.client, "town").find(key) == JobHistory(store.client, "town").find(key)
    history = JobHistory(trimmed.client, "town")
    assert history.trimmed == 2
    assert names(history.all()) == [SOON.text(), LATE.text(), OPEN.text()]
    assert names(JobHistory(trimmed.client, "town").newest(0)) == [OPEN.text(), SOON.text(), LATE.text()]
