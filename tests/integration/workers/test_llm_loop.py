"""Many threads and several endpoints on one event loop: what their calls share, and how they end."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.tasks.job import Cost
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.requests.dialect import Dialect, DialectStore, KnownDialect, known_dialects
from tests.integration.workers.llm_case import BOUND, KEY, MODEL, PROMPT, Mood, ask, client_of
from tests.live_redis import empty_redis


def at(endpoint: FakeEndpoint) -> Endpoint:
    return Endpoint(base_url=endpoint.url, api_key=SecretStr(KEY))


def test_two_hundred_threads_share_one_loop_and_one_pool() -> None:
    threads, connections = 200, 50
    with (
        FakeEndpoint() as endpoint,
        client_of(endpoint.url, concurrency=connections) as client,
        ThreadPoolExecutor(threads) as pool,
    ):
        endpoint.hold()
        asked = [pool.submit(ask, client, 60.0) for _ in range(threads)]
        endpoint.wait_for_request(connections)
        assert [thread.name for thread in threading.enumerate()].count("llm") == 1
        endpoint.release()
        assert all(isinstance(future.result().value, Mood) for future in asked)
        stats = endpoint.stats()
    assert (stats.requests, stats.most_in_flight) == (threads, connections)
    assert "llm" not in [thread.name for thread in threading.enumerate()]


def test_a_hanging_endpoint_delays_no_other() -> None:
    with FakeEndpoint() as hung, FakeEndpoint() as well, ThreadPoolExecutor(8) as pool:
        client = ModelClients({"default": at(well), "hung": at(hung)}, 2)
        hung.hold()
        of_hung = client.of("hung")
        waiting = [
            pool.submit(of_hung.ask, PROMPT, model=MODEL, max_output_tokens=300, deadline=time.monotonic() + 60)
            for _ in range(4)  # two of these wait for a connection
        ]
        hung.wait_for_request(2)
        assert all(isinstance(ask(client).value, Mood) for _ in range(10))
        assert not any(future.done() for future in waiting)
        hung.release()
        assert all(isinstance(future.result().value, Mood) for future in waiting)
        client.close()


def test_closing_fails_both_running_and_waiting_calls() -> None:
    with FakeEndpoint() as endpoint, ThreadPoolExecutor(2) as pool:
        client = ModelClients({"default": at(endpoint)}, 1)
        endpoint.hold()
        asked = [pool.submit(ask, client) for _ in range(2)]
        endpoint.wait_for_request(1)
        client.close()
        answers = [future.result() for future in asked]
        endpoint.release()
    assert [answer.failure.kind if answer.failure else None for answer in answers] == ["connection"] * 2
    assert sorted(answer.usage.tokens for answer in answers) == [0, BOUND], "one was sent, at an unknown cost"


def test_a_closed_loop_accepts_no_calls() -> None:
    with FakeEndpoint() as endpoint:
        with client_of(endpoint.url) as client:
            ask(client)
        with pytest.raises(RuntimeError, match="closed"):
            ask(client)
        assert endpoint.stats().requests == 1


def test_a_learned_dialect_reaches_the_next_process_and_run() -> None:
    redis = empty_redis()
    with FakeEndpoint(refuses=frozenset({"json_schema", "max_tokens"})) as endpoint:
        kinds = []
        for jobs in (3, 1):
            client = ModelClients({"default": at(endpoint)}, 1, DialectStore(redis))
            for _ in range(jobs):
                while (answer := ask(client)).failure is not None:
                    kinds.append(answer.failure.kind)
            client.close()
        server = endpoint.url
    assert kinds == ["unsupported"] * 3, "two for the first job, one to confirm, and none in the second process"
    expected = Dialect(form="json_object", cap="max_completion_tokens")
    assert known_dialects(redis) == [KnownDialect(server=server, model="stand-in", dialect=expected)]


def test_a_dialect_that_works_at_first_is_stored_without_the_urls_password() -> None:
    redis = empty_redis()
    with FakeEndpoint() as endpoint:
        url = endpoint.url.replace("http://", "http://user:secret@")
        client = ModelClients({"default": Endpoint(base_url=url)}, 1, DialectStore(redis))
        ask(client)
        client.close()
        server = endpoint.url
    assert known_dialects(redis) == [KnownDialect(server=server, model="stand-in", dialect=Dialect())]
    assert "secret" not in str(redis.keys())


def test_without_redis_each_process_learns_alone() -> None:
    away = Redis(port=1)
    with FakeEndpoint(refuses=frozenset({"json_schema"})) as endpoint:
        client = ModelClients({"default": at(endpoint)}, 1, DialectStore(away))
        assert ask(client).usage == Cost(calls=1)
        assert isinstance(ask(client).value, Mood)
        client.close()
    away.close()
