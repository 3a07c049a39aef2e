"""Each step of the ledger by itself: its writes, and that it writes nothing for a host that may not take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.errors import Fenced, LedgerError, NewerSchema, RunMissing, RunUnreadable
from cogitate.scheduler.ledger.keys import incarnation_key, run_base, script
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, JobKey
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, everything, settle, worker

HINTS = [JobKey(0, "think", "agent:nobody", number, 0) for number in range(3)]

#: Every step of a host on its ledger.
STEPS: dict[str, Callable[[HostLedger], object]] = {
    "collect": lambda ledger: ledger.collect(3, "due"),
    "collect, with leases that have run out": lambda ledger: ledger.collect(3, "due", ["00"]),
    "checkpoint": lambda ledger: ledger.checkpoint(2, {OWNER: b"stream"}, entry=b"entry", chain="chain"),
    "trim": lambda ledger: ledger.trim(2),
    "ask_ready": lambda ledger: ledger.ask_ready(HINTS),
    "finish": lambda ledger: ledger.finish("stopped"),
    "go_on": lambda ledger: ledger.go_on(),
}


def begun(client: Redis) -> Host:
    """Start a run of two ticks with a journal checkpoint at each."""
    host = Host(client)
    for tick in (1, 2):
        host.turn()
        host.ledger.checkpoint(tick, {OWNER: b"%d" % tick}, entry=b"entry %d" % tick, chain=f"chain {tick}")
    return host


@pytest.mark.parametrize("step", STEPS)
def test_a_fenced_host_changes_nothing(client: Redis, step: str) -> None:
    first = begun(client)
    HostLedger.resume(client, "r")
    before = everything(client)
    with pytest.raises(Fenced):
        STEPS[step](first.ledger)
    assert everything(client) == before


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("field", ["epoch", "holder", "seq"])
def test_a_step_out_of_turn_changes_nothing(client: Redis, step: str, field: str) -> None:
    host = begun(client)
    client.hset(host.ledger.store.key("state"), field, "77")
    before = everything(client)
    with pytest.raises(LedgerError):
        STEPS[step](host.ledger)
    assert everything(client) == before


@pytest.mark.parametrize("step", STEPS)
def test_a_repeated_step_happens_once_and_a_different_one_in_its_place_is_fenced(client: Redis, step: str) -> None:
    host = begun(client)
    seq = host.ledger._seq
    STEPS[step](host.ledger)
    before = everything(client)
    host.ledger._seq = seq  # as if the reply were lost
    STEPS[step](host.ledger)
    assert everything(client) == before
    host.ledger._seq = seq
    with pytest.raises(Fenced):
        host.ledger.collect(9, "ready", ["another"])
    assert everything(client) == before


def test_new_trial_hints_replace_all_earlier_ones(client: Redis) -> None:
    host = begun(client)
    field = host.ledger.store.key("readiness")
    host.ledger.ask_ready(HINTS[:2])
    claims = worker(client)
    assert claims.mark_trial("r", HINTS[0], was="asked", now="answered")
    assert not claims.mark_trial("r", HINTS[0], was="asked", now="answered"), "only one worker answers"
    assert not claims.mark_trial("r", HINTS[2], was="asked", now="answered"), "this hint was not asked"
    assert not claims.mark_trial("nowhere", HINTS[0], was="asked", now="answered")
    assert client.hgetall(field) == {HINTS[0].text().encode(): b"answered", HINTS[1].text().encode(): b"asked"}
    assert host.ledger.answered(HINTS) == {HINTS[0]}
    host.ledger.ask_ready(HINTS[1:])
    assert client.hgetall(field) == {key.text().encode(): b"asked" for key in HINTS[1:]}


def test_trimming_keeps_the_checkpoint_and_the_lines_after_it(client: Redis) -> None:
    host = begun(client)
    host.turn()
    store = host.ledger.store
    last: Any = client.lrange(store.key("journal"), -1, -1)
    host.ledger.trim(2)
    assert client.lrange(store.key("journal"), 0, -1) == last
    assert client.hget(store.key("state"), "trimmed") == b"2"
    assert client.hkeys(store.key("journal_checkpoints")) == [b"2"]
    assert (client.exists(store.checkpoint_streams_key(1)), client.exists(store.checkpoint_streams_key(2))) == (0, 1)


def kept(client: Redis, host: Host) -> dict[bytes, Any]:
    """Return all data except the host's turn, since a refused step ends its host."""
    state: Any = client.hgetall(host.ledger.store.key("state"))
    rest = {key: value for key, value in everything(client).items() if not key.endswith(b":state")}
    return rest | {field: value for field, value in state.items() if field not in (b"seq", b"step")}


