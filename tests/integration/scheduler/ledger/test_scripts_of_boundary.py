"""The scripts of a boundary: collect due jobs, commit a tick."""

from __future__ import annotations

import json
from typing import Any

import pytest
from redis import Redis

from tests.integration.scheduler.ledger.script_case import (
    ANSWER,
    JOB,
    RUN,
    SAVED,
    advance,
    claim,
    collect,
    everything,
    held,
    members,
    plain,
    settle,
    window,
)

#: The records of the parts of the engine if the ledger keeps none.
NOTHING: list[str | list[str]] = ["offered", [], "corrections", [], "retries", []]


def test_an_expired_attempt_is_charged_in_full_and_its_job_is_freed(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}alone", "w", "t")
    record = held(run, "attempts")["t"]
    answer = collect(run, "t", "unknown")
    assert answer == ["ok", ["k", "open", "", "1", "0", "", ""], [], ["w", "0"], ["k"], [], [], NOTHING]
    assert (held(run, "lost"), held(run, "attempts"), held(run, "alone")) == ({"t": record}, {}, {})
    assert window(run) == {"calls|spent": 1, "tokens|spent": 100}
    assert held(run, "open") == {"6": "1"}
    job = held(run, "job:k")
    assert (job["token"], job["losses"], job["state"]) == ("", "1", "open")
    before = everything(run)
    assert collect(run, "t") == answer, "a repeated step"
    assert everything(run) == before
    assert settle(run, used=(1, 130, 0)) == "staged", "the answer came after all"
    assert window(run) == {"calls|spent": 1, "tokens|spent": 130, "tokens|overrun": 30}
    assert held(run, "lost") == {}


@pytest.mark.parametrize("changed", [{"state": "staged"}, {"token": "u"}])
def test_an_older_lost_attempt_does_not_change_its_job(run: Redis, changed: dict[str, Any]) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", mapping=changed)
    before = held(run, "job:k")
    collect(run, "t")
    assert held(run, "job:k") == before
    assert held(run, "lost").keys() == {"t"}


def test_a_job_that_loses_its_last_attempt_is_given_up(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "claims", 3)
    assert collect(run, "t")[1][:2] == ["k", "dead"]


def test_due_and_ready_jobs_are_returned(run: Redis) -> None:
    staged = {"state": "staged", "result": "R", "claims": 2, "arrival": 3, "failure": "timeout", "empty": "cell"}
    for key, at in (("now", None), ("later", 10), ("just", 9)):
        run.hset(f"{RUN}job:{key}", mapping=staged | ({} if at is None else {"at": at}))
    run.sadd(f"{RUN}staged", "now", "later", "just", "k")
    row = ["staged", "R", "2", "3", "timeout", "cell"]
    assert collect(run)[1] == ["k", "open", "", "0", "0", "", ""]
    rows = collect(run, mode="ready", seq=5)[1]
    assert {rows[at]: rows[at + 1 : at + 7] for at in range(0, len(rows), 7)} == {
        "k": ["open", "", "0", "0", "", ""],
        "now": row,
        "just": row,
    }
    assert len(rows) == 21
    run.sadd(f"{RUN}due:8", "no record")
    assert collect(run, tick=8, seq=6)[1] == ["no record", "", "", "0", "0", "", ""]


def test_long_lists_return_their_oldest_entries(run: Redis) -> None:
    run.rpush(f"{RUN}controls", *range(101))
    run.rpush(f"{RUN}timed", *range(501))
    run.hset(f"{RUN}offered", mapping={str(n): n for n in range(101)})
    run.hset(f"{RUN}corrections", "k", "C")
    run.hset(f"{RUN}retries", "t", "R")
    answer = collect(run)
    assert (answer[5], answer[6]) == ([str(n) for n in range(100)], [str(n) for n in range(500)])
    shown = dict(zip(answer[7][::2], answer[7][1::2], strict=True))
    offers = shown.pop("offered")
    assert len(offers) == 200
    assert all(offers[at] == offers[at + 1] for at in range(0, 200, 2))
    assert shown == {"corrections": ["k", "C"], "retries": ["t", "R"]}


