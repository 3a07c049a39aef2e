"""What a host says of workers that die or leave during its run."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from cogitate.hosting.worker_watch import WorkerWatch
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, WorkersSeen


def seen(*alive: str, missing: tuple[str, ...] = (), failing: int = 0) -> WorkersSeen:
    return WorkersSeen(
        alive=[*alive],
        missing=[MissingWorker(worker=name, seconds=7.0) for name in missing],
        kinds=[],
        failing=[FailingWorker(worker=name, failures=9, why="OSError", ended=False) for name in alive[:failing]],
    )


def warned(*readings: WorkersSeen | None) -> list[tuple[Any, ...]]:
    told: list[tuple[Any, ...]] = []
    ahead = iter(readings)
    watch = WorkerWatch("town", lambda: next(ahead), "start one")
    for tick in range(1, len(readings) + 1):
        with capture_logs() as logs:
            watch.committed(tick, None, 0.0)  # type: ignore[arg-type] # it looks only at the workers
        told += [(tick, one["event"], one.get("worker", ""), one.get("left")) for one in logs]
    return told


def test_a_worker_that_dies_is_named_once_with_the_number_of_those_left() -> None:
    dead = seen("b", missing=("a",))
    assert warned(seen("a", "b"), dead, dead, seen("b", missing=("a",))) == [(2, "worker.missing", "a", 1)]


def test_a_worker_that_died_before_this_host_began_is_not_named() -> None:
    assert warned(seen("b", missing=("a",)), seen("b", missing=("a",))) == []


def test_a_worker_that_returns_and_dies_again_is_named_again() -> None:
    events = warned(seen("a", "b"), seen("b", missing=("a",)), seen("a", "b"), seen("b", missing=("a",)))
    assert [tick for tick, *_ in events] == [2, 4]


def test_the_host_says_when_no_worker_is_left() -> None:
    assert warned(seen("a"), seen(missing=("a",)), seen(missing=("a",))) == [
        (2, "worker.missing", "a", 0),
        (2, "workers.none_left", "", None),
    ]
    assert warned(seen("a"), seen(), seen("a"), seen()) == [
        (2, "workers.none_left", "", None),
        (4, "workers.none_left", "", None),
    ], "those that shut down cleanly are gone too"
    assert warned(seen("a"), seen("a", failing=1)) == [(2, "workers.none_left", "", None)]


def test_unknown_workers_are_not_missed() -> None:
    assert warned(seen("a"), None, seen("a")) == []
    assert warned(seen(), seen()) == [], "none was there"
