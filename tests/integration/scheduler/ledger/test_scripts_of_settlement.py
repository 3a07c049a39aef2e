"""The script by which a worker settles an attempt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from redis import Redis

from tests.integration.scheduler.ledger.script_case import (
    ANSWER,
    FREE,
    PREFIX,
    RUN,
    SAVED,
    STATE,
    claim,
    held,
    members,
    plain,
    settle,
    window,
)


def test_an_answer_is_staged_and_its_cost_charged(run: Redis) -> None:
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


def test_answers_are_numbered_in_order_of_arrival(run: Redis) -> None:
    run.hset(STATE, "arrivals", 4)
    claim(run)
    settle(run)
    assert (held(run, "job:k")["arrival"], run.get(f"{RUN}arrivals")) == ("5", b"5")


def test_an_overrun_is_accounted(run: Redis) -> None:
    claim(run)
    settle(run, used=(3, 130, 2))
    assert window(run) == {
        "calls|spent": 3,
        "tokens|spent": 130,
        "usd_micros|spent": 2,
        "calls|overrun": 2,
        "tokens|overrun": 30,
        "usd_micros|overrun": 2,
    }


@pytest.mark.parametrize(("times", "note", "noted"), [("1", "note", ["6 note"]), ("0", "note", []), ("1", "", [])])
def test_the_time_of_an_answer_is_recorded_only_if_the_run_wants_it(
    run: Redis, times: str, note: str, noted: list[str]
) -> None:
    run.hset(STATE, "times", times)
    claim(run)
    assert settle(run, note=note) == "staged"
    assert plain(run.lrange(f"{RUN}timed", 0, -1)) == noted


@pytest.mark.parametrize(("claims", "state", "unclaimed"), [(1, "open", {"k"}), (2, "open", {"k"}), (3, "dead", set())])
def test_an_attempt_without_a_result_frees_its_job_unless_it_is_the_last(
    run: Redis, claims: int, state: str, unclaimed: set[str]
) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "claims", claims)
    assert settle(run, "", failure="timeout") == "freed"
    job = held(run, "job:k")
    assert (job["state"], job["token"], job["failure"], members(run, "unclaimed")) == (state, "", "timeout", unclaimed)
    assert run.exists(f"{RUN}arrivals") == 0


def test_a_failure_without_a_class_keeps_the_previous_class(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "failure", "before")
    settle(run, "")
    assert held(run, "job:k")["failure"] == "before"


def test_an_overtaken_attempt_is_only_charged(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "token", "")
    claim(run, "u")
    before = held(run, "job:k")
    assert settle(run, used=(1, 170, 0)) == "accounted"
    assert held(run, "job:k") == before
    assert window(run) == {
        "calls|reserved": 1,
        "tokens|reserved": 100,
        "calls|pool": 1,
        "tokens|pool": 170,
        "calls|spent": 1,
        "tokens|spent": 170,
        "tokens|overrun": 70,
    }
    assert json.loads(held(run, "retries")["t"]) == {"job": "k", "used": [1, 170, 0]}
    assert settle(run, "", token="u", used=(0, 0, 0)) == "freed"
    run.hset(f"{RUN}job:k", "token", "v")
    run.hset(f"{RUN}attempts", "u", FREE)
    assert settle(run, "", token="u") == "accounted", "the newest attempt, whose lease has expired"
    assert held(run, "job:k")["token"] == "v"


def test_the_first_answer_of_a_dead_job_is_kept(run: Redis) -> None:
    claim(run)
    run.hset(f"{RUN}job:k", "state", "dead")
    record = held(run, "attempts")["t"]
    for result, kept in (
        ("", None),
        ('{"source":"heuristic"}', None),
        ("x", None),
        (ANSWER, ANSWER),
        (ANSWER + " ", ANSWER),
    ):
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
)
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


@pytest.mark.parametrize(
    ("result", "correction"),
    [
        (ANSWER, {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": ""}),
        ("", {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": ""}),
        ("x", {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": ""}),
        ('{"saved":true}', {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": ""}),
        (SAVED, {"usage": [2, 30, 4], "saved": True, "at": 6, "inputs": ""}),
        ('{"inputs":"0aF9"}', {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": "0aF9"}),
        ('{"inputs":"\\""}', {"usage": [1, 70, 0], "saved": False, "at": 6, "inputs": ""}),
    ],
)
def test_the_outcome_of_an_ended_job_is_reported_once_known(
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
