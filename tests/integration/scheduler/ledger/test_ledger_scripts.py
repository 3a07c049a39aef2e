"""The ledger's scripts, each step by itself: what it answers, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from redis import Redis

from scheduler.ledger.scripts import script

PREFIX, NONCE = "p:", "n"
RUN = f"{PREFIX}{NONCE}:"
INCARNATION = "p:incarnation"
STATE = f"{RUN}state"
ANSWER = '{"source":"llm","usage":{"calls":1,"tokens":70,"usd_micros":4}}'


@pytest.fixture
def run(client: Redis) -> Redis:
    """A run at tick 6, whose host's next step is the fourth, with an open job that nobody has claimed."""
    client.set(INCARNATION, NONCE)
    state = {
        "epoch": 1, "holder": "h", "seq": 4, "step": "old", "tick": 6, "status": "running", "schema": 3,
        "settings": '{"claim_cap":3}',
    }  # fmt: skip
    client.hset(STATE, mapping=state)
    client.hset(f"{RUN}job:k", mapping=JOB)
    client.sadd(f"{RUN}jobs", "k")
    client.sadd(f"{RUN}unclaimed", "k")
    client.sadd(f"{RUN}due:9", "k")
    client.hset(f"{RUN}waiting", "9", 2)
    client.hset(f"{RUN}open", "6", 1)
    client.hset(f"{RUN}window:day", mapping={"run|calls|reserved": 1, "run|tokens|reserved": 100})
    client.hset(f"{RUN}owners", "a", "profile")
    return client


JOB: Mapping[str, Any] = {
    "state": "open", "token": "", "claims": 0, "due": 9, "job": "J", "owner": "a", "calls": 1, "tokens": 100,
    "usd_micros": 0, "cells": '["day","run","gone","run"]', "pools": "[]", "last": "[0,0,0]", "latest": "", "tick": 6,
    "reads": "[]", "schema": 3, "losses": 0,
}  # fmt: skip


#: An attempt that nothing was reserved for.
FREE = json.dumps({"job": "k", "worker": "w", "tick": 6, "cells": [], "reserved": [0, 0, 0]})


def plain(answer: Any) -> Any:
    if isinstance(answer, list):
        return [plain(part) for part in answer]
    return answer.decode() if isinstance(answer, bytes) else answer


def held(client: Redis, key: str) -> dict[str, str]:
    """A hash below the run's prefix."""
    found: Any = client.hgetall(f"{RUN}{key}")
    return {name.decode(): value.decode() for name, value in found.items()}


def members(client: Redis, key: str) -> set[str]:
    found: Any = client.smembers(f"{RUN}{key}")
    return {member.decode() for member in found}


def everything(client: Redis) -> dict[Any, Any]:
    keys: Any = client.keys("*")
    return {key: client.dump(key) for key in keys}


def step(client: Redis, name: str, *args: Any, epoch: int = 1, holder: str = "h", seq: int = 4, of: str = "new") -> Any:
    """A step of the host."""
    return plain(script(client, name)(keys=[STATE], args=[RUN, epoch, holder, seq, of, *args]))


def call(client: Redis, name: str, *args: Any) -> Any:
    """A step of somebody else."""
    return plain(script(client, name)(keys=[INCARNATION], args=[PREFIX, *args]))


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
def test_a_step_is_of_the_host_whose_turn_it_is_and_done_once(
    run: Redis, changed: dict[str, Any], answer: list[str]
) -> None:
    before = everything(run)
    assert step(run, "finish", "finished", **changed) == answer
    if answer == ["ok"]:
        assert (held(run, "state")["seq"], held(run, "state")["step"]) == ("5", "new")
    else:
        assert everything(run) == before


def test_a_run_that_is_gone_is_not_written_to(client: Redis) -> None:
    for name, args in (("finish", ["finished"]), ("checkpoint", [6, "", ""]), ("trim", [5]), ("ask_ready", ["x"])):
        assert step(client, name, *args) == ["gone"]
    assert step(client, "collect", 7, "due") == ["gone"]
    assert step(client, "advance", 7, "line", "d", "c", "due", 0, 0, 0, 0) == ["gone"]
    assert call(client, "claim", "k", "w", "t", 3) == ["gone"]
    assert call(client, "settle", NONCE, "k", "t", "", 0, 0, 0, "", "") == "gone"
    assert call(client, "beat", NONCE, "w") == 0
    assert call(client, "ready", "x", "asked", "taken") == 0
    assert call(client, "control", NONCE, 9, "x") == ["gone"]
    assert everything(client) == {}