@pytest.mark.parametrize("tick", [1, 2, 3])
def test_no_line_is_removed_twice_or_without_a_checkpoint(client: Redis, tick: int) -> None:
    host = begun(client)
    host.turn()
    host.ledger.trim(2)
    before = kept(client, host)
    with pytest.raises(LedgerError):
        host.ledger.trim(tick)
    assert kept(client, host) == before


def test_a_checkpoint_of_another_tick_than_the_committed_one_is_refused(client: Redis) -> None:
    host = begun(client)
    before = kept(client, host)
    with pytest.raises(LedgerError):
        host.ledger.checkpoint(1, {"agent:a": b"late"})
    assert kept(client, host) == before


def test_a_checkpoint_takes_several_steps_and_unfinished_ones_are_deleted(client: Redis) -> None:
    host = Host(client)
    host.turn()
    store = host.ledger.store
    host.ledger.checkpoint(1, {"agent:a": b"1"})
    assert client.hget(store.key("state"), "checkpointing") == b"1"
    host.ledger.checkpoint(1, {"agent:b": b"2"})
    assert client.hgetall(store.checkpoint_streams_key(1)) == {b"agent:a": b"1", b"agent:b": b"2"}
    assert not client.exists(store.key("journal_checkpoints"))
    host.turn()
    host.ledger.checkpoint(2, {"agent:a": b"3"}, entry=b"entry", chain="after")
    assert not client.exists(store.checkpoint_streams_key(1))
    assert client.hgetall(store.key("journal_checkpoints")) == {b"2": b"entry"}
    assert client.hmget(store.key("state"), "chain", "checkpointing") == [b"after", None]


def test_only_the_host_of_a_run_sends_a_heartbeat_and_it_ends_with_the_host(client: Redis) -> None:
    first = begun(client).ledger
    sign = first.store.key("host")
    assert first.present(b"first", 60.0)
    assert (client.get(sign), 0 < int(client.pttl(sign)) <= 60_000) == (b"first", True)
    assert first.present(b"first", 900.0)
    assert int(client.pttl(sign)) > 60_000, "it was renewed"
    second = HostLedger.resume(client, "r")
    assert not first.present(b"first", 60.0)
    assert second.present(b"second", 60.0)
    assert client.get(sign) == b"second"
    client.hset(first.store.key("state"), "status", "paused")
    assert second.present(b"second", 60.0)
    second.go_on()
    assert client.exists(sign)
    second.finish("stopped")
    assert not client.exists(sign)
    assert not second.present(b"second", 60.0)


