"""Redis clients: timeouts, typed reads, servers that do not answer, and servers that evict the keys of runs.

redis-py types a text in a reply as bytes or str. Clients of Cogitate never decode, so the reads here return bytes.

A server with a bound on its memory may remove keys to make room. With an `allkeys-` policy it removes any key. With a
`volatile-` policy it removes keys that expire: the spending of a real day, captured prompts, heartbeats, but no part of
a run's ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from redis import ConnectionPool, Redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.client import Pipeline
from redis.exceptions import AuthenticationError, OutOfMemoryError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import redact_url
from cogitate.scheduler.ledger.outage import is_outage

PATIENCE = 1.5  # seconds for each call of a reader, who sees an answer or an error within 3, a program's start included
MOST_CONNECTIONS = 2_000  # one for each thread of the largest worker; the client's own bound is 100, and then it fails
SILENT = "it is paused, stopped or busy, or the way there is slow"


class ServerSilent(ConfigurationError):
    """A Redis server accepts connections but does not answer. Resume its process, or restart it."""


def connect(url: str, timeout: float, *, retries: int = 3, client: type[Redis] = Redis) -> Redis:
    """Return a client whose every call ends within a bounded time. Scripts are safe to send again: see `fence.lua`.

    Args:
        timeout: seconds for each try.
        retries: further tries of a call whose connection fails.
        client: what to make.

    Raises:
        ConfigurationError: when the URL cannot be read.
    """
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), retries)
    return _client(url, timeout, retry, client, health_check_interval=30)


def connect_to_read(url: str, timeout: float) -> Redis:
    """Return a client that reopens a closed connection, and never repeats a call that timed out.

    The retries of a call and of its connection multiply: a stopped server would cost sixteen timeouts. No PING precedes
    a call, since a server that cannot write to its disk refuses PING but answers reads.

    Raises:
        ConfigurationError: when the URL cannot be read.
    """
    return _client(url, timeout, Retry(ExponentialBackoff(cap=0.5, base=0.05), 3, (RedisConnectionError,)), Redis)


def _client(url: str, timeout: float, retry: Retry, client: type[Redis], **options: int) -> Redis:
    try:
        made = client.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=retry,
            max_connections=MOST_CONNECTIONS,
            **options,
        )
        pool = made.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # connects to nothing; it alone knows the parameters
    except (ValueError, TypeError, RedisError):  # without its text, which may quote a part of a password
        raise ConfigurationError(
            f"{redact_url(url)!r} is not a Redis URL: correct its host, port, database or parameters, and write "
            "special characters of a password as in %40"
        ) from None
    return made


def impatient(client: Redis, seconds: float) -> Redis:
    """Return a client of the same server that retries nothing, and waits no longer than this or its own timeout."""
    pool = client.connection_pool
    seconds = min(seconds, pool.connection_kwargs.get("socket_timeout") or seconds)
    options = {**pool.connection_kwargs, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    options["retry"] = Retry(NoBackoff(), 0)
    return Redis.from_pool(ConnectionPool(connection_class=pool.connection_class, **options))


def read_value(client: Redis, key: str) -> bytes | None:
    """Return the value of a key; None where it is not set."""
    return client.get(key)  # type: ignore[return-value]


def read_members(client: Redis, key: str) -> set[bytes]:
    return client.smembers(key)  # type: ignore[return-value]


def read_hash(client: Redis, key: str) -> dict[bytes, bytes]:
    return client.hgetall(key)  # type: ignore[return-value]


def read_list(client: Redis, key: str) -> list[bytes]:
    return client.lrange(key, 0, -1)  # type: ignore[return-value]


def read_fields(client: Redis, key: str, fields: list[str]) -> list[bytes | None]:
    """Return these fields of a hash, each None where it is not set."""
    return client.hmget(key, fields) if fields else []  # type: ignore[return-value]


def scan_keys(client: Redis, pattern: str, batch: int) -> Iterator[list[bytes]]:
    """Yield the keys that match a glob pattern, about `batch` of them a round trip."""
    cursor = 0
    while True:
        cursor, keys = client.scan(cursor, match=pattern, count=batch)
        if keys:
            yield keys  # type: ignore[misc]
        if cursor == 0:
            return


def read_at_once(client: Redis, queue: Callable[[Pipeline], object]) -> list[Any]:
    """Return the replies to several reads, all as of one instant.

    A full Redis 7 queues no command of a transaction, not even a read. Without one, two readings in a row that are
    equal are those of an instant between them.
    """
    while True:
        try:
            return _replies(client, queue, transaction=True)
        except OutOfMemoryError:
            found = _replies(client, queue, transaction=False)
            if _replies(client, queue, transaction=False) == found:
                return found


def _replies(client: Redis, queue: Callable[[Pipeline], object], *, transaction: bool) -> list[Any]:
    with client.pipeline(transaction=transaction) as pipeline:
        queue(pipeline)
        return pipeline.execute()


def check(client: Redis, url: str) -> None:
    """Check that the server answers.

    Raises:
        ServerSilent: when it does not answer in time.
        ConfigurationError: saying which URL does not answer and why.
    """
    try:
        client.ping()
    except AuthenticationError as error:
        raise ConfigurationError(f"Redis at {redact_url(url)} refuses the credentials: {error}") from error
    except RedisTimeoutError as error:
        raise ServerSilent(f"Redis at {redact_url(url)} does not answer: {SILENT} ({error})") from error
    except RedisError as error:
        if isinstance(error, ResponseError) and is_outage(error):
            return  # one that cannot write to its disk refuses even this, and can be read
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise ConfigurationError(
                f"the certificate of Redis at {redact_url(url)} is not one to trust: {error}; name the file of its "
                "authority with ?ssl_ca_certs=/path/ca.pem in the URL, or give the server a certificate for this name"
            ) from error
        raise ConfigurationError(
            f"no Redis answers at {redact_url(url)}: {error}; start it, or unset COGITATE_REDIS_URL to use the "
            "embedded one"
        ) from error


def check_soon(url: str) -> None:
    """Check that a server answers, within `PATIENCE`.

    Raises:
        ServerSilent, ConfigurationError: as `check`.
    """
    with connect_to_read(url, PATIENCE) as client:
        check(client, url)


KEEPS = "noeviction"
REMEDY = f"set maxmemory-policy {KEEPS} (CONFIG SET maxmemory-policy {KEEPS}, and in its configuration)"


class Eviction(msgspec.Struct, frozen=True):
    """A server's eviction policy, as INFO reports it."""

    policy: str  # maxmemory-policy; "" if the server does not report it
    bounded: bool  # maxmemory is set, so the policy applies
    evicted: int = 0  # keys since the server started

    @property
    def threatens_runs(self) -> bool:
        """Return whether the server may remove any key, and will once it is full."""
        return self.bounded and self.policy.startswith("allkeys-")


