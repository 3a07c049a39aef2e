"""Which workers count as alive, which are missed, and which are not."""

from __future__ import annotations

import msgspec
import pytest
from fakeredis import FakeRedis
from redis.exceptions import ConnectionError as RedisConnectionError

from cogitate.scheduler.ledger import worker_signs
from cogitate.scheduler.ledger.keys import WORKERS
from cogitate.scheduler.ledger.presence import HostProcess, this_process
from cogitate.scheduler.ledger.worker_signs import (
    EVERY,
    GOOD_FOR,
    MISSED_FOR,
    SETTLED,
    FailedCalls,
    FailingWorker,
    MissingWorker,
    UnansweredWorker,
    WorkerCount,
    WorkerTrouble,
    forget_workers,
    give_sign,
    remove_sign,
    take_place,
    workers_seen,
)

KINDS = ("plan", "reflect")


class Clock:
    """A server whose clock a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client = FakeRedis()
        self.now = 1_000.25
        monkeypatch.setattr(self.client, "time", lambda: (int(self.now), round(self.now % 1 * 1e6)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_worker_is_alive_while_its_sign_is_good(clock: Clock) -> None:
    give_sign(clock.client, "one", None, KINDS)
    clock.now += GOOD_FOR
    seen = workers_seen(clock.client)
    assert (seen.alive, seen.missing, seen.expected) == (["one"], [], 1)


def test_a_killed_worker_is_missing_until_it_returns_under_its_name(clock: Clock) -> None:
    for name in ("one", "two"):
        give_sign(clock.client, name, this_process(), KINDS)
    clock.now += GOOD_FOR + 1
    give_sign(clock.client, "two", this_process(), KINDS)
    seen = workers_seen(clock.client)
    assert (seen.alive, seen.missing) == (["two"], [MissingWorker(worker="one", seconds=GOOD_FOR + 1)])
    assert seen.expected == 2
    give_sign(clock.client, "one", this_process(), KINDS)
    assert workers_seen(clock.client).alive == ["one", "two"]


def test_a_worker_that_claims_nothing_is_alive_and_not_able(clock: Clock) -> None:
    give_sign(clock.client, "one", None, KINDS)
    give_sign(clock.client, "two", None, KINDS, WorkerTrouble(failures=3, why="no template"))
    seen = workers_seen(clock.client)
    assert seen.failing == [FailingWorker(worker="two", failures=3, why="no template", ended=False)]
    assert (seen.alive, seen.able, seen.expected) == (["one", "two"], 1, 2)
    give_sign(clock.client, "two", None, KINDS)
    assert (workers_seen(clock.client).failing, workers_seen(clock.client).able) == ([], 2), "it has claimed a job"


def test_a_worker_that_no_endpoint_answers_is_named_while_it_lives(clock: Clock) -> None:
    calls = {"default": FailedCalls(failures=4, why="auth")}
    give_sign(clock.client, "one", None, KINDS, calls=calls)
    give_sign(clock.client, "two", None, KINDS)
    found = UnansweredWorker(worker="one", endpoint="default", failures=4, why="auth")
    assert workers_seen(clock.client).unanswered == [found]
    clock.now += GOOD_FOR + 1
    assert workers_seen(clock.client).unanswered == []


def test_the_mark_of_a_given_up_worker_expires_and_blocks_no_new_worker(clock: Clock) -> None:
    give_sign(clock.client, "one", None, (), WorkerTrouble(why="no template", ended=True))
    for gone in (0.0, MISSED_FOR):
        clock.now += gone
        forget_workers(clock.client)
        seen = workers_seen(clock.client)
        assert seen.failing == [FailingWorker(worker="one", failures=0, why="no template", ended=True)]
        assert (seen.alive, seen.missing, seen.able, seen.expected) == ([], [], 0, 1)
    clock.now += 1
    assert workers_seen(clock.client).expected == 0
    give_sign(clock.client, "one", None, KINDS)
    assert workers_seen(clock.client).able == 1


def test_a_worker_that_ends_properly_is_not_missing(clock: Clock) -> None:
    give_sign(clock.client, "one", None, KINDS)
    remove_sign(clock.client, "one")
    assert workers_seen(clock.client).expected == 0


def test_a_worker_is_not_missing_if_its_supervisor_is_gone_too(clock: Clock) -> None:
    gone = msgspec.structs.replace(this_process(), began="before")
    elsewhere = HostProcess(name="other", machine="another", pid=1, began="1")
    give_sign(clock.client, "one", gone, KINDS)
    give_sign(clock.client, "two", elsewhere, KINDS)
    assert workers_seen(clock.client).alive == ["one", "two"], "their signs are good"
    clock.now += GOOD_FOR + 1
    assert [one.worker for one in workers_seen(clock.client).missing] == ["two"]


def test_a_kind_is_taken_while_a_worker_that_takes_it_is_alive(clock: Clock) -> None:
    give_sign(clock.client, "one", None, ["plan", "dream"])
    clock.now += GOOD_FOR - 1
    give_sign(clock.client, "two", None, ["reflect", "plan"])
    assert workers_seen(clock.client).kinds == ["dream", "plan", "reflect"]
    clock.now += 2
    assert workers_seen(clock.client).kinds == ["plan", "reflect"]


def test_a_worker_is_missed_for_an_hour_after_its_last_sign(clock: Clock) -> None:
    give_sign(clock.client, "one", None, KINDS)
    clock.now += 3_599.75
    assert workers_seen(clock.client).missing == [MissingWorker(worker="one", seconds=3_599.8)], "in tenths"
    clock.now += 0.25
    assert workers_seen(clock.client).missing == [MissingWorker(worker="one", seconds=3_600)]
    clock.now += 0.25
    assert workers_seen(clock.client).missing == []


def test_old_and_unreadable_heartbeats_are_forgotten(clock: Clock) -> None:
    give_sign(clock.client, "long gone", None, KINDS)
    clock.client.hset(WORKERS, "broken", "{")
    clock.now += MISSED_FOR + 1
    give_sign(clock.client, "here", None, KINDS)
    assert workers_seen(clock.client).expected == 1
    forget_workers(clock.client)
    assert clock.client.hkeys(WORKERS) == [b"here"]
    forget_workers(clock.client)
    assert clock.client.hkeys(WORKERS) == [b"here"]
    assert worker_signs.EVERY * 2 < GOOD_FOR, "one sign may be lost"


ELSEWHERE = HostProcess(name="pod-one", machine="another", pid=1, began="1")


def test_a_container_that_comes_back_under_another_name_takes_the_place_of_the_dead_one(clock: Clock) -> None:
    for name in ("pod-one", "pod-two"):
        give_sign(clock.client, name, msgspec.structs.replace(ELSEWHERE, name=name), KINDS)
    clock.now += 3
    came = give_sign(clock.client, "pod-three", msgspec.structs.replace(ELSEWHERE, name="pod-three"), KINDS)
    clock.now += GOOD_FOR - 1
    give_sign(clock.client, "pod-three", msgspec.structs.replace(ELSEWHERE, name="pod-three"), KINDS, began=came)
    seen = workers_seen(clock.client)
    assert (seen.alive, [one.worker for one in seen.missing]) == (["pod-three"], ["pod-two"]), "one takes one place"
    assert take_place(clock.client, "pod-three")
    give_sign(clock.client, "pod-three", ELSEWHERE, KINDS, began=SETTLED)
    assert not take_place(clock.client, "pod-three")
    assert [one.worker for one in workers_seen(clock.client).missing] == ["pod-two"], "nor another place later"
    remove_sign(clock.client, "pod-three")
    assert [one.worker for one in workers_seen(clock.client).missing] == ["pod-two"], "nor is it free again"


@pytest.mark.parametrize(
    "case", ["was there before", "the same name again", "other kinds", "supervised here", "a twin"]
)
def test_a_worker_that_replaces_no_dead_one_leaves_it_missed(clock: Clock, case: str) -> None:
    supervisor = this_process() if case == "supervised here" else ELSEWHERE
    other = supervisor if case == "a twin" else msgspec.structs.replace(ELSEWHERE, name="two")
    if case in ("was there before", "the same name again"):
        give_sign(clock.client, "two", other, KINDS)
        clock.now += 1
    give_sign(clock.client, "one", supervisor, KINDS)
    clock.now += GOOD_FOR + 1
    began = 1 if case == "was there before" else None
    give_sign(clock.client, "two", other, KINDS[:1] if case == "other kinds" else KINDS, began=began)
    assert [one.worker for one in workers_seen(clock.client).missing] == ["one"]
    assert not take_place(clock.client, "two")


def test_workers_are_counted_again_only_after_a_while(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    count = WorkerCount(clock.client, clock=lambda: clock.now)
    assert count.alive() == 0
    give_sign(clock.client, "one", None, KINDS)
    clock.now += EVERY - 0.5
    assert count.alive() == 0
    clock.now += 0.5
    assert count.alive() == 1

    def away(client: FakeRedis) -> None:
        raise RedisConnectionError("away")

    monkeypatch.setattr(worker_signs, "workers_seen", away)
    clock.now += EVERY
    assert count.alive() is None, "a host goes on, and reports the outage itself"


def test_after_an_outage_workers_are_counted_once_they_could_sign(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [0.0]
    count = WorkerCount(clock.client, lambda: lost[0], lambda: clock.now)
    give_sign(clock.client, "one", None, KINDS)
    assert count.alive() == 1
    clock.now += 18
    lost[0] = 18.0
    assert count.alive() is None, "its last sign is old, since the server took none"
    clock.now += GOOD_FOR - 0.5
    assert count.alive() is None
    give_sign(clock.client, "one", None, KINDS)
    clock.now += 0.5
    assert count.alive() == 1
    seen = worker_signs.workers_seen

    def away(client: FakeRedis) -> None:
        raise RedisConnectionError("away")

    monkeypatch.setattr(worker_signs, "workers_seen", away)
    clock.now += EVERY
    assert count.alive() is None
    monkeypatch.setattr(worker_signs, "workers_seen", seen)
    clock.now += EVERY
    assert count.alive() is None, "a host that carries on does not say what it lost"
