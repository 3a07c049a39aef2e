"""The gate before an endpoint, on a real server: pace, calls in flight, breaker, with many callers at once."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from structlog.testing import capture_logs

from scheduler.config.endpoints import Endpoint
from scheduler.config.settings import Settings
from scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals
from scheduler.ledger.keys import endpoint_keys
from tasks.job import Cost
from workers.gate.gate import Entered, Gate, Refused
from workers.llm.answer import ModelAnswer
from workers.llm.failures import Failure, FailureKind

NAME = "town-llm"
MakeGate = Callable[..., Gate]


@pytest.fixture
def gate_of(client: Redis) -> Iterator[MakeGate]:
    """Gates of as many workers as are asked for, with settings of the breaker and limits of the endpoint."""
    made: list[Gate] = []

    def make(breaker: dict[str, Any] | None = None, stopping: threading.Event | None = None, **limits: Any) -> Gate:
        settings = Settings(endpoints={NAME: Endpoint(**limits)}, **{"breaker_pause": 0.02, **(breaker or {})})
        made.append(Gate(client, settings, stopping or threading.Event()))
        return made[-1]

    yield make
    for gate in made:
        gate.close()


def enter(gate: Gate, *, model: str = "m", tokens: int = 100, within: float = 20.0) -> Entered | Refused:
    return gate.enter(NAME, model=model, tokens=tokens, deadline=time.monotonic() + within)


def entered(gate: Gate, **how: Any) -> Entered:
    found = enter(gate, **how)
    assert isinstance(found, Entered), found
    return found


def refused(gate: Gate, **how: Any) -> Refused:
    found = enter(gate, **how)
    assert isinstance(found, Refused), found
    return found


def answer(kind: FailureKind | None = None, *, tokens: int = 10, retry_after: float | None = None) -> ModelAnswer:
    failure = Failure(kind=kind, retry_after=retry_after) if kind is not None else None
    return ModelAnswer(usage=Cost(calls=1, tokens=tokens), failure=failure)


def vitals(client: Redis) -> EndpointVitals:
    (found,) = endpoint_vitals(client)
    return found


def call(gate: Gate, kind: FailureKind | None = None, **how: Any) -> None:
    gate.leave(entered(gate), answer(kind, **how))


def at_once(*tasks: Callable[[], None]) -> None:
    """Run all in threads of their own; what one raises is raised here."""
    errors: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_requests_leave_no_closer_than_the_limit_says_and_in_turn(gate_of: MakeGate, client: Redis) -> None:
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


def test_a_wait_beyond_the_deadline_is_refused_at_once_and_takes_no_place(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of(requests_per_minute=1)
    call(gate)
    for _ in range(3):
        found = refused(gate, within=10)
        assert found.why == "rate_limited_here"
        assert 50 < found.wait <= 61
    assert vitals(client).refused == {"rate_limited_here": 3}


def test_tokens_that_were_not_used_are_given_back(gate_of: MakeGate, eventually: Callable[..., None]) -> None:
    gate = gate_of(tokens_per_minute=60_000)
    one = entered(gate, tokens=40_000)
    assert refused(gate, within=30).wait > 30
    gate.leave(one, answer(tokens=20))
    eventually(lambda: isinstance(enter(gate, tokens=50, within=0.1), Entered), "the tokens to be given back")


def test_tokens_a_minute_are_kept_by_what_calls_use(gate_of: MakeGate) -> None:
    gates = [gate_of(tokens_per_minute=600_000) for _ in range(2)]  # ten a millisecond
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


def test_never_more_in_flight_than_the_cap(gate_of: MakeGate) -> None:
    gates = [gate_of(concurrency=3) for _ in range(3)]
    lock, flying, most = threading.Lock(), 0, 0
    full = threading.Barrier(3, timeout=20)  # a call lasts until the gate is full

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


def test_those_who_wait_for_a_slot_come_again_one_after_the_other(gate_of: MakeGate, client: Redis) -> None:
    gate, hash_of = gate_of(concurrency=2), endpoint_keys(NAME)[0]
    entered(gate)
    entered(gate)
    client.hset(hash_of, "usual", 4_000_000)
    step = 4_000_000 // (4 * 2)  # four for each call that ends
    polls = [0.0]
    for _ in range(3):
        said: Any = gate._enter(keys=endpoint_keys(NAME), args=["other", 60_000_000, 0, 0, 2, "", "", 0, 0, "m", 0, 0])
        assert said[0] == b"wait"
        assert said[1] >= step
        polls.append(float(str(client.hget(hash_of, "poll"), "ascii")))  # type: ignore[arg-type]
    assert all(later - former >= step for former, later in itertools.pairwise(polls))


def test_a_call_begins_when_it_leaves(gate_of: MakeGate) -> None:
    gate = gate_of(requests_per_minute=30_000)  # two milliseconds from one to the next: who comes early leaves later
    for _ in range(20):
        before = time.monotonic()
        assert before <= entered(gate).began <= time.monotonic()


def test_the_slot_of_a_worker_that_died_is_free_after_its_calls_deadline(gate_of: MakeGate) -> None:
    dead, alive = gate_of(concurrency=1), gate_of(concurrency=1)
    entered(dead, within=0.05)  # and never leaves
    assert refused(alive, within=0.001).why == "no_slot"
    alive.leave(entered(alive, within=20), answer())


def test_failures_in_a_row_open_the_breaker_for_all_and_one_probe_closes_it(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    one, other = gate_of({"breaker_failures": 3}), gate_of({"breaker_failures": 3})
    call(other)
    with capture_logs() as logs:
        for _ in range(3):
            call(one, "server")
        eventually(lambda: vitals(client).breaker != "closed", "the breaker to open")
        eventually(lambda: vitals(client).breaker == "half-open", "the pause to end")
        probe = entered(other)
        assert {refused(gate).why for gate in (one, other, one)} == {"breaker_open"}
        assert refused(one).because == "server"
        other.leave(probe, answer("wrong_schema"))  # of no use, but an answer
        eventually(lambda: vitals(client).breaker == "closed", "the breaker to close")
    call(one)
    assert [entry["event"] for entry in logs] == ["endpoint.opened", "endpoint.closed"]
    assert (vitals(client).openings, vitals(client).failures["server"]) == (1, 3)


def test_each_probe_that_fails_doubles_the_pause(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_longest_pause": 0.07})
    with capture_logs() as logs:
        for number in range(1, 5):
            eventually(lambda: isinstance(found := enter(gate), Entered) and _fail(gate, found), "a probe")
            eventually(lambda number=number: vitals(client).openings == number, "the breaker to open again")
    assert [entry["seconds"] for entry in logs if entry["event"] == "endpoint.opened"] == [0.02, 0.04, 0.07, 0.07]


def _fail(gate: Gate, one: Entered) -> bool:
    gate.leave(one, answer("connection"))
    return True


def test_a_probe_whose_worker_died_is_followed_by_another(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1})
    call(gate, "timeout")
    eventually(lambda: vitals(client).breaker == "half-open", "the pause to end")
    entered(gate, within=0.05)
    assert vitals(client).breaker == "half-open"
    eventually(lambda: isinstance(enter(gate), Entered), "the probe to be given up")


def test_a_share_of_failures_opens_it_too(gate_of: MakeGate, client: Redis, eventually: Callable[..., None]) -> None:
    gate = gate_of({"breaker_window": 10, "breaker_share": 0.6, "breaker_pause": 60.0})
    for number in range(10):
        call(gate, "overloaded" if number % 5 < 3 else None)
    eventually(lambda: vitals(client).calls == 10, "the calls to be counted")
    assert vitals(client).breaker == "closed", "the tenth went well"
    call(gate, "overloaded")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")


@pytest.mark.parametrize("kind", ["wrong_schema", "refused", "truncated", "context_overflow", "bad_request"])
def test_answers_of_no_use_say_nothing_against_the_endpoint(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None], kind: FailureKind
) -> None:
    gate = gate_of({"breaker_failures": 2, "breaker_window": 2})
    for _ in range(4):
        call(gate, kind)
    eventually(lambda: vitals(client).failures == {kind: 4}, "the calls to be counted")
    assert vitals(client).breaker == "closed"


def test_a_refused_key_stops_all_calls_loudly_until_a_worker_is_started_anew(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_pause": 60.0})
    with capture_logs() as logs:
        call(gate, "auth")
        eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
        assert refused(gate).because == "auth"
        eventually(lambda: logs, "the event")
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("endpoint.opened", "error")]
    assert "api_key" in logs[0]["check"]
    started_since = gate_of()
    started_since.leave(entered(started_since), answer())
    eventually(lambda: vitals(client).breaker == "closed", "the breaker to close")


def test_a_model_that_is_missing_stops_only_that_model(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of()
    gate.leave(entered(gate, model="misspelt"), answer("model_missing"))
    eventually(lambda: vitals(client).missing_models == ["misspelt"], "the model to be marked")
    assert refused(gate, model="misspelt").because == "model_missing"
    gate.leave(entered(gate, model="other"), answer())
    added_since = gate_of()
    added_since.leave(entered(added_since, model="misspelt"), answer())
    eventually(lambda: vitals(client).missing_models == [], "the mark to be taken away")


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


def test_counters_add_up_and_what_is_told_late_is_told_at_the_end(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of()
    for _ in range(20):
        call(gate, tokens=7)
    call(gate, "empty", tokens=5)
    gate.close()
    found = vitals(client)
    assert (found.calls, found.requests, found.tokens, found.failures) == (21, 21, 145, {"empty": 1})
    assert set(client.keys("cogitate:endpoint*")) <= {b"cogitate:endpoints", *map(str.encode, endpoint_keys(NAME))}


def test_what_can_wait_is_told_soon_after_a_pause_too(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of()
    for number in (1, 2, 3):
        call(gate)
        eventually(lambda told=number: vitals(client).calls == told, f"call {number} to be told of")


def test_without_redis_nothing_is_called() -> None:
    gate = Gate(Redis(unix_socket_path="/nowhere.sock", retry=Retry(NoBackoff(), 0)), Settings(), threading.Event())
    assert gate.enter("default", model="m", tokens=1, deadline=time.monotonic() + 5) == Refused(why="gate_away")


def test_of_all_who_find_the_breaker_open_one_tries_the_endpoint(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    waiting: set[int] = set()
    changed = threading.Condition()

    class Stopping(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            with changed:
                waiting.add(id(self))
                changed.notify()
            return super().wait(timeout)

    gates = [gate_of({"breaker_failures": 1, "breaker_pause": 60.0}, Stopping()) for _ in range(3)]
    call(gates[0], "connection")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    tried: list[float] = []
    beginning = threading.Barrier(3, timeout=20)

    def probe(gate: Gate, failure: Failure | None) -> None:
        def find(deadline: float) -> Failure | None:
            tried.append(deadline)
            assert refused(gates[0]).why == "breaker_open"
            with changed:
                assert changed.wait_for(lambda: len(waiting) == 2, timeout=20), "the others to wait for this"
            return failure

        beginning.wait()
        gate.probe(NAME, find, time.monotonic() + 20)

    at_once(*(lambda gate=gate: probe(gate, Failure(kind="connection")) for gate in gates))  # type: ignore[misc]
    assert len(tried) == 1
    found = vitals(client)
    assert (found.breaker, found.why, found.openings) == ("open", "connection", 1), "it is as it was"
    assert found.next_probe is not None
    assert found.next_probe > 40

    waiting.clear()
    at_once(*(lambda gate=gate: probe(gate, None) for gate in gates))  # type: ignore[misc]
    assert len(tried) == 2
    assert vitals(client).breaker == "closed"
    call(gates[1], "connection")
    eventually(lambda: vitals(client).breaker == "open", "the first call that fails to open it again")


@pytest.mark.parametrize(
    ("opened", "found", "after", "why"),
    [
        ("connection", None, "closed", ""),
        ("connection", "bad_request", "closed", ""),  # whatever it says, it is there
        ("timeout", "server", "open", "timeout"),
        ("connection", "auth", "open", "auth"),
        ("auth", None, "closed", ""),
        ("auth", "auth", "open", "auth"),
        ("quota_exhausted", None, "half-open", "quota_exhausted"),  # only a call can tell
    ],
)
def test_what_an_endpoint_says_when_it_is_tried(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None], opened: FailureKind, found: FailureKind | None,
    after: str, why: str,
) -> None:  # fmt: skip
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0})
    call(gate, opened)
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    gate.probe(NAME, lambda _: Failure(kind=found) if found else None, time.monotonic() + 20)
    assert (vitals(client).breaker, vitals(client).why) == (after, why)


def test_where_the_breaker_is_closed_nothing_is_tried(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of({"breaker_failures": 1})

    def never(deadline: float) -> Failure | None:
        raise AssertionError("nothing is to be tried")

    gate.probe(NAME, never, time.monotonic() + 20)
    assert endpoint_vitals(client) == [], "and nothing is noted"


@pytest.mark.parametrize("kind", ["connection", "timeout", "auth", "rate_limited", "server", "empty", "model_missing"])
def test_a_call_that_failed_gives_back_its_slot_and_the_tokens_it_did_not_use(
    gate_of: MakeGate, client: Redis, kind: FailureKind
) -> None:
    gate = gate_of({"breaker_failures": 9}, concurrency=1, tokens_per_minute=60_000)
    one = entered(gate, tokens=30_000)
    gate.leave(one, answer(kind, tokens=0))
    gate.close()
    assert client.zcard(endpoint_keys(NAME)[1]) == 0, "nobody is in flight"
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) <= one.left + 1_000_000, "the tokens' clock is where it was before the call"
    assert vitals(client).failures == {kind: 1}


def test_of_a_call_that_nobody_knows_the_end_of_the_slot_comes_back_and_the_tokens_do_not(
    gate_of: MakeGate, client: Redis
) -> None:
    gate = gate_of(concurrency=1, tokens_per_minute=60_000)
    one = entered(gate, tokens=30_000)
    gate.leave(one, None)
    gate.close()
    assert client.zcard(endpoint_keys(NAME)[1]) == 0
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) >= one.left + 29_000_000
    assert vitals(client).failures == {}


def test_a_call_that_used_more_tokens_than_were_taken_is_made_up_for(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of(tokens_per_minute=60_000)
    one = entered(gate, tokens=1_000)
    gate.leave(one, answer(tokens=11_000))
    gate.close()
    state: Any = client.hgetall(endpoint_keys(NAME)[0])
    assert float(state[b"tokens.free"]) >= one.left + 10_900_000
    assert vitals(client).tokens == 11_000


def test_a_shorter_retry_after_does_not_shorten_a_longer_one_and_permanent_failures_hold_nobody(
    gate_of: MakeGate, client: Redis
) -> None:
    gate = gate_of()
    first, second, third = (entered(gate) for _ in range(3))
    gate.leave(first, answer("rate_limited", retry_after=40.0))
    gate.leave(second, answer("rate_limited", retry_after=3.0))
    gate.leave(third, answer("bad_request", retry_after=900.0))
    gate.close()
    assert 30 < refused(gate_of(), within=1).wait <= 40


def test_how_long_a_missing_model_and_an_open_breaker_are_left_alone_is_said(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0, "breaker_longest_pause": 900.0})
    gate.leave(entered(gate, model="misspelt"), answer("model_missing"))
    eventually(lambda: vitals(client).missing_models == ["misspelt"], "the model to be marked")
    assert 800 < refused(gate, model="misspelt").wait <= 900
    call(gate, "server")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    assert 50 < refused(gate).wait <= 60
    with capture_logs() as logs:
        gate.probe(NAME, lambda _: None, time.monotonic() + 20)
    (closed,) = [entry for entry in logs if entry["event"] == "endpoint.closed"]
    assert 0 <= closed["seconds"] < 60, "so long it was open"


def test_who_tries_an_endpoint_keeps_to_its_limit(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0}, requests_per_minute=2)
    call(gate, "auth")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    tried: list[float] = []

    def find(deadline: float) -> None:
        tried.append(deadline)

    gate.probe(NAME, find, time.monotonic() + 0.3)
    assert tried == [], "a request has left just now"
    client.hset(endpoint_keys(NAME)[0], "requests.free", 0)
    gate.probe(NAME, find, time.monotonic() + 0.3)
    assert len(tried) == 1
    assert refused(gate, within=1).why == "rate_limited_here", "the trial was a request as well"


def test_after_a_retry_after_nobody_tries_before_its_time(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0})
    one = entered(gate)
    call(gate, "server")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    gate.leave(one, answer("rate_limited", retry_after=40.0))
    gate.close()

    def never(deadline: float) -> None:
        raise AssertionError("the endpoint has asked to be left alone")

    gate_of().probe(NAME, never, time.monotonic() + 20)
    assert vitals(client).breaker == "open"


def test_a_missing_model_is_tried_again_by_one_when_its_pause_is_over(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    one, other = gate_of({"breaker_longest_pause": 900.0}), gate_of({"breaker_longest_pause": 900.0})
    for gate in (one, other):
        call(gate)  # neither is of a process that has begun since
    one.leave(entered(one, model="misspelt"), answer("model_missing"))
    eventually(lambda: vitals(client).missing_models == ["misspelt"], "the model to be marked")
    client.hset(endpoint_keys(NAME)[0], "missing:misspelt", 1)
    assert entered(other, model="misspelt").tries_missing
    assert 800 < refused(one, model="misspelt").wait <= 900


def test_what_a_call_usually_takes_is_learned_from_those_that_went_well(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of({"breaker_failures": 9})
    for seconds, kind in ((8.0, None), (9_000.0, "server"), (16.0, None)):
        began = replace(entered(gate), began=time.monotonic() - seconds)
        gate.leave(began, answer(kind))  # type: ignore[arg-type]
        gate._reports.close()
        gate = gate_of({"breaker_failures": 9})
    usual, fastest = (float(value or 0) for value in client.hmget(endpoint_keys(NAME)[0], "usual", "fastest"))
    assert 9.0 <= usual / 1e6 < 900, "eight seconds, and an eighth of what the other took longer"
    assert 8.0 <= fastest / 1e6 < 900
