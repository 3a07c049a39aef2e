"""Find the problems of a Redis that cannot serve runs: it is silent, refuses or delays writes, is full, or is slow.

In a cluster, a problem of any server counts.
"""

from __future__ import annotations

import time
from statistics import median

from redis import Redis
from redis.exceptions import BusyLoadingError, NoPermissionError, OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from cogitate.scheduler.ledger.connect import PATIENCE, SILENT, impatient, key_on_each, servers_of

SLOW = 0.05  # seconds per round trip at which users notice the delay
PROBE = "cogitate:probe"  # begins keys that never exist: SETRANGE with an empty value creates none

FULL = "is full and refuses writes: raise maxmemory, delete finished runs, or set journal_keep"
_REFUSALS = {
    "NOREPLICAS": "refuses writes: too few replicas are connected (min-replicas-to-write)",
    "MISCONF": "refuses writes: it cannot save to disk, see its log",
    "MASTERDOWN": "is a replica that has lost its primary (MASTERDOWN)",
    "LOADING": "is loading its data",
}


def redis_problems(client: Redis) -> list[str]:
    """Return the problems of a server, each as a predicate that follows its name. Change nothing.

    This takes at most a few times `PATIENCE`, regardless of the client's timeout.
    """
    with impatient(client, PATIENCE) as probing:
        try:
            usual = max(map(_round_trip, servers_of(probing)))
        except RedisTimeoutError:
            return [f"does not answer within {PATIENCE:g} s: {SILENT}"]
        except RedisError as error:
            return [format_error(error)]
        problems = [f"is slow: {1000 * usual:,.0f} ms a round trip"] if usual > SLOW else []
        return [*problems, *filter(None, [refused_writes(probing)])]


def _round_trip(server: Redis) -> float:
    """Return the median seconds of a round trip."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        server.time()
        took.append(time.perf_counter() - began)
    return median(took)


def refused_writes(client: Redis) -> str:
    """Return why a server that answers refuses writes; "" if it accepts them. Change nothing.

    If this user may not try a write, the server's report about its disk and memory decides.
    """
    try:
        for ledger, key in key_on_each(client, PROBE):
            ledger.setrange(key, 0, "")
    except NoPermissionError:
        return _full_or_failed(client)
    except RedisTimeoutError:
        waited = client.connection_pool.connection_kwargs["socket_timeout"]
        return f"accepts no writes within {waited:g} s: they are paused (CLIENT PAUSE), or its disk is slow"
    except RedisError as error:
        return format_error(error)
    return ""


def _full_or_failed(client: Redis) -> str:
    try:
        known = [(server.info("persistence"), server.info("memory")) for server in servers_of(client)]
    except NoPermissionError:
        return ""
    for persistence, memory in known:
        if persistence.get("aof_last_write_status", "ok") != "ok":
            return _REFUSALS["MISCONF"]
        if 0 < memory.get("maxmemory", 0) <= memory.get("used_memory", 0):
            return FULL
    return ""


def format_error(error: RedisError) -> str:
    """Describe a server's error as a predicate that follows the server's name."""
    if isinstance(error, OutOfMemoryError):
        return FULL
    if isinstance(error, ReadOnlyError):
        return "refuses writes: it is a read-only replica"
    if isinstance(error, RedisConnectionError) and not isinstance(error, BusyLoadingError):
        return f"does not answer: {error}"
    text = str(error)
    return next((meaning for begin, meaning in _REFUSALS.items() if text.startswith(begin)), f"fails: {text[:200]}")
