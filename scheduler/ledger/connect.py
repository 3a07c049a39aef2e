"""Redis clients: timeouts, typed reads, servers that do not answer, and servers that evict the keys of runs.

Only this module knows whether a URL names one server, a cluster, Sentinels or several ledgers. All other code has a
`Redis` for commands on keys, and asks this module for what belongs to a server and not to a key, such as the clock.

redis-py types a text in a reply as bytes or str. Clients of Cogitate never decode, so the reads here return bytes.

A server with a memory limit may evict keys. With an `allkeys-` policy it evicts any key. With a `volatile-` policy it
evicts only keys that expire: the spending of a real day, recorded answers, heartbeats, but no part of a run's ledger.
"""

from __future__ import annotations

import contextlib
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
from cogitate.scheduler.config.urls import NO_BROKER, is_cluster_url, is_sentinel_url, ledger_urls, place_of, redact_url
from cogitate.scheduler.ledger.outage import is_outage
from cogitate.scheduler.ledger.servers.cluster import ClusterRedis, parse_cluster_url, sentinel_client
from cogitate.scheduler.ledger.servers.placement import PlacedRedis

PATIENCE = 1.5  # seconds for each call of a reader; with the program's start, a user waits for at most 3
RETRIES = 3  # of a call that gets no answer
MOST_CONNECTIONS = 2_000  # one for each thread of the largest worker; the client fails at its default limit of 100
SILENT = "it is paused, stopped or busy, or the connection is slow"


class ServerSilent(ConfigurationError):
    """A Redis server accepts connections but does not answer. Resume its process, or restart it."""


def connect(url: str, timeout: float, *, retries: int = RETRIES, client: type[Redis] = Redis) -> Redis:
    """Return a client whose calls all end within a bounded time. Scripts are safe to send again: see `fence.lua`.

    Args:
        timeout: seconds for each try.
        retries: further tries of a call whose connection fails.
        client: class of the client; in a cluster, of each server's client.

    Raises:
        ConfigurationError: if the URL is invalid.
    """
    return _client(url, timeout, _retry(retries), client, health_check_interval=30)


@contextlib.contextmanager
def retrying(client: Redis) -> Iterator[None]:
    """Let a client of one server repeat unanswered calls within the block; each call must be safe to repeat."""
    client.set_retry(_retry(RETRIES))
    try:
        yield
    finally:
        client.set_retry(Retry(NoBackoff(), 0))


def _retry(retries: int) -> Retry:
    return Retry(ExponentialBackoff(cap=0.5, base=0.05), retries)


def connect_to_read(url: str, timeout: float) -> Redis:
    """Return a client that reopens a closed connection but never repeats a call that timed out.

    The retries of a call and of its connection multiply, so a stopped server would cost sixteen timeouts. No PING
    precedes a call, because a server that cannot write to its disk refuses PING but answers reads.

    Raises:
        ConfigurationError: if the URL is invalid.
    """
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), 3, (RedisConnectionError,))
    return _client(url, timeout, retry, Redis, waits_again=False)


def _client(
    url: str, timeout: float, retry: Retry, client: type[Redis], *, waits_again: bool = True, **more: int
) -> Redis:
    options = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "max_connections": MOST_CONNECTIONS,
        **more,
    }
    if len(urls := ledger_urls(url)) > 1:
        return PlacedRedis(
            {place_of(each): _client(each, timeout, retry, client, waits_again=waits_again, **more) for each in urls}
        )
    try:
        if is_cluster_url(url):
            made: Redis = ClusterRedis(parse_cluster_url(url), options, retry, waits_again=waits_again, server=client)
        elif is_sentinel_url(url):
            made = sentinel_client(url, options, retry, client)
        else:
            made = client.from_url(url, retry=retry, **options)
        pool = made.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # validates the parameters without connecting
    except (ValueError, TypeError, RedisError):  # without the error's text, which may quote a part of a password
        raise ConfigurationError(
            f"{redact_url(url)!r} is not a Redis URL: correct its host, port, database or parameters, and write "
            "special characters of a password as in %40"
        ) from None
    return made


