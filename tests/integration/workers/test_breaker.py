"""The gate's circuit breaker on a real server: failures open it, and probes close it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate.scheduler.inspection.endpoint_vitals import endpoint_changes, endpoint_vitals
from cogitate.scheduler.ledger.keys import endpoint_keys
from cogitate.workers.gate.endpoint_reports import Entered
from cogitate.workers.gate.gate import Gate, Refused
from cogitate.workers.llm.replies.failures import CLASSES, Failure, FailureKind
from tests.integration.workers.gate_case import (
    NAME,
    MakeGate,
    answer,
    at_once,
    call,
    enter,
    entered,
    refuse,
    refused,
    vitals,
)
from tests.patience import LONGEST


def test_consecutive_failures_open_the_breaker_for_all_workers_and_a_probe_closes_it(
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
        other.leave(probe, answer("wrong_schema"))  # an unusable answer still shows that the endpoint works
        eventually(lambda: vitals(client).breaker == "closed", "the breaker to close")
    call(one)
    assert [entry["event"] for entry in logs] == ["endpoint.opened", "endpoint.closed"]
    assert (vitals(client).openings, vitals(client).failures["server"]) == (1, 3)


def test_each_failed_probe_doubles_the_pause(gate_of: MakeGate, client: Redis, eventually: Callable[..., None]) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_longest_pause": 0.07})
    with capture_logs() as logs:
        for number in range(1, 5):
            eventually(lambda: isinstance(found := enter(gate), Entered) and _fail(gate, found), "a probe")
            eventually(lambda number=number: vitals(client).openings == number, "the breaker to open again")
    assert [entry["seconds"] for entry in logs if entry["event"] == "endpoint.opened"] == [0.02, 0.04, 0.07, 0.07]


def _open(gate: Gate, kind: FailureKind) -> None:
    """Open the breaker with failures of this class."""
    if CLASSES[kind].again != "never":
        call(gate, kind)
        return
    for model in ("m", "other"):
        refuse(gate, kind, model=model)


def _fail(gate: Gate, one: Entered) -> bool:
    gate.leave(one, answer("connection"))
    return True


def test_a_probe_of_a_dead_worker_is_followed_by_another(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1})
    call(gate, "timeout")
    eventually(lambda: vitals(client).breaker == "half-open", "the pause to end")
    entered(gate, within=0.05)
    assert vitals(client).breaker == "half-open"
    eventually(lambda: isinstance(enter(gate), Entered), "another probe to be let through")


def test_a_share_of_failures_opens_the_breaker(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_window": 10, "breaker_share": 0.6, "breaker_pause": 60.0})
    for number in range(10):
        call(gate, "server" if number % 5 < 3 else None)
    eventually(lambda: vitals(client).calls == 10, "the calls to be counted")
    assert vitals(client).breaker == "closed", "the tenth call succeeded"
    call(gate, "server")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")


@pytest.mark.parametrize("kind", ["wrong_schema", "refused", "truncated", "context_overflow", "bad_request"])
def test_unusable_answers_do_not_count_against_the_endpoint(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None], kind: FailureKind
) -> None:
    gate = gate_of({"breaker_failures": 2, "breaker_window": 2})
    for _ in range(4):
        call(gate, kind)
    eventually(lambda: vitals(client).failures == {kind: 4}, "the calls to be counted")
    assert vitals(client).breaker == "closed"


def test_a_refused_key_stops_all_calls_until_a_worker_restarts(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_pause": 60.0})
    with capture_logs() as logs:
        for model in ("strong", "routine"):
            refuse(gate, "auth", model=model)
        eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
        assert refused(gate).because == "auth"
        eventually(lambda: len(logs) == 2, "the events")
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("endpoint.model_set_aside", "error"),
        ("endpoint.opened", "error"),
    ]
    assert "api_key" in logs[0]["check"]
    started_since = gate_of()
    started_since.leave(entered(started_since), answer())
    eventually(lambda: vitals(client).breaker == "closed", "the breaker to close")


def test_a_missing_model_stops_only_calls_of_that_model(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_pause": 60.0})
    refuse(gate, "model_missing", model="misspelt")
    eventually(lambda: vitals(client).set_aside == {"misspelt": "model_missing"}, "the model to be marked")
    assert refused(gate, model="misspelt").because == "model_missing"
    gate.leave(entered(gate, model="other"), answer())
    added_since = gate_of()
    added_since.leave(entered(added_since, model="misspelt"), answer())
    eventually(lambda: vitals(client).set_aside == {}, "the mark to be removed")


def test_one_of_many_callers_probes_an_open_breaker(
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
    beginning = threading.Barrier(3, timeout=LONGEST)

    def probe(gate: Gate, failure: Failure | None) -> None:
        def find(deadline: float) -> Failure | None:
            tried.append(deadline)
            assert refused(gates[0]).why == "breaker_open"
            with changed:
                assert changed.wait_for(lambda: len(waiting) == 2, timeout=LONGEST), "the others to wait for this"
            return failure

        beginning.wait()
        gate.probe(NAME, find, time.monotonic() + 20)

    at_once(*(lambda gate=gate: probe(gate, Failure(kind="connection")) for gate in gates))  # type: ignore[misc]
    assert len(tried) == 1
    found = vitals(client)
    assert (found.breaker, found.why, found.openings) == ("open", "connection", 1), "it is unchanged"
    assert found.next_probe is not None
    assert found.next_probe > 40

    waiting.clear()
    at_once(*(lambda gate=gate: probe(gate, None) for gate in gates))  # type: ignore[misc]
    assert len(tried) == 2
    assert vitals(client).breaker == "closed"
    call(gates[1], "connection")
    eventually(lambda: vitals(client).breaker == "open", "the first failed call to open it again")


@pytest.mark.parametrize(
    ("opened", "found", "after", "why"),
    [
        ("connection", None, "closed", ""),
        ("connection", "bad_request", "closed", ""),  # any answer shows that the endpoint is reachable
        ("timeout", "server", "open", "timeout"),
        ("connection", "auth", "open", "auth"),
        ("auth", None, "closed", ""),
        ("auth", "auth", "open", "auth"),
        ("quota_exhausted", None, "half-open", "quota_exhausted"),  # only a real call can show a returned quota
    ],
)
def test_the_answer_of_a_probe_decides_the_state_of_the_breaker(
    gate_of: MakeGate,
    client: Redis,
    eventually: Callable[..., None],
    opened: FailureKind,
    found: FailureKind | None,
    after: str,
    why: str,
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0})
    _open(gate, opened)
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    gate.probe(NAME, lambda _: Failure(kind=found, status=401) if found else None, time.monotonic() + 20)
    assert (vitals(client).breaker, vitals(client).why) == (after, why)


def test_a_closed_breaker_is_not_probed(gate_of: MakeGate, client: Redis) -> None:
    gate = gate_of({"breaker_failures": 1})

    def never(deadline: float) -> Failure | None:
        raise AssertionError("a closed breaker is not probed")

    gate.probe(NAME, never, time.monotonic() + 20)
    assert endpoint_vitals(client) == [], "nothing is recorded"


def test_the_pause_of_a_missing_model_and_an_open_breaker_is_stated(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0, "breaker_longest_pause": 900.0})
    refuse(gate, "model_missing", model="misspelt")
    eventually(lambda: vitals(client).set_aside == {"misspelt": "model_missing"}, "the model to be marked")
    assert 50 < refused(gate, model="misspelt").wait <= 60
    call(gate, "server")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    assert 50 < refused(gate).wait <= 60
    with capture_logs() as logs:
        gate.probe(NAME, lambda _: None, time.monotonic() + 20)
    (closed,) = [entry for entry in logs if entry["event"] == "endpoint.closed"]
    assert 0 <= closed["seconds"] < 60, "the time for which it was open"


def test_a_probe_respects_the_endpoints_limit(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0}, requests_per_minute=2)
    call(gate, "connection")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    tried: list[float] = []

    def find(deadline: float) -> None:
        tried.append(deadline)

    gate.probe(NAME, find, time.monotonic() + 0.3)
    assert tried == [], "a request has just left"
    client.hset(endpoint_keys(NAME)[0], "requests.free", 0)
    gate.probe(NAME, find, time.monotonic() + 0.3)
    assert len(tried) == 1
    assert refused(gate, within=1).why == "rate_limited_here", "the probe counts as a request"


def test_no_probe_precedes_a_retry_after(gate_of: MakeGate, client: Redis, eventually: Callable[..., None]) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 60.0})
    one = entered(gate)
    call(gate, "server")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    gate.leave(one, answer("server", retry_after=40.0))
    gate.close()

    def never(deadline: float) -> None:
        raise AssertionError("the endpoint has asked for a pause")

    gate_of().probe(NAME, never, time.monotonic() + 20)
    assert vitals(client).breaker == "open"


def test_one_call_tries_a_missing_model_again_after_its_pause(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    one, other = gate_of(), gate_of()
    for gate in (one, other):
        call(gate)  # so that neither counts as a process that has started since
    eventually(lambda: vitals(client).calls == 2, "the calls to be counted")
    refuse(one, "model_missing", model="misspelt")
    eventually(lambda: vitals(client).set_aside == {"misspelt": "model_missing"}, "the model to be marked")
    client.hset(endpoint_keys(NAME)[0], "aside:misspelt", "1 model_missing 1 1")
    assert entered(other, model="misspelt").tries_aside
    assert refused(one, model="misspelt").wait == 0, "it waits for the end of that call"


def test_the_latest_changes_are_kept_in_order(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    gate = gate_of({"breaker_failures": 1, "breaker_pause": 0.05})

    def is_answered(model: str = "m") -> bool:
        one = enter(gate, model=model)
        if isinstance(one, Refused):
            return False
        gate.leave(one, answer())
        return True

    refuse(gate, "model_missing", model="misspelt")
    eventually(lambda: vitals(client).set_aside, "the model to be set aside")
    eventually(lambda: is_answered("misspelt"), "its pause to end")
    eventually(lambda: not vitals(client).set_aside, "its answer")
    for closes in (is_answered, lambda: gate.probe(NAME, lambda deadline: None, time.monotonic() + 20) is None):
        call(gate, "connection")
        eventually(lambda: vitals(client).breaker != "closed", "the breaker to open")
        eventually(closes, "the breaker's pause to end")
        eventually(lambda: vitals(client).breaker == "closed", "the breaker to close")
    changes = endpoint_changes(client, [NAME, "never-called"])
    assert [(one.what, one.why, one.model) for one in changes] == [
        ("set_aside", "model_missing", "misspelt"),
        ("asked_again", "", "misspelt"),
        *2 * [("opened", "connection", ""), ("closed", "", "")],
    ]
