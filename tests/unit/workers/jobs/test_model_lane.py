"""A worker's places for jobs that ask a model, and the slot that is left for the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from celery.utils.dispatch import Signal

from cogitate.workers.jobs import model_lane
from cogitate.workers.jobs.model_lane import ModelLane
from tests.patience import LONGEST


class Hint(NamedTuple):
    job_id: str


class Slots:
    """A process with threads for its slots, and jobs that end when they are told to. "m…" ask a model."""

    def __init__(self, slots: int) -> None:
        self.began: list[str] = []
        self._changed = threading.Condition()
        self._ends: dict[str, threading.Event] = {}
        self._pool = ThreadPoolExecutor(slots)
        self.lane = ModelLane[Hint](slots, lambda job: job.startswith("m"), self._run)

    def hint(self, job: str) -> Future[None]:
        return self._pool.submit(self.lane.run, Hint(job))

    def wait_for(self, *jobs: str) -> None:
        """Wait until these have begun, and no other."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.began) >= len(jobs), 30), self.began
            assert sorted(self.began) == sorted(jobs)

    def end(self, job: str) -> None:
        self._ends[job].set()

    def close(self) -> None:
        self.lane.close()
        for event in [*self._ends.values()]:
            event.set()
        self._pool.shutdown()

    def _run(self, hint: Hint) -> None:
        job = hint.job_id
        event = threading.Event()
        with self._changed:
            self._ends[job] = event
            self.began.append(job)
            self._changed.notify_all()
        assert event.wait(LONGEST)
        if job.endswith("!"):
            raise RuntimeError(job)


@pytest.fixture
def slots() -> Iterator[Slots]:
    made = Slots(3)
    yield made
    made.close()


def test_a_job_without_a_model_always_finds_a_slot(slots: Slots) -> None:
    running = [slots.hint(job) for job in ("m1", "m2")]
    slots.wait_for("m1", "m2")
    for job in ("m3", "m4", "m3"):
        slots.hint(job).result(30)  # its slot is free at once
    plain = slots.hint("prune")
    slots.wait_for("m1", "m2", "prune")
    slots.end("prune")
    plain.result(30)
    slots.end("m1")
    slots.wait_for("m1", "m2", "prune", "m3")
    slots.end("m3")
    slots.wait_for("m1", "m2", "prune", "m3", "m4")
    slots.end("m4")
    running[0].result(30)
    assert slots.began.count("m3") == 1, "hinted twice, and run once"
    later = slots.hint("m5")
    slots.wait_for("m1", "m2", "prune", "m3", "m4", "m5")
    slots.end("m5")
    later.result(30)


def test_a_freed_place_counts_once(slots: Slots) -> None:
    for job in ("m1", "m2"):
        running = slots.hint(job)
        slots.wait_for(*("m1", "m2")[: int(job[1])])
        slots.end(job)
        running.result(30)
    held = [slots.hint(job) for job in ("m3", "m4")]
    slots.wait_for("m1", "m2", "m3", "m4")
    slots.hint("m5").result(30)  # put aside: the two places are taken
    assert "m5" not in slots.began
    for job in ("m3", "m4"):
        slots.end(job)
    slots.wait_for("m1", "m2", "m3", "m4", "m5")
    slots.end("m5")
    for one in held:
        one.result(30)


def test_a_job_that_fails_leaves_its_place(slots: Slots) -> None:
    other, failing = slots.hint("m1"), slots.hint("m2!")
    slots.wait_for("m1", "m2!")
    slots.end("m2!")
    with pytest.raises(RuntimeError, match="m2!"):
        failing.result(30)
    slots.hint("m3")
    slots.wait_for("m1", "m2!", "m3")
    slots.hint("m4").result(30)  # put aside: it has left one place
    assert "m4" not in slots.began
    slots.lane.close()
    slots.end("m1")
    other.result(30)


def test_jobs_put_aside_do_not_start_once_the_process_ends(slots: Slots) -> None:
    running = [slots.hint(job) for job in ("m1", "m2")]
    slots.wait_for("m1", "m2")
    slots.hint("m3").result(30)
    slots.lane.close()
    slots.hint("m4").result(30)
    for job in ("m1", "m2"):
        slots.end(job)
    for one in running:
        one.result(30)
    slots.wait_for("m1", "m2")


@pytest.mark.parametrize(("places", "ahead"), [(1, 2), (8, 2), (16, 4)])
def test_the_room_is_the_free_places_and_the_hints_drawn_ahead(places: int, ahead: int) -> None:
    slots = Slots(places + 1)
    try:
        for number in range(places):
            assert slots.lane.room() == places + ahead - number
            slots.hint(f"m{number}")
            slots.wait_for(*(f"m{began}" for began in range(number + 1)))
        for number in range(places, places + ahead):
            assert slots.lane.room() == places + ahead - number
            slots.hint(f"m{number}").result(30)
        assert slots.lane.room() == 0
        slots.end("m0")
        slots.wait_for(*(f"m{began}" for began in range(places + 1)))
        assert slots.lane.room() == 1, "one that was next has a place now"
    finally:
        slots.close()


