"""A client of the server that Sentinels name as primary; it follows a failover."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from cogitate.scheduler.config.urls import SENTINEL_SCHEMES

_PORT = 26_379


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
        addresses.append((str(given.pop("host", "")), int(given.pop("port", _PORT))))
    if not all(host for host, _ in addresses):
        raise ValueError("not a URL of Sentinels")
    tls = {"ssl": True} if given.pop("connection_class", None) is not None else {}
    theirs = {name.removeprefix("sentinel_"): given.pop(name) for name in [*given] if name.startswith("sentinel_")}
    shared = {name: value for name, value in {**options, **given}.items() if name.startswith(("socket_", "ssl_"))}
    sentinels = Sentinel(addresses, sentinel_kwargs={**shared, **tls, **theirs}, **{**options, **given}, **tls)  # type: ignore[no-untyped-call]
    made: Redis = sentinels.master_for(name, redis_class=client, retry=retry)  # type: ignore[no-untyped-call]
    return made
