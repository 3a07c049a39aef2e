"""The scripts of the gate, each step by itself and on a clock that stands still: what it answers and what it writes."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
from redis import Redis

NOW = 1_000_000_000  # microseconds of the clock
SECOND = 1_000_000
KEYS = ["cogitate:endpoint:{e}:gate", "cogitate:endpoint:{e}:slots", "cogitate:endpoint:{e}:counters"]
#: Put before a script: what it asks Redis for the time is answered by the test.
CLOCK = """
local real = redis
local redis = {call = function(command, ...)
  if command == 'TIME' then return {'%d', '%d'} end
  return real.call(command, ...)
end}
"""

ENTER = {
    "token": "t", "patience": 60 * SECOND, "pace": 0, "cost": 0, "cap": 0, "place": "", "token_place": "", "waited": 0,
    "fresh": 0, "model": "m", "missing_pause": 5 * SECOND, "ahead": 0,
}  # fmt: skip
LEAVE = {
    "token": "t", "verdict": "fine", "failure": "", "calls": 1, "requests": 1, "tokens": 10, "took": 1_000,
    "give_back": 0, "retry_after": -1, "pace": 0, "first": 0, "model": "m", "tried_missing": 0, "in_a_row": 3,
    "share": 0.5, "window": 10, "first_pause": SECOND, "longest_pause": 8 * SECOND, "ahead": 0, "estimated": 0,
}  # fmt: skip


def ran(client: Redis, name: str, args: list[Any], keys: list[str] = KEYS, now: int = NOW) -> Any:
    """The answer of a script that is run at a time."""
    text = (resources.files("workers.lua") / f"{name}.lua").read_text()
    answer = client.register_script(CLOCK % divmod(now, SECOND) + text)(keys=keys, args=args)
    return [part.decode() if isinstance(part, bytes) else part for part in answer] if type(answer) is list else answer


def enter(client: Redis, **changed: Any) -> list[Any]:
    assert changed.keys() <= ENTER.keys()
    return ran(client, "enter", [*(ENTER | changed).values()])  # type: ignore[no-any-return]


def leave(client: Redis, **changed: Any) -> list[Any]:
    assert changed.keys() <= LEAVE.keys()
    return ran(client, "leave", [*(LEAVE | changed).values()])  # type: ignore[no-any-return]


def gate(client: Redis) -> dict[str, str]:
    found: Any = client.hgetall(KEYS[0])
    return {field.decode(): value.decode() for field, value in found.items()}


def counters(client: Redis) -> dict[str, int]:
    found: Any = client.hgetall(KEYS[2])
    return {field.decode(): int(value) for field, value in found.items()}


def slots(client: Redis) -> dict[str, float]:
    found: Any = client.zrange(KEYS[1], 0, -1, withscores=True)
    return {token.decode(): score for token, score in found}


def given(client: Redis, **fields: Any) -> None:
    """What the gate holds; a double underscore stands for the dot in the name of a field."""
    if fields:
        client.hset(KEYS[0], mapping={name.replace("__", "."): value for name, value in fields.items()})


def test_without_limits_a_call_goes_at_once_and_leaves_no_trace(client: Redis) -> None:
    assert enter(client) == ["go", NOW, 0, "0", "0"]
    assert (gate(client), slots(client), counters(client)) == ({}, {}, {})


def test_the_first_request_goes_and_the_next_waits_for_its_place(client: Redis) -> None:
    assert enter(client, pace=SECOND) == ["go", NOW, 0, "0", "0"]
    assert gate(client) == {"requests.next": str(NOW + SECOND), "requests.free": str(NOW + SECOND)}
    for place in (1, 2):
        assert enter(client, pace=SECOND) == ["wait", place * SECOND, str(NOW + place * SECOND), ""]
    assert gate(client) == {"requests.next": str(NOW + 3 * SECOND), "requests.free": str(NOW + SECOND)}
    assert counters(client) == {"waits": 2}


def test_the_least_cost_is_kept_too(client: Redis) -> None:
    given(client, requests__next=NOW + 9_000, tokens__next=NOW + 8_000)
    assert enter(client, pace=1, cost=1) == ["wait", 9_000, str(NOW + 9_000), str(NOW + 8_000)]
    assert (gate(client)["requests.next"], gate(client)["tokens.next"]) == (str(NOW + 9_001), str(NOW + 8_001))
    client.flushall()
    enter(client, pace=1, cost=1)
    assert (gate(client)["requests.free"], gate(client)["tokens.free"]) == (str(NOW + 1), str(NOW + 1))


def test_what_may_come_ahead_shortens_what_a_request_has_to_pay(client: Redis) -> None:
    enter(client, pace=SECOND, cost=2 * SECOND, ahead=300)
    assert gate(client) == {
        "requests.next": str(NOW + SECOND), "requests.free": str(NOW + SECOND - 300),
        "tokens.next": str(NOW + 2 * SECOND), "tokens.free": str(NOW + 2 * SECOND),
    }  # fmt: skip


def test_both_clocks_give_a_place_and_the_later_one_says_when(client: Redis) -> None:
    given(client, requests__next=NOW + 7_000, requests__drift=1_000, tokens__next=NOW + 9_000, tokens__drift=-500)
    assert enter(client, pace=100, cost=200) == ["wait", 8_500, str(NOW + 7_000), str(NOW + 9_000)]
    assert gate(client)["requests.next"] == str(NOW + 7_100)
    assert gate(client)["tokens.next"] == str(NOW + 9_200)
    assert enter(client, pace=100, place=NOW + 7_000, cost=200, token_place=NOW + 1, waited=1) == [
        "wait", 8_000, str(NOW + 7_000), str(NOW + 1),
    ]  # fmt: skip
    assert counters(client) == {"waits": 1}, "who comes again was counted"


@pytest.mark.parametrize(("usual", "least"), [(0, SECOND), (250_000, 1_500_000)])
def test_who_cannot_wait_so_long_is_refused_and_takes_no_place(client: Redis, usual: int, least: int) -> None:
    given(client, requests__next=NOW + SECOND, usual=usual)
    before = gate(client)
    assert enter(client, pace=100, patience=least - 1) == ["late", SECOND, "requests"]
    assert gate(client) == before
    assert counters(client) == {"refused:rate_limited_here": 1}
    assert enter(client, pace=100, patience=least)[0] == "wait"


@pytest.mark.parametrize(
    ("late", "drift", "ahead", "became"),
    [(0, 0, 0, 0), (700, 0, 0, 700), (700, 0, 300, 400), (700, 500, 300, 500), (700, 900, 0, 900), (0, -50, 0, 0)],
)
def test_who_has_a_place_leaves_when_it_is_due_and_delays_those_behind(
    client: Redis, late: int, drift: int, ahead: int, became: int
) -> None:
    given(client, requests__next=NOW + 9_999, requests__drift=drift)
    place = NOW - late
    leaves = max(NOW, place + drift)
    answer = enter(client, pace=100, place=place, waited=1_234_999, ahead=ahead)
    assert answer == ["go", leaves, leaves - NOW, "0", "0"]
    assert gate(client) == {
        "requests.next": str(NOW + 9_999), "requests.drift": str(became), "requests.free": str(leaves + 100 - ahead),
    }  # fmt: skip
    assert counters(client) == {"waited_ms": 1_234}


def test_who_comes_hardly_too_early_is_let_through(client: Redis) -> None:
    given(client, requests__free=NOW + 5_000)
    assert enter(client, pace=100) == ["go", NOW + 5_000, 5_000, "0", "0"]
    assert gate(client)["requests.next"] == str(NOW + 5_100)
    given(client, requests__free=NOW + 5_001, requests__next=NOW)
    assert enter(client, pace=100)[:2] == ["wait", 5_001]


def test_after_a_pause_nothing_is_saved_up(client: Redis) -> None:
    given(client, requests__next=NOW - 9_000, requests__drift=50, requests__free=NOW - 9_000)
    assert enter(client, pace=100) == ["go", NOW, 0, "0", "0"]
    assert gate(client)["requests.next"] == str(NOW + 50)
    assert gate(client)["requests.free"] == str(NOW + 100)


def test_while_an_endpoint_asked_to_be_left_alone_all_wait(client: Redis) -> None:
    given(client, hold=NOW + 6_000)
    assert enter(client) == ["wait", 6_000, "", ""]
    assert enter(client, pace=100) == ["wait", 6_000, str(NOW), ""]
    given(client, hold=NOW)
    assert enter(client) == ["go", NOW, 0, "0", "0"]


def test_a_slot_is_taken_until_after_the_deadline(client: Redis) -> None:
    client.zadd(KEYS[1], {"gone": NOW, "there": NOW + 1})
    assert enter(client, cap=2) == ["go", NOW, 0, "0", "0"]
    assert slots(client) == {"there": NOW + 1, "t": NOW + 61 * SECOND}
    assert enter(client, cap=2, token="u") == ["wait", 12_500, "", ""]
    assert enter(client, cap=3, token="u")[0] == "go"


@pytest.mark.parametrize(
    ("usual", "poll", "wait"),
    [(None, None, 12_500), (400_000, None, 50_000), (8, None, 500), (None, NOW - 7, 12_500), (None, NOW + 7, 12_507)],
)
def test_who_waits_for_a_slot_comes_again_after_those_before_it(
    client: Redis, usual: int | None, poll: int | None, wait: int
) -> None:
    client.zadd(KEYS[1], {"a": NOW + 1, "b": NOW + 1})
    given(client, **{name: value for name, value in (("usual", usual), ("poll", poll)) if value is not None})
    patience = wait + 2 * (usual or 0)
    assert enter(client, cap=2, pace=100, patience=patience) == ["wait", wait, "", ""]
    assert gate(client)["poll"] == str(NOW + wait)
    assert "requests.next" not in gate(client), "no place in the queue for requests"
    assert counters(client) == {"waits": 1}
    client.hdel(KEYS[0], "poll")
    given(client, **({} if poll is None else {"poll": poll}))
    assert enter(client, cap=2, patience=patience - 1) == ["late", wait, "slot"]
    assert counters(client) == {"waits": 1, "refused:no_slot": 1}


def test_who_has_to_wait_for_its_place_asks_for_no_slot(client: Redis) -> None:
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
        ({"probe_at": NOW + 3, "lasting": 1}, 1, ["go", NOW, 0, "0", "1"]),
        ({"probe_at": NOW}, 0, ["go", NOW, 0, "0", "1"]),
        ({"probe_at": NOW, "probe": "x", "probe_until": NOW + 1}, 0, ["open", 0, "timeout"]),
        ({"probe_at": NOW + 3, "probe": "x", "probe_until": NOW + 1, "lasting": 1}, 1, ["open", 3, "timeout"]),
        ({"probe_at": NOW, "probe": "x", "probe_until": NOW}, 0, ["go", NOW, 0, "0", "1"]),
        ({"probe_at": NOW, "probe": "", "probe_until": NOW + 1}, 0, ["go", NOW, 0, "0", "1"]),
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
    assert enter(client) == ["go", NOW, 0, "0", "0"]


def test_a_missing_model_is_left_alone_and_then_tried_by_one(client: Redis) -> None:
    given(client, **{"missing:m": NOW + 4})
    assert enter(client) == ["open", 4, "model_missing"]
    assert counters(client) == {"refused:breaker_open": 1}
    assert enter(client, model="other") == ["go", NOW, 0, "0", "0"]
    assert enter(client, fresh=1) == ["go", NOW, 0, "1", "0"]
    assert gate(client) == {"missing:m": str(NOW + 5 * SECOND)}
    given(client, **{"missing:m": NOW})
    assert enter(client) == ["go", NOW, 0, "1", "0"]
    assert enter(client) == ["open", 5 * SECOND, "model_missing"]


def test_what_a_call_used_is_counted_and_its_slot_given_back(client: Redis) -> None:
    client.zadd(KEYS[1], {"t": 5, "u": 6})
    assert leave(client) == [""]
    assert counters(client) == {"calls": 1, "requests": 1, "tokens": 10}
    assert slots(client) == {"u": 6}
    assert gate(client) == {"usual": "1000", "fastest": "1000", "streak": "0", "latest": "0"}
    leave(client, token="", calls=2, requests=3, tokens=4, failure="bad_json", estimated=7)
    assert counters(client) == {"calls": 3, "requests": 4, "tokens": 14, "failures:bad_json": 2, "estimated": 7}
    assert slots(client) == {"u": 6}


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
def test_after_a_slow_answer_the_next_request_comes_a_little_later(
    client: Redis, changed: dict[str, Any], slack: int | None, became: str, extra: str
) -> None:
    given(client, fastest=1_000, **({} if slack is None else {"requests__slack": slack}))
    leave(client, pace=1_000, **changed)
    found = gate(client)
    assert (found["requests.slack"], found["requests.free"], found["requests.drift"]) == (became, extra, extra)


@pytest.mark.parametrize("changed", [{"pace": 0}, {"token": ""}, {"failure": "bad_json"}])
def test_without_a_pace_or_an_answer_of_its_own_nothing_is_added(client: Redis, changed: dict[str, Any]) -> None:
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
def test_a_timeout_after_too_little_time_says_nothing_against_the_endpoint(
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


def test_a_missing_model_is_told_once_and_forgotten_when_it_answers(client: Redis) -> None:
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
)  # fmt: skip
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
            "state": "open", "why": "http", "probe": "", "probe_at": str(NOW + pause), "openings": "1",
            "lasting": str(int(lasting)), "since": str(NOW),
        }  # fmt: skip
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
        "state": "open", "why": why, "probe": "", "probe_at": str(NOW + pause), "openings": str(openings + 1),
        "lasting": lasting, "since": "7", "streak": "5", "latest": "1",
    }  # fmt: skip


@pytest.mark.parametrize("changed", [{}, {"verdict": "silent", "failure": "rate_limited"}])
def test_a_probe_that_is_answered_closes_the_breaker(client: Redis, changed: dict[str, Any]) -> None:
    given(client, state="open", why="http", probe="t", openings=3, since=NOW - 42, streak=5, latest="11")
    assert leave(client, **changed) == ["closed", 42]
    found = gate(client)
    for name, value in {"state": "", "why": "", "probe": "", "streak": "0", "latest": "", "openings": "0"}.items():
        assert found[name] == value, name
    assert found["since"] == str(NOW)


@pytest.mark.parametrize(("token", "probe"), [("t", "u"), ("", ""), ("t", "")])
def test_of_calls_from_before_the_opening_nothing_more_is_learned(client: Redis, token: str, probe: str) -> None:
    given(client, state="open", why="http", probe=probe, openings=3, since=7, streak=5, latest="11")
    before = gate(client)
    for verdict in ("failing", "hopeless", "fine"):
        assert leave(client, token=token, verdict=verdict, failure="http") == [""]
    assert gate(client) == before


def begin(client: Redis, *, pace: int = 0, waited: int = 0) -> list[Any]:
    return ran(client, "probe", ["begin", "t", 900, pace, waited])  # type: ignore[no-any-return]


def test_an_endpoint_is_tried_only_while_its_breaker_is_open(client: Redis) -> None:
    assert begin(client) == ["done"]
    given(client, state="open", why="http", hold=NOW + 1)
    assert begin(client) == ["done"]
    given(client, hold=NOW)
    assert begin(client) == ["go"]
    assert gate(client) == {
        "state": "open", "why": "http", "hold": str(NOW), "probe": "t", "probe_until": str(NOW + 900),
    }  # fmt: skip
    assert begin(client) == ["busy", 900]


@pytest.mark.parametrize(
    ("fields", "waited", "answer"),
    [
        ({"probe": "x", "probe_until": NOW + 7}, 0, ["busy", 7]),
        ({"probe": "x", "probe_until": NOW + 7}, 1, ["busy", 7]),
        ({"probe": "x", "probe_until": NOW}, 0, ["go"]),
        ({"probe": "", "probe_until": NOW + 7}, 0, ["go"]),
        ({"probe": ""}, 1, ["done"]),
        ({"probe_until": NOW + 7}, 0, ["go"]),
    ],
)
def test_one_tries_at_a_time_and_its_failure_counts_for_all(
    client: Redis, fields: dict[str, Any], waited: int, answer: list[Any]
) -> None:
    given(client, state="open", **fields)
    assert begin(client, waited=waited) == answer


def test_who_tries_keeps_the_pace(client: Redis) -> None:
    given(client, state="open", requests__free=NOW + 9)
    assert begin(client, pace=100) == ["paced", 9]
    assert "probe" not in gate(client)
    assert begin(client, pace=1) == ["paced", 9]
    given(client, requests__free=NOW)
    assert begin(client, pace=100) == ["go"]
    assert gate(client)["requests.free"] == str(NOW + 100)
    given(client, requests__free=NOW + 9, probe="")
    assert begin(client) == ["go"]
    assert gate(client)["requests.free"] == str(NOW + 9)


@pytest.mark.parametrize(
    ("fields", "verdict", "answer", "became"),
    [
        ({"state": ""}, "fine", ["overtaken"], {"state": ""}),
        ({"probe": "x"}, "fine", ["overtaken"], {"probe": "x"}),
        ({}, "failing", ["open", "http"], {"probe": ""}),
        ({}, "silent", ["open", "http"], {"probe": ""}),
        ({}, "hopeless", ["open", "unauthorized"], {"probe": "", "why": "unauthorized"}),
        ({"why": "quota_exhausted"}, "fine", ["tries"], {"why": "quota_exhausted", "probe": "", "probe_at": str(NOW)}),
        ({}, "fine", ["closed", 42], {"state": "", "since": str(NOW), "why": "", "probe": "", "openings": "0",
                                      "latest": "", "streak": "2"}),
    ],
)  # fmt: skip
def test_what_a_trial_came_to_is_written(
    client: Redis, fields: dict[str, Any], verdict: str, answer: list[Any], became: dict[str, str]
) -> None:
    given(client, **({"state": "open", "why": "http", "probe": "t", "since": NOW - 42, "openings": 3} | fields))
    before = gate(client)
    assert ran(client, "probe", ["end", "t", verdict, "unauthorized", 3]) == answer
    assert gate(client) == before | became


TEXTS = ["texts", "times", "bytes", "incarnation"]


def keep(client: Redis, field: str, text: str, *, now: int = NOW, most: int = 10, guarded: bool = False) -> int:
    keys = TEXTS if guarded else TEXTS[:3]
    return int(ran(client, "keep", [field, text, most, 5_000, "abc"], keys, now))


def test_texts_are_kept_within_their_bytes_and_the_oldest_go_first(client: Redis) -> None:
    assert keep(client, "a", "1234") == 1
    assert keep(client, "b", "12345", now=NOW + 1_000) == 1
    assert client.hgetall("texts") == {b"a": b"1234", b"b": b"12345"}
    assert client.zrange("times", 0, -1, withscores=True) == [(b"a", 1_000_000.0), (b"b", 1_000_001.0)]
    assert client.get("bytes") == b"9"
    assert keep(client, "c", "1", now=NOW + 2_000) == 1, "ten bytes fit"
    assert keep(client, "d", "12", now=NOW + 3_000) == 1
    assert client.hgetall("texts") == {b"b": b"12345", b"c": b"1", b"d": b"12"}
    assert keep(client, "e", "1234567890", now=NOW + 4_000) == 1
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"e": b"1234567890"}, b"10")
    assert keep(client, "f", "12345678901", now=NOW + 5_000) == 0, "it alone is too long"
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"e": b"1234567890"}, b"10")
    assert client.zrange("times", 0, -1) == [b"e"]
    assert keep(client, "e", "12345678901") == 0
    assert (client.hgetall("texts"), client.get("bytes"), client.zcard("times")) == ({}, b"0", 0)


def test_a_text_that_is_kept_again_counts_once_and_leaves_in_its_time(client: Redis) -> None:
    keep(client, "a", "1234")
    keep(client, "a", "123", now=NOW + 1_000_000)
    assert (client.hgetall("texts"), client.get("bytes")) == ({b"a": b"123"}, b"3")
    keep(client, "b", "1", now=NOW + 5_999_000)
    assert client.hlen("texts") == 2
    keep(client, "b", "1", now=NOW + 6_000_000)
    assert (client.hgetall("texts"), client.get("bytes"), client.zrange("times", 0, -1)) == ({b"b": b"1"}, b"1", [b"b"])
    for key in TEXTS[:3]:
        assert 0 < client.pttl(key) <= 5_000


def test_nothing_is_kept_for_a_run_that_is_gone(client: Redis) -> None:
    assert keep(client, "a", "1", guarded=True) == 0
    client.set("incarnation", "other")
    assert keep(client, "a", "1", guarded=True) == 0
    assert client.exists("texts", "times", "bytes") == 0
    client.set("incarnation", "abc")
    assert keep(client, "a", "1", guarded=True) == 1
    assert client.pttl("incarnation") == -1