@pytest.mark.parametrize(("status", "host"), [("finished", 0), ("stopped", 0), ("running", 1)])
def test_a_host_that_ends_its_work_takes_its_sign_of_life_along(run: Redis, status: str, host: int) -> None:
    run.set(f"{RUN}host", "here")
    assert step(run, "finish", status) == ["ok"]
    assert (held(run, "state")["status"], run.exists(f"{RUN}host")) == (status, host)


def test_a_checkpoint_is_written_in_steps_and_stands_with_the_last(run: Redis) -> None:
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
    for seq, tick in ((4, 2), (5, 1), (6, 6)):  # trimmed already, and without a checkpoint
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


def test_only_a_worker_that_the_run_knows_is_heard(run: Redis) -> None:
    assert call(run, "beat", NONCE, "w") == 0
    assert run.exists(f"{RUN}beats") == 0
    run.hset(f"{RUN}beats", "w", 4)
    assert [call(run, "beat", NONCE, "w"), call(run, "beat", NONCE, "w")] == [5, 6]
    run.hset(f"{PREFIX}other:beats", "w", 4)
    assert call(run, "beat", "other", "w") == 0
    assert held(run, "beats") == {"w": "6"}
    assert plain(run.hget(f"{PREFIX}other:beats", "w")) == "4"


def test_trial_hints_are_asked_anew_and_change_from_what_they_are(run: Redis) -> None:
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
def test_a_sign_of_life_is_given_by_the_host_of_a_run_that_goes_on(
    run: Redis, changed: dict[str, Any], here: int
) -> None:
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


def test_on_a_server_that_is_full_a_sign_of_life_is_still_renewed(run: Redis) -> None:
    def present(milliseconds: int) -> Any:
        return script(run, "present")(keys=[STATE], args=[RUN, 1, "h", "sign", milliseconds])

    assert present(60_000) == 1
    run.config_set("maxmemory", 1)
    try:
        assert present(9_000_000) == 1
    finally:
        run.config_set("maxmemory", 0)
    assert run.pttl(f"{RUN}host") > 60_000


def test_what_operators_ask_waits_in_order_and_wakes_the_host(run: Redis) -> None:
    assert call(run, "control", NONCE, 3, "one", "two") == ["ok", "running"]
    assert call(run, "control", NONCE, 3, "one") == ["ok", "running"], "it was sent before"
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
def test_a_run_is_deleted_unless_a_host_has_gone_on(
    run: Redis, incarnation: str, epoch: str, seq: str, deleted: int
) -> None:
    answer = script(run, "delete")(keys=[INCARNATION], args=[RUN, incarnation, epoch, seq])
    assert answer == deleted
    assert run.exists(INCARNATION, STATE) == (0 if deleted else 2)


def acquire(client: Redis, how: str, nonce: str, holder: str, schema: int = 3, *fields: Any) -> Any:
    return call(client, "acquire", how, nonce, holder, schema, "somebody", *fields)


def test_a_host_creates_a_run_once_and_takes_it_over(client: Redis) -> None:
    assert acquire(client, "resume", "", "h") == ["none"]
    assert acquire(client, "create", "n", "h", 3, "settings", "S") == ["ok", "n", "1", "0"]
    state = held(client, "state")
    assert state == {
        "schema": "3", "created": "3", "epoch": "1", "seq": "0", "step": "", "tick": "0", "digest": "", "chain": "",
        "settings": "S", "holder": "h", "host": "somebody", "status": "running",
    }  # fmt: skip
    assert acquire(client, "create", "n", "h", 3, "settings", "T") == ["ok", "n", "1", "0"], "its reply was lost"
    assert held(client, "state") == state
    assert acquire(client, "create", "m", "other") == ["exists"]
    client.hset(STATE, mapping={"seq": 7, "status": "finished"})
    assert acquire(client, "resume", "", "other", 4) == ["ok", "n", "2", "7"]
    taken = held(client, "state")
    assert (taken["schema"], taken["created"], taken["holder"], taken["status"]) == ("4", "3", "other", "running")
    client.hset(STATE, mapping={"waits": 1, "status": "running"})
    assert acquire(client, "resume", "", "third", 4) == ["ok", "n", "3", "7"]
    assert held(client, "state")["status"] == "paused"
    assert acquire(client, "resume", "", "fourth", 3) == ["newer", "4"]
    client.hset(STATE, "schema", "x")
    assert acquire(client, "resume", "", "fourth") == ["unreadable"]
    client.hdel(STATE, "schema")
    assert acquire(client, "resume", "", "fourth") == ["unreadable"]
    assert held(client, "state")["epoch"] == "3"


def claim(client: Redis, token: str = "t", worker: str = "w", schema: int = 3) -> Any:
    return call(client, "claim", "k", worker, token, schema)


