"""What an operator learns of a request to a run: what came of it, or why it waits and for whom."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.memory import typed_json
from cogitate.scheduler.config.controls import (
    Control,
    ControlAnswer,
    ControlRequest,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
)
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering import operators
from cogitate.scheduler.steering.operators import MOST_WAITING, ControlOutcome, RunCancelled, TooManyRequests, ask
from tests.unit.scheduler.run_lines_case import store_of

LIMIT = SetLimit("day.run.calls", 3)
JOB = "7/plan/agent:ann/0/0"
NEXT_TICK = "it is applied with the run's next tick"


class Clock:
    """Time that passes a second with each wait for answers, which sends none."""

    def __init__(self) -> None:
        self.now = 50.0
        self.waits: list[tuple[set[str], float]] = []  # requests and seconds of each
        self.then: Callable[[int], object] = lambda wait: None  # what happens meanwhile

    def monotonic(self) -> float:
        return self.now

    def blpop(self, keys: list[str], timeout: float) -> None:
        self.waits.append(({key.rpartition(":")[2] for key in keys}, timeout))
        self.now += 1
        self.then(len(self.waits))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(operators, "time", SimpleNamespace(monotonic=made.monotonic))
    monkeypatch.setattr(FakeRedis, "blpop", lambda client, keys, timeout: made.blpop(keys, timeout))
    names = iter(f"id{number}" for number in range(999))
    monkeypatch.setattr(operators, "new_nonce", lambda: next(names))
    return made


def run(status: str = "running") -> RunStore:
    return store_of([], status=status, epoch=1, seq=4)


def answered(store: RunStore, *answers: ControlAnswer) -> None:
    store.client.rpush(store.key("answers"), *map(msgspec.json.encode, answers))


def asked(store: RunStore) -> list[ControlRequest]:
    return [typed_json.decode(raw, ControlRequest) for raw in store.items("controls")]


def test_requests_are_kept_in_order_with_their_senders(clock: Clock) -> None:
    store = run()
    client = store.client
    assert ask(client, "town", [LIMIT, SetMode("paused")], wait=0, by="x" * 101) == [
        ControlOutcome(LIMIT, "waits", 0, NEXT_TICK),
        ControlOutcome(SetMode("paused"), "waits", 0, NEXT_TICK),
    ]
    assert asked(store) == [
        ControlRequest("id0", LIMIT, "x" * 100),
        ControlRequest("id1", SetMode("paused"), "x" * 100),
    ]
    ask(client, "town", [LIMIT], wait=0)
    assert asked(store)[2:] == [ControlRequest("id2", LIMIT)]
    assert client.lrange(store.key("knock"), 0, -1) == [b"1"], "a host that waits is woken once"
    assert clock.waits == [], "who does not wait is answered at once"


@pytest.mark.parametrize(
    ("status", "control", "why"),
    [
        ("stopped", LIMIT, "no host is running: the next host of the run applies it"),
        ("finished", LIMIT, "the run is finished: a host that resumes it with more ticks applies it"),
        ("paused", LIMIT, "the run is paused: it is applied when the run resumes"),
        ("paused", SetMode("paused"), "the run is paused: it is applied when the run resumes"),
    ],
)
def test_without_a_host_no_request_waits_for_a_reply(clock: Clock, status: str, control: Control, why: str) -> None:
    assert ask(run(status).client, "town", [control], wait=9) == [ControlOutcome(control, "waits", 0, why)]
    assert clock.waits == []


@pytest.mark.parametrize("mode", ["running", "draining", "cancelled"])
def test_a_resuming_paused_run_has_a_responding_host(clock: Clock, mode: Any) -> None:
    store, wakes = run("paused"), SetMode(mode)
    clock.then = lambda wait: answered(store, ControlAnswer("id1", 8, wakes))
    assert ask(store.client, "town", [LIMIT, wakes], wait=1) == [
        ControlOutcome(LIMIT, "waits", 0, f"no host has taken it: {NEXT_TICK}"),
        ControlOutcome(wakes, "applied", 8, ""),
    ]


@pytest.mark.parametrize(
    ("moved", "why"),
    [
        ({}, f"no host has taken it: {NEXT_TICK}"),
        ({"seq": 5}, f"the host has not finished its tick yet: {NEXT_TICK}"),
        ({"epoch": 2}, f"the host has not finished its tick yet: {NEXT_TICK}"),
        ({"tick": 3}, f"no host has taken it: {NEXT_TICK}"),
    ],
)
def test_a_timed_out_sender_learns_whether_a_host_is_at_work(clock: Clock, moved: dict[str, int], why: str) -> None:
    store = run()

    def then(wait: int) -> None:
        if moved:
            store.client.hset(store.key("state"), mapping=moved)  # type: ignore[arg-type]

    clock.then = then
    assert ask(store.client, "town", [LIMIT], wait=2) == [ControlOutcome(LIMIT, "waits", 0, why)]
    assert clock.waits == [({"id0"}, 2.0), ({"id0"}, 1.0)], "each wait ends when the time is over"


def test_a_reply_ends_the_wait_and_states_each_outcome(clock: Clock) -> None:
    store, retry = run(), Retry(JOB, "agent:ann", (3,))
    slower = SetCadence("plan", 500)
    answered(store, ControlAnswer("older", 5, LIMIT, refused="not this one"))
    said = (
        ControlAnswer("id0", 8, LIMIT),
        ControlAnswer("id1", 8, slower, refused="only reflect can be throttled"),
        ControlAnswer("id2", 9, retry, job=JOB),
    )
    clock.then = lambda wait: answered(store, *(said[:2] if wait == 1 else said[2:]))
    assert ask(store.client, "town", [LIMIT, slower, retry], wait=60) == [
        ControlOutcome(LIMIT, "applied", 8, ""),
        ControlOutcome(slower, "refused", 8, "only reflect can be throttled"),
        ControlOutcome(retry, "applied", 9, JOB),
    ]
    assert [requests for requests, _ in clock.waits] == [{"id0", "id1", "id2"}, {"id2"}]


@pytest.mark.parametrize(("waiting", "sent", "fits"), [(99, 1, True), (99, 2, False), (0, 100, True), (100, 1, False)])
def test_at_most_a_hundred_requests_wait(clock: Clock, waiting: int, sent: int, fits: bool) -> None:
    store = run()
    if waiting:
        store.client.rpush(store.key("controls"), *(str(number) for number in range(waiting)))
    if fits:
        ask(store.client, "town", [LIMIT] * sent, wait=0)
        assert store.length("controls") == MOST_WAITING == 100
    else:
        with pytest.raises(TooManyRequests, match="100 requests are waiting for a host of run 'town'"):
            ask(store.client, "town", [LIMIT] * sent, wait=0)
        assert store.length("controls") == waiting


def test_an_ended_or_deleted_run_takes_no_requests(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run("cancelled")
    with pytest.raises(RunCancelled, match="run 'town' is cancelled"):
        ask(store.client, "town", [LIMIT], wait=0)
    assert store.length("controls") == 0
    client: FakeRedis = run().client  # type: ignore[assignment]
    monkeypatch.setattr(operators, "new_nonce", lambda: str(client.delete(incarnation_key("town"))))
    with pytest.raises(RunCancelled, match="run 'town' was deleted meanwhile"):
        ask(client, "town", [LIMIT], wait=0)
    with pytest.raises(RunMissing):
        ask(client, "nowhere", [LIMIT], wait=0)
