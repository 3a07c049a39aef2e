"""The auditor's look at the key space: which keys of a run belong to something that it has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.inspection.audit_accounts import stray_keys
from cogitate.scheduler.ledger.keys import OF_OWNERS, OF_RUN, incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore

OPEN, TICK = "7/plan/agent:ada/0/0", 8


def ledger(**changed: Any) -> Any:
    sound = {"tick": TICK, "jobs": {OPEN: {b"due": b"9"}}, "windows": {"day:0"}, "checkpoints": {"4"}}
    return SimpleNamespace(**(sound | changed))


def store_of(run: str = "town") -> RunStore:
    store = RunStore.of(FakeRedis(), run, "0123456789abcdef")
    store.client.set(incarnation_key(run), "0123456789abcdef")
    for owners, name in (("owners", "agent:ada"), ("retired", "agent:gone")):
        store.client.hset(store.key(owners), name, "x")  # type: ignore[arg-type]
    return store


def found(store: RunStore, run: str = "town") -> list[str]:
    return stray_keys(store, run, ledger)


OWN = [
    f"job:{OPEN}",
    "window:day:0",
    "due:9",
    f"ready:{TICK + 1}",
    "journal_checkpoint:4",
    *sorted(OF_RUN),
    *(f"{name}:{owner}" for name in sorted(OF_OWNERS) for owner in ("agent:ada", "agent:gone")),
]
STRAY = [
    "job:7/plan/agent:bob/0/0",
    "window:day:1",
    "due:8",
    f"ready:{TICK}",
    "ready:soon",
    "journal_checkpoint:5",
    "odd",
    "state:x",
    "entries:agent:bob",
    "entries",
    "owners:agent:ada",
]


def test_keys_with_an_owner_are_not_reported(subtests: pytest.Subtests) -> None:
    for key in OWN:
        with subtests.test(key=key):
            store = store_of()
            if not store.client.exists(store.prefix + key):
                store.client.set(store.prefix + key, "x")
            assert found(store) == []


@pytest.mark.parametrize("key", STRAY)
def test_an_unknown_key_is_reported_as_stray(key: str) -> None:
    store = store_of()
    store.client.set(store.prefix + key, "x")
    assert found(store) == [f"key {(store.prefix + key)!r} is stray"]


def test_a_key_of_another_incarnation_is_orphaned() -> None:
    store = store_of()
    other = RunStore.of(store.client, "town", "f" * 16)
    store.client.set(other.prefix + "window:day:0", "x")
    assert found(store) == [f"key {other.prefix + 'window:day:0'!r} is stray"]


@pytest.mark.parametrize("run", ["town", "a[b]c", "t[o]wn"])
def test_keys_of_other_runs_do_not_belong_to_this_one(run: str) -> None:
    store = store_of(run)
    for other in ("town2", "tow", "abc", "a[bc", "town[x]"):
        if other != run:
            store.client.set(RunStore.of(store.client, other, "0123456789abcdef").prefix + "odd", "x")
    assert found(store, run) == []
    store.client.set(store.prefix + "odd", "x")
    assert len(found(store, run)) == 1


def test_stray_keys_are_sorted_and_cut() -> None:
    store = store_of()
    names = [b"odd:" + str(n).encode() for n in range(12)] + [b"\xff", b"x" * 400]
    for name in reversed(names):
        store.client.set(store.prefix.encode() + name, "x")
    said = found(store)
    assert said == sorted(said)
    assert len(said) == len(names) - 1, "what cannot be read is not there under the name that is shown"
    assert max(map(len, said)) == len("key '' is stray") + 200


def test_keys_that_a_live_run_has_just_changed_are_checked_again() -> None:
    store = store_of()
    for key in ("window:day:1", "job:1/plan/agent:ada/0/0", "odd"):
        store.client.set(store.prefix + key, "x")
    looks: list[int] = []

    def take() -> Any:
        looks.append(1)
        if len(looks) == 2:
            store.client.delete(store.prefix + "odd")
            return ledger(windows={"day:0", "day:1"})
        return ledger(jobs={"1/plan/agent:ada/0/0": {}})

    assert stray_keys(store, "town", take) == []
    assert len(looks) == 2