def window(client: Redis) -> dict[str, int]:
    return {name.removeprefix("run|"): int(value) for name, value in held(client, "window:day").items() if int(value)}


def test_a_first_claim_takes_the_job_out_of_the_open_ones(run: Redis) -> None:
    assert claim(run) == ["ok", "n", 1, 3, "J", "profile", []]
    job = held(run, "job:k")
    assert (job["token"], job["latest"], job["claims"], json.loads(job["last"])) == ("t", "t", "1", [1, 100, 0])
    assert members(run, "unclaimed") == set()
    assert {token: json.loads(raw) for token, raw in held(run, "attempts").items()} == {
        "t": {"job": "k", "worker": "w", "tick": 6, "cells": ["day", "run", "gone", "run"], "reserved": [1, 100, 0],
              "pooled": 0},
    }  # fmt: skip
    assert (held(run, "open"), held(run, "beats")) == ({"6": "2"}, {"w": "0"})
    assert window(run) == {"calls|reserved": 1, "tokens|reserved": 100}
    assert not run.exists(f"{RUN}alone", f"{RUN}retries", f"{RUN}window:gone")
    before = everything(run)
    assert claim(run) == ["ok", "n", 1, 3, "J", "profile", []], "its reply was lost"
    assert claim(run, "u") == ["claimed"]
    assert everything(run) == before


@pytest.mark.parametrize(
    ("state", "job", "answer"),
    [
        ({"status": "paused"}, {}, "paused"),
        ({"schema": 4}, {}, "newer"),
        ({}, {"schema": 4}, "newer"),
        ({}, {"state": "staged"}, "closed"),
        ({}, {"due": 6}, "late"),
        ({}, {"due": 5}, "late"),
        ({}, {"token": "u"}, "claimed"),
    ],
)
def test_what_cannot_be_claimed_is_left_as_it_is(
    run: Redis, state: dict[str, Any], job: dict[str, Any], answer: str
) -> None:
    if state:
        run.hset(STATE, mapping=state)
    if job:
        run.hset(f"{RUN}job:k", mapping=job)
    before = everything(run)
    assert claim(run) == [answer]
    assert everything(run) == before


def test_at_its_limits_a_job_can_still_be_claimed(run: Redis) -> None:
    run.hset(f"{RUN}job:k", mapping={"due": 7, "claims": 2})
    run.hdel(f"{RUN}job:k", "schema", "losses")
    run.hdel(f"{RUN}owners", "a")
    assert claim(run, schema=3) == ["ok", "n", 3, 3, "J", "", []]


def test_a_job_that_was_claimed_too_often_is_given_up(run: Redis) -> None:
    run.hset(f"{RUN}job:k", "claims", 3)
    assert claim(run) == ["dead"]
    assert (held(run, "job:k")["state"], members(run, "unclaimed"), held(run, "waiting")) == ("dead", set(), {"9": "1"})
    assert run.exists(f"{RUN}ready:9") == 0
    run.hset(f"{RUN}job:k", "state", "open")
    assert claim(run) == ["dead"]
    assert (run.exists(f"{RUN}waiting"), run.llen(f"{RUN}ready:9")) == (0, 1)
    run.hset(f"{RUN}job:k", "state", "open")
    assert claim(run) == ["dead"]
    assert run.llen(f"{RUN}ready:9") == 1, "nobody waits any more"


@pytest.mark.parametrize(
    ("cap", "losses", "alone"),
    [
        (3, 1, False),
        (3, 2, True),
        (9, 1, False),
        (9, 2, True),
        (2, 0, False),
        (2, 1, True),
        (1, 0, False),
        (1, 1, True),
    ],
)
def test_a_job_that_lost_so_many_workers_runs_alone(run: Redis, cap: int, losses: int, alone: bool) -> None:
    run.hset(STATE, "settings", json.dumps({"claim_cap": cap}))
    run.hset(f"{RUN}job:k", "losses", losses)
    run.hset(f"{RUN}attempts", "other", json.dumps({"worker": "v"}))
    run.hset(f"{RUN}attempts", "mine", json.dumps({"worker": "w"}))
    assert claim(run)[0] == ("alone" if alone else "ok")
    run.hset(f"{RUN}job:k", "token", "")
    assert claim(run, "u", "x")[0] == ("dead" if cap == 1 and not alone else "ok")
    assert held(run, "alone") == ({"x": "u"} if alone else {})


def test_a_worker_that_has_a_job_alone_gets_no_other(run: Redis) -> None:
    run.hset(f"{RUN}alone", "w", "other")
    assert claim(run) == ["alone"]
    assert claim(run, worker="v")[0] == "ok"