def eviction_of(client: Redis) -> Eviction:
    """Return a server's eviction policy.

    Raises:
        RedisError: when the server cannot be asked.
    """
    memory: dict[str, Any] = client.info("memory")  # unlike CONFIG GET, providers of servers permit it
    stats: dict[str, Any] = client.info("stats")
    return Eviction(
        str(memory.get("maxmemory_policy", "")), int(memory.get("maxmemory", 0)) > 0, int(stats.get("evicted_keys", 0))
    )


def check_keeps_runs(client: Redis, server: str) -> None:
    """Check that a server is not configured to evict runs.

    Raises:
        ConfigurationError: when it would.
    """
    try:
        found = eviction_of(client)
    except RedisError:
        return  # the first step reports any other fault of the server
    if found.threatens_runs:
        raise ConfigurationError(
            f"Redis at {server} evicts keys when its memory is full (maxmemory-policy {found.policy}), and a run would "
            f"lose its ledger: {REMEDY}, or use another server for runs"
        )


def why_keys_vanish(client: Redis) -> str:
    """Return a clause on why keys vanished: the server evicts, or restarts empty; "" if neither holds."""
    try:
        found, server = eviction_of(client), client.info()
    except RedisError:
        return ""
    if found.threatens_runs or (found.evicted and found.policy.startswith("allkeys-")):
        return (
            f"; this server evicts keys when its memory is full (maxmemory-policy {found.policy}, {found.evicted:,} "
            f"evicted since its start): {REMEDY}"
        )
    if not int(server.get("aof_enabled", 0)):
        hours = int(server.get("uptime_in_seconds", 0)) / 3600
        return (
            f"; this server keeps no append-only file and started {hours:,.1f} hours ago: a restart loses every run "
            "(set appendonly yes)"
        )
    return ""