def test_a_tick_is_committed_with_its_writes(run: Redis) -> None:
    run.hset(f"{RUN}waiting", "7", 1)
    run.rpush(f"{RUN}ready:7", "1")
    run.sadd(f"{RUN}due:7", "x")
    run.hset(f"{RUN}head:a", "gone", "x")
    run.sadd(f"{RUN}due:8", "k")
    writes = (
        ("HSET", "head:a", ("text", "tea"), 2),
        ("HSET", "head:b", ("n", 2**53 - 1, "raw", (2,)), 1),
        ("HDEL", "head:a", ("gone", 17)),
        ("SET", "view", ("V",)),
    )
    shared = (("of", (1,)), ())
    assert advance(run, writes=writes, shared=shared, apart=(b"\xfe", b"\xff")) == [
        "ok",
        ["k", "open", "", "0", "0", "", ""],
        [],
        [],
        [],
        NOTHING,
    ]
    assert held(run, "head:a") == {"text": "tea"}
    assert run.hgetall(f"{RUN}head:b") == {b"n": b"9007199254740991", b"raw": b"\xff", b"of": b"\xfe"}
    assert run.get(f"{RUN}view") == b"V"
    assert plain(run.lrange(f"{RUN}journal", 0, -1)) == ["line"]
    state = held(run, "state")
    assert (state["tick"], state["digest"], state["chain"], state["seq"]) == ("7", "digest", "chain", "5")
    assert (held(run, "waiting"), run.exists(f"{RUN}ready:7", f"{RUN}due:7")) == ({"9": "2"}, 0)
    for tick in (7, 9):
        seq = int(held(run, "state")["seq"])
        assert advance(run, tick=tick, seq=seq) == ["fenced", "1", "7"]
    assert run.llen(f"{RUN}journal") == 1


def test_an_awaited_job_offers_its_late_result(run: Redis) -> None:
    for key, result in (("late", ANSWER), ("own", '{"source":"heuristic"}')):
        run.hset(f"{RUN}job:{key}", mapping={**JOB, "result": result})
    answer = advance(run, awaited=("late", "own", "k"))
    assert held(run, "awaited") == {key: f"awaits {key}" for key in ("late", "own", "k")}
    assert answer[5][:2] == ["offered", ["late", ANSWER]]


def test_the_known_outcome_of_a_charged_job_is_returned(run: Redis) -> None:
    jobs: dict[str, dict[Any, Any]] = {
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
        "never": {"usage": [0, 0, 0], "saved": False, "at": 7, "inputs": ""},
        "known": {"usage": [1, 2, 3], "saved": False, "at": 7, "inputs": ""},
        "saved": {"usage": [2, 30, 4], "saved": True, "at": 7, "inputs": ""},
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
def test_closing_an_unclaimed_job_refunds_it(
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
def test_a_window_without_an_open_tick_is_deleted(run: Redis, first: int, last: int, deleted: bool) -> None:
    run.sadd(f"{RUN}windows", "day", "other")
    assert advance(run, windows=(("day", first, last),))[2] == (["day"] if deleted else [])
    assert run.exists(f"{RUN}window:day") == (0 if deleted else 1)
    assert members(run, "windows") == ({"other"} if deleted else {"day", "other"})


@pytest.mark.parametrize(("first", "last", "left"), [(2, 4, {"t1", "t5"}), (3, 3, {"t1", "t2", "t3", "t4", "t5"})])
def test_lost_attempts_of_a_closed_long_window_are_deleted(run: Redis, first: int, last: int, left: set[str]) -> None:
    for tick in range(1, 6):
        run.hset(f"{RUN}lost", f"t{tick}", json.dumps({"tick": tick, "job": f"k{tick}"}))
    run.hset(f"{RUN}unsettled", mapping={"k2": "t2", "k3": "newer", "k5": "t5"})
    assert advance(run, windows=(("day", first, last),))[2] == ["day"]
    assert held(run, "lost").keys() == left
    assert held(run, "unsettled").keys() == ({"k2", "k3", "k5"} if "t2" in left else {"k3", "k5"})
