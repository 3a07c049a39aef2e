"""Clients of the state's server: how long a call may take, how often it is tried, and how keys are found."""

from __future__ import annotations

from typing import Any

import pytest
import redis.retry
from fakeredis import FakeRedis
from redis import Redis
from redis.exceptions import ConnectionError as Disconnected

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.ledger.connect import (
    connect,
    impatient,
    read_fields,
    read_hash,
    read_members,
    read_value,
    scan_keys,
)


class Client(Redis):
    """A client of one's own."""


def options(client: Redis) -> dict[str, Any]:
    found: dict[str, Any] = client.get_connection_kwargs()
    return found


def test_no_call_takes_longer_than_its_tries_and_their_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    given = options(connect("redis://h:1/0", 2.5))
    assert (given["socket_timeout"], given["socket_connect_timeout"]) == (2.5, 2.5)
    for retries in (None, 0, 9):
        retry = options(connect("redis://h:1/0", 2.5, **({} if retries is None else {"retries": retries})))["retry"]
        tries, pauses = list[int](), list[float]()
        monkeypatch.setattr(redis.retry, "sleep", pauses.append)

        def call(tries: list[int] = tries) -> None:
            tries.append(1)
            raise Disconnected("gone")

        with pytest.raises(Disconnected):
            retry.call_with_retry(call, lambda error: None)
        assert len(tries) == 1 + (3 if retries is None else retries)
        assert max(pauses, default=0) <= 0.5


def test_a_connection_idle_for_half_a_minute_is_checked_before_use() -> None:
    assert options(connect("redis://h:1/0", 2.5))["health_check_interval"] == 30


def test_a_client_may_be_of_a_custom_class() -> None:
    assert type(connect("redis://h:1/0", 2.5)) is Redis
    assert type(connect("redis://h:1/0", 2.5, client=Client)) is Client


@pytest.mark.parametrize("url", ["http://me:secret@h", "redis://h:port/0", "h:1"])
def test_an_invalid_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a Redis URL") as refused:
        connect(url, 1.0)
    assert "secret" not in str(refused.value)


class Counting(FakeRedis):
    """A client that counts its round trips."""

    scans = 0

    def scan(self, *given: Any, **named: Any) -> Any:
        self.scans += 1
        return super().scan(*given, **named)


def test_more_keys_a_batch_are_fewer_round_trips() -> None:
    client = Counting()
    client.mset({f"a:{n}": n for n in range(100)})
    trips = []
    for batch in (5, 50, 500):
        client.scans = 0
        assert len({key for found in scan_keys(client, "a:*", batch) for key in found}) == 100
        trips.append(client.scans)
    assert trips[0] > trips[1] > trips[2] == 1


def test_reads_say_bytes() -> None:
    client = FakeRedis()
    client.set("value", "x")
    client.sadd("members", "a", "b")
    client.hset("hash", mapping={"a": 1, "b": 2})
    assert (read_value(client, "value"), read_value(client, "none")) == (b"x", None)
    assert (read_members(client, "members"), read_members(client, "none")) == ({b"a", b"b"}, set())
    assert (read_hash(client, "hash"), read_hash(client, "none")) == ({b"a": b"1", b"b": b"2"}, {})
    assert read_fields(client, "hash", ["b", "c", "a"]) == [b"2", None, b"1"]


def test_an_impatient_client_tries_the_same_server_once_within_its_time() -> None:
    patient = connect("redis://:secret@127.0.0.1:1/3", 20.0)
    given, usual = options(impatient(patient, 0.5)), options(patient)
    assert (given["socket_timeout"], given["socket_connect_timeout"]) == (0.5, 0.5)
    assert given["retry"].get_retries() == 0
    for name in ("host", "port", "db", "password"):
        assert given[name] == usual[name]
    assert usual["socket_timeout"] == 20.0, "the other one keeps its own"
