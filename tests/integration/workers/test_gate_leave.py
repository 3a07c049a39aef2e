"""The gate's script `leave` on a clock that stands still: its answers and its writes."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from tests.integration.workers.gate_script_case import KEYS, NOW, SECOND, counters, gate, given, leave, slots


def test_leaving_counts_usage_and_returns_the_slot(client: Redis) -> None:
    client.zadd(KEYS[1], {"t": 5, "u": 6})
    assert leave(client) == [""]
    assert counters(client) == {"calls": 1, "requests": 1, "tokens": 10}
    assert slots(client) == {"u": 6}
    assert gate(client) == {"usual": "1000", "fastest": "1000", "streak": "0", "latest": "0"}
    leave(client, token="", calls=2, requests=3, tokens=4, failure="bad_json", estimated=7, reasoning=3)
    assert counters(client) == {
        "calls": 3,
        "requests": 4,
        "tokens": 14,
        "failures:bad_json": 2,
        "estimated": 7,
        "reasoning": 3,
    }
    assert slots(client) == {"u": 6}


def test_the_times_of_the_latest_answers_are_kept(client: Redis) -> None:
    leave(client)
    assert not client.exists(KEYS[3])
    leave(client, times="5,7", calls=2)
    leave(client, times="6")
    assert client.lrange(KEYS[3], 0, -1) == [b"5", b"7", b"6"]
    leave(client, times=",".join(map(str, range(199))), calls=199)
    assert client.lrange(KEYS[3], 0, 1) == [b"6", b"0"], "two hundred at most"


@pytest.mark.parametrize(
    ("changed", "usual", "fastest"),
    [
        ({"took": 1_800}, "1100", "900"),
        ({"took": 200}, "900", "200"),
        ({"took": 1_800, "failure": "bad_json"}, "1000", "900"),
        ({"took": 1_800, "verdict": "silent"}, "1000", "900"),
    ],
)
def test_how_long_a_call_takes_is_learned_from_answers(
    client: Redis, changed: dict[str, Any], usual: str, fastest: str
) -> None:
    given(client, usual=1_000, fastest=900)
    leave(client, **changed)
    assert (gate(client)["usual"], gate(client)["fastest"]) == (usual, fastest)
    assert "requests.slack" not in gate(client)


def test_tokens_that_were_taken_too_much_are_given_back(client: Redis) -> None:
    given(client, tokens__drift=100, tokens__free=1_000)
    leave(client, give_back=300)
    assert (gate(client)["tokens.drift"], gate(client)["tokens.free"]) == ("-200", "700")
    leave(client, give_back=-50)
    assert (gate(client)["tokens.drift"], gate(client)["tokens.free"]) == ("-150", "750")


@pytest.mark.parametrize(
    ("changed", "slack", "became", "extra"),
    [
        ({"took": 1_800}, None, "20", "500"),  # at most half a pace at first
        ({"took": 1_800, "ahead": 600}, None, "320", "200"),
        ({"took": 1_000}, None, "520", "0"),
        ({"took": 900}, None, "520", "0"),
        ({"took": 1_000}, 990, "1000", "0"),  # never more than a pace
        ({"took": 9_000}, 100, "20", "100"),
        ({"took": 1_800, "first": 1}, None, "0", "1000"),  # a pace, whatever is left
        ({"took": 700, "first": 1}, None, "0", "700"),
        ({"took": 100, "first": 1}, None, "420", "100"),
    ],
)
def test_a_slow_answer_delays_the_next_request_slightly(
    client: Redis, changed: dict[str, Any], slack: int | None, became: str, extra: str
) -> None:
    given(client, fastest=1_000, **({} if slack is None else {"requests__slack": slack}))
    leave(client, pace=1_000, **changed)
    found = gate(client)
    assert (found["requests.slack"], found["requests.free"], found["requests.drift"]) == (became, extra, extra)


@pytest.mark.parametrize("changed", [{"pace": 0}, {"token": ""}, {"failure": "bad_json"}])
def test_without_a_pace_or_an_answer_no_delay_is_added(client: Redis, changed: dict[str, Any]) -> None:
    leave(client, **({"pace": 1_000, "took": 9_000} | changed))
    assert not {"requests.slack", "requests.free", "requests.drift"} & gate(client).keys()


@pytest.mark.parametrize(
    ("usual", "took", "failure", "streak"),
    [
        (1_000, 1_999, "timeout", None),
        (1_000, 2_000, "timeout", "1"),
        (None, 1, "timeout", "1"),
        (1_000, 1, "http", "1"),
    ],
)
def test_a_timeout_after_too_little_time_does_not_count_against_the_endpoint(
    client: Redis, usual: int | None, took: int, failure: str, streak: str | None
) -> None:
    given(client, **({} if usual is None else {"usual": usual}))
    leave(client, verdict="failing", failure=failure, took=took)
    assert gate(client).get("streak") == streak


def test_the_longest_retry_after_holds(client: Redis) -> None:
    leave(client)
    assert "hold" not in gate(client)
    for asked, hold in ((0, NOW), (5_000, NOW + 5_000), (3_000, NOW + 5_000)):
        leave(client, retry_after=asked)
        assert gate(client)["hold"] == str(hold)


def test_a_missing_model_is_reported_once_and_forgotten_when_it_answers(client: Redis) -> None:
    assert leave(client, failure="model_missing") == ["opened", "model_missing", 8 * SECOND]
    assert gate(client)["missing:m"] == str(NOW + 8 * SECOND)
    assert leave(client, failure="model_missing") == [""]
    assert counters(client)["openings"] == 1
    leave(client)
    leave(client, tried_missing=1, verdict="failing", failure="http")
    assert "missing:m" in gate(client)
    leave(client, tried_missing=1)
    assert "missing:m" not in gate(client)


@pytest.mark.parametrize(
    ("streak", "latest", "changed", "opens", "became"),
    [
        (1, "", {}, False, ("2", "1")),
        (2, "", {}, True, ("3", "1")),
        (0, "", {"calls": 2}, False, ("2", "11")),
        (1, "", {"calls": 2}, True, ("3", "11")),
        (2, "", {"verdict": "fine"}, False, ("0", "0")),
        (2, "01", {"verdict": "silent", "failure": "rate_limited"}, False, ("2", "01")),
        (0, "01", {"window": 4}, False, ("1", "011")),
        (0, "010", {"window": 4}, True, ("1", "0101")),
        (0, "000", {"window": 4}, False, ("1", "0001")),
        (0, "1010", {"window": 4}, True, ("1", "0101")),
        (0, "1000", {"window": 4}, False, ("1", "0001")),
        (0, "1111", {"window": 4, "verdict": "fine"}, False, ("0", "1110")),
        (0, "0", {"window": 4, "calls": 9, "in_a_row": 99}, True, ("9", "1111")),
        (0, "", {"verdict": "hopeless"}, True, ("1", "1")),
    ],
)
def test_failures_in_a_row_or_a_share_of_the_latest_open_the_breaker(
    client: Redis, streak: int, latest: str, changed: dict[str, Any], opens: bool, became: tuple[str, str]
) -> None:
    given(client, streak=streak, latest=latest)
    answer = leave(client, **({"verdict": "failing", "failure": "http"} | changed))
    lasting = changed.get("verdict") == "hopeless"
    pause = 8 * SECOND if lasting else SECOND
    found = gate(client)
    assert (found["streak"], found["latest"]) == became
    assert answer == (["opened", "http", pause] if opens else [""])
    if opens:
        assert {name: found[name] for name in found.keys() - {"streak", "latest", "usual", "fastest"}} == {
            "state": "open",
            "why": "http",
            "probe": "",
            "probe_at": str(NOW + pause),
            "openings": "1",
            "lasting": str(int(lasting)),
            "since": str(NOW),
        }
        assert counters(client)["openings"] == 1
    else:
        assert "state" not in found
        assert "openings" not in counters(client)


@pytest.mark.parametrize(
    ("openings", "changed", "pause"),
    [
        (1, {}, 2 * SECOND),
        (2, {}, 4 * SECOND),
        (3, {}, 8 * SECOND),
        (4, {}, 8 * SECOND),
        (1, {"verdict": "hopeless"}, 8 * SECOND),
        (1, {"verdict": "silent", "failure": "timeout"}, 2 * SECOND),
        (1, {"failure": ""}, 2 * SECOND),
    ],
)
def test_a_probe_that_fails_opens_the_breaker_for_twice_as_long(
    client: Redis, openings: int, changed: dict[str, Any], pause: int
) -> None:
    given(client, state="open", why="before", probe="t", openings=openings, since=7, streak=5, latest="1")
    failure = {"verdict": "failing", "failure": "http"} | changed
    why = failure["failure"] or "before"
    assert leave(client, **failure) == ["opened", why, pause]
    lasting = str(int(failure["verdict"] == "hopeless"))
    assert gate(client) == {
        "state": "open",
        "why": why,
        "probe": "",
        "probe_at": str(NOW + pause),
        "openings": str(openings + 1),
        "lasting": lasting,
        "since": "7",
        "streak": "5",
        "latest": "1",
    }


@pytest.mark.parametrize("changed", [{}, {"verdict": "silent", "failure": "rate_limited"}])
def test_a_probe_that_is_answered_closes_the_breaker(client: Redis, changed: dict[str, Any]) -> None:
    given(client, state="open", why="http", probe="t", openings=3, since=NOW - 42, streak=5, latest="11")
    assert leave(client, **changed) == ["closed", 42]
    found = gate(client)
    for name, value in {"state": "", "why": "", "probe": "", "streak": "0", "latest": "", "openings": "0"}.items():
        assert found[name] == value, name
    assert found["since"] == str(NOW)


@pytest.mark.parametrize(("token", "probe"), [("t", "u"), ("", ""), ("t", "")])
def test_calls_from_before_the_breaker_opened_teach_nothing(client: Redis, token: str, probe: str) -> None:
    given(client, state="open", why="http", probe=probe, openings=3, since=7, streak=5, latest="11")
    before = gate(client)
    for verdict in ("failing", "hopeless", "fine"):
        assert leave(client, token=token, verdict=verdict, failure="http") == [""]
    assert gate(client) == before