@pytest.mark.parametrize(
    ("limit", "held_before", "granted"), [(90, 0, True), (89, 0, False), (100, 10, True), (100, 11, False)]
)
def test_a_further_attempt_needs_room_in_the_retry_pool(
    run: Redis, limit: int, held_before: int, granted: bool
) -> None:
    pools = [["day", "run", 1, 9], ["day", "run", 2, limit]]
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": "[1,90,4]", "latest": "t0", "pools": json.dumps(pools)})
    run.hset(f"{RUN}window:day", "run|tokens|pool", held_before)
    before = window(run)
    if granted:
        assert claim(run)[:3] == ["ok", "n", 2]
        assert window(run) == {
            "calls|reserved": 2, "tokens|reserved": 200, "calls|pool": 1, "tokens|pool": held_before + 90,
            "usd_micros|pool": 4,
        }  # fmt: skip
        assert "empty" not in held(run, "job:k")
        assert {token: json.loads(raw) for token, raw in held(run, "retries").items()} == {
            "t0": {"job": "k", "used": [1, 90, 4]}
        }
    else:
        assert claim(run) == ["dead"]
        assert (held(run, "job:k")["empty"], held(run, "job:k")["state"]) == ("day run tokens", "dead")
        assert window(run) == before
        assert run.exists(f"{RUN}retries") == 0


@pytest.mark.parametrize("where", ["attempts", "lost", ""])
def test_an_earlier_attempt_is_the_pools_from_then_on(run: Redis, where: str) -> None:
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": "[0,0,0]", "latest": "t0"})
    if where:
        run.hset(f"{RUN}{where}", "t0", json.dumps({"worker": "v", "pooled": 0}))
    assert claim(run)[0] == "ok"
    if where:
        assert json.loads(held(run, where)["t0"])["pooled"] == 1
    assert run.exists(f"{RUN}retries") == 0, "what cost nothing is no retry to be told"


@pytest.mark.parametrize("used", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
def test_the_least_that_an_earlier_attempt_used_is_told(run: Redis, used: list[int]) -> None:
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": json.dumps(used), "latest": "t0"})
    assert claim(run)[0] == "ok"
    assert json.loads(held(run, "retries")["t0"]) == {"job": "k", "used": used}


def test_a_claim_reads_what_its_job_names(run: Redis) -> None:
    run.hset(f"{RUN}entries:a", mapping={"1": "one", "2": "two"})
    run.hset(f"{RUN}archive:a", mapping={"3": "three", "4": "four", "5": "five"})
    run.zadd(f"{RUN}archived:a", {"3": 5, "4": 6, "5": 7})
    reads = [{"owner": "a", "numbers": [2, 3, 9]}, {"owner": "a"}, {"owner": "a", "numbers": None}, {"owner": "b"}]
    run.hset(f"{RUN}job:k", "reads", json.dumps(reads))
    memories = claim(run)[6]
    assert memories[::2] == ["a", "a", "a", "b"]
    assert memories[1] == ["two", "three"]
    assert sorted(memories[3]) == sorted(memories[5]) == ["five", "one", "two"], "what left after the job's tick too"
    assert memories[7] == []


def settle(
    client: Redis, result: str = ANSWER, used: tuple[int, int, int] = (1, 70, 0), token: str = "t", failure: str = "",
    note: str = "", incarnation: str = NONCE,
) -> Any:  # fmt: skip
    return call(client, "settle", incarnation, "k", token, result, *used, failure, note)


def test_an_answer_is_staged_and_what_it_cost_is_booked(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}alone", mapping={"w": "t", "v": "u"})
    run.hset(f"{PREFIX}other:state", "tick", 6)
    assert settle(run, incarnation="other") == "gone"
    assert settle(run) == "staged"
    assert window(run) == {"tokens|spent": 70, "calls|spent": 1}
    assert held(run, "open") == {"6": "1"}
    assert held(run, "alone") == {"v": "u"}
    job = held(run, "job:k")
    assert (job["state"], job["token"], job["result"], job["arrival"]) == ("staged", "", ANSWER, "1")
    assert json.loads(job["last"]) == [1, 70, 0]
    assert (members(run, "staged"), members(run, "unclaimed"), held(run, "waiting")) == ({"k"}, set(), {"9": "1"})
    assert not run.exists(f"{RUN}attempts", f"{RUN}retries", f"{RUN}timed", f"{RUN}corrections")
    assert settle(run) == "already"
    assert settle(run, token="u") == "unknown"
    assert window(run) == {"tokens|spent": 70, "calls|spent": 1}


def test_answers_are_numbered_as_they_come(run: Redis) -> None:
    run.hset(STATE, "arrivals", 4)
    claim(run)
    settle(run)
    assert (held(run, "job:k")["arrival"], run.get(f"{RUN}arrivals")) == ("5", b"5")


def test_what_goes_beyond_its_reservation_is_told(run: Redis) -> None:
    claim(run)
    settle(run, used=(3, 130, 2))
    assert window(run) == {
        "calls|spent": 3, "tokens|spent": 130, "usd_micros|spent": 2, "calls|overrun": 2, "tokens|overrun": 30,
        "usd_micros|overrun": 2,
    }  # fmt: skip


@pytest.mark.parametrize(("times", "note", "noted"), [("1", "note", ["6 note"]), ("0", "note", []), ("1", "", [])])
def test_the_time_of_an_answer_is_noted_where_it_is_wanted(run: Redis, times: str, note: str, noted: list[str]) -> None:
    run.hset(STATE, "times", times)
    claim(run)
    assert settle(run, note=note) == "staged"
    assert plain(run.lrange(f"{RUN}timed", 0, -1)) == noted


@pytest.mark.parametrize(("claims", "state", "unclaimed"), [(1, "open", {"k"}), (2, "open", {"k"}), (3, "dead", set())])
def test_an_attempt_without_a_result_frees_the_job_or_is_its_last(
    run: Redis, claims: int, state: str, unclaimed: set[str]
) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "claims", claims)
    assert settle(run, "", failure="timeout") == "freed"
    job = held(run, "job:k")
    assert (job["state"], job["token"], job["failure"], members(run, "unclaimed")) == (state, "", "timeout", unclaimed)
    assert run.exists(f"{RUN}arrivals") == 0


