"""The gate's script `enter` on a frozen clock: its answers and its writes."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from tests.integration.workers.gate_script_case import KEYS, NOW, SECOND, counters, enter, gate, given, slots


def test_without_limits_a_call_passes_at_once_and_leaves_no_trace(client: Redis) -> None:
    assert enter(client) == ["go", NOW, 0, "0", "0", "0"]
    assert (gate(client), slots(client), counters(client)) == ({}, {}, {})


def test_the_first_request_goes_and_the_next_waits_for_its_place(client: Redis) -> None:
    assert enter(client, pace=SECOND) == ["go", NOW, 0, "0", "0", "0"]
    assert gate(client) == {"requests.next": str(NOW + SECOND), "requests.free": str(NOW + SECOND)}
    for place in (1, 2):
        assert enter(client, pace=SECOND) == ["wait", place * SECOND, str(NOW + place * SECOND), ""]
    assert gate(client) == {"requests.next": str(NOW + 3 * SECOND), "requests.free": str(NOW + SECOND)}
    assert counters(client) == {"waits": 2}


def test_the_smallest_pace_and_cost_are_kept(client: Redis) -> None:
    given(client, requests__next=NOW + 9_000, tokens__next=NOW + 8_000)
    assert enter(client, pace=1, cost=1) == ["wait", 9_000, str(NOW + 9_000), str(NOW + 8_000)]
    assert (gate(client)["requests.next"], gate(client)["tokens.next"]) == (str(NOW + 9_001), str(NOW + 8_001))
    client.flushall()
    enter(client, pace=1, cost=1)
    assert (gate(client)["requests.free"], gate(client)["tokens.free"]) == (str(NOW + 1), str(NOW + 1))


def test_credit_shortens_the_wait_of_a_request(client: Redis) -> None:
    enter(client, pace=SECOND, cost=2 * SECOND, ahead=300)
    assert gate(client) == {
        "requests.next": str(NOW + SECOND),
        "requests.free": str(NOW + SECOND - 300),
        "tokens.next": str(NOW + 2 * SECOND),
        "tokens.free": str(NOW + 2 * SECOND),
    }


def test_the_later_of_both_clocks_decides(client: Redis) -> None:
    given(client, requests__next=NOW + 7_000, requests__drift=1_000, tokens__next=NOW + 9_000, tokens__drift=-500)
    assert enter(client, pace=100, cost=200) == ["wait", 8_500, str(NOW + 7_000), str(NOW + 9_000)]
    assert gate(client)["requests.next"] == str(NOW + 7_100)
    assert gate(client)["tokens.next"] == str(NOW + 9_200)
    assert enter(client, pace=100, place=NOW + 7_000, cost=200, token_place=NOW + 1, waited=1) == [
        "wait",
        8_000,
        str(NOW + 7_000),
        str(NOW + 1),
    ]
    assert counters(client) == {"waits": 1}, "a returning caller is not counted again"


@pytest.mark.parametrize(("usual", "least"), [(0, SECOND), (250_000, 1_500_000)])
def test_a_caller_that_cannot_wait_is_refused_without_a_place(client: Redis, usual: int, least: int) -> None:
    given(client, requests__next=NOW + SECOND, usual=usual)
    before = gate(client)
    assert enter(client, pace=100, patience=least - 1) == ["late", SECOND, "requests", "0"]
    assert gate(client) == before
    assert counters(client) == {"refused:rate_limited_here": 1}
    assert enter(client, pace=100, patience=least)[0] == "wait"


@pytest.mark.parametrize(
    ("late", "drift", "ahead", "became"),
    [(0, 0, 0, 0), (700, 0, 0, 700), (700, 0, 300, 400), (700, 500, 300, 500), (700, 900, 0, 900), (0, -50, 0, 0)],
)
def test_a_caller_leaves_the_line_when_due_and_its_lateness_delays_those_behind(
    client: Redis, late: int, drift: int, ahead: int, became: int
) -> None:
    given(client, requests__next=NOW + 9_999, requests__drift=drift)
    place = NOW - late
    leaves = max(NOW, place + drift)
    answer = enter(client, pace=100, place=place, waited=1_234_999, ahead=ahead)
    assert answer == ["go", leaves, leaves - NOW, "0", "0", "0"]
    assert gate(client) == {
        "requests.next": str(NOW + 9_999),
        "requests.drift": str(became),
        "requests.free": str(leaves + 100 - ahead),
    }
    assert counters(client) == {"waited_ms": 1_234}


def test_a_caller_that_is_slightly_early_passes(client: Redis) -> None:
    given(client, requests__free=NOW + 5_000)
    assert enter(client, pace=100) == ["go", NOW + 5_000, 5_000, "0", "0", "0"]
    assert gate(client)["requests.next"] == str(NOW + 5_100)
    given(client, requests__free=NOW + 5_001, requests__next=NOW)
    assert enter(client, pace=100)[:2] == ["wait", 5_001]


def test_a_pause_accumulates_no_credit(client: Redis) -> None:
    given(client, requests__next=NOW - 9_000, requests__drift=50, requests__free=NOW - 9_000)
    assert enter(client, pace=100) == ["go", NOW, 0, "0", "0", "0"]
    assert gate(client)["requests.next"] == str(NOW + 50)
    assert gate(client)["requests.free"] == str(NOW + 100)


def test_all_calls_wait_during_a_requested_pause(client: Redis) -> None:
    given(client, hold=NOW + 6_000)
    assert enter(client) == ["wait", 6_000, "", ""]
    assert enter(client, pace=100) == ["wait", 6_000, str(NOW), ""]
    given(client, hold=NOW)
    assert enter(client) == ["go", NOW, 0, "0", "0", "0"]


def test_a_slot_is_taken_until_after_the_deadline(client: Redis) -> None:
    client.zadd(KEYS[1], {"gone": NOW, "there": NOW + 1})
    assert enter(client, cap=2) == ["go", NOW, 0, "0", "0", "0"]
    assert slots(client) == {"there": NOW + 1, "t": NOW + 61 * SECOND}
    assert enter(client, cap=2, token="u") == ["wait", 12_500, "", ""]
    assert enter(client, cap=3, token="u")[0] == "go"


@pytest.mark.parametrize(
    ("usual", "poll", "wait"),
    [(None, None, 12_500), (400_000, None, 50_000), (8, None, 500), (None, NOW - 7, 12_500), (None, NOW + 7, 12_507)],
)
def test_callers_return_for_a_slot_in_order(client: Redis, usual: int | None, poll: int | None, wait: int) -> None:
    client.zadd(KEYS[1], {"a": NOW + 1, "b": NOW + 1})
    given(client, **{name: value for name, value in (("usual", usual), ("poll", poll)) if value is not None})
    patience = wait + 2 * (usual or 0)
    assert enter(client, cap=2, pace=100, patience=patience) == ["wait", wait, "", ""]
    assert gate(client)["poll"] == str(NOW + wait)
    assert "requests.next" not in gate(client), "no place in the queue for requests"
    assert counters(client) == {"waits": 1}
    client.hdel(KEYS[0], "poll")
    given(client, **({} if poll is None else {"poll": poll}))
    assert enter(client, cap=2, patience=patience - 1) == ["late", wait, "slot", "0"]
    assert counters(client) == {"waits": 1, "refused:no_slot": 1}


def test_a_caller_that_waits_for_its_place_requests_no_slot(client: Redis) -> None:
    client.zadd(KEYS[1], {"gone": NOW})
    given(client, requests__next=NOW + 5_001)
    assert enter(client, cap=1, pace=100) == ["wait", 5_001, str(NOW + 5_001), ""]
    assert slots(client) == {"gone": NOW}


@pytest.mark.parametrize(
    ("fields", "fresh", "answer"),
    [
        ({"probe_at": NOW + 1}, 0, ["open", 1, "timeout"]),
        ({"probe_at": NOW + 3}, 0, ["open", 3, "timeout"]),
        ({"probe_at": NOW + 3}, 1, ["open", 3, "timeout"]),
        ({"probe_at": NOW + 3, "lasting": 1}, 0, ["open", 3, "timeout"]),
        ({"probe_at": NOW + 3, "lasting": 1}, 1, ["go", NOW, 0, "0", "1", "0"]),
        ({"probe_at": NOW}, 0, ["go", NOW, 0, "0", "1", "0"]),
        ({"probe_at": NOW, "probe": "x", "probe_until": NOW + 1}, 0, ["open", 0, "timeout"]),
        ({"probe_at": NOW + 3, "probe": "x", "probe_until": NOW + 1, "lasting": 1}, 1, ["open", 3, "timeout"]),
        ({"probe_at": NOW, "probe": "x", "probe_until": NOW}, 0, ["go", NOW, 0, "0", "1", "0"]),
        ({"probe_at": NOW, "probe": "", "probe_until": NOW + 1}, 0, ["go", NOW, 0, "0", "1", "0"]),
    ],
)
def test_an_open_breaker_lets_one_probe_through(
    client: Redis, fields: dict[str, Any], fresh: int, answer: list[Any]
) -> None:
    given(client, state="open", why="timeout", **fields)
    before = gate(client)
    assert enter(client, fresh=fresh) == answer
    if answer[0] == "open":
        assert (gate(client), counters(client)) == (before, {"refused:breaker_open": 1})
    else:
        assert gate(client) == before | {"probe": "t", "probe_until": str(NOW + 61 * SECOND)}
        assert counters(client) == {}


def test_a_probe_that_would_have_to_wait_is_refused(client: Redis) -> None:
    given(client, state="open", why="timeout", requests__free=NOW + 6_000)
    assert enter(client, pace=100) == ["open", 6_000, "timeout"]
    client.zadd(KEYS[1], {"a": NOW + 1})
    assert enter(client, cap=1) == ["open", 25_000, "timeout"]
    assert counters(client) == {"refused:breaker_open": 2}
    given(client, state="")
    assert enter(client) == ["go", NOW, 0, "0", "0", "0"]


def test_a_model_set_aside_is_tried_by_one_call_after_its_pause(client: Redis) -> None:
    given(client, **{"aside:m": f"{NOW + 4} model_missing 2 7"})
    assert enter(client) == ["aside", 4, "model_missing"]
    assert counters(client) == {"refused:breaker_open": 1}
    assert enter(client, model="other") == ["go", NOW, 0, "0", "0", "0"]
    assert enter(client, fresh=1) == ["go", NOW, 0, "1", "0", "0"]
    tried = {"tried:m": str(NOW + 61 * SECOND), "trying:m": "t"}
    assert gate(client) == {"aside:m": f"{NOW + 4} model_missing 2 7"} | tried
    client.hdel(KEYS[0], "tried:m")
    given(client, **{"aside:m": f"{NOW} model_missing 2 7"})
    assert enter(client) == ["go", NOW, 0, "1", "0", "0"]
    assert enter(client) == ["aside", 0, "model_missing"]


def test_a_call_without_another_model_waits_for_one_that_has_answered_before(client: Redis) -> None:
    given(client, **{"aside:m": f"{NOW + SECOND} quota_exhausted 2 7"})
    assert enter(client, may_wait=2) == ["aside", SECOND, "quota_exhausted"], "the model has never answered"
    given(client, **{"answered:m": 1})
    assert enter(client, may_wait=1) == ["aside", SECOND, "quota_exhausted"]
    assert enter(client, may_wait=2, patience=SECOND) == ["aside", SECOND, "quota_exhausted"]
    assert enter(client, may_wait=2) == ["wait", SECOND, "", ""]
    given(client, **{"aside:m": f"{NOW} quota_exhausted 2 7"})
    assert enter(client, may_wait=2) == ["go", NOW, 0, "1", "0", "0"]
    assert enter(client, may_wait=2) == ["wait", 50_000, "", ""], "it waits for the end of that call"


@pytest.mark.parametrize(
    ("fields", "changed", "answer"),
    [
        ({"probe_at": NOW + SECOND}, {}, ["wait", SECOND, "", ""]),
        ({"probe_at": NOW + 1}, {}, ["wait", 50_000, "", ""]),
        ({"probe_at": NOW, "probe": "x", "probe_until": NOW + SECOND}, {}, ["wait", 50_000, "", ""]),
        ({"probe_at": NOW + SECOND}, {"patience": SECOND + 2_000}, ["open", SECOND, "timeout"]),
        ({"probe_at": NOW + SECOND, "usual": ""}, {}, ["open", SECOND, "timeout"]),
        ({"probe_at": NOW + SECOND}, {"may_wait": 0}, ["open", SECOND, "timeout"]),
    ],
)
def test_a_call_that_may_wait_waits_for_the_probe_if_the_endpoint_has_answered_before(
    client: Redis, fields: dict[str, Any], changed: dict[str, Any], answer: list[Any]
) -> None:
    given(client, state="open", why="timeout", **({"usual": 1_000} | fields))
    if not fields.get("usual", "1"):
        client.hdel(KEYS[0], "usual")
    assert enter(client, **({"may_wait": 1} | changed)) == answer


def test_learned_limits_bind_their_model_only(client: Redis) -> None:
    given(client, **{"room:m": 2.7, "usual": 80_000})
    for token in ("a", "b"):
        assert enter(client, token=token) == ["go", NOW, 0, "0", "0", "1"]
    assert enter(client, token="c") == ["wait", 7_408, "", ""]
    assert enter(client, token="d") == ["wait", 14_815, "", ""], "waiting callers return one by one"
    assert enter(client, token="e", model="other") == ["go", NOW, 0, "0", "0", "0"]
    given(client, **{"room:slow": 1, "pace:slow": SECOND})
    assert enter(client, token="f", model="slow")[0] == "go"
    assert gate(client)["next:slow"] == str(NOW + SECOND)
    assert enter(client, token="g", model="slow")[:2] == ["wait", SECOND]
    given(client, **{"hold:held": NOW + SECOND})
    assert enter(client, token="h", model="held")[:2] == ["wait", SECOND]


@pytest.mark.parametrize(
    ("fields", "own"),
    [
        ({"hold:m": NOW + 90 * SECOND}, "1"),
        ({"hold:other": NOW + 90 * SECOND}, None),
        ({"hold": NOW + 90 * SECOND}, "0"),
        ({"hold": NOW + 90 * SECOND, "hold:m": NOW + 95 * SECOND}, "0"),
        ({"pace:m": SECOND, "next:m": NOW + 90 * SECOND}, "1"),
    ],
)
def test_a_late_call_learns_whether_only_its_model_is_limited(
    client: Redis, fields: dict[str, Any], own: str | None
) -> None:
    given(client, **fields)
    answer = enter(client, patience=60 * SECOND)
    assert (answer[0], answer[3] if answer[0] == "late" else None) == ("late" if own else "go", own)


def test_a_call_without_a_slot_learns_whether_its_model_has_the_slots(client: Redis) -> None:
    given(client, **{"room:m": 1, "usual": 100 * SECOND})
    client.zadd(f"{KEYS[1]}:m", {"a": NOW + SECOND})
    assert enter(client, patience=210 * SECOND)[2:] == ["slot", "1"]
    client.zadd(KEYS[1], {"a": NOW + SECOND})
    assert enter(client, patience=210 * SECOND, cap=1)[2:] == ["slot", "0"]
