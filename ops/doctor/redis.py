"""Checks of the Redis of runs and of the broker: version, persistence, eviction, memory, clock, latency."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from cogitate.hosting.finding import Finding, failed, ok, warning
from cogitate.scheduler.inspection.redis_problems import redis_problems
from cogitate.scheduler.ledger.connect import KEEPS, REMEDY, SILENT, eviction_of, name_of, servers_of

OLDEST = (6, 2)  # version of Redis; every Valkey is newer
PINGS = 20
SLOW = 0.005  # seconds; a tick makes one to three round trips
MAX_CLOCK_SKEW = 2.0  # seconds
NEARLY_FULL = 0.9  # of maxmemory
WAKE = "check its machine and whether its process is stopped (kill -CONT continues it); then restart it"


def examine_redis(client: Redis, name: str) -> Iterator[Finding]:
    """Check one server, or a cluster and each of its servers.

    Args:
        name: the role, "state" or "broker".
    """
    problems = redis_problems(client)
    if any("does not answer" in problem for problem in problems):
        start = "start it, or correct redis_url and broker_url (`cogitate config` shows them)"
        yield failed(name, problems[0], WAKE if SILENT in problems[0] else start)
        return
    for problem in problems:
        yield failed(
            name,
            problem,
            "check its configuration and its log; meanwhile runs wait, or continue without it (on_outage)",
        )
    try:
        servers = [(server, server.info()) for server in servers_of(client)]
    except RedisError as error:
        if not problems:
            yield failed(name, f"cannot be checked: {error}", "see its log")
        return
    for server, info in servers:
        yield from _examine_server(server, name if len(servers) == 1 else f"{name} {name_of(server)}", info)


def _examine_server(server: Redis, name: str, info: dict[str, Any]) -> Iterator[Finding]:
    yield _version(name, info)
    yield _eviction(name, server)
    yield _memory(name, info)
    if name.startswith("state"):
        yield _persistence(name, server, info)
        yield _clock(name, server)
    yield examine_latency(name, server.time, "Redis")


def _version(name: str, info: dict[str, Any]) -> Finding:
    if "valkey_version" in info:
        return ok(f"{name} version", f"Valkey {info['valkey_version']}")
    text = str(info.get("redis_version", "0"))
    known = tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
    if known < OLDEST:
        return failed(f"{name} version", f"Redis {text}", f"use Redis {OLDEST[0]}.{OLDEST[1]} or newer, or Valkey")
    return ok(f"{name} version", f"Redis {text}")


def _config(client: Redis, setting: str) -> str | None:
    """Return a setting of the server; None if this user may not read it or the provider hides it."""
    try:
        settings = client.config_get(setting)
    except ResponseError:
        return None
    value: str | None = settings.get(setting)
    return value


def _eviction(name: str, client: Redis) -> Finding:
    eviction = eviction_of(client)
    if not eviction.policy:
        return warning(f"{name} eviction", "cannot be read", f"make sure that maxmemory-policy is {KEEPS}")
    if eviction.policy == KEEPS:
        return ok(f"{name} eviction", eviction.policy)
    found = f"maxmemory-policy {eviction.policy}"
    found += f", {eviction.evicted:,} keys evicted" if eviction.evicted else ""
    if eviction.threatens_runs:
        return failed(f"{name} eviction", found, f"{REMEDY}: an evicted key damages a run, so hosts start none here")
    return warning(f"{name} eviction", found, f"{REMEDY}, before it evicts the spending of a real day, or other keys")


def _memory(name: str, info: dict[str, Any]) -> Finding:
    used, most = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    found = f"{used / 2**20:,.0f} MiB used" + (f" of {most / 2**20:,.0f}" if most else "")
    if most and used > NEARLY_FULL * most:
        return warning(f"{name} memory", found, "raise maxmemory, delete finished runs, or set journal_keep")
    return ok(f"{name} memory", found)


def _persistence(name: str, client: Redis, info: dict[str, Any]) -> Finding:
    if not int(info.get("aof_enabled", 0)):
        return warning(
            f"{name} persistence",
            "no append-only file",
            "set appendonly yes, or a restart of the server loses every run",
        )
    if info.get("aof_last_write_status") not in (None, "ok"):
        return failed(f"{name} persistence", "the last write to its file failed", "see its log; is the disk full?")
    policy = _config(client, "appendfsync") or "unknown"
    if policy == "no":
        return warning(f"{name} persistence", "appendfsync no", "set appendfsync everysec or always")
    return ok(f"{name} persistence", f"append-only file, appendfsync {policy}")


def _clock(name: str, client: Redis) -> Finding:
    what = name.replace("state", "clock", 1)
    before = time.time()
    there = client.time()
    apart = there[0] + there[1] / 1e6 - (before + time.time()) / 2
    if abs(apart) > MAX_CLOCK_SKEW:
        return warning(
            what,
            f"the server's clock is {apart:+.1f} s from this machine's",
            "synchronise both (NTP): limits per minute and per real day use the server's",
        )
    return ok(what, f"{apart:+.3f} s from this machine's")


def examine_latency(name: str, trip: Callable[[], object], server: str, trips: int = 1) -> Finding:
    """Report the usual time of a round trip.

    Args:
        trip: makes `trips` round trips.
    """
    took = []
    for _ in range(PINGS):
        began = time.perf_counter()
        trip()
        took.append((time.perf_counter() - began) / trips)
    usual = median(took)
    found = f"{1000 * usual:.2f} ms a round trip"
    if usual > SLOW:
        return warning(f"{name} latency", found, f"move host, workers and {server} nearer to each other")
    return ok(f"{name} latency", found)