def test_a_failure_without_a_class_leaves_that_of_before(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "failure", "before")
    settle(run, "")
    assert held(run, "job:k")["failure"] == "before"


def test_an_attempt_that_was_overtaken_is_paid_for_and_no_more(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "token", "")
    claim(run, "u")
    before = held(run, "job:k")
    assert settle(run, used=(1, 170, 0)) == "accounted"
    assert held(run, "job:k") == before
    assert window(run) == {
        "calls|reserved": 1, "tokens|reserved": 100, "calls|pool": 1, "tokens|pool": 170, "calls|spent": 1,
        "tokens|spent": 170, "tokens|overrun": 70,
    }  # fmt: skip
    assert json.loads(held(run, "retries")["t"]) == {"job": "k", "used": [1, 170, 0]}
    assert settle(run, "", token="u", used=(0, 0, 0)) == "freed"
    run.hset(f"{RUN}job:k", "token", "v")
    run.hset(f"{RUN}attempts", "u", FREE)
    assert settle(run, "", token="u") == "accounted", "the newest, whose lease had run out"
    assert held(run, "job:k")["token"] == "v"


def test_of_a_dead_job_the_first_answer_is_kept(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "state", "dead")
    record = held(run, "attempts")["t"]
    for result, kept in (("", None), ('{"source":"heuristic"}', None), ("x", None), (ANSWER, ANSWER),
                         (ANSWER + " ", ANSWER)):  # fmt: skip
        run.hset(f"{RUN}attempts", "t", record)
        assert settle(run, result) == "accounted"
        assert held(run, "job:k").get("result") == kept
    assert held(run, "job:k")["state"] == "dead"


@pytest.mark.parametrize(
    ("result", "awaited", "answer"),
    [
        (ANSWER, True, "offered"),
        ('{"source":"cached"}', True, "offered"),
        ('{"source":"heuristic"}', True, "accounted"),
        ("3", True, "accounted"),
        ("", True, "accounted"),
        (ANSWER, False, "accounted"),
    ],
)  # fmt: skip
def test_an_answer_after_the_end_is_offered_if_it_is_awaited(
    run: Redis, result: str, awaited: bool, answer: str
) -> None:
    claim(run)
    run.hset(STATE, "times", 1)
    run.delete(f"{RUN}job:k")
    if awaited:
        run.hset(f"{RUN}awaited", "k", "{}")
    assert settle(run, result, note="note") == answer
    assert held(run, "offered") == ({"k": result} if answer == "offered" else {})
    assert plain(run.lrange(f"{RUN}timed", 0, -1)) == ["6 note"]


def test_only_the_first_answer_is_offered(run: Redis) -> None:
    claim(run)
    record = held(run, "attempts")["t"]
    run.delete(f"{RUN}job:k")
    run.hset(f"{RUN}awaited", "k", "{}")
    assert settle(run) == "offered"
    run.hset(f"{RUN}attempts", "t", record)
    assert settle(run, '{"source":"cached"}') == "accounted"
    assert held(run, "offered") == {"k": ANSWER}


SAVED = '{"source":"cached","saved":true,"usage":{"calls":2,"tokens":30,"usd_micros":4}}'


