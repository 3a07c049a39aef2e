"""A worker's heartbeat: every run that has a job there hears it, as long as it has one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from redis.exceptions import ConnectionError as Away

from cogitate.workers.jobs.heartbeat import Heartbeat
from tests.patience import LONGEST


class Beats:
    """Beats as the ledger gets them."""

    def __init__(self) -> None:
        self._came: list[tuple[str, str]] = []
        self._changed = threading.Condition()
        self.fails: Callable[[], None] = lambda: None

    def beat(self, run: str, incarnation: str) -> None:
        with self._changed:
            self._came.append((run, incarnation))
            self._changed.notify_all()
        self.fails()

    def next(self, number: int) -> set[tuple[str, str]]:
        """The runs of the next so many beats."""
        with self._changed:
            self._came.clear()
            assert self._changed.wait_for(lambda: len(self._came) >= number, LONGEST)
            return set(self._came)


@pytest.fixture
def beats() -> Beats:
    return Beats()


@pytest.fixture
def heartbeat(beats: Beats) -> Iterator[Heartbeat]:
    made = Heartbeat(beats.beat, 0.001)
    yield made
    made.close()
    thread = made._thread._thread
    assert thread is not None
    thread.join(LONGEST)
    assert not thread.is_alive()


def test_it_beats_again_and_again_for_the_runs_that_have_a_job_here(beats: Beats, heartbeat: Heartbeat) -> None:
    with heartbeat.of("town", "x"):
        assert beats.next(3) == {("town", "x")}
        with heartbeat.of("port", "y"):
            assert beats.next(8) == {("town", "x"), ("port", "y")}


def test_a_run_without_jobs_gets_no_heartbeats(beats: Beats, heartbeat: Heartbeat) -> None:
    with heartbeat.of("town", "x"), heartbeat.of("port", "y"):
        with heartbeat.of("port", "y"):
            beats.next(2)
        assert beats.next(8) == {("town", "x"), ("port", "y")}, "one of its two jobs still runs"
    with heartbeat.of("town", "x"):
        beats.next(4)  # a round that had begun is over
        assert beats.next(4) == {("town", "x")}


def test_a_beat_that_fails_is_not_the_last(beats: Beats, heartbeat: Heartbeat) -> None:
    def away() -> None:
        raise Away("away")

    beats.fails = away
    with heartbeat.of("town", "x"), heartbeat.of("port", "y"):
        assert beats.next(8) == {("town", "x"), ("port", "y")}


def test_while_no_job_runs_its_thread_waits(
    beats: Beats, heartbeat: Heartbeat, eventually: Callable[..., None]
) -> None:
    with heartbeat.of("town", "x"):
        beats.next(1)
    eventually(lambda: heartbeat._changed._waiters, "the thread to wait for the next job")  # type: ignore[attr-defined]


def test_close_ends_the_heartbeat_thread(beats: Beats, eventually: Callable[..., None]) -> None:
    heartbeat = Heartbeat(beats.beat, 3_600.0)
    with heartbeat.of("town", "x"):
        eventually(lambda: heartbeat._changed._waiters, "the thread to wait for the next beat")  # type: ignore[attr-defined]
    thread = heartbeat._thread._thread
    assert thread is not None
    assert (thread.name, thread.daemon) == ("heartbeat", True)
    heartbeat.close()
    thread.join(LONGEST)
    assert not thread.is_alive()


def test_consecutive_jobs_each_get_heartbeats(beats: Beats, heartbeat: Heartbeat) -> None:
    for incarnation in ("x", "y", "z"):
        with heartbeat.of("town", incarnation):
            beats.next(2)
            assert beats.next(2) == {("town", incarnation)}
