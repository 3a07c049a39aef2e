"""Eviction: a Redis with a bound on its memory that removes keys to make room, and with them parts of a run.

With an `allkeys-` policy it removes any key. With a `volatile-` policy it removes keys that expire: what was
spent on a real day, kept prompts, heartbeats, but no part of a run's ledger.
"""

from __future__ import annotations

from typing import Any

import msgspec
from redis import Redis
from redis.exceptions import RedisError

from cogitate.scheduler.config.settings import ConfigurationError

KEEPS = "noeviction"
REMEDY = f"set maxmemory-policy {KEEPS} (CONFIG SET maxmemory-policy {KEEPS}, and in its configuration)"


class Eviction(msgspec.Struct, frozen=True):
    """A server's rule for making room, as it tells it to every user that may ask for INFO."""

    policy: str  # maxmemory-policy; "" where the server does not tell
    bounded: bool  # maxmemory is set, so that the policy comes into play
    evicted: int = 0  # keys since the server started

    @property
    def threatens_runs(self) -> bool:
        """Return whether the server may remove any key, and will once it is full."""
        return self.bounded and self.policy.startswith("allkeys-")


def eviction_of(client: Redis) -> Eviction:
    """Return a server's rule for making room.

    Raises:
        RedisError: when the server cannot be asked.
    """
    memory: dict[str, Any] = client.info("memory")  # unlike CONFIG GET, providers of servers permit it
    stats: dict[str, Any] = client.info("stats")
    return Eviction(
        str(memory.get("maxmemory_policy", "")), int(memory.get("maxmemory", 0)) > 0, int(stats.get("evicted_keys", 0))
    )


def check_keeps_runs(client: Redis, server: str) -> None:
    """Check that a server does not evict runs, as far as it tells.

    Raises:
        ConfigurationError: when it would.
    """
    try:
        found = eviction_of(client)
    except RedisError:
        return  # what the server refuses otherwise is told by the first step
    if found.threatens_runs:
        raise ConfigurationError(
            f"Redis at {server} evicts keys when its memory is full (maxmemory-policy {found.policy}), and a run would "
            f"lose its ledger: {REMEDY}, or use another server for runs"
        )


def why_keys_vanish(client: Redis) -> str:
    """Return what an error about keys that are gone adds: the server evicts, or begins empty; "" if it does neither."""
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