@pytest.mark.parametrize(
    ("result", "correction"),
    [
        (ANSWER, {"usage": [1, 70, 0], "saved": False, "at": 6}),
        ("", {"usage": [1, 70, 0], "saved": False, "at": 6}),
        ("x", {"usage": [1, 70, 0], "saved": False, "at": 6}),
        ('{"saved":true}', {"usage": [1, 70, 0], "saved": False, "at": 6}),
        (SAVED, {"usage": [2, 30, 4], "saved": True, "at": 6}),
    ],
)
def test_what_an_ended_job_came_to_is_told_once_it_is_known(
    run: Redis, result: str, correction: dict[str, Any]
) -> None:
    claim(run)
    run.hset(f"{RUN}unsettled", mapping={"k": "t", "other": "t"})
    settle(run, result)
    assert {key: json.loads(raw) for key, raw in held(run, "corrections").items()} == {"k": correction}
    assert held(run, "unsettled") == {"other": "t"}
    run.hset(f"{RUN}unsettled", "k", "another")
    run.hset(f"{RUN}attempts", "t", FREE)
    run.delete(f"{RUN}corrections")
    settle(run, result)
    assert run.exists(f"{RUN}corrections") == 0


def collect(client: Redis, *lost: str, tick: int = 9, mode: str = "due", seq: int = 4) -> Any:
    return step(client, "collect", tick, mode, *lost, seq=seq)


def test_an_attempt_whose_lease_has_run_out_is_booked_in_full_and_its_job_is_free(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}alone", "w", "t")
    record = held(run, "attempts")["t"]
    answer = collect(run, "t", "unknown")
    assert answer == ["ok", ["k", "open", "", "1", "0", "", ""], [], ["w", "0"], ["k"], [], [], [], [], []]
    assert (held(run, "lost"), held(run, "attempts"), held(run, "alone")) == ({"t": record}, {}, {})
    assert window(run) == {"calls|spent": 1, "tokens|spent": 100}
    assert held(run, "open") == {"6": "1"}
    job = held(run, "job:k")
    assert (job["token"], job["losses"], job["state"]) == ("", "1", "open")
    before = everything(run)
    assert collect(run, "t") == answer, "sent again"
    assert everything(run) == before
    assert settle(run, used=(1, 130, 0)) == "staged", "it came after all"
    assert window(run) == {"calls|spent": 1, "tokens|spent": 130, "tokens|overrun": 30}
    assert held(run, "lost") == {}


@pytest.mark.parametrize("changed", [{"state": "staged"}, {"token": "u"}])
def test_a_lost_attempt_that_is_not_the_jobs_own_changes_nothing_of_the_job(
    run: Redis, changed: dict[str, Any]
) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", mapping=changed)
    before = held(run, "job:k")
    collect(run, "t")
    assert held(run, "job:k") == before
    assert held(run, "lost").keys() == {"t"}


def test_with_its_last_attempt_a_job_is_given_up(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "claims", 3)
    assert collect(run, "t")[1][:2] == ["k", "dead"]


def test_what_is_due_and_what_is_ready_is_told(run: Redis) -> None:
    staged = {"state": "staged", "result": "R", "claims": 2, "arrival": 3, "failure": "timeout", "empty": "cell"}
    for key, at in (("now", None), ("later", 10), ("just", 9)):
        run.hset(f"{RUN}job:{key}", mapping=staged | ({} if at is None else {"at": at}))
    run.sadd(f"{RUN}staged", "now", "later", "just", "k")
    row = ["staged", "R", "2", "3", "timeout", "cell"]
    assert collect(run)[1] == ["k", "open", "", "0", "0", "", ""]
    rows = collect(run, mode="ready", seq=5)[1]
    assert {rows[at]: rows[at + 1 : at + 7] for at in range(0, len(rows), 7)} == {
        "k": ["open", "", "0", "0", "", ""], "now": row, "just": row,
    }  # fmt: skip
    assert len(rows) == 21
    run.sadd(f"{RUN}due:8", "no record")
    assert collect(run, tick=8, seq=6)[1] == ["no record", "", "", "0", "0", "", ""]


def test_of_long_lists_the_oldest_are_told(run: Redis) -> None:
    run.rpush(f"{RUN}controls", *range(101))
    run.rpush(f"{RUN}timed", *range(501))
    run.hset(f"{RUN}offered", mapping={str(n): n for n in range(101)})
    run.hset(f"{RUN}corrections", "k", "C")
    run.hset(f"{RUN}retries", "t", "R")
    answer = collect(run)
    assert (answer[5], answer[8]) == ([str(n) for n in range(100)], [str(n) for n in range(500)])
    assert len(answer[6]) == 200
    assert all(answer[6][at] == answer[6][at + 1] for at in range(0, 200, 2))
    assert (answer[7], answer[9]) == (["k", "C"], ["t", "R"])


