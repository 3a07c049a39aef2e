"""What the gate forgets when an endpoint gets another address, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis import Redis

from cogitate.scheduler.ledger.keys import ENDPOINTS, endpoint_keys
from tests.integration.workers.gate_case import NAME, MakeGate, call, entered, refused, vitals
from tests.integration.workers.gate_script_case import KEYS, NOW, SECOND, counters, enter, gate, given, ran

OPEN: dict[str, Any] = {
    "server": "http://old",
    "state": "open",
    "why": "connection",
    "probe_at": NOW + 83 * SECOND,
    "since": NOW - 20 * SECOND,
    "usual": SECOND,
    "room:m": 1,
    "hold": NOW + 9 * SECOND,
    "aside:m": f"{NOW + SECOND} auth 1 {NOW}",
}


def test_an_address_that_was_never_called_inherits_no_breaker(client: Redis) -> None:
    given(client, **OPEN)
    client.hset(KEYS[2], "calls", 11)
    client.rpush(KEYS[3], 5)
    assert enter(client, server="http://old")[0] == "open"
    assert enter(client, server="http://new")[0] == "go"
    assert gate(client) == {"server": "http://new"}
    assert (counters(client)["calls"], client.exists(KEYS[3])) == (11, 0)
    assert client.lrange(KEYS[4], 0, -1) == [f"{NOW} closed".encode()]


def test_the_queues_of_configured_limits_and_the_slots_stay(client: Redis) -> None:
    given(client, server="http://old", requests__next=NOW + SECOND, requests__drift=3, tokens__free=NOW + 7)
    client.zadd(KEYS[1], {"theirs": NOW + SECOND})
    assert enter(client, server="http://new", cap=1)[0] == "wait"
    assert gate(client).keys() >= {"requests.next", "requests.drift", "tokens.free"}
    assert client.zscore(KEYS[1], "theirs") == NOW + SECOND


def test_a_known_state_without_an_address_is_kept(client: Redis) -> None:
    given(client, **{name: value for name, value in OPEN.items() if name != "server"})
    assert enter(client, server="http://new")[0] == "open"
    assert gate(client)["server"] == "http://new"
    assert enter(client)[0] == "open", "only the first call of a process names its address"


def test_a_probe_at_another_address_finds_no_open_breaker(client: Redis) -> None:
    given(client, **OPEN | {"hold": 0})
    assert ran(client, "probe", ["begin", "t", 900, 0, 0, "http://new"]) == ["done"]
    assert "state" not in gate(client)


def test_a_worker_with_another_url_calls_at_once(
    gate_of: MakeGate, client: Redis, eventually: Callable[..., None]
) -> None:
    old = gate_of({"breaker_failures": 1, "breaker_pause": 60.0}, base_url="http://127.0.0.1:1/v1")
    call(old, "connection")
    eventually(lambda: vitals(client).breaker == "open", "the breaker to open")
    refused(old)
    new = gate_of({"breaker_failures": 1}, base_url="http://me:secret@127.0.0.1:2/v1")
    entered(new)
    assert (vitals(client).breaker, vitals(client).server) == ("closed", "http://127.0.0.1:2/v1")


def test_calls_at_once_of_a_worker_with_another_url_meet_no_old_breaker(gate_of: MakeGate, client: Redis) -> None:
    client.hset(endpoint_keys(NAME)[0], mapping=OPEN | {"probe_at": 2**62, "hold": 0})
    client.sadd(ENDPOINTS, NAME)
    new = gate_of(base_url="http://127.0.0.1:2/v1")
    new._called.add(NAME)  # another thread's call is the first and is still on its way
    entered(new)
