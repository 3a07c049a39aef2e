"""Redis clients with timeouts, typed reads, and what an unreachable server means to a user.

redis-py types a text in a reply as bytes or str. Clients of Cogitate never decode, so the reads here return bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
    """A Redis server takes connections and answers nothing. Let its process go on, or start it anew."""


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
    """Return a client that opens a closed connection again, and tries no call again that had no answer in time.

    The retries of a call and of its connection multiply: a stopped server would take sixteen timeouts. No PING goes
    before a call, since a server that cannot write to its disk refuses it and answers reads.

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
    """Return a client of the same server that tries no call again, and waits no longer than this or its own timeout."""
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


def read_fields(client: Redis, key: str, fields: list[str]) -> list[bytes | None]:
    """Return these fields of a hash, each None where it is not set."""
    return client.hmget(key, fields)  # type: ignore[return-value]


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