def test_only_a_worker_that_has_claimed_a_job_is_counted(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    beats = host.ledger.store.key("beats")
    claims.beat("r", host.ledger.incarnation)
    assert not client.exists(beats), "the run does not know this worker yet"
    claimed(claims, job)
    for incarnation in (host.ledger.incarnation, "another", host.ledger.incarnation):
        claims.beat("r", incarnation)
    assert client.hgetall(beats) == {b"w": b"2"}


@pytest.mark.parametrize(
    ("reserved", "used", "overrun"),
    [
        (Cost(calls=1, tokens=30, usd_micros=9), Cost(calls=1, tokens=30, usd_micros=9), Cost()),
        (Cost(calls=1, tokens=30, usd_micros=9), Cost(), Cost()),
        (Cost(calls=1, tokens=30, usd_micros=9), Cost(calls=3, tokens=30, usd_micros=9), Cost(calls=2)),
        (Cost(calls=1, tokens=30, usd_micros=9), Cost(calls=1, tokens=35, usd_micros=2), Cost(tokens=5)),
        (Cost(calls=1, tokens=30, usd_micros=9), Cost(calls=1, tokens=3, usd_micros=10), Cost(usd_micros=1)),
    ],
)
def test_spending_replaces_the_reservation(client: Redis, reserved: Cost, used: Cost, overrun: Cost) -> None:
    host = Host(client, cost=reserved)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    claim = claimed(claims, job)
    for unit in ("calls", "tokens", "usd_micros"):
        assert host.window("day:0", unit=unit) == {"reserved": getattr(reserved, unit)}
    settle(claims, claim, used=used)
    for unit in ("calls", "tokens", "usd_micros"):
        wanted = {"spent": getattr(used, unit), "overrun": getattr(overrun, unit)}
        for window, scope in (("day:0", "run"), ("day:0", "kind:think"), ("run:0", "run")):
            assert host.window(window, scope, unit) == {name: value for name, value in wanted.items() if value}


def acquire(client: Redis, mode: str, nonce: str, holder: str, schema: int = SCHEMA) -> list[bytes]:
    args = [run_base("r"), mode, nonce, holder, schema, "here", "settings", "{}", "status", "running"]
    answer: list[bytes] = script(client, "acquire")(keys=[incarnation_key("r")], args=args)
    return answer


def test_a_creation_repeated_after_a_lost_reply_creates_the_run_once(client: Redis) -> None:
    first = acquire(client, "create", "nonce", "holder")
    before = everything(client)
    assert first == [b"ok", b"nonce", b"1", b"0"]
    assert acquire(client, "create", "nonce", "holder") == first
    assert everything(client) == before
    assert acquire(client, "create", "other", "holder") == [b"exists"]
    assert everything(client) == before
    assert acquire(client, "resume", "other", "second") == [b"ok", b"nonce", b"2", b"0"]
    assert acquire(client, "resume", "other", "second") == [b"ok", b"nonce", b"2", b"0"], "a repeated step"
    state = run_base("r") + "nonce:state"
    assert client.hmget(state, "schema", "settings", "status", "host") == [
        str(SCHEMA).encode(),
        b"{}",
        b"running",
        b"here",
    ]


def test_a_host_takes_only_a_run_of_its_own_schema(client: Redis) -> None:
    with pytest.raises(RunMissing):
        HostLedger.resume(client, "r")
    acquire(client, "create", "nonce", "holder")
    state = run_base("r") + "nonce:state"
    HostLedger.resume(client, "r")
    client.hset(state, "waits", "1")
    HostLedger.resume(client, "r")
    assert client.hget(state, "status") == b"paused", "as an operator left it"
    client.hset(state, "schema", SCHEMA + 1)
    with pytest.raises(NewerSchema):
        HostLedger.resume(client, "r")
    for damaged in ("many", ""):
        client.hset(state, "schema", damaged)
        with pytest.raises(RunUnreadable):
            HostLedger.resume(client, "r")
    client.hdel(state, "schema")
    with pytest.raises(RunUnreadable):
        HostLedger.resume(client, "r")


def delete(store: RunStore, *args: object) -> int:
    return int(script(store.client, "delete")(keys=[incarnation_key("r")], args=[store.prefix, *args]))  # type: ignore[list-item]


def test_a_changed_run_is_not_deleted(client: Redis) -> None:
    host = begun(client)
    store, nonce = host.ledger.store, host.ledger.incarnation
    epoch, seq = (value.decode() for value in client.hmget(store.key("state"), "epoch", "seq"))  # type: ignore[union-attr]
    before = everything(client)
    for args in (("other", epoch, seq), (nonce, "77", seq), (nonce, epoch, "77")):
        assert delete(store, *args) == 0
    assert everything(client) == before
    assert delete(store, nonce, epoch, seq) == 1
    assert not client.exists(store.key("state"), incarnation_key("r"))
    assert delete(store, nonce, "", "") == 0