def test_a_single_slot_is_a_place() -> None:
    ran: list[Hint] = []
    lane = ModelLane[Hint](1, lambda job: True, ran.append)
    lane.run(Hint("m1"))
    lane.run(Hint("m2"))
    assert ran == [Hint("m1"), Hint("m2")]


def test_no_more_is_put_aside_than_a_host_repeats(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_lane, "MOST", 2)
    running = [slots.hint(job) for job in ("m1", "m2")]
    slots.wait_for("m1", "m2")
    for job in ("m3", "m4", "m5"):
        slots.hint(job).result(30)
    slots.end("m1")
    slots.wait_for("m1", "m2", "m3")
    slots.end("m3")
    slots.wait_for("m1", "m2", "m3", "m4")
    slots.end("m4")
    running[0].result(30)
    assert slots.began[2:] == ["m3", "m4"]


def test_a_process_has_the_slots_that_its_worker_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_lane, "_slots", [])
    assert model_lane.slots_of_worker(8) == 8
    model_lane._note_slots(SimpleNamespace(concurrency=3))
    assert model_lane.slots_of_worker(8) == 3


def test_the_slots_are_noted_once_celery_has_set_up_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_lane, "_slots", [])
    signal = Signal(name="celeryd_after_setup")
    monkeypatch.setattr(model_lane, "signals", SimpleNamespace(celeryd_after_setup=signal))
    model_lane.register()
    signal.send(sender="worker@here", instance=SimpleNamespace(concurrency=5), conf=None)
    assert model_lane.slots_of_worker(8) == 5


def test_the_slot_of_a_failed_job_is_free() -> None:
    def fails(hint: Hint) -> None:
        assert hint == Hint("m0"), "the others are put aside: the only place is taken"
        lane.run(Hint("m1"))
        lane.run(Hint("m2"))
        assert not lane.room()
        raise KeyboardInterrupt

    lane = ModelLane[Hint](2, lambda _: True, fails)
    with pytest.raises(KeyboardInterrupt):
        lane.run(Hint("m0"))
    assert lane.room()


class Broker:
    """Hints that wait in a broker."""

    def __init__(self, *jobs: str) -> None:
        self.waiting = [Hint(job) for job in jobs]

    def draw(self) -> list[Hint]:
        return [self.waiting.pop(0)] if self.waiting else []


def test_a_job_that_ends_is_followed_by_the_next_hint_of_the_broker() -> None:
    ran: list[Hint] = []
    lane = ModelLane[Hint](3, lambda job: True, ran.append)
    lane.draw_with(Broker("m1", "m2").draw)
    lane.run(Hint("m0"))
    assert ran == [Hint("m0"), Hint("m1"), Hint("m2")]
    assert lane.room() == 2, "its place is free again"


def test_hints_that_wait_in_the_broker_stay_there_while_all_places_are_taken() -> None:
    slots = Slots(3)
    broker = Broker()
    slots.lane.draw_with(broker.draw)
    try:
        running = [slots.hint(job) for job in ("m1", "m2")]
        slots.wait_for("m1", "m2")
        assert slots.lane.room() == 0
        slots.hint("m3").result(30)  # it came nevertheless, and goes before those of the broker
        broker.waiting.append(Hint("m4"))
        slots.end("m1")
        slots.wait_for("m1", "m2", "m3")
        assert broker.waiting
        slots.end("m3")
        slots.wait_for("m1", "m2", "m3", "m4")
        for job in ("m2", "m4"):
            slots.end(job)
        for one in running:
            one.result(30)
        assert slots.lane.room() == 2
    finally:
        slots.close()


def test_all_hints_that_were_drawn_at_once_are_run() -> None:
    ran: list[Hint] = []
    lane = ModelLane[Hint](2, lambda job: True, ran.append)
    draws = [[Hint("m1"), Hint("m2")]]
    lane.draw_with(lambda: draws.pop() if draws else [])
    lane.run(Hint("m0"))
    assert ran == [Hint("m0"), Hint("m1"), Hint("m2")]


def test_a_failed_draw_frees_the_place_of_the_ended_job() -> None:
    def away() -> list[Hint]:
        raise ConnectionError

    lane = ModelLane[Hint](2, lambda job: True, lambda hint: None)
    lane.draw_with(away)
    with pytest.raises(ConnectionError):
        lane.run(Hint("m0"))
    assert lane.room() == 1


def test_a_process_that_ends_draws_nothing_and_drops_what_it_has_just_drawn() -> None:
    ran: list[Hint] = []
    lane = ModelLane[Hint](2, lambda job: True, ran.append)
    broker = Broker("m1", "m2")

    def draw() -> list[Hint]:
        lane.close()
        return broker.draw()

    lane.draw_with(draw)
    lane.run(Hint("m0"))
    lane.run(Hint("m9"))
    assert ran == [Hint("m0"), Hint("m9")]
    assert broker.waiting == [Hint("m2")]
