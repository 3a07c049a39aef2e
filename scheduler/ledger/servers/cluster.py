"""Clients of a Redis or Valkey cluster, and of the primary that Sentinels name, with the interface of one server's.

A command goes to the server that has its first key. All keys of a run have the same tag and so the same slot, so a run
is on one server, and a pipeline over several runs is split by server. redis-py's `RedisCluster` finds the servers, and
follows slots that move or fail over. It connects with the first command.

While a slot moves key by key, scripts on it wait, because no server has all of its keys.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands.core import Script
from redis.connection import Connection, SSLConnection, parse_url
from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    RedisClusterException,
    RedisError,
    ResponseError,
    SlotNotCoveredError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import Sentinel

from cogitate.scheduler.config.urls import CLUSTER_SCHEMES, SENTINEL_SCHEMES
from cogitate.scheduler.ledger.servers.routing import SeveralServers, key_of, sent_to

T = TypeVar("T")

_PORT = 6379
_NOT_ALL_KEYS = "non local key in a cluster node"  # of a script: see `lua/whole.lua`
_MOST_REDIRECTS = 16
_SLOTS = 16_384


class ClusterAddress(NamedTuple):
    """The parsed URL of a cluster."""

    hosts: list[tuple[str, int]]  # the servers that tell the others
    options: dict[str, Any]  # redis-py's parameters of a client


def parse_cluster_url(url: str) -> ClusterAddress:
    """Parse a URL such as "redis+cluster://user:password@one:7000,two:7000?socket_timeout=2".

    Raises:
        ValueError: if it is not such a URL, or names a database other than 0, the only one of a cluster.
    """
    scheme, _, rest = url.partition("://")
    parts = urlsplit(f"redis://{rest}")
    login, at, hosts = parts.netloc.rpartition("@")
    if scheme not in CLUSTER_SCHEMES or not hosts or parts.path.strip("/") not in ("", "0"):
        raise ValueError("not the URL of a cluster")
    addresses, options = [], dict[str, Any]()
    for host in hosts.split(","):
        options = dict(parse_url(f"{scheme.removesuffix('+cluster')}://{login}{at}{host}?{parts.query}"))  # type: ignore[no-untyped-call]
        addresses.append((str(options.pop("host", "")), int(options.pop("port", _PORT))))
    if options.pop("db", 0) or not all(host for host, _ in addresses):
        raise ValueError("not the URL of a cluster")
    if options.pop("connection_class", None) is not None:
        options["ssl"] = True
    return ClusterAddress(addresses, options)


class _NoSecondWait(RedisCluster):
    """redis-py's client without retries of commands that timed out."""

    ERRORS_ALLOW_RETRY = (RedisConnectionError, ClusterDownError, SlotNotCoveredError)  # type: ignore[assignment]


