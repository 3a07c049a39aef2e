"""Scripts of hosts: the turn of a step, checkpoints, trimming, heartbeats, controls, creation and deletion."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from cogitate.scheduler.ledger.keys import script
from tests.integration.scheduler.ledger.script_case import (
    INCARNATION,
    NONCE,
    PREFIX,
    RUN,
    STATE,
    acquire,
    call,
    everything,
    held,
    plain,
    step,
)


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({}, ["ok"]),
        ({"seq": 3}, ["fenced", "1", "4"]),
        ({"seq": 3, "of": "old"}, ["already"]),
        ({"seq": 2, "of": "old"}, ["fenced", "1", "4"]),
        ({"seq": 5}, ["fenced", "1", "4"]),
        ({"seq": 5, "of": "old"}, ["fenced", "1", "4"]),
        ({"epoch": 2}, ["fenced", "1", "4"]),
        ({"epoch": 0}, ["fenced", "1", "4"]),
        ({"holder": "other"}, ["fenced", "1", "4"]),
        ({"seq": 3, "of": "old", "holder": "other"}, ["fenced", "1", "4"]),
    ],
)
def test_only_the_current_host_takes_a_step_and_only_once(
    run: Redis, changed: dict[str, Any], answer: list[str]
) -> None:
    before = everything(run)
    assert step(run, "finish", "finished", **changed) == answer
    if answer == ["ok"]:
        assert (held(run, "state")["seq"], held(run, "state")["step"]) == ("5", "new")
    else:
        assert everything(run) == before


def test_scripts_write_nothing_to_a_deleted_run(client: Redis) -> None:
    for name, args in (("finish", ["finished"]), ("checkpoint", [6, "", ""]), ("trim", [5]), ("ask_ready", ["x"])):
        assert step(client, name, *args) == ["gone"]
    assert step(client, "collect", 7, "due") == ["gone"]
    assert step(client, "advance", "due", "[]") == ["gone"]
    assert call(client, "claim", "k", "w", "t", 3) == ["gone"]
    assert call(client, "settle", NONCE, "k", "t", "", 0, 0, 0, "", "") == "gone"
    assert call(client, "beat", NONCE, "w") == 0
    assert call(client, "ready", "x", "asked", "taken") == 0
    assert call(client, "control", NONCE, 9, "x") == ["gone"]
    assert everything(client) == {}


@pytest.mark.parametrize(("status", "host"), [("finished", 0), ("stopped", 0), ("running", 1)])
def test_a_host_that_ends_removes_its_heartbeat(run: Redis, status: str, host: int) -> None:
    run.set(f"{RUN}host", "here")
    assert step(run, "finish", status) == ["ok"]
    assert (held(run, "state")["status"], run.exists(f"{RUN}host")) == (status, host)


def test_a_checkpoint_is_written_in_steps_and_valid_after_the_last(run: Redis) -> None:
    run.hset(STATE, "checkpointing", 5)
    run.hset(f"{RUN}journal_checkpoint:5", "x", "left by an earlier host")
    assert step(run, "checkpoint", 6, "", "", "a", "A", "b", "B") == ["ok"]
    assert run.exists(f"{RUN}journal_checkpoint:5") == 0
    assert held(run, "state")["checkpointing"] == "6"
    assert run.exists(f"{RUN}journal_checkpoints") == 0
    assert step(run, "checkpoint", 6, "entry", "chain", "c", "C", seq=5) == ["ok"]
    assert held(run, "journal_checkpoint:6") == {"a": "A", "b": "B", "c": "C"}
    assert held(run, "journal_checkpoints") == {"6": "entry"}
    assert held(run, "state")["chain"] == "chain"
    assert "checkpointing" not in held(run, "state")
    assert step(run, "checkpoint", 5, "entry", "chain", seq=6) == ["fenced", "1", "6"]
    assert step(run, "checkpoint", 7, "entry", "chain", seq=7) == ["fenced", "1", "6"]
    assert held(run, "journal_checkpoints") == {"6": "entry"}


def test_the_journal_is_trimmed_up_to_a_tick_with_a_checkpoint(run: Redis) -> None:
    run.rpush(f"{RUN}journal", *(f"line {tick}" for tick in range(3, 8)))
    run.hset(STATE, "trimmed", 2)
    for tick in (3, 4, 5):
        run.hset(f"{RUN}journal_checkpoints", str(tick), "entry")
        run.hset(f"{RUN}journal_checkpoint:{tick}", "a", "A")
    for seq, tick in ((4, 2), (5, 1), (6, 6)):  # trimmed already, twice, and without a checkpoint
        run.hset(f"{RUN}journal_checkpoints", "2", "entry")
        assert step(run, "trim", tick, seq=seq) == ["fenced", "1", "2"]
    assert run.llen(f"{RUN}journal") == 5
    assert step(run, "trim", 4, seq=7) == ["ok"]
    assert plain(run.lrange(f"{RUN}journal", 0, -1)) == ["line 5", "line 6", "line 7"]
    assert held(run, "state")["trimmed"] == "4"
    assert held(run, "journal_checkpoints").keys() == {"4", "5"}
    assert [run.exists(f"{RUN}journal_checkpoint:{tick}") for tick in (3, 4, 5)] == [0, 1, 1]


def test_the_first_trimming_counts_from_the_first_tick(run: Redis) -> None:
    run.rpush(f"{RUN}journal", "line 1", "line 2", "line 3")
    run.hset(f"{RUN}journal_checkpoints", "1", "entry")
    assert step(run, "trim", 1) == ["ok"]
    assert plain(run.lrange(f"{RUN}journal", 0, -1)) == ["line 2", "line 3"]


def test_heartbeats_count_only_for_workers_known_to_the_run(run: Redis) -> None:
    assert call(run, "beat", NONCE, "w") == 0
    assert run.exists(f"{RUN}beats") == 0
    run.hset(f"{RUN}beats", "w", 4)
    assert [call(run, "beat", NONCE, "w"), call(run, "beat", NONCE, "w")] == [5, 6]
    run.hset(f"{PREFIX}other:beats", "w", 4)
    assert call(run, "beat", "other", "w") == 0
    assert held(run, "beats") == {"w": "6"}
    assert plain(run.hget(f"{PREFIX}other:beats", "w")) == "4"


def test_trial_hints_change_only_from_the_expected_state(run: Redis) -> None:
    run.hset(f"{RUN}readiness", "before", "answered")
    assert step(run, "ask_ready", "x", "y") == ["ok"]
    assert held(run, "readiness") == {"x": "asked", "y": "asked"}
    assert call(run, "ready", "x", "asked", "taken") == 1
    assert call(run, "ready", "x", "asked", "taken") == 0
    assert call(run, "ready", "z", "asked", "taken") == 0
    assert held(run, "readiness") == {"x": "taken", "y": "asked"}


@pytest.mark.parametrize(
    ("changed", "here"),
    [({}, 1), ({"status": "paused"}, 1), ({"status": "finished"}, 0), ({"epoch": 2}, 0), ({"holder": "other"}, 0)],
)
def test_the_host_of_an_unfinished_run_sends_heartbeats(run: Redis, changed: dict[str, Any], here: int) -> None:
    if changed:
        run.hset(STATE, mapping=changed)

    def present(sign: str, milliseconds: int) -> Any:
        return script(run, "present")(keys=[STATE], args=[RUN, 1, "h", sign, milliseconds])

    assert present("sign", 60_000) == here
    assert run.exists(f"{RUN}host") == here
    if here:
        assert 0 < run.pttl(f"{RUN}host") <= 60_000
        assert present("sign", 9_000_000) == 1
        assert run.pttl(f"{RUN}host") > 60_000
        run.persist(f"{RUN}host")
        assert present("another", 50_000) == 1
        assert (run.get(f"{RUN}host"), 0 < run.pttl(f"{RUN}host") <= 50_000) == (b"another", True)


def test_a_heartbeat_is_renewed_on_a_full_server(run: Redis) -> None:
    def present(milliseconds: int) -> Any:
        return script(run, "present")(keys=[STATE], args=[RUN, 1, "h", "sign", milliseconds])

    assert present(60_000) == 1
    run.config_set("maxmemory", 1)
    try:
        assert present(9_000_000) == 1
    finally:
        run.config_set("maxmemory", 0)
    assert run.pttl(f"{RUN}host") > 60_000


def test_operator_requests_keep_their_order_and_wake_the_host(run: Redis) -> None:
    assert call(run, "control", NONCE, 3, "one", "two") == ["ok", "running"]
    assert call(run, "control", NONCE, 3, "one") == ["ok", "running"], "a repeated request"
    assert call(run, "control", NONCE, 3, "three", "four") == ["full"]
    assert call(run, "control", NONCE, 3, "three") == ["ok", "running"]
    run.hset(f"{PREFIX}other:state", "status", "running")
    assert call(run, "control", "other", 9, "x") == ["gone"]
    assert not run.exists(f"{PREFIX}other:controls")
    run.hset(STATE, "status", "cancelled")
    assert call(run, "control", NONCE, 9, "x") == ["over"]
    assert plain(run.lrange(f"{RUN}controls", 0, -1)) == ["one", "two", "three"]
    assert plain(run.lrange(f"{RUN}knock", 0, -1)) == ["1"]
    run.delete(STATE)
    assert call(run, "control", NONCE, 9, "x") == ["gone"]


@pytest.mark.parametrize(
    ("incarnation", "epoch", "seq", "deleted"),
    [
        ("n", "1", "4", 1),
        ("n", "", "", 1),
        ("n", "", "9", 1),
        ("n", "2", "4", 0),
        ("n", "1", "5", 0),
        ("m", "1", "4", 0),
    ],
)
def test_a_run_is_deleted_unless_its_host_has_stepped_since(
    run: Redis, incarnation: str, epoch: str, seq: str, deleted: int
) -> None:
    answer = script(run, "delete")(keys=[INCARNATION], args=[RUN, incarnation, epoch, seq])
    assert answer == deleted
    assert run.exists(INCARNATION, STATE) == (0 if deleted else 2)


def test_a_host_creates_a_run_once_and_takes_it_over(client: Redis) -> None:
    assert acquire(client, "resume", "", "h") == ["none"]
    assert acquire(client, "create", "n", "h", 3, "settings", "S") == ["ok", "n", "1", "0"]
    state = held(client, "state")
    assert state == {
        "schema": "3",
        "epoch": "1",
        "seq": "0",
        "step": "",
        "tick": "0",
        "digest": "",
        "chain": "",
        "settings": "S",
        "holder": "h",
        "host": "somebody",
        "status": "running",
    }
    assert acquire(client, "create", "n", "h", 3, "settings", "T") == ["ok", "n", "1", "0"], "as after a lost reply"
    assert held(client, "state") == state
    assert acquire(client, "create", "m", "other") == ["exists"]
    client.hset(STATE, mapping={"seq": 7, "status": "finished"})
    assert acquire(client, "resume", "", "other", 3) == ["ok", "n", "2", "7"]
    taken = held(client, "state")
    assert (taken["schema"], taken["holder"], taken["status"]) == ("3", "other", "running")
    client.hset(STATE, mapping={"waits": 1, "status": "running"})
    assert acquire(client, "resume", "", "third", 3) == ["ok", "n", "3", "7"]
    assert held(client, "state")["status"] == "paused"
    assert acquire(client, "resume", "", "fourth", 2) == ["schema", "3"]
    assert acquire(client, "resume", "", "fourth", 4) == ["schema", "3"]
    client.hset(STATE, "schema", "x")
    assert acquire(client, "resume", "", "fourth") == ["unreadable"]
    client.hdel(STATE, "schema")
    assert acquire(client, "resume", "", "fourth") == ["unreadable"]
    assert held(client, "state")["epoch"] == "3"