def impatient(client: Redis, seconds: float) -> Redis:
    """Return a client of the same server that never retries, and waits at most this long or its own timeout."""
    if isinstance(client, PlacedRedis):
        return PlacedRedis({place: impatient(ledger, seconds) for place, ledger in client.ledgers.items()})
    pool = client.connection_pool
    seconds = min(seconds, pool.connection_kwargs.get("socket_timeout") or seconds)
    if isinstance(client, ClusterRedis):
        return client.impatient(socket_timeout=seconds, socket_connect_timeout=seconds)
    options = {**pool.connection_kwargs, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    options["retry"] = Retry(NoBackoff(), 0)
    return Redis.from_pool(ConnectionPool(connection_class=pool.connection_class, **options))


def longest_block(client: Redis) -> float:
    """Return the longest duration of a blocking command in seconds; it must end before the socket's timeout."""
    seconds: float = client.get_connection_kwargs().get("socket_timeout") or 2.0
    return seconds / 2


def ledgers_of(client: Redis) -> dict[str, Redis]:
    """Return a client of each ledger by its place; a single ledger has the place ""."""
    return client.ledgers if isinstance(client, PlacedRedis) else {"": client}


def ledger_of_run(client: Redis, run: str) -> Redis:
    """Return a client of the ledger that has a run.

    Raises:
        RedisError: if no answering ledger has it, and a ledger does not answer.
    """
    return client.ledgers[client.place_of(run)] if isinstance(client, PlacedRedis) else client


def servers_of(client: Redis) -> list[Redis]:
    """Return a client of each server that has keys: one server, the primaries of a cluster, or those of all ledgers.

    Raises:
        RedisError: if no server of a cluster answers.
    """
    return client.servers() if isinstance(client, ClusterRedis | PlacedRedis) else [client]


def name_of(server: Redis) -> str:
    """Return the host and the port of a server, or its socket."""
    shown = server.get_connection_kwargs()
    return str(shown.get("path") or f"{shown.get('host')}:{shown.get('port')}")


def key_on_each(client: Redis, key: str) -> list[tuple[Redis, str]]:
    """Return keys with this prefix, one for each server, each with the client to use.

    Raises:
        RedisError: if no server of a cluster answers.
    """
    ledgers = ledgers_of(client).values()
    return [
        (ledger, at)
        for ledger in ledgers
        for at in (ledger.key_on_each(key) if isinstance(ledger, ClusterRedis) else [key])
    ]


def server_time(client: Redis, key: str) -> tuple[int, int]:
    """Return the time of the clock that scripts on this key use: seconds and microseconds.

    Raises:
        RedisError: if the server cannot be reached.
    """
    server = client.server_of(key) if isinstance(client, ClusterRedis | PlacedRedis) else client
    return server.time()


def read_value(client: Redis, key: str) -> bytes | None:
    """Return the value of a key; None if it is not set."""
    return client.get(key)  # type: ignore[return-value]


def read_members(client: Redis, key: str) -> set[bytes]:
    return client.smembers(key)  # type: ignore[return-value]


def read_hash(client: Redis, key: str) -> dict[bytes, bytes]:
    return client.hgetall(key)  # type: ignore[return-value]


def read_list(client: Redis, key: str) -> list[bytes]:
    return client.lrange(key, 0, -1)  # type: ignore[return-value]


def read_fields(client: Redis, key: str, fields: list[str]) -> list[bytes | None]:
    """Return these fields of a hash; None for a field that is not set."""
    return client.hmget(key, fields) if fields else []  # type: ignore[return-value]


def scan_keys(client: Redis, pattern: str, batch: int) -> Iterator[list[bytes]]:
    """Yield the keys that match a glob pattern, about `batch` of them per round trip."""
    for server in servers_of(client):
        cursor = None
        while cursor != 0:
            cursor, keys = server.scan(cursor or 0, match=pattern, count=batch)
            if keys:
                yield keys  # type: ignore[misc]


def read_at_once(client: Redis, queue: Callable[[Pipeline], object]) -> list[Any]:
    """Return the replies to several reads of one run at one instant.

    A full Redis 7 queues no command of a transaction, not even a read. Without a transaction, two equal readings in a
    row show the state at an instant between them.
    """
    while True:
        try:
            return _replies(client, queue, transaction=True)
        except OutOfMemoryError:
            first = _replies(client, queue, transaction=False)
            if _replies(client, queue, transaction=False) == first:
                return first


def _replies(client: Redis, queue: Callable[[Pipeline], object], *, transaction: bool) -> list[Any]:
    with client.pipeline(transaction=transaction) as pipeline:
        queue(pipeline)
        return pipeline.execute()


def check(client: Redis, url: str) -> None:
    """Check that the server answers.

    Raises:
        ServerSilent: if it does not answer in time.
        ConfigurationError: if it fails otherwise; the message names the URL and the reason.
    """
    if isinstance(client, PlacedRedis):
        for each in ledger_urls(url):
            check(client.ledgers[place_of(each)], each)
        return
    try:
        for server in servers_of(client):
            server.ping()
        has_all = is_cluster_url(url) or _has_all_slots(client)
    except AuthenticationError as error:
        raise ConfigurationError(f"Redis at {redact_url(url)} refuses the credentials: {error}") from error
    except RedisTimeoutError as error:
        raise ServerSilent(f"Redis at {redact_url(url)} does not answer: {SILENT} ({error})") from error
    except RedisError as error:
        if isinstance(error, ResponseError) and is_outage(error):
            return  # a server that cannot write to its disk refuses even PING, but answers reads
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise ConfigurationError(
                f"the certificate of Redis at {redact_url(url)} is not trusted: {error}; name the file of its "
                "authority with ?ssl_ca_certs=/path/ca.pem in the URL, or give the server a certificate for this name"
            ) from error
        raise ConfigurationError(
            f"no Redis answers at {redact_url(url)}: {str(error).rstrip('.')}; start it, or unset "
            "COGITATE_REDIS_URL to use the embedded one"
        ) from error
    if not has_all:
        raise ConfigurationError(
            f"Redis at {redact_url(url)} is one server of a cluster: write redis+cluster:// (or rediss+cluster://) in "
            "COGITATE_REDIS_URL, and name a single server in COGITATE_BROKER_URL"
        )


def _has_all_slots(server: Redis) -> bool:
    """Return whether a server has all slots; True if this user may not ask."""
    try:
        if not server.info("cluster").get("cluster_enabled"):
            return True
        return int(server.execute_command("CLUSTER INFO")["cluster_size"]) <= 1  # type: ignore[no-untyped-call]
    except ResponseError:
        return True


def check_carries_messages(url: str, timeout: float) -> None:
    """Check that a broker is not part of a cluster; a broker that does not answer passes.

    Raises:
        ConfigurationError: if it is part of one.
    """
    with connect_to_read(url, timeout) as broker, contextlib.suppress(RedisError):
        if broker.info("cluster").get("cluster_enabled"):
            raise ConfigurationError(f"the broker at {redact_url(url)} is a server of a cluster, and {NO_BROKER}")


def check_soon(url: str) -> None:
    """Check that a server answers, within `PATIENCE`.

    Raises:
        ServerSilent, ConfigurationError: as in `check`.
    """
    with connect_to_read(url, PATIENCE) as client:
        check(client, url)


KEEPS = "noeviction"
REMEDY = f"set maxmemory-policy {KEEPS} (CONFIG SET maxmemory-policy {KEEPS}, and in its configuration)"


class Eviction(msgspec.Struct, frozen=True):
    """A server's eviction policy, as INFO reports it."""

    policy: str  # maxmemory-policy; "" if the server does not report it
    bounded: bool  # whether maxmemory is set, so the policy applies
    evicted: int = 0  # evicted keys since the server started

    @property
    def threatens_runs(self) -> bool:
        """Return whether the server will evict any key once it is full."""
        return self.bounded and self.policy.startswith("allkeys-")


def eviction_of(server: Redis) -> Eviction:
    """Return a server's eviction policy.

    Raises:
        RedisError: if the server does not answer or refuses.
    """
    memory: dict[str, Any] = server.info("memory")  # providers of servers permit this, unlike CONFIG GET
    stats: dict[str, Any] = server.info("stats")
    return Eviction(
        str(memory.get("maxmemory_policy", "")), int(memory.get("maxmemory", 0)) > 0, int(stats.get("evicted_keys", 0))
    )


def check_keeps_runs(client: Redis, server: str) -> None:
    """Check that a server is not configured to evict runs.

    Raises:
        ConfigurationError: if it is.
    """
    try:
        evictions = [eviction_of(each) for each in servers_of(client)]
    except RedisError:
        return  # the first step reports any other fault of the server
    for eviction in evictions:
        if eviction.threatens_runs:
            raise ConfigurationError(
                f"Redis at {server} evicts keys when its memory is full (maxmemory-policy {eviction.policy}), and a "
                f"run would lose its ledger: {REMEDY}, or use another server for runs"
            )


def why_keys_vanish(client: Redis) -> str:
    """Return a clause that explains vanished keys: a server evicts keys, or restarts empty; "" if neither."""
    try:
        reasons = [_why_keys_vanish(server) for server in servers_of(client)]
    except RedisError:
        return ""
    return next(filter(None, reasons), "")


def _why_keys_vanish(server: Redis) -> str:
    eviction, about = eviction_of(server), server.info()
    if eviction.threatens_runs or (eviction.evicted and eviction.policy.startswith("allkeys-")):
        return (
            f"; this server evicts keys when its memory is full (maxmemory-policy {eviction.policy}, "
            f"{eviction.evicted:,} evicted since its start): {REMEDY}"
        )
    if not int(about.get("aof_enabled", 0)):
        hours = int(about.get("uptime_in_seconds", 0)) / 3600
        return (
            f"; this server keeps no append-only file and started {hours:,.1f} hours ago: a restart loses every run "
            "(set appendonly yes)"
        )
    return ""
