"""The script by which a worker claims a job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from redis import Redis

from tests.integration.scheduler.ledger.script_case import RUN, STATE, claim, everything, held, members, window


def test_a_first_claim_removes_the_job_from_the_unclaimed_ones(run: Redis) -> None:
    assert claim(run) == ["ok", "n", 1, 3, "J", "profile", [], "6", "", 0]
    job = held(run, "job:k")
    assert (job["token"], job["latest"], job["claims"], json.loads(job["last"])) == ("t", "t", "1", [1, 100, 0])
    assert members(run, "unclaimed") == set()
    assert {token: json.loads(raw) for token, raw in held(run, "attempts").items()} == {
        "t": {
            "job": "k",
            "worker": "w",
            "tick": 6,
            "cells": ["day", "run", "gone", "run"],
            "reserved": [1, 100, 0],
            "pooled": 0,
        },
    }
    assert (held(run, "open"), held(run, "beats")) == ({"6": "2"}, {"w": "0"})
    assert window(run) == {"calls|reserved": 1, "tokens|reserved": 100}
    assert not run.exists(f"{RUN}alone", f"{RUN}retries", f"{RUN}window:gone")
    before = everything(run)
    assert claim(run) == ["ok", "n", 1, 3, "J", "profile", [], "6", "", 0], "as after a lost reply"
    assert claim(run, "u") == ["claimed"]
    assert everything(run) == before


@pytest.mark.parametrize("newer", [(), ("u",)], ids=["the newest attempt", "an earlier attempt"])
def test_a_lost_attempt_cannot_be_claimed_again(run: Redis, newer: tuple[str, ...]) -> None:
    for token in ("t", *newer):
        assert claim(run, token)[0] == "ok"
        run.hset(f"{RUN}job:k", "token", "")  # its lease has expired
        run.hset(f"{RUN}lost", token, run.hget(f"{RUN}attempts", token) or "")
        run.hdel(f"{RUN}attempts", token)
    before = everything(run)
    assert claim(run, "t") == ["claimed"]
    assert everything(run) == before
    assert claim(run, "tu")[0] == "ok", "another token that contains it"


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
def test_refused_claims_change_nothing(run: Redis, state: dict[str, Any], job: dict[str, Any], answer: str) -> None:
    if state:
        run.hset(STATE, mapping=state)
    if job:
        run.hset(f"{RUN}job:k", mapping=job)
    before = everything(run)
    assert claim(run) == [answer]
    assert everything(run) == before


def test_a_claim_of_a_forks_job_returns_its_outcome_in_the_source(run: Redis) -> None:
    run.hset(f"{RUN}origin_outcomes", mapping={"k": "result", "other": "of another job"})
    assert claim(run) == ["ok", "n", 1, 3, "J", "profile", [], "6", "result", 0]


def test_a_claim_of_a_forks_job_tells_whether_the_source_recorded_answers(run: Redis) -> None:
    run.hset(f"{RUN}origin_answers", "question", "answer")
    assert claim(run)[-2:] == ["", 1]


def test_a_job_at_its_limits_can_be_claimed(run: Redis) -> None:
    run.hset(f"{RUN}job:k", mapping={"due": 7, "claims": 2})
    run.hdel(f"{RUN}job:k", "losses")
    run.hdel(f"{RUN}owners", "a")
    assert claim(run, schema=3) == ["ok", "n", 3, 3, "J", "", [], "6", "", 0]


def test_a_job_claimed_too_often_is_given_up(run: Redis) -> None:
    run.hset(f"{RUN}job:k", "claims", 3)
    assert claim(run) == ["dead"]
    assert (held(run, "job:k")["state"], members(run, "unclaimed"), held(run, "waiting")) == ("dead", set(), {"9": "1"})
    assert run.exists(f"{RUN}ready:9") == 0
    run.hset(f"{RUN}job:k", "state", "open")
    assert claim(run) == ["dead"]
    assert (run.exists(f"{RUN}waiting"), run.llen(f"{RUN}ready:9")) == (0, 1)
    run.hset(f"{RUN}job:k", "state", "open")
    assert claim(run) == ["dead"]
    assert run.llen(f"{RUN}ready:9") == 1, "the host is woken once"


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
def test_a_job_that_lost_too_many_workers_runs_alone(run: Redis, cap: int, losses: int, alone: bool) -> None:
    run.hset(STATE, "settings", json.dumps({"claim_cap": cap}))
    run.hset(f"{RUN}job:k", "losses", losses)
    run.hset(f"{RUN}attempts", "other", json.dumps({"worker": "v"}))
    run.hset(f"{RUN}attempts", "mine", json.dumps({"worker": "w"}))
    assert claim(run)[0] == ("alone" if alone else "ok")
    run.hset(f"{RUN}job:k", "token", "")
    assert claim(run, "u", "x")[0] == ("dead" if cap == 1 and not alone else "ok")
    assert held(run, "alone") == ({"x": "u"} if alone else {})


def test_an_attempt_in_a_batch_does_not_share_its_worker(run: Redis) -> None:
    run.hset(f"{RUN}job:k", "losses", 2)
    run.hset(f"{RUN}attempts", "mine", json.dumps({"worker": "w", "batched": 1}))
    assert claim(run)[0] == "ok"


def test_a_worker_with_an_exclusive_job_gets_no_other(run: Redis) -> None:
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
            "calls|reserved": 2,
            "tokens|reserved": 200,
            "calls|pool": 1,
            "tokens|pool": held_before + 90,
            "usd_micros|pool": 4,
        }
        assert "empty" not in held(run, "job:k")
        assert {token: json.loads(raw) for token, raw in held(run, "retries").items()} == {
            "t0": {"job": "k", "used": [1, 90, 4]}
        }
    else:
        assert claim(run) == ["dead"]
        assert (held(run, "job:k")["empty"], held(run, "job:k")["state"]) == ("day run tokens", "dead")
        assert window(run) == before
        assert run.exists(f"{RUN}retries") == 0


@pytest.mark.parametrize(
    ("window_name", "reserved", "granted"), [("tick:6", 300, True), ("tick:6", 301, False), ("day", 0, False)]
)
def test_a_retry_may_use_the_unused_limit_of_its_tick(
    run: Redis, window_name: str, reserved: int, granted: bool
) -> None:
    pools = [[window_name, "run", 2, 0, 500]]
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": "[1,90,4]", "latest": "t0", "pools": json.dumps(pools)})
    run.hset(f"{RUN}window:{window_name}", mapping={"run|tokens|reserved": reserved, "run|tokens|spent": 100})
    assert claim(run)[0] == ("ok" if granted else "dead")


@pytest.mark.parametrize(("spent", "granted"), [(400, True), (401, False)])
@pytest.mark.parametrize("claims", [0, 1])
def test_after_overruns_no_attempt_exceeds_a_limit(run: Redis, spent: int, granted: bool, claims: int) -> None:
    pools = [["day", "run", 1, 9, 9], ["day", "run", 2, 100, 500], ["day", "run", 3, 0, 0]]
    run.hset(f"{RUN}job:k", mapping={"claims": claims, "pools": json.dumps(pools)})
    run.hset(f"{RUN}window:day", "run|tokens|spent", spent)
    before = window(run)
    assert claim(run)[0] == ("ok" if granted else "dead")
    if not granted:
        assert (held(run, "job:k")["empty"], held(run, "job:k")["state"]) == ("day run tokens", "dead")
        assert window(run) == before


@pytest.mark.parametrize("where", ["attempts", "lost", ""])
def test_an_earlier_attempt_counts_in_the_pool_after_a_retry(run: Redis, where: str) -> None:
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": "[0,0,0]", "latest": "t0"})
    if where:
        run.hset(f"{RUN}{where}", "t0", json.dumps({"worker": "v", "pooled": 0}))
    assert claim(run)[0] == "ok"
    if where:
        assert json.loads(held(run, where)["t0"])["pooled"] == 1
    assert run.exists(f"{RUN}retries") == 0, "an attempt without cost is not reported as a retry"


@pytest.mark.parametrize("used", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
def test_the_usage_of_an_earlier_attempt_is_reported(run: Redis, used: list[int]) -> None:
    run.hset(f"{RUN}job:k", mapping={"claims": 1, "last": json.dumps(used), "latest": "t0"})
    assert claim(run)[0] == "ok"
    assert json.loads(held(run, "retries")["t0"]) == {"job": "k", "used": used}


def test_a_claim_reads_the_jobs_inputs(run: Redis) -> None:
    run.hset(f"{RUN}entries:a", mapping={"1": "one", "2": "two"})
    run.hset(f"{RUN}archive:a", mapping={"3": "three", "4": "four", "5": "five"})
    run.zadd(f"{RUN}archived:a", {"3": 5, "4": 6, "5": 7})
    reads = [{"owner": "a", "numbers": [2, 3, 9]}, {"owner": "a"}, {"owner": "a", "numbers": None}, {"owner": "b"}]
    run.hset(f"{RUN}job:k", "reads", json.dumps(reads))
    memories = claim(run)[6]
    assert memories[::2] == ["a", "a", "a", "b"]
    assert memories[1] == ["two", "three"]
    assert sorted(memories[3]) == sorted(memories[5]) == ["five", "one", "two"], "with those archived after its tick"
    assert memories[7] == []
