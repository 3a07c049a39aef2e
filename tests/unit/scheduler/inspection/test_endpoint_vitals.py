"""What is shown of endpoints: the breaker, its next probe, what was asked and what went wrong."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.inspection import endpoint_vitals as module
from cogitate.scheduler.inspection.endpoint_vitals import (
    EndpointVitals,
    endpoint_vitals,
    unreachable_endpoints,
    usual_seconds,
)
from cogitate.scheduler.ledger.keys import ENDPOINTS, endpoint_keys

NOW = 1_000_000_250_000  # microseconds


def called(client: FakeRedis, name: str, gate: dict[str, Any] | None = None, **counters: int) -> None:
    client.sadd(ENDPOINTS, name)
    keys = endpoint_keys(name)
    if gate:
        client.hset(keys[0], mapping=gate)
    if counters:
        client.hset(keys[2], mapping={field.replace("_of_", ":"): value for field, value in counters.items()})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    made = FakeRedis()
    monkeypatch.setattr(made, "time", lambda: (NOW // 1_000_000, NOW % 1_000_000))
    assert module._SECOND == 1_000_000
    return made


def vitals(client: FakeRedis, gate: dict[str, Any]) -> EndpointVitals:
    called(client, "ours", gate)
    (found,) = endpoint_vitals(client)
    return found


def after(seconds: float) -> int:
    return NOW + int(seconds * 1_000_000)


def test_an_endpoint_that_answers_is_closed(client: FakeRedis) -> None:
    found = vitals(client, {"usual": 1_500_000, "hold": after(-5)})
    assert (found.breaker, found.why, found.next_probe, found.held, found.usual) == ("closed", "", None, 0.0, 1.5)
    assert (found.changed, found.set_aside) == (None, {})


@pytest.mark.parametrize(
    ("gate", "breaker", "probe"),
    [
        ({"probe_at": after(7)}, "open", 7.0),
        ({"probe_at": after(-1)}, "half-open", 0.0),
        ({"probe_at": after(7), "probe": "t", "probe_until": after(2)}, "half-open", None),
        ({"probe_at": after(7), "probe": "t", "probe_until": after(-2)}, "open", 7.0),
    ],
)
def test_an_open_breaker_states_cause_start_and_next_probe(
    client: FakeRedis, gate: dict[str, Any], breaker: str, probe: float | None
) -> None:
    found = vitals(client, {"state": "open", "why": "auth", "since": after(-60), **gate})
    assert (found.breaker, found.next_probe) == (breaker, probe)
    assert (found.why, found.changed) == ("auth", 60.0)


def test_pauses_and_models_set_aside_are_shown(client: FakeRedis) -> None:
    found = vitals(
        client,
        {
            "hold": after(3.5),
            "aside:b": "1 auth 1 1",
            "aside:a": "1 forbidden 1 1",
            "why": "auth",
            "probe_at": after(9),
        },
    )
    assert (found.held, found.set_aside) == (3.5, {"a": "forbidden", "b": "auth"})
    assert (found.breaker, found.why, found.next_probe) == ("closed", "", None)


def test_calls_are_counted_by_outcome(client: FakeRedis) -> None:
    called(
        client,
        "ours",
        calls=9,
        requests=8,
        tokens=700,
        estimated=30,
        reasoning=90,
        waits=2,
        waited_ms=1500,
        openings=1,
        failures_of_server=1,
        failures_of_auth=4,
        failures_of_empty=1,
        refused_of_no_slot=3,
    )
    slots = endpoint_keys("ours")[1]
    client.zadd(slots, {"a": after(5), "b": after(-5), "c": after(1)})
    (found,) = endpoint_vitals(client)
    assert (found.calls, found.requests, found.tokens, found.estimated, found.openings) == (9, 8, 700, 30, 1)
    assert found.reasoning == 90
    assert (found.waits, found.waited, found.in_flight) == (2, 1.5, 2)
    assert [*found.failures.items()] == [("auth", 4), ("empty", 1), ("server", 1)]
    assert found.refused == {"no_slot": 3}


def test_endpoints_are_shown_by_name_and_those_that_cannot_be_reached_on_request(client: FakeRedis) -> None:
    for name in ("d", "b", "a", "c"):
        called(client, name, {"state": "open"} if name in "bd" else None, calls=ord(name))
    assert [(one.endpoint, one.calls) for one in endpoint_vitals(client)] == [(name, ord(name)) for name in "abcd"]
    assert unreachable_endpoints(client, ["a", "b", "c"], {}) == ["b"]
    assert unreachable_endpoints(client, ["a", "b", "d"], {}) == ["b", "d"]
    assert unreachable_endpoints(client, [], {}) == []


def test_what_was_learned_at_another_address_does_not_count(client: FakeRedis) -> None:
    for name, gate in {"a": {"server": "http://a"}, "b": {"server": "http://old"}, "c": {}}.items():
        called(client, name, {"state": "open", "usual": 2_000_000, **gate})
    servers = {"a": "http://a", "b": "http://new", "c": "http://c"}
    assert unreachable_endpoints(client, "abc", servers) == ["a", "c"]
    assert usual_seconds(client, servers) == {"a": 2.0, "c": 2.0}
    assert unreachable_endpoints(client, "abc", {}) == ["a", "b", "c"]
    assert [one.server for one in endpoint_vitals(client)] == ["http://a", "http://old", ""]


def test_percentiles_are_of_the_latest_answers(client: FakeRedis) -> None:
    called(client, "ours")
    called(client, "silent")
    client.rpush(endpoint_keys("ours")[3], *(1_000_000 * second for second in range(20, 0, -1)))
    ours, silent = endpoint_vitals(client)
    assert (ours.p50, ours.p95) == (10.0, 19.0)
    assert (silent.p50, silent.p95) == (None, None)
