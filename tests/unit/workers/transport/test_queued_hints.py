"""Hints that still wait are not queued again; those that a worker has taken, or the broker has lost, are."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Job, JobKey
from cogitate.workers.publish import Publisher
from cogitate.workers.transport import redis_sender
from cogitate.workers.transport.hints import QUICK, hints_key, next_hints

SETTINGS = Settings(redis_url="redis://localhost:1/0")
QUEUE = "cogitate:plan"
LINE = hints_key(QUEUE, "town", 1)


def jobs(*numbers: int) -> list[Job]:
    keys = [JobKey(420, "plan", f"agent:a{number}", 0, 0) for number in numbers]
    return [Job(run="town", key=key, minute=420, due=425, reads=()) for key in keys]


class Host:
    """A host's publisher, and the broker that it publishes to."""

    def __init__(self, broker: Any = None) -> None:
        self.broker: Any = broker or FakeRedis()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(redis_sender, "Redis", SimpleNamespace(from_url=lambda *_, **__: self.broker))
            self.publisher = Publisher(SETTINGS)

    def publish(self, *numbers: int) -> int:
        return self.publisher.publish(jobs(*numbers))

    def take(self) -> int:
        """The job whose hint a worker takes next."""
        assert self.broker.rpop(QUEUE)
        ((_, hint),) = next_hints(self.broker, [QUEUE], QUICK)
        return number_of(hint)

    def waiting(self) -> list[int]:
        return [number_of(hint) for hint in reversed(self.broker.lrange(LINE, 0, -1))]


def number_of(hint: str | bytes) -> int:
    return int(json.loads(hint)["headers"]["id"].partition("agent:a")[2].partition("/")[0])


def test_only_a_taken_hint_is_queued_again() -> None:
    host = Host()
    assert host.publish(1, 2, 3) == 3
    assert host.publish(1, 2, 3) == 3, "the broker has a hint of each"
    assert host.waiting() == [1, 2, 3]
    assert host.take() == 1
    host.publish(1, 2, 3)
    assert host.waiting() == [2, 3, 1]
    assert [host.take(), host.take()] == [2, 3]
    host.publish(2, 3, 1)
    assert host.waiting() == [1, 2, 3]


def test_lost_hints_are_queued_again_once_those_before_them_are_taken() -> None:
    host = Host()
    host.publish(1, 2, 3)
    host.broker.lpop(LINE)  # the newest, as a broker that is set back to an earlier moment
    host.publish(1, 2, 3)
    assert host.waiting() == [1, 2]
    assert [host.take(), host.take()] == [1, 2]
    host.publish(3)
    assert host.waiting() == [3]
    host.broker.flushall()
    host.publish(3)
    assert host.waiting() == [3]


def test_hints_without_tickets_are_queued_again() -> None:
    host = Host()
    host.publish(1, 2)
    host.broker.delete(QUEUE)
    host.publish(1, 2)
    assert sorted(host.waiting()) == [1, 1, 2, 2]


def test_hints_of_another_host_come_first_and_are_no_reason_to_repeat_any() -> None:
    broker = FakeRedis()
    earlier, later = Host(broker), Host(broker)
    earlier.publish(1, 2)
    later.publish(2, 3)
    later.publish(2, 3)
    assert later.waiting() == [1, 2, 2, 3], "a host that resumes a run knows no hint of the one before it"
    assert [later.take() for _ in range(3)] == [1, 2, 2]
    later.publish(2, 3)
    assert later.waiting() == [3, 2]


@pytest.mark.parametrize("strange", [b"\xff", b"{}", b'{"properties": {"delivery_tag": 5}}'])
def test_an_invalid_hint_is_ignored(strange: bytes) -> None:
    host = Host()
    host.publish(1)
    host.broker.rpush(LINE, strange)
    host.publish(1)
    assert host.broker.llen(LINE) == 2


def test_taken_hints_are_forgotten_without_a_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_sender, "MOST_REMEMBERED", 10)
    host = Host()
    for tick in range(100):
        host.publish(tick)
        host.take()
    assert len(host.publisher._sender._queued._line_of) <= 11  # type: ignore[attr-defined]


@given(st.lists(st.one_of(st.just("take"), st.just("repeat"), st.integers(1, 4)), max_size=40))
@settings(max_examples=60)
def test_each_unclaimed_job_has_exactly_one_queued_hint(steps: list[str | int]) -> None:
    host = Host()
    host.broker.flushall()
    last, held = 0, set[int]()  # held: taken by a worker that has not claimed the job
    for step in steps:
        if step == "take":
            if host.broker.llen(QUEUE):
                held.add(host.take())
        elif step == "repeat":
            host.publish(*range(last))
            held.clear()
        else:
            host.publish(*range(last, last + int(step)))
            last += int(step)
        assert Counter(host.waiting()) == Counter(set(range(last)) - held)
