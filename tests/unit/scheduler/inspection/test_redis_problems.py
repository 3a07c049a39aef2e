"""What is said of a Redis that answers but cannot serve runs: slow, full, failing, or read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import (
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from cogitate.scheduler.inspection import redis_problems as module
from cogitate.scheduler.inspection.redis_problems import FULL, redis_problems, refused_writes
from cogitate.scheduler.ledger.connect import PATIENCE

Failure = RedisError | None


class Server:
    """A server whose round trips take so long, and that answers each command with a value or an error."""

    def __init__(
        self, *, took: tuple[float, ...] = (0.01,) * 3, time: Failure = None, write: Failure = None, info: Any = None
    ) -> None:
        self._took, self._time, self._write, self._info = took, time, write, info
        self.connection_pool = SimpleNamespace(connection_kwargs={"socket_timeout": 1.5})
        self.asked: list[Any] = []

    def clock(self) -> Callable[[], float]:
        """A clock that shows the begin and the end of each round trip."""
        shown = iter([moment for took in self._took for moment in (100.0, 100.0 + took)])
        return lambda: next(shown)

    def time(self) -> None:
        self.asked.append("time")
        if self._time is not None:
            raise self._time

    def setrange(self, name: str, offset: int, value: str) -> None:
        self.asked.append((name, offset, value))
        if self._write is not None:
            raise self._write

    def info(self, section: str) -> dict[str, Any]:
        if isinstance(self._info, RedisError):
            raise self._info
        return dict((self._info or {}).get(section, {}))


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> Callable[[Server], list[str]]:
    """Return the problems of a server, each call of which has `PATIENCE`."""

    def of(server: Server) -> list[str]:
        @contextmanager
        def impatient(client: Server, seconds: float) -> Iterator[Server]:
            assert (client, seconds) == (server, PATIENCE)
            yield server

        monkeypatch.setattr(module, "impatient", impatient)
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=server.clock()))
        return redis_problems(server)  # type: ignore[arg-type]

    return of


@pytest.mark.parametrize(
    ("took", "said"),
    [
        ((0.01, 0.01, 0.01), []),
        ((0.01, 0.9, 0.01), []),
        ((0.9, 0.04, 0.8), ["is slow: 800 ms a round trip"]),
        ((0.0625, 0.0625, 0.0625), ["is slow: 62 ms a round trip"]),
        ((1.5, 2.0, 1.25), ["is slow: 1,500 ms a round trip"]),
    ],
)
def test_a_server_is_slow_when_most_of_three_round_trips_are(
    problems: Callable[[Server], list[str]], took: tuple[float, ...], said: list[str]
) -> None:
    server = Server(took=took)
    assert problems(server) == said
    assert server.asked.count("time") == 3


def test_a_round_trip_of_fifty_milliseconds_is_not_slow_yet(
    problems: Callable[[Server], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW", 0.5)
    assert problems(Server(took=(0.5, 0.5, 0.5))) == []
    assert problems(Server(took=(0.75, 0.75, 0.75))) == ["is slow: 750 ms a round trip"]


def test_a_server_that_is_slow_and_refuses_writes_has_both_problems(problems: Callable[[Server], list[str]]) -> None:
    assert problems(Server(took=(0.25,) * 3, write=OutOfMemoryError("command not allowed"))) == [
        "is slow: 250 ms a round trip",
        FULL,
    ]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RedisTimeoutError("Timeout reading"), "does not answer within 1.5 s: it is paused, stopped or busy, or"),
        (RedisConnectionError("refused"), "does not answer: refused"),
        (BusyLoadingError("LOADING Redis is loading the dataset in memory"), "is loading its data"),
        (ResponseError("MASTERDOWN Link with MASTER is down"), "is a replica that has lost its primary"),
        (ResponseError("ERR " + "x" * 400), "fails: ERR " + "x" * 196),
    ],
)
def test_an_unresponsive_server_is_queried_once(
    problems: Callable[[Server], list[str]], error: RedisError, said: str
) -> None:
    server = Server(time=error)
    (found,) = problems(server)
    assert found.startswith(said)
    assert len(found) <= 220
    assert server.asked == ["time"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (None, ""),
        (OutOfMemoryError("command not allowed"), FULL),
        (ReadOnlyError("You can't write"), "refuses writes: it is a read-only replica"),
        (ResponseError("NOREPLICAS Not enough"), "refuses writes: too few replicas are connected"),
        (ResponseError("MISCONF Redis is"), "refuses writes: it cannot save to disk, see its log"),
        (RedisTimeoutError("Timeout"), "accepts no writes within 1.5 s: they are paused (CLIENT PAUSE), or its disk"),
        (RedisConnectionError("reset"), "does not answer: reset"),
        (ResponseError("ERR odd"), "fails: ERR odd"),
        (ResponseError("not MISCONF"), "fails: not MISCONF"),
    ],
)
def test_write_access_is_tested_without_a_change(error: Failure, said: str) -> None:
    server = Server(write=error)
    found = refused_writes(server)  # type: ignore[arg-type]
    assert found.startswith(said)
    assert bool(found) is bool(said)
    assert server.asked == [("cogitate:probe", 0, "")]


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({}, ""),
        (NoPermissionError("no"), ""),
        ({"persistence": {"aof_last_write_status": "ok"}}, ""),
        ({"persistence": {"aof_last_write_status": "err"}}, "refuses writes: it cannot save to disk, see its log"),
        ({"memory": {"maxmemory": 0, "used_memory": 9}}, ""),
        ({"memory": {"used_memory": 9}}, ""),
        ({"memory": {"maxmemory": 9, "used_memory": 8}}, ""),
        ({"memory": {"maxmemory": 9, "used_memory": 9}}, FULL),
        ({"memory": {"maxmemory": 9, "used_memory": 10}}, FULL),
        ({"memory": {"maxmemory": 1, "used_memory": 1}}, FULL),
        ({"memory": {"maxmemory": 9}}, ""),
    ],
)
def test_without_write_permission_the_servers_status_is_used(info: Any, said: str) -> None:
    server = Server(write=NoPermissionError("this user has no permissions to run SETRANGE"), info=info)
    assert refused_writes(server) == said  # type: ignore[arg-type]
