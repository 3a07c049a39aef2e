"""Take a consistent snapshot of all accounts of a run while its workers continue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from redis.client import Pipeline

from cogitate.memory import typed_json
from cogitate.scheduler.budget.budget_lines import Accounts, accounts_of
from cogitate.scheduler.engine.engine import HASHES
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore

TRIES = 50  # reads before a reader gives up on a run that advances during each of them


class AccountsSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The accounts of a run at one instant."""

    tick: int
    digest: str
    chain: str
    lines: int  # of the journal
    trimmed: int  # last tick whose line was removed
    checkpoints: set[str]  # ticks of the journal's checkpoints, including an unfinished one
    jobs: dict[str, dict[bytes, bytes]]  # open jobs by key; an empty dict is a missing record
    unclaimed: set[str]
    staged: set[str]
    due: dict[str, set[str]]  # due tick -> jobs, for the due ticks of the open jobs
    waiting: dict[str, int]  # due tick -> admitted jobs without a result
    attempts: dict[str, dict[str, Any]]  # by token: attempts whose usage has not arrived
    lost: dict[str, dict[str, Any]]  # by token: lost attempts, charged in full until their usage arrives
    open: dict[int, int]  # enqueue tick -> open jobs and attempts that name its windows
    windows: set[str]
    accounts: Accounts
    view: dict[str, int]
    hashes: dict[str, dict[str, bytes]]  # of the engine's parts, by name: job -> record


def take_snapshot(store: RunStore) -> AccountsSnapshot:
    """Read the accounts in one transaction.

    Raises:
        TimeoutError: if the run advances faster than it can be read.
    """
    for _ in range(TRIES):
        listed, named = _members(store.members("jobs")), _members(store.members("windows"))
        ticks = _due_ticks(store, listed)
        read = partial(_queue_accounts, store, ticks, listed, named)
        jobs, windows, state, unclaimed, staged, waiting, attempts, lost, lines, *rest = store.read_at_once(read)
        checkpoints, opens, view, *rest = rest
        if (_members(jobs), _members(windows)) != (listed, named):
            continue  # the run advanced between the reads
        hashes, records = rest[: len(HASHES)], rest[len(HASHES) :]
        if state[0] is None:
            raise RunMissing("the run was deleted meanwhile")
        return AccountsSnapshot(
            tick=int(state[0]),
            digest=state[1].decode(),
            chain=state[2].decode(),
            lines=int(lines),
            trimmed=int(state[3] or 0),
            checkpoints=set(_members([*checkpoints, *filter(None, state[4:])])),
            due={tick: set(_members(found)) for tick, found in zip(ticks, records, strict=False)},
            jobs=dict(zip(listed, records[len(ticks) :], strict=False)),
            unclaimed=set(_members(unclaimed)),
            staged=set(_members(staged)),
            waiting={due.decode(): int(count) for due, count in waiting.items()},
            attempts={token.decode(): typed_json.decode(raw) for token, raw in attempts.items()},
            lost={token.decode(): typed_json.decode(raw) for token, raw in lost.items()},
            open={int(tick): int(count) for tick, count in opens.items()},
            windows=set(named),
            accounts=accounts_of(dict(zip(named, records[len(ticks) + len(listed) :], strict=True))),
            view={field.decode(): int(value) for field, value in view.items()},
            hashes={
                name: {key.decode(): raw for key, raw in found.items()}
                for name, found in zip(HASHES, hashes, strict=True)
            },
        )
    raise TimeoutError(f"the run advanced {TRIES} times while its accounts were read; pause it first")


def _queue_accounts(
    store: RunStore, ticks: Sequence[str], jobs: Sequence[str], windows: Sequence[str], pipeline: Pipeline
) -> None:
    pipeline.smembers(store.key("jobs"))
    pipeline.smembers(store.key("windows"))
    pipeline.hmget(store.key("state"), ["tick", "digest", "chain", "trimmed", "checkpointing"])
    pipeline.smembers(store.key("unclaimed"))
    pipeline.smembers(store.key("staged"))
    pipeline.hgetall(store.key("waiting"))
    pipeline.hgetall(store.key("attempts"))
    pipeline.hgetall(store.key("lost"))
    pipeline.llen(store.key("journal"))
    pipeline.hkeys(store.key("journal_checkpoints"))
    pipeline.hgetall(store.key("open"))
    pipeline.hgetall(store.key("view"))
    for name in HASHES:
        pipeline.hgetall(store.key(name))
    for tick in ticks:
        pipeline.smembers(store.due_key(tick))
    for key in jobs:
        pipeline.hgetall(store.job_key(key))
    for window in windows:
        pipeline.hgetall(store.window_key(window))


def _due_ticks(store: RunStore, keys: list[str]) -> list[str]:
    """Return the due ticks of jobs; they never change."""
    pipeline = store.pipeline()
    for key in keys:
        pipeline.hget(store.job_key(key), "due")
    return sorted({raw.decode() for raw in pipeline.execute() if raw is not None})


def _members(raw: Iterable[bytes]) -> list[str]:
    return sorted(member.decode() for member in raw)
