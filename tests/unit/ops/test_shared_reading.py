"""Viewers share a reading, and its error; a later one is read again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest

from cogitate.ops.flower.readings import SharedReadings
from tests.patience import LONGEST


def test_viewers_at_the_same_time_read_once_for_each_run() -> None:
    readings, began, finish = SharedReadings(good_for=LONGEST), Event(), Event()
    read: list[str] = []

    def slow(run: str) -> dict[str, Any]:
        read.append(run)
        began.set()
        assert finish.wait(LONGEST)
        return {"run": run, "reading": len(read)}

    with ThreadPoolExecutor(3) as viewers:
        first = viewers.submit(readings.get, "a", lambda: slow("a"))
        assert began.wait(LONGEST)
        second = viewers.submit(readings.get, "a", lambda: slow("a"))
        other = viewers.submit(readings.get, "b", lambda: slow("b"))
        finish.set()
        assert first.result(LONGEST) is second.result(LONGEST)
        assert other.result(LONGEST)["run"] == "b"
    assert sorted(read) == ["a", "b"]


def test_a_reading_that_is_too_old_is_read_again() -> None:
    readings, read = SharedReadings(good_for=0), iter(range(3))
    assert [readings.get(None, lambda: {"at": next(read)})["at"] for _ in range(3)] == [0, 1, 2]


def test_viewers_share_an_error_too() -> None:
    readings, together = SharedReadings(good_for=LONGEST), Barrier(2)
    asked: list[int] = []

    def fails() -> dict[str, Any]:
        asked.append(1)
        raise TimeoutError("no answer")

    def view() -> None:
        together.wait(LONGEST)
        readings.get("a", fails)

    with ThreadPoolExecutor(2) as viewers:
        for one in [viewers.submit(view) for _ in range(2)]:
            with pytest.raises(TimeoutError, match="no answer"):
                one.result(LONGEST)
    assert len(asked) == 1