def advance(
    client: Redis, *, awaited: tuple[str, ...] = (), charged: tuple[str, ...] = (), closed: tuple[str, ...] = (),
    windows: tuple[tuple[str, int, int], ...] = (), writes: tuple[Any, ...] = (), tick: int = 7, seq: int = 4,
    mode: str = "due",
) -> Any:  # fmt: skip
    args: list[Any] = [tick, "line", "digest", "chain", mode, len(awaited)]
    args += [part for key in awaited for part in (key, f"awaits {key}")]
    args += [len(charged), *(part for key in charged for part in (key, f"charges {key}"))]
    args += [len(closed), *closed, len(windows), *(part for found in windows for part in found), *writes]
    return step(client, "advance", *args, seq=seq)


def test_a_tick_is_committed_with_what_it_writes(run: Redis) -> None:
    run.hset(f"{RUN}waiting", "7", 1)
    run.rpush(f"{RUN}ready:7", "1")
    run.sadd(f"{RUN}due:7", "x")
    run.hset(f"{RUN}head:a", "gone", "x")
    run.sadd(f"{RUN}due:8", "k")
    writes = ("HSET", "head:a", 2, "text", "tea", "HDEL", "head:a", "numbers", "gone 17", "SET", "view", 1, "V")
    assert advance(run, writes=writes) == [
        "ok", ["k", "open", "", "0", "0", "", ""], [], [], [], [], [], [],
    ]  # fmt: skip
    assert held(run, "head:a") == {"text": "tea"}
    assert run.get(f"{RUN}view") == b"V"
    assert plain(run.lrange(f"{RUN}journal", 0, -1)) == ["line"]
    state = held(run, "state")
    assert (state["tick"], state["digest"], state["chain"], state["seq"]) == ("7", "digest", "chain", "5")
    assert (held(run, "waiting"), run.exists(f"{RUN}ready:7", f"{RUN}due:7")) == ({"9": "2"}, 0)
    for tick in (7, 9):
        seq = int(held(run, "state")["seq"])
        assert advance(run, tick=tick, seq=seq) == ["fenced", "1", "7"]
    assert run.llen(f"{RUN}journal") == 1


def test_an_awaited_job_offers_what_came_after_the_host_had_looked(run: Redis) -> None:
    for key, result in (("late", ANSWER), ("own", '{"source":"heuristic"}')):
        run.hset(f"{RUN}job:{key}", mapping={**JOB, "result": result})
    answer = advance(run, awaited=("late", "own", "k"))
    assert held(run, "awaited") == {key: f"awaits {key}" for key in ("late", "own", "k")}
    assert answer[4] == ["late", ANSWER]


def test_what_a_charged_job_came_to_is_told_as_far_as_it_is_known(run: Redis) -> None:
    jobs: dict[str, dict[str, Any]] = {
        "never": {"claims": 0, "last": "[7,7,7]"},
        "running": {"claims": 1, "latest": "t1"},
        "lost": {"claims": 1, "latest": "t2"},
        "known": {"claims": 1, "latest": "t3", "last": "[1,2,3]", "result": SAVED},
        "saved": {"claims": 1, "latest": "t3", "last": "[1,2,3]", "result": SAVED, "state": "staged"},
        "broken": {"claims": 1, "latest": "t3", "last": "x"},
    }
    for key, fields in jobs.items():
        run.hset(f"{RUN}job:{key}", mapping={**JOB, **fields})
    run.hset(f"{RUN}attempts", "t1", "{}")
    run.hset(f"{RUN}lost", "t2", "{}")
    advance(run, charged=(*jobs, "removed"))
    assert held(run, "charged") == {key: f"charges {key}" for key in (*jobs, "removed")}
    assert held(run, "unsettled") == {"running": "t1", "lost": "t2"}
    assert {key: json.loads(raw) for key, raw in held(run, "corrections").items()} == {
        "never": {"usage": [0, 0, 0], "saved": False, "at": 7},
        "known": {"usage": [1, 2, 3], "saved": False, "at": 7},
        "saved": {"usage": [2, 30, 4], "saved": True, "at": 7},
    }


