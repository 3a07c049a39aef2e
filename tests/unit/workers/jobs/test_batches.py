"""Several jobs of one message: each runs, some at a time, and the error of one stops no other."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from celery.utils.dispatch import Signal
from redis.exceptions import ConnectionError as Away

from cogitate.workers.jobs import model_lane, runner
from cogitate.workers.jobs.batches import Batches
from cogitate.workers.jobs.model_lane import SPARE

JOBS = [f"town/1/plan/agent:a{number}/0/0" for number in range(8)]


@contextmanager
def closing(batches: Batches) -> Iterator[Batches]:
    try:
        yield batches
    finally:
        batches.close()


def test_every_job_runs_once() -> None:
    ran: list[str] = []

    def run(job_id: str) -> str:
        ran.append(job_id)
        return "applied"

    with closing(Batches(3, run)) as batches:
        assert batches.run(JOBS) == {"applied": 8}
        batches.run(JOBS[:1])
    assert sorted(ran) == sorted([*JOBS, JOBS[0]])


def test_jobs_that_wait_do_not_keep_the_others_waiting() -> None:
    together = threading.Barrier(4)  # broken unless four run at a time
    with closing(Batches(3, lambda job_id: str(together.wait(30)))) as batches:
        batches.run(JOBS)


def test_a_batch_ends_when_its_last_job_has_ended() -> None:
    ended: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def run(job_id: str) -> str:
        if job_id == JOBS[0]:
            begun.set()
            assert go_on.wait(30)
        ended.append(job_id)
        return "applied"

    with closing(Batches(1, run)) as batches:
        whole = threading.Thread(target=batches.run, args=(JOBS,))
        whole.start()
        assert begun.wait(30)
        assert whole.is_alive()
        go_on.set()
        whole.join(30)
    assert sorted(ended) == sorted(JOBS)


def test_the_error_of_a_job_is_raised_after_the_others_have_run() -> None:
    ran: list[str] = []

    def run(job_id: str) -> str:
        ran.append(job_id)
        if job_id == JOBS[2]:
            raise ZeroDivisionError
        return "applied"

    with closing(Batches(1, run)) as batches, pytest.raises(ZeroDivisionError):
        batches.run(JOBS)
    assert sorted(ran) == sorted(JOBS)


def test_no_further_job_begins_while_the_ledger_is_away() -> None:
    tried: list[str] = []

    def run(job_id: str) -> str:
        tried.append(job_id)
        raise Away("away")

    with closing(Batches(1, run)) as batches, pytest.raises(Away):
        batches.run(JOBS)
    assert 1 <= len(tried) <= 2, "one for each thread at most"


def test_a_process_that_is_about_to_end_begins_no_further_job() -> None:
    ran: list[str] = []

    def run(job_id: str) -> str:
        ran.append(job_id)
        batches.close()
        return "applied"

    batches = Batches(1, run)
    batches.run(JOBS[:1])
    assert ran == JOBS[:1]
    batches.run(JOBS[1:2])
    assert ran == JOBS[:1]


def test_a_process_that_is_about_to_end_waits_for_no_job() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def run(job_id: str) -> str:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            closed_first.append(go_on.wait(5))
        else:
            assert begun.wait(60), "the other job is a helper's"
            batches.close()
            go_on.set()
        return "applied"

    closed_first: list[bool] = []
    batches = Batches(1, run)
    assert batches.run(JOBS[:2]) == {"applied": 2}
    assert closed_first == [True]


def test_the_jobs_of_a_message_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run_job(job_id: str) -> str:
        ran.append(job_id)
        return "late" if job_id == JOBS[3] else "applied"

    monkeypatch.setattr(runner, "run_job", run_job)
    runner._batches.cache_clear()
    assert runner.run_jobs(JOBS[:1]) == "applied"
    assert runner._batches.cache_info().currsize == 0, "one job needs no batch"
    assert runner.run_jobs(JOBS) == "7 applied, 1 late"
    assert sorted(ran) == sorted([JOBS[0], *JOBS])
    assert runner.run_jobs(JOBS[2:4]) == runner.run_jobs(JOBS[3:1:-1]) == "1 applied, 1 late"
    runner._batches(os.getpid()).close()
    runner._batches.cache_clear()


def test_a_message_has_a_helper_for_each_slot_and_for_each_job_that_is_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COGITATE_CONCURRENCY", "3")
    monkeypatch.setattr(model_lane, "_slots", [])
    runner._batches.cache_clear()
    ending = Signal(name="worker_shutting_down")
    monkeypatch.setattr(runner, "signals", SimpleNamespace(worker_shutting_down=ending))
    batches = runner._batches(os.getpid())
    assert batches._threads == 3 + SPARE
    gc.collect()
    ending.send(sender=None)
    assert batches._closed.is_set(), "the worker is about to end"
    runner._batches.cache_clear()
