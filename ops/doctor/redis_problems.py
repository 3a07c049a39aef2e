"""What keeps a Redis that answers from serving runs: it refuses or holds up writes, is full, or is slow."""

from __future__ import annotations

import time
from statistics import median

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, NoPermissionError, OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

PATIENCE = 2.0  # seconds for each of the few calls that are made
SLOW = 0.05  # seconds a round trip, from which on whoever waits for figures notices
PROBE = "cogitate:probe"  # never exists: nothing is written at the beginning of nothing

_REFUSALS = {
    "NOREPLICAS": "refuses writes: too few replicas are connected (min-replicas-to-write)",
    "MISCONF": "refuses writes: it cannot save to its disk, see its log",
    "MASTERDOWN": "has lost the server that it is a replica of (MASTERDOWN)",
    "LOADING": "is loading its data",
}


def redis_problems(client: Redis) -> list[str]:
    """Return what is wrong with a server, in words that go on after its name; changes nothing.

    Takes a few times `PATIENCE` at most, however long the client's own calls wait.
    """
    with _impatient(client) as probing:
        try:
            took = []
            for _ in range(3):
                began = time.perf_counter()
                probing.time()
                took.append(time.perf_counter() - began)
        except RedisTimeoutError:
            return [f"does not answer within {PATIENCE:g} s: it is paused, stopped or busy, or the way there is slow"]
        except RedisError as error:
            return [_format_error(error)]
        found = [f"is slow: {1000 * median(took):,.0f} ms a round trip"] if median(took) > SLOW else []
        return [*found, *filter(None, [refused_writes(probing)])]


def refused_writes(client: Redis) -> str:
    """Return why writes are not taken; "" when they are, or when this user may not try."""
    try:
        client.setrange(PROBE, 0, "")
    except NoPermissionError:
        return ""
    except RedisTimeoutError:
        return f"takes no writes within {PATIENCE:g} s: they are paused (CLIENT PAUSE), or its disk is slow"
    except RedisError as error:
        return _format_error(error)
    return ""


def _format_error(error: RedisError) -> str:
    if isinstance(error, OutOfMemoryError):
        return "is full and refuses writes: raise maxmemory, delete finished runs, or set journal_keep"
    if isinstance(error, ReadOnlyError):
        return "refuses writes: it is a replica that can only be read"
    if isinstance(error, RedisConnectionError) and not isinstance(error, BusyLoadingError):
        return f"does not answer: {error}"
    said = str(error)
    return next((words for begins, words in _REFUSALS.items() if said.startswith(begins)), f"fails: {said[:200]}")


def _impatient(client: Redis) -> Redis:
    """Return a client of the same server that waits and tries less."""
    pool = client.connection_pool
    options = {**pool.connection_kwargs, "socket_timeout": PATIENCE, "retry": Retry(NoBackoff(), 0)}
    return Redis.from_pool(ConnectionPool(connection_class=pool.connection_class, **options))
