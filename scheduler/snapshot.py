"""All accounts of a run at one instant, although its workers go on."""

from __future__ import annotations

from typing import Any

import msgspec
from redis import Redis

from scheduler.summary import Accounts, accounts_of

TRIES = 50  # the run would have to advance between two reads as often


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger said at one instant."""

    tick: int
    digest: str
    jobs: dict[str, dict[bytes, bytes]]  # open jobs by key; an empty record is one that is missing
    unclaimed: set[str]
    attempts: list[dict[str, Any]]  # whose usage has not arrived
    open: dict[int, int]  # enqueue tick -> open jobs and attempts that name its windows
    windows: set[str]
    accounts: Accounts
    view: dict[str, int]


def take_snapshot(client: Redis, prefix: str) -> Snapshot:
    """Read the accounts in one transaction.

    Raises:
        TimeoutError: when the run advances faster than it can be read.
    """
    for _ in range(TRIES):
        listed, named = _members(client.smembers(prefix + "jobs")), _members(client.smembers(prefix + "windows"))
        pipeline = client.pipeline(transaction=True)
        pipeline.smembers(prefix + "jobs")
        pipeline.smembers(prefix + "windows")
        pipeline.hmget(prefix + "state", ["tick", "digest"])
        pipeline.smembers(prefix + "unclaimed")
        pipeline.hvals(prefix + "attempts")
        pipeline.hgetall(prefix + "open")
        pipeline.hgetall(prefix + "view")
        for key in listed:
            pipeline.hgetall(f"{prefix}job:{key}")
        for window in named:
            pipeline.hgetall(f"{prefix}window:{window}")
        jobs, windows, state, unclaimed, attempts, opens, view, *records = pipeline.execute()
        if (_members(jobs), _members(windows)) != (listed, named):
            continue  # it has advanced meanwhile
        return Snapshot(
            tick=int(state[0]),
            digest=state[1].decode(),
            jobs=dict(zip(listed, records, strict=False)),
            unclaimed=set(_members(unclaimed)),
            attempts=[msgspec.json.decode(raw) for raw in attempts],
            open={int(tick): int(count) for tick, count in opens.items()},
            windows=set(named),
            accounts=accounts_of(dict(zip(named, records[len(listed) :], strict=True))),
            view={field.decode(): int(value) for field, value in view.items()},
        )
    raise TimeoutError(f"the run advanced {TRIES} times while its accounts were read; pause it first")


def _members(raw: Any) -> list[str]:
    return sorted(member.decode() for member in raw)