class ClusterRedis(SeveralServers):
    """A client of a cluster. Thread-safe.

    Args:
        options: redis-py's parameters of a client; those of the address take precedence.
        retry: for commands whose server fails; each try goes to the server that then has the slot.
        waits_again: whether to retry a command that timed out.
        server: class of each server's client, through which scripts go.
    """

    MOVED = (AskError, TryAgainError, ClusterDownError)  # AskError includes MovedError

    def __init__(
        self,
        address: ClusterAddress,
        options: dict[str, Any],
        retry: Retry,
        *,
        waits_again: bool = True,
        server: type[Redis] = Redis,
    ) -> None:
        self._address, self._retry, self._server = address, retry, server
        self._class = RedisCluster if waits_again else _NoSecondWait
        self._options = options | address.options
        self._guard = threading.Lock()
        self._found: RedisCluster | None = None
        self._clients: dict[ConnectionPool, Redis] = {}
        shown = {name: value for name, value in self._options.items() if name not in ("ssl", "max_connections")}
        # This pool never connects: it only exposes the parameters, like the pools of other clients.
        super().__init__(
            connection_pool=ConnectionPool(SSLConnection if self._options.get("ssl") else Connection, **shown)
        )

    def impatient(self, **options: Any) -> ClusterRedis:
        """Return a client of the same cluster with other parameters and without retries."""
        return ClusterRedis(self._address._replace(options={**self._options, **options}), {}, Retry(NoBackoff(), 0))

    def servers(self) -> list[Redis]:
        """Return a client of each server that has slots.

        Raises:
            RedisError: if none of them answers.
        """
        with _as_outage():
            nodes = self._cluster().get_primaries()  # type: ignore[no-untyped-call]
        return [self._client_of(node) for node in sorted(nodes, key=lambda node: str(node.name))]

    def server_of(self, key: str) -> Redis:
        """Return a client of the server that has a key.

        Raises:
            RedisError: if none has it, or none answers.
        """
        return self._client_of(self._node_of(key))

    def key_on_each(self, key: str) -> list[str]:
        """Return keys with this prefix, one for each server that has slots.

        Raises:
            RedisError: if none of them answers.
        """
        servers, keys = len(self.servers()), dict[str, str]()
        for number in range(_SLOTS):
            candidate = f"{key}:{number}"
            keys.setdefault(str(self._node_of(candidate).name), candidate)
            if len(keys) == servers:
                break
        return list(keys.values())

    def execute_command(self, *words: Any, **options: Any) -> Any:
        """Run a command and return its answer.

        Raises:
            RedisError: from the server or the connection.
        """
        if words[0] in ("EVALSHA", "EVAL"):
            return self._at_home(key_of(words), lambda server: server.execute_command(*words, **options))  # type: ignore[no-untyped-call]
        with _as_outage():
            return self._cluster().execute_command(*words, **options)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            found, self._found = self._found, None
        if found is not None:
            found.close()

    def place_of_key(self, key: Any) -> str:
        """Return the name of the server that has a key."""
        return str(self._node_of(key).name)

    def execute_together(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers to commands whose keys are on one server."""
        key = key_of(commands[0][0])
        return self._at_home(key, lambda server: sent_to(server, commands, scripts, transaction=transaction))

    def _at_home(self, key: Any, call: Callable[[Redis], T]) -> T:
        """Return the answer of the server that currently has a key's slot.

        Raises:
            TryAgainError: while the slot moves key by key, so neither server has all keys of a run.
            RedisError: from the server or the connection.
        """
        return self._retry.call_with_retry(lambda: self._answer_of_home(key, call), lambda _: None)

    def _answer_of_home(self, key: Any, call: Callable[[Redis], T]) -> T:
        for _ in range(_MOST_REDIRECTS):
            node = self._node_of(key)
            try:
                return call(self._client_of(node))
            except MovedError as error:
                self._cluster().nodes_manager.move_slot(error)
            except (RedisConnectionError, RedisTimeoutError, ClusterDownError):
                self._refresh(node)
                raise
            except ResponseError as error:
                if isinstance(error, AskError) or _NOT_ALL_KEYS in str(error):
                    raise TryAgainError("the slot of these keys moves to another server") from error
                raise
        raise TryAgainError("the slot of these keys moves from server to server")

    def _cluster(self) -> RedisCluster:
        with self._guard:
            if self._found is None:
                self._found = self._class(
                    startup_nodes=[ClusterNode(host, port) for host, port in self._address.hosts],  # type: ignore[no-untyped-call]
                    require_full_coverage=False,  # runs in other slots continue
                    retry=self._retry,
                    **self._options,
                )
            return self._found

    def _node_of(self, key: Any) -> ClusterNode:
        slot = key_slot(key if isinstance(key, bytes) else str(key).encode())
        with _as_outage():
            return self._cluster().nodes_manager.get_node_from_slot(slot)

    def _client_of(self, node: ClusterNode) -> Redis:
        client: Redis = node.redis_connection
        if self._server is Redis:
            return client
        pool = client.connection_pool
        with self._guard:
            if pool not in self._clients:
                self._clients[pool] = self._server(connection_pool=pool)
            return self._clients[pool]

    def _refresh(self, failed: ClusterNode) -> None:
        """Query the layout of the cluster again, from the failed server last."""
        with _as_outage():
            self._cluster().nodes_manager.initialize(last_failed_node_name=failed.name)


@contextmanager
def _as_outage() -> Iterator[None]:
    """Raise a connection error when redis-py reports with an error of another class that it finds no server."""
    try:
        yield
    except RedisClusterException as error:
        if isinstance(error.__cause__, RedisError):
            raise error.__cause__ from error
        if isinstance(error, SlotNotCoveredError) or error.__cause__ is not None:
            raise RedisConnectionError(str(error)) from error
        raise


_SENTINEL_PORT = 26_379


def sentinel_client(url: str, options: dict[str, Any], retry: Retry, client: type[Redis]) -> Redis:
    """Return a client for a URL such as "redis+sentinel://user:password@one:26379,two:26379/name?db=0".

    User, password, database and TLS are the server's; "sentinel_username" and "sentinel_password" are the Sentinels'.

    Raises:
        ValueError: if it is not such a URL.
    """
    scheme, _, rest = url.partition("://")
    parts = urlsplit(f"redis://{rest}")
    login, at, hosts = parts.netloc.rpartition("@")
    name = parts.path.strip("/")
    if scheme not in SENTINEL_SCHEMES or not hosts or not name or "/" in name:
        raise ValueError("not a URL of Sentinels")
    addresses, given = [], dict[str, Any]()
    for host in hosts.split(","):
        given = dict(parse_url(f"{scheme.removesuffix('+sentinel')}://{login}{at}{host}?{parts.query}"))  # type: ignore[no-untyped-call]
        addresses.append((str(given.pop("host", "")), int(given.pop("port", _SENTINEL_PORT))))
    if not all(host for host, _ in addresses):
        raise ValueError("not a URL of Sentinels")
    tls = {"ssl": True} if given.pop("connection_class", None) is not None else {}
    theirs = {name.removeprefix("sentinel_"): given.pop(name) for name in [*given] if name.startswith("sentinel_")}
    shared = {name: value for name, value in {**options, **given}.items() if name.startswith(("socket_", "ssl_"))}
    sentinels = Sentinel(addresses, sentinel_kwargs={**shared, **tls, **theirs}, **{**options, **given}, **tls)  # type: ignore[no-untyped-call]
    made: Redis = sentinels.master_for(name, redis_class=client, retry=retry)  # type: ignore[no-untyped-call]
    return made
