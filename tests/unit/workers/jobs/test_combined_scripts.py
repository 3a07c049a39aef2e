"""Scripts of many threads over one connection: who sends, whose answer is whose, and what a lost connection does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hiredis import Reader
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Away
from redis.exceptions import ResponseError
from redis.retry import Retry

from cogitate.workers.jobs.combined import CombinedRedis
from tests.patience import LONGEST


class Line:
    """A connection whose server answers each script with its own words."""

    def __init__(self, *, retries: int = 0) -> None:
        self.retry = Retry(NoBackoff(), retries)
        self.batches: list[list[Any]] = []
        self.fails: list[BaseException] = []
        self.disconnected = 0
        self.sending = threading.Semaphore(0)
        self.may_send = threading.Semaphore(100)
        self.is_connected = True
        self._unread: list[list[str]] = []

    def send_packed_command(self, packed: list[bytes]) -> None:
        assert self.is_connected
        reader = Reader(encoding="utf-8")
        reader.feed(b"".join(packed))
        commands = list(iter(reader.gets, False))
        self.sending.release()
        assert self.may_send.acquire(timeout=LONGEST)
        self.batches.append([words[1] for words in commands])
        if self.fails:
            raise self.fails.pop(0)
        self._unread = commands

    def read_response(self) -> Any:
        words = self._unread.pop(0)
        if words[1] == "odd":
            raise ResponseError(words[2])
        return words[2]

    def connect(self) -> None:
        self.is_connected = True

    def disconnect(self) -> None:
        self.disconnected += 1
        self.is_connected = False


def client_on(line: Line, monkeypatch: pytest.MonkeyPatch) -> CombinedRedis:
    client = CombinedRedis()
    monkeypatch.setattr(client.connection_pool, "get_connection", lambda: line)
    return client


def test_commands_issued_during_a_round_trip_are_combined_and_get_their_own_replies(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    line = Line()
    line.may_send = threading.Semaphore(0)
    client = client_on(line, monkeypatch)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(client.execute_command, "EVALSHA", "even", "0")
        assert line.sending.acquire(timeout=LONGEST)
        others = [
            pool.submit(client.execute_command, "EVALSHA", "odd" if n == 2 else "even", str(n)) for n in (1, 2, 3)
        ]
        eventually(lambda: len(client._waiting) == 3, "the others to wait")
        line.may_send.release(3)
        assert first.result(LONGEST) == "0"
        assert (others[0].result(LONGEST), others[2].result(LONGEST)) == ("1", "3")
        with pytest.raises(ResponseError, match="2"):
            others[1].result(LONGEST)
    first_batch, second_batch = line.batches
    assert first_batch == ["even"]
    assert sorted(second_batch) == ["even", "even", "odd"]
    assert client.execute_command("EVALSHA", "even", "4") == "4", "nobody is left who would send for it"


def test_one_command_issued_during_a_round_trip_goes_next(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    line = Line()
    line.may_send = threading.Semaphore(0)
    client = client_on(line, monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.execute_command, "EVALSHA", "even", "0")
        assert line.sending.acquire(timeout=LONGEST)
        other = pool.submit(client.execute_command, "EVALSHA", "even", "1")
        eventually(lambda: len(client._waiting) == 1, "the other to wait")
        line.may_send.release(2)
        assert (first.result(LONGEST), other.result(LONGEST)) == ("0", "1")
    assert line.batches == [["even"], ["even"]]


def test_other_commands_go_their_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line()
    client = client_on(line, monkeypatch)
    sent: list[Any] = []
    monkeypatch.setattr(Redis, "execute_command", lambda self, *words, **options: sent.append((words, options)) or 7)
    assert client.execute_command("INCRBY", "key", 3, keys=["key"]) == 7
    assert sent == [(("INCRBY", "key", 3), {"keys": ["key"]})]
    assert line.batches == []


def test_each_command_of_a_batch_gets_its_own_error_when_the_server_is_away(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    line = Line()
    line.may_send, line.fails = threading.Semaphore(0), [Away("away"), Away("away")]
    client = client_on(line, monkeypatch)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(client.execute_command, "EVALSHA", "even", "0")
        assert line.sending.acquire(timeout=LONGEST)
        others = [pool.submit(client.execute_command, "EVALSHA", "even", str(n)) for n in (1, 2)]
        eventually(lambda: len(client._waiting) == 2, "the others to wait")
        line.may_send.release(2)
        errors = [one.exception(LONGEST) for one in (first, *others)]
    assert [type(error) for error in errors] == [Away] * 3
    assert errors[1] is not errors[2], "a traceback belongs to one thread"
    line.may_send.release()
    assert client.execute_command("EVALSHA", "even", "3") == "3"


def test_an_interrupt_of_the_sender_is_a_lost_connection_to_the_others(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    line = Line()
    line.may_send, line.fails = threading.Semaphore(0), [Away("away"), KeyboardInterrupt()]
    client = client_on(line, monkeypatch)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(client.execute_command, "EVALSHA", "even", "0")
        assert line.sending.acquire(timeout=LONGEST)
        others = [pool.submit(client.execute_command, "EVALSHA", "even", str(n)) for n in (1, 2)]
        eventually(lambda: len(client._waiting) == 2, "the others to wait")
        line.may_send.release(2)
        errors = [one.exception(LONGEST) for one in (first, *others)]
    assert {type(error) for error in errors[1:]} == {KeyboardInterrupt, Away}, "one of them sends for both"
    line.may_send.release()
    assert client.execute_command("EVALSHA", "even", "3") == "3"


def test_a_lost_connection_is_replaced_and_the_whole_batch_resent(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(retries=1)
    line.fails = [Away("reset")]
    client = client_on(line, monkeypatch)
    assert client.execute_command("EVALSHA", "even", "0") == "0"
    assert (line.disconnected, line.batches) == (1, [["even"], ["even"]])


def test_an_answer_of_the_second_try_takes_the_place_of_the_first_ones_error(
    monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., None]
) -> None:
    line = Line(retries=1)
    client = client_on(line, monkeypatch)
    answers = [ResponseError("NOSCRIPT"), Away("reset"), "1", "2"]

    def read() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    line.may_send = threading.Semaphore(0)
    monkeypatch.setattr(line, "read_response", lambda: "0")
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(client.execute_command, "EVALSHA", "even", "0")
        assert line.sending.acquire(timeout=LONGEST)
        others = [pool.submit(client.execute_command, "EVALSHA", "even", str(n)) for n in (1, 2)]
        eventually(lambda: len(client._waiting) == 2, "the others to wait")
        line.may_send.release()
        assert first.result(LONGEST) == "0"
        monkeypatch.setattr(line, "read_response", read)
        line.may_send.release(2)
        assert sorted(one.result(LONGEST) for one in others) == ["1", "2"]