@pytest.mark.parametrize(
    ("changed", "left", "reserved", "open_jobs"),
    [
        ({}, 1, 0, {}),
        ({"claims": 1}, 1, 100, {}),
        ({"state": "held"}, 2, 100, {"6": "1"}),
        ({"state": "staged", "claims": 1}, 2, 100, {}),
        ({"due": 7}, 2, 0, {}),
        ({"due": 8}, 1, 0, {}),
    ],
)
def test_a_closed_job_gives_back_what_nobody_claimed(
    run: Redis, changed: dict[str, Any], left: int, reserved: int, open_jobs: dict[str, str]
) -> None:
    due = str(changed.get("due", 9))
    run.hset(f"{RUN}waiting", due, 2)
    run.sadd(f"{RUN}due:{due}", "k", "other")
    run.sadd(f"{RUN}staged", "k", "other")
    if changed:
        run.hset(f"{RUN}job:k", mapping=changed)
    advance(run, closed=("k", "unknown"))
    assert held(run, "waiting").get(due) == (None if due == "7" else str(left))
    assert window(run).get("tokens|reserved", 0) == reserved
    assert window(run).get("calls|reserved", 0) == reserved // 100
    assert held(run, "open") == open_jobs
    assert run.exists(f"{RUN}job:k") == 0
    assert (members(run, "jobs"), members(run, "unclaimed"), members(run, "staged")) == (set(), set(), {"other"})
    assert members(run, f"due:{due}") == (set() if due == "7" else {"other"})


@pytest.mark.parametrize(
    ("first", "last", "deleted"),
    [(6, 6, False), (5, 5, True), (1, 5, True), (1, 6, False), (6, 9, False), (7, 9, True), (1, 9, False)],
)
def test_a_window_goes_when_no_open_tick_names_it(run: Redis, first: int, last: int, deleted: bool) -> None:
    run.sadd(f"{RUN}windows", "day", "other")
    assert advance(run, windows=(("day", first, last),))[2] == (["day"] if deleted else [])
    assert run.exists(f"{RUN}window:day") == (0 if deleted else 1)
    assert members(run, "windows") == ({"other"} if deleted else {"day", "other"})


@pytest.mark.parametrize(("first", "last", "left"), [(2, 4, {"t1", "t5"}), (3, 3, {"t1", "t2", "t3", "t4", "t5"})])
def test_with_a_long_window_what_was_lost_in_it_is_forgotten(run: Redis, first: int, last: int, left: set[str]) -> None:
    for tick in range(1, 6):
        run.hset(f"{RUN}lost", f"t{tick}", json.dumps({"tick": tick, "job": f"k{tick}"}))
    run.hset(f"{RUN}unsettled", mapping={"k2": "t2", "k3": "newer", "k5": "t5"})
    assert advance(run, windows=(("day", first, last),))[2] == ["day"]
    assert held(run, "lost").keys() == left
    assert held(run, "unsettled").keys() == ({"k2", "k3", "k5"} if "t2" in left else {"k3", "k5"})


DAY = "cogitate:real_day:2026-01-01"


def real_day(client: Redis, what: str, token: str, tokens: int, micros: int, *limits: Any) -> str:
    return plain(script(client, "real_day")(keys=[DAY], args=[what, token, tokens, micros, *limits]))  # type: ignore[no-any-return]


def of_day(client: Redis) -> dict[str, str]:
    found: Any = client.hgetall(DAY)
    return {name.decode(): value.decode() for name, value in found.items()}


def test_a_real_day_holds_what_its_limits_allow_and_no_more(client: Redis) -> None:
    limits = (100, 50, 900)
    assert real_day(client, "reserve", "a", 60, 20, *limits) == "reserved"
    assert real_day(client, "reserve", "a", 60, 20, *limits) == "reserved", "sent again"
    assert of_day(client) == {"reserved:tokens": "60", "reserved:usd_micros": "20", "call:a": "60,20"}
    assert 0 < client.ttl(DAY) <= 900
    assert real_day(client, "reserve", "b", 41, 0, *limits) == "refused"
    assert real_day(client, "reserve", "b", 0, 31, *limits) == "refused"
    assert real_day(client, "reserve", "b", 40, 30, *limits) == "reserved"
    assert (of_day(client)["refused"], of_day(client)["reserved:tokens"]) == ("2", "100")
    assert real_day(client, "settle", "a", 70, 5) == "settled"
    assert real_day(client, "settle", "a", 70, 5) == "unknown"
    assert of_day(client) == {
        "reserved:tokens": "40", "reserved:usd_micros": "30", "spent:tokens": "70", "spent:usd_micros": "5",
        "overrun:tokens": "10", "refused": "2", "call:b": "40,30",
    }  # fmt: skip
    assert real_day(client, "reserve", "c", 1, 0, *limits) == "refused", "what was spent counts"
    assert real_day(client, "reserve", "c", 1, 0, "", "", 900) == "reserved", "no limit"


def test_a_refusal_alone_keeps_the_day_for_its_time(client: Redis) -> None:
    assert real_day(client, "reserve", "a", 2, 0, 1, "", 900) == "refused"
    assert of_day(client) == {"refused": "1"}
    assert 0 < client.ttl(DAY) <= 900
