"""The gate of an endpoint on a real server: pace, tokens and calls in flight, with many concurrent callers."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.gate.endpoint_reports import Entered
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.llm.replies.failures import FailureKind
from tests.integration.workers.gate_case import NAME, MakeGate, answer, at_once, call, enter, entered, refused, vitals
from tests.patience import LONGEST


def test_requests_are_spaced_by_the_limit(gate_of: MakeGate, client: Redis) -> None:
    gates = [gate_of(requests_per_minute=3000) for _ in range(3)]
    left: list[float] = []

    def work(gate: Gate) -> None:
        for _ in range(5):
            one = entered(gate)
            left.append(one.left)
            gate.leave(one, answer())

    at_once(*(lambda gate=gate: work(gate) for gate in gates for _ in range(4)))  # type: ignore[misc]
    left.sort()
    assert len(left) == 60
    assert min(after - before for before, after in itertools.pairwise(left)) >= 60e6 / 3000
    assert vitals(client).waits >= 48


def test_a_wait_beyond_the_deadline_is_refused_at_once_without_a_place(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of(requests_per_minute=1)
    call(gate)
    for _ in range(3):
        found = refused(gate, within=10)
        assert found.why == "rate_limited_here"
        assert 50 < found.wait <= 61
    assert vitals(client).refused == {"rate_limited_here": 3}


def test_unused_tokens_are_given_back(gate_of: MakeGate, eventually: Callable[..., None]) -> None:
    gate = gate_of(tokens_per_minute=60_000)
    one = entered(gate, tokens=40_000)
    assert refused(gate, within=30).wait > 30
    gate.leave(one, answer(tokens=20))
    eventually(lambda: isinstance(enter(gate, tokens=50, within=0.1), Entered), "the tokens to be given back")


def test_tokens_per_minute_are_bounded_by_actual_usage(gate_of: MakeGate) -> None:
    gates = [gate_of(tokens_per_minute=600_000) for _ in range(2)]  # ten tokens per millisecond
    left: list[float] = []

    def work(gate: Gate) -> None:
        for _ in range(4):
            one = entered(gate, tokens=2000)
            left.append(one.left)
            gate.leave(one, answer(tokens=400))

    at_once(*(lambda gate=gate: work(gate) for gate in gates for _ in range(3)))  # type: ignore[misc]
    left.sort()
    assert left[-1] - left[0] >= 23 * 40_000  # 400 tokens take 40 ms each
    assert left[-1] - left[0] < 23 * 200_000


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "server", "timeout", "conflict"])
def test_a_retry_after_holds_every_worker(gate_of: MakeGate, client: Redis, kind: FailureKind) -> None:
    one, other = gate_of(), gate_of()
    call(other)
    call(one, kind, retry_after=40.0)
    assert refused(other, within=10).why == "rate_limited_here"
    assert 30 < vitals(client).held <= 40
    assert vitals(client).breaker == "closed"


def test_a_retry_after_holds_calls_that_already_wait_in_line(gate_of: MakeGate) -> None:
    gate = gate_of(requests_per_minute=120)
    between = math.ceil(gate._spacing[NAME].pace)
    first = entered(gate)

    def ask(place: bytes = b"") -> list[Any]:
        """Ask once, as a call does that has 100 s left and has this place in the line."""
        args = ["waits", 100_000_000, between, 0, 0, place, "", int(bool(place)), 0, "m", 1_000_000, 0]
        found: list[Any] = gate._enter(keys=endpoint_keys(NAME), args=args)
        return found

    told, wait, place, _ = ask()
    assert (told, wait <= between) == (b"wait", True)
    gate.leave(first, answer("rate_limited", retry_after=40.0))
    told, wait, kept, _ = ask(place)
    assert (told, kept) == (b"wait", place), "it keeps its place in the line"
    assert 30_000_000 < wait <= 40_000_000


def test_calls_in_flight_never_exceed_the_cap(gate_of: MakeGate) -> None:
    gates = [gate_of(concurrency=3) for _ in range(3)]
    lock, flying, most = threading.Lock(), 0, 0
    full = threading.Barrier(3, timeout=LONGEST)  # a call lasts until the gate is full

    def work(gate: Gate) -> None:
        nonlocal flying, most
        one = entered(gate)
        with lock:
            flying += 1
            most = max(most, flying)
        full.wait()
        with lock:
            flying -= 1
        gate.leave(one, answer())

    for _ in range(4):
        at_once(*(lambda gate=gate: work(gate) for gate in gates for _ in range(4)))  # type: ignore[misc]
    assert most == 3


def test_callers_waiting_for_a_slot_return_one_by_one(gate_of: MakeGate, client: Redis) -> None:
    gate, hash_of = gate_of(concurrency=2), endpoint_keys(NAME)[0]
    entered(gate)
    entered(gate)
    client.hset(hash_of, "usual", 4_000_000)
    step = 4_000_000 // (4 * 2)  # four polls per ending call
    polls = [0.0]
    for _ in range(3):
        said: Any = gate._enter(keys=endpoint_keys(NAME), args=["other", 60_000_000, 0, 0, 2, "", "", 0, 0, "m", 0, 0])
        assert said[0] == b"wait"
        assert said[1] >= step
        polls.append(float(str(client.hget(hash_of, "poll"), "ascii")))  # type: ignore[arg-type]
    assert all(later - former >= step for former, later in itertools.pairwise(polls))


def test_a_retry_is_refused_when_less_time_is_left_than_a_call_takes(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of()
    client.hset(endpoint_keys(NAME)[0], "usual", 4_000_000)

    def enter(seconds: float, *, again: bool) -> Entered | Refused:
        return gate.enter(NAME, model="m", tokens=0, deadline=time.monotonic() + seconds, again=again)

    assert enter(3.0, again=True) == Refused("no_time")
    assert isinstance(enter(300.0, again=True), Entered)
    assert isinstance(enter(3.0, again=False), Entered), "a first attempt shows whether calls are faster now"


def test_a_call_starts_when_it_leaves_the_gate(gate_of: MakeGate) -> None:
    gate = gate_of(requests_per_minute=30_000)  # two milliseconds apart, so a call that comes early leaves later
    for _ in range(20):
        before = time.monotonic()
        assert before <= entered(gate).began <= time.monotonic()


def test_the_slot_of_a_dead_worker_is_free_after_its_calls_deadline(gate_of: MakeGate) -> None:
    dead, alive = gate_of(concurrency=1), gate_of(concurrency=1)
    entered(dead, within=0.05)  # never leaves
    assert refused(alive, within=0.001).why == "no_slot"
    alive.leave(entered(alive, within=20), answer())


def test_a_wait_ends_when_the_process_stops(gate_of: MakeGate, client: Redis, eventually: Callable[..., None]) -> None:
    stopping = threading.Event()
    gate = gate_of(requests_per_minute=2, stopping=stopping)
    call(gate)
    found: list[Entered | Refused] = []
    waiting = threading.Thread(target=lambda: found.append(enter(gate, within=60)))
    waiting.start()
    eventually(lambda: vitals(client).waits == 1, "the call to wait")
    stopping.set()
    waiting.join()
    assert found == [Refused(why="stopping")]


def test_counters_add_up_and_late_reports_are_sent_at_the_end(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of()
    for _ in range(20):
        call(gate, tokens=7)
    call(gate, "empty", tokens=5)
    gate.close()
    found = vitals(client)
    assert (found.calls, found.requests, found.tokens, found.failures) == (21, 21, 145, {"empty": 1})
    assert set(client.keys("cogitate:endpoint*")) <= {b"cogitate:endpoints", *map(str.encode, endpoint_keys(NAME))}


def test_each_call_after_a_pause_is_reported_promptly(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of()
    for number in (1, 2, 3):
        call(gate)
        eventually(lambda count=number: vitals(client).calls == count, f"call {number} to be reported")


def test_without_redis_no_call_is_made() -> None:
    gate = Gate(Redis(unix_socket_path="/nowhere.sock", retry=Retry(NoBackoff(), 0)), Settings(), threading.Event())
    assert gate.enter("default", model="m", tokens=1, deadline=time.monotonic() + 5) == Refused(why="gate_away")


@pytest.mark.parametrize("kind", ["connection", "timeout", "auth", "rate_limited", "server", "empty", "model_missing"])
def test_a_failed_call_gives_back_its_slot_and_unused_tokens(
    gate_of: MakeGate, client: Redis, kind: FailureKind
) -> None:
    gate = gate_of({"breaker_failures": 9}, concurrency=1, tokens_per_minute=60_000)
    one = entered(gate, tokens=30_000)
    gate.leave(one, answer(kind, tokens=0))
    gate.close()
    assert client.zcard(endpoint_keys(NAME)[1]) == 0, "no call is in flight"
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) <= one.left + 1_000_000, "the tokens' clock is where it was before the call"
    assert vitals(client).failures == {kind: 1}


def test_a_call_with_an_unknown_end_returns_its_slot_but_not_its_tokens(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of(concurrency=1, tokens_per_minute=60_000)
    one = entered(gate, tokens=30_000)
    gate.leave(one, None)
    gate.close()
    assert client.zcard(endpoint_keys(NAME)[1]) == 0
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) >= one.left + 29_000_000
    assert vitals(client).failures == {}


def test_tokens_beyond_the_reservation_delay_later_calls(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of(tokens_per_minute=60_000)
    one = entered(gate, tokens=1_000)
    gate.leave(one, answer(tokens=11_000))
    gate.close()
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) >= one.left + 10_900_000
    assert vitals(client).tokens == 11_000


def test_a_shorter_retry_after_does_not_shorten_the_pause_and_permanent_failures_start_none(
    gate_of: MakeGate, client: Redis
) -> None:
    gate = gate_of()
    first, second, third = (entered(gate) for _ in range(3))
    gate.leave(first, answer("rate_limited", retry_after=40.0))
    gate.leave(second, answer("rate_limited", retry_after=3.0))
    gate.leave(third, answer("bad_request", retry_after=900.0))
    gate.close()
    assert 30 < refused(gate_of(), within=1).wait <= 40


def test_unusable_answers_are_counted_and_leave_the_breaker_closed(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of({"breaker_failures": 1})
    for _ in range(3):
        call(gate)
        gate.count_unusable(NAME)
    gate.close()
    assert vitals(client).failures == {"unusable": 3}
    assert vitals(client).breaker == "closed"


def test_the_usual_duration_is_learned_from_successful_calls(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of({"breaker_failures": 9})
    for seconds, kind in ((8.0, None), (9_000.0, "server"), (16.0, None)):
        began = replace(entered(gate), began=time.monotonic() - seconds)
        gate.leave(began, answer(kind))  # type: ignore[arg-type]
        gate._reports.close()
        gate = gate_of({"breaker_failures": 9})
    usual, fastest = (float(value or 0) for value in client.hmget(endpoint_keys(NAME)[0], "usual", "fastest"))
    assert 9.0 <= usual / 1e6 < 900, "eight seconds plus an eighth of the other call's difference"
    assert 8.0 <= fastest / 1e6 < 900
