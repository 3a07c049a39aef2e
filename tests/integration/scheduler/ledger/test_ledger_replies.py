"""The ledger on a real Valkey: lost, late or unreadable replies, and repeated steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import UnixDomainSocketConnection
from redis.exceptions import ConnectionError as Disconnected
from redis.retry import Retry

from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.errors import Fenced
from cogitate.scheduler.ledger.keys import _PRELUDES, source
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.scheduler.ledger.ledger_case import OTHER, OWNER, Host, claimed, observe, settle, sound, worker


class Flaky(UnixDomainSocketConnection):
    """A connection that loses one reply after the server has executed the command."""

    lose = False

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        answer = super().read_response(*args, **kwargs)
        if Flaky.lose:
            Flaky.lose = False
            self.disconnect()
            raise Disconnected("the reply was lost")
        return answer


@pytest.fixture
def flaky(valkey: EmbeddedServer) -> Iterator[Redis]:
    client = Redis.from_url(valkey.url, retry=Retry(NoBackoff(), 3))
    client.connection_pool.connection_class = Flaky
    for name in _PRELUDES:  # load the scripts, so that the lost reply is a script's and not that of loading it
        client.script_load(source(name))
    yield client
    Flaky.lose = False
    client.close()


def test_a_commit_with_a_lost_reply_happens_once(flaky: Redis, client: Redis) -> None:
    host = Host(flaky)
    observe(host, 2)
    host.turn(("think", OWNER))
    observe(host, 1)
    Flaky.lose = True
    (job,) = host.turn(("think", OTHER))
    assert not Flaky.lose
    claims = worker(client)
    settle(claims, claimed(claims, job))
    host.until(6)
    assert sorted(host.ended().values()) == [("applied", "late"), ("applied", "none")]
    assert client.llen(host.ledger.store.key("journal")) == 5
    sound(client)


def test_every_step_survives_a_lost_reply(flaky: Redis, client: Redis) -> None:
    host = Host(flaky)
    (job,) = host.turn(("think", OWNER))
    claims = worker(flaky)
    Flaky.lose = True
    claim = claimed(claims, job)
    assert claim.number == 1
    Flaky.lose = True
    (token,) = host.ledger.collect(2, "due").attempts
    Flaky.lose = True
    assert host.ledger.collect(2, "due", [token]).unclaimed == [job.key.text()]
    assert host.window("run:0") == {"spent": 1}
    again = claimed(claims, job)
    Flaky.lose = True
    assert settle(claims, again) == "already"
    assert host.window("run:0") == {"spent": 2, "pool": 1}
    sound(client)


def test_calls_to_a_stalled_server_are_repeated_and_counted_once(valkey: EmbeddedServer, client: Redis) -> None:
    """Pause the server: the first try times out, yet the server executes it later, as well as the second."""
    slow = connect(valkey.url, timeout=0.15)
    host = Host(slow)
    claims = worker(slow)
    client.client_pause(250)
    (job,) = host.turn(("think", OWNER))
    client.client_pause(250)
    claim = claimed(claims, job)
    assert claim.number == 1
    client.client_pause(250)
    assert settle(claims, claim) in ("staged", "already")
    assert client.llen(host.ledger.store.key("journal")) == 1
    assert host.window("run:0") == {"spent": 1}
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}
    sound(client)
    slow.close()


def test_an_unknown_script_is_loaded_again(client: Redis) -> None:
    """Flush the scripts, as a restart does: NOSCRIPT must not stop a host or a worker."""
    host = Host(client)
    claims = worker(client)
    client.script_flush()
    (job,) = host.turn(("think", OWNER))
    client.script_flush()
    claim = claimed(claims, job)
    client.script_flush()
    claims.beat("r", claim.incarnation)
    client.script_flush()
    assert settle(claims, claim) == "staged"
    client.script_flush()
    host.until(6)
    assert host.ended() == {job.key: ("applied", "none")}


def test_a_blocking_wait_ends_before_the_socket_timeout(valkey: EmbeddedServer) -> None:
    """Check that a blocking call returns before its socket times out.

    A server checks its timers ten times a second, so a timeout of tenths of a second would leave no margin.
    """
    client = Redis.from_url(valkey.url, socket_timeout=2.0, retry=Retry(NoBackoff(), 0))
    host = Host(client)
    assert host.ledger.wait_ready(5, timeout=30.0) is False
    client.close()


def test_only_an_identical_step_counts_as_repeated(client: Redis) -> None:
    host = Host(client)
    host.ledger.collect(1, "due")
    host.ledger._seq -= 1
    assert host.ledger.collect(1, "due").boundary.rows == []
    host.ledger._seq -= 1
    with pytest.raises(Fenced):
        host.ledger.collect(1, "ready")
