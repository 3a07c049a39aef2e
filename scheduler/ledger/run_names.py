"""Which runs a server holds, and under which keys each of them is."""

from __future__ import annotations

from typing import Any

from redis import Redis

from scheduler.config.versions import SCHEMA
from scheduler.ledger.errors import NewerSchema, RunMissing, RunUnreadable
from scheduler.ledger.keys import RUNS, incarnation_key, run_prefix


def run_names(client: Redis) -> list[str]:
    """The runs of this data folder or server."""
    members: Any = client.smembers(RUNS)
    return sorted(name.decode() for name in members if client.exists(incarnation_key(name.decode())))


def prefix_of(client: Redis, run: str) -> str:
    """The key prefix of a run's present incarnation.

    Raises:
        RunMissing: naming the runs that there are.
        NewerSchema: when a newer version wrote it.
    """
    incarnation: Any = client.get(incarnation_key(run))
    if incarnation is None:
        there = ", ".join(run_names(client)) or "none"
        raise RunMissing(f"there is no run {run!r}; there are: {there}")
    prefix = run_prefix(run, incarnation.decode())
    schema: Any = client.hget(prefix + "state", "schema")
    _check_schema(run, schema)
    return prefix


def _check_schema(run: str, found: bytes | None) -> None:
    if found is None:
        return
    if not found.isdigit():
        raise RunUnreadable(run, "its schema is no number")
    if int(found) > SCHEMA:
        raise NewerSchema(run, int(found))
