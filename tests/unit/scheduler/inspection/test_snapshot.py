"""The accounts of a run at one instant: every part of the ledger that the auditor looks at, read at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from redis.client import Pipeline

from cogitate.scheduler.inspection.snapshot import TRIES, AccountsSnapshot, take_snapshot
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.run_lines_case import store_of

ONE, OTHER = "7/plan/agent:ada/0/0", "6/act/agent:ben/0/0"
ATTEMPT, LOST = {"job": ONE, "worker": "w"}, {"job": OTHER, "worker": "v"}
#: hash -> its fields, as the ledger holds them
HASHES: dict[str, dict[str, Any]] = {
    f"job:{ONE}": {"due": 9, "state": "open"},
    f"job:{OTHER}": {"due": 12, "state": "staged"},
    "waiting": {"9": 1},
    "attempts": {"t": msgspec.json.encode(ATTEMPT)},
    "lost": {"u": msgspec.json.encode(LOST)},
    "journal_checkpoints": {"4": "x", "2": "y"},
    "open": {"7": 2, "6": 1},
    "window:day:0": {"run|calls|spent": 3},
    "window:run:0": {"kind:plan|tokens|reserved": 40},
    "view": {"day:0|run|calls": 4},
    "awaited": {"a": "1"},
    "offered": {"b": "2"},
    "charged": {"c": "3"},
    "unsettled": {"d": "t"},
    "corrections": {"e": "5"},
}
SETS = {
    "jobs": [ONE, OTHER],
    "windows": ["run:0", "day:0"],
    "unclaimed": [ONE],
    "staged": [OTHER],
    "due:9": [ONE],
    "due:12": [OTHER, "odd"],
    "due:30": ["of no open job"],
}


@pytest.fixture
def store() -> RunStore:
    made = store_of([b"line"] * 5, tick=8, digest="d", chain="c", trimmed=3, checkpointing=7)
    for name, fields in HASHES.items():
        made.client.hset(made.prefix + name, mapping=fields)  # type: ignore[arg-type]
    for name, members in SETS.items():
        made.client.sadd(made.prefix + name, *members)
    return made


def test_a_snapshot_holds_each_account_under_its_name(store: RunStore) -> None:
    assert take_snapshot(store) == AccountsSnapshot(
        tick=8,
        digest="d",
        chain="c",
        lines=5,
        trimmed=3,
        checkpoints={"2", "4", "7"},
        jobs={ONE: {b"due": b"9", b"state": b"open"}, OTHER: {b"due": b"12", b"state": b"staged"}},
        unclaimed={ONE},
        staged={OTHER},
        due={"9": {ONE}, "12": {OTHER, "odd"}},
        waiting={"9": 1},
        attempts={"t": ATTEMPT},
        lost={"u": LOST},
        open={7: 2, 6: 1},
        windows={"day:0", "run:0"},
        accounts={("day:0", "run", "calls"): {"spent": 3}, ("run:0", "kind:plan", "tokens"): {"reserved": 40}},
        view={"day:0|run|calls": 4},
        hashes={
            "awaited": {"a": b"1"},
            "offered": {"b": b"2"},
            "charged": {"c": b"3"},
            "unsettled": {"d": b"t"},
            "corrections": {"e": b"5"},
        },
    )


def test_a_run_with_nothing_open_and_nothing_trimmed_has_empty_accounts() -> None:
    found = take_snapshot(store_of([], tick=0, digest="", chain=""))
    assert (found.tick, found.lines, found.trimmed, found.checkpoints, found.jobs) == (0, 0, 0, set(), {})
    assert (found.due, found.accounts, found.windows) == ({}, {}, set())


def test_a_listed_job_without_a_record_is_shown_as_empty(store: RunStore) -> None:
    store.client.delete(store.job_key(ONE))
    found = take_snapshot(store)
    assert (found.jobs[ONE], set(found.due)) == ({}, {"12"})
    assert found.accounts[("day:0", "run", "calls")] == {"spent": 3}


class Advancing:
    """A run's store in which a job or a window ends or begins before some of the reads."""

    def __init__(self, store: RunStore, name: str, times: int) -> None:
        self._store, self._name, self.left = store, name, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read_at_once(self, queue: Callable[[Pipeline], object]) -> list[Any]:
        if self.left:
            self.left -= 1
            key = self._store.prefix + self._name
            if not self._store.client.srem(key, "new"):
                self._store.client.sadd(key, "new")
        return self._store.read_at_once(queue)


@pytest.mark.parametrize("name", ["jobs", "windows"])
@pytest.mark.parametrize("times", [1, 2, TRIES - 1, TRIES])
def test_a_run_that_advances_meanwhile_is_read_again(store: RunStore, name: str, times: int) -> None:
    advancing: Any = Advancing(store, name, times)
    if times < TRIES:
        found = take_snapshot(advancing)
        assert ("new" in (found.jobs if name == "jobs" else found.windows)) == (times % 2 == 1)
    else:
        with pytest.raises(TimeoutError, match=f"the run advanced {TRIES} times while its accounts were read"):
            take_snapshot(advancing)
