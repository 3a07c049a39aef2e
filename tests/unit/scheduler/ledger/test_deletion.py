"""Deleting a run: what is removed and counted, whose run is spared, and what an interruption leaves to be done."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger import deletion
from cogitate.scheduler.ledger.connect import scan_keys
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.errors import RunHeld, RunMissing
from cogitate.scheduler.ledger.keys import RUNS, incarnation_key
from cogitate.scheduler.ledger.presence import this_process
from cogitate.scheduler.ledger.run_store import RunStore


def create(client: FakeRedis, run: str, nonce: str = "now", *, name: bool = True, **state: Any) -> RunStore:
    store = RunStore.of(client, run, nonce)
    if name:
        client.sadd(RUNS, run)
        client.set(incarnation_key(run), nonce)
    values: dict[str, Any] = {"epoch": 1, "seq": 4, "status": "stopped", "schema": SCHEMA} | state
    client.hset(store.key("state"), mapping={field: value for field, value in values.items() if value is not None})
    client.hset(store.key("heads"), "agent:a", "{}")
    return store


def left(client: FakeRedis) -> set[str]:
    return {key.decode() for key in client.keys("*")}


def test_every_key_of_every_incarnation_is_removed_and_counted() -> None:
    client = FakeRedis()
    other = create(client, "town2")
    kept = left(client)
    create(client, "town", "before", name=False)
    create(client, "town")
    client.set("cogitate:{town}:before:odd", 1)
    assert delete_run(client, "town") == 6  # its name, two states, two hashes of heads, and the odd one
    assert left(client) == kept
    assert RunStore.open(client, "town2") == other
    assert client.smembers(RUNS) == {b"town2"}


def test_a_run_without_fields_of_its_host_is_deleted_too() -> None:
    client = FakeRedis()
    create(client, "town", epoch=None, seq=None)
    assert delete_run(client, "town") == 3
    assert left(client) == set()


def test_a_nameless_run_of_any_version_is_deleted() -> None:
    client = FakeRedis()
    create(client, "town", schema=SCHEMA + 1)
    client.srem(RUNS, "town")
    assert delete_run(client, "town") == 3
    assert left(client) == set()


def test_a_missing_run_is_reported_with_the_existing_ones() -> None:
    client = FakeRedis()
    create(client, "town")
    with pytest.raises(RunMissing, match="no run 'tow'; there are: town"):
        delete_run(client, "tow")
    assert client.exists(incarnation_key("town"))


def test_a_host_at_work_keeps_its_run_unless_it_is_forced() -> None:
    client = FakeRedis()
    store = create(client, "town", status="running")
    client.set(store.key("host"), msgspec.json.encode(this_process()))
    before = left(client)
    with pytest.raises(RunHeld, match=r"'town' is held by .* or delete it anyway \(--force\)"):
        delete_run(client, "town")
    assert left(client) == before
    assert delete_run(client, "town", force=True) == 4
    assert left(client) == set()


@pytest.mark.parametrize("field", ["epoch", "seq"])
def test_a_host_that_takes_a_step_meanwhile_keeps_its_run(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    client = FakeRedis()
    store = create(client, "town")
    looked: list[tuple[Any, ...]] = []

    def step(*given: Any) -> None:
        looked.append(given)
        client.hincrby(store.key("state"), field, 1)

    monkeypatch.setattr(deletion, "check_unheld", step)
    before = left(client)
    with pytest.raises(RunHeld, match=r"'town' is held by a host that has just taken a step: .*\(--force\)"):
        delete_run(client, "town")
    assert looked == [(store, "town", "delete it anyway (--force)")]
    assert left(client) == before
    monkeypatch.undo()
    assert delete_run(client, "town", force=True) == 3, "whatever step it takes"


def test_a_deletion_that_was_interrupted_is_completed_under_the_name_that_is_left() -> None:
    client = FakeRedis()
    store = create(client, "town")
    client.delete(incarnation_key("town"), store.key("state"))
    assert client.smembers(RUNS) == {b"town"}
    assert delete_run(client, "town") == 1
    assert left(client) == set()
    with pytest.raises(RunMissing):
        delete_run(client, "town")


def test_a_run_that_is_created_meanwhile_is_spared_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeRedis()
    create(client, "town", "before")
    made: list[RunStore] = []

    def scan(*given: Any) -> Any:
        made.append(create(client, "town", "after"))
        return scan_keys(*given)

    monkeypatch.setattr(deletion, "scan_keys", scan)
    assert delete_run(client, "town") == 3
    (new,) = made
    assert left(client) == {RUNS, incarnation_key("town"), new.key("state"), new.key("heads")}
    assert client.smembers(RUNS) == {b"town"}


def test_keys_are_scanned_in_batches_and_each_is_found() -> None:
    client = FakeRedis()
    wanted = {f"a:{n}".encode() for n in range(25)}
    for key in (*wanted, b"b:1"):
        client.set(key, 1)
    batches = [*scan_keys(client, "a:*", 10)]
    assert {key for batch in batches for key in batch} == wanted
    assert len(batches) > 1
    assert all(batches), "no batch is empty"
    assert [*scan_keys(client, "c:*", 10)] == []
