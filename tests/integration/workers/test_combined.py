"""Many threads' scripts on one connection to a real server: each thread gets its own answer or error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from cogitate.scheduler.ledger.connect import connect
from cogitate.workers.jobs.combined import CombinedRedis
from cogitate.workers.processes.embedded import EmbeddedServer

THREADS = 30
ECHO = "if ARGV[1] == 'odd' then return redis.error_reply('odd ' .. ARGV[2]) end return ARGV[2]"


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[CombinedRedis]:
    with connect(valkey.url, 5.0, client=CombinedRedis) as made:
        yield made


def test_each_thread_gets_its_own_answer_or_error_over_one_connection(
    valkey: EmbeddedServer, client: CombinedRedis
) -> None:
    echo = client.register_script(ECHO)

    def said(number: int) -> str:
        answers = []
        for round_ in range(20):
            text = f"{number}.{round_}"
            try:
                answers.append(bytes(echo(args=["odd" if round_ % 2 else "even", text])).decode())
            except ResponseError as error:
                answers.append(str(error))
        return " ".join(answers)

    with valkey.client() as other:
        echo(args=["even", "loads the script and connects"])
        before = other.info("stats")["total_connections_received"]
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(said, range(THREADS)))
        assert other.info("stats")["total_connections_received"] == before
    assert answers == [" ".join(f"odd {n}.{r}" if r % 2 else f"{n}.{r}" for r in range(20)) for n in range(THREADS)]


def test_pending_commands_share_one_round_trip(
    client: CombinedRedis, eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanged: list[int] = []
    exchange, others_wait = client._exchange, threading.Event()
    echo = client.register_script(ECHO)
    echo(args=["even", "loads the script"])

    def counted(commands: list[Any]) -> None:
        exchanged.append(len(commands))
        others_wait.wait()
        exchange(commands)

    monkeypatch.setattr(client, "_exchange", counted)
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(echo, args=["even", str(n)]) for n in range(THREADS)]
        try:
            eventually(lambda: len(client._waiting) == THREADS - 1, "all but one to wait")
        finally:
            others_wait.set()
        assert [future.result() for future in futures] == [str(n).encode() for n in range(THREADS)]
    assert exchanged == [1, THREADS - 1]


def test_a_closed_connection_is_replaced(valkey: EmbeddedServer, client: CombinedRedis) -> None:
    echo = client.register_script(ECHO)
    assert echo(args=["even", "one"]) == b"one"
    with valkey.client() as other:
        other.client_kill_filter(_type="normal", skipme=True)
        other.script_flush()
    assert echo(args=["even", "two"]) == b"two"


def test_every_thread_gets_the_error_of_an_unreachable_server(tmp_path: Path) -> None:
    client = connect(f"unix://{tmp_path}/none.sock", 1.0, retries=0, client=CombinedRedis)
    echo = client.register_script(ECHO)
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(echo, args=["even", str(n)]) for n in range(THREADS)]
        assert all(isinstance(future.exception(), RedisConnectionError) for future in futures)
