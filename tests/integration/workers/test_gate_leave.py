"""The gate's script `leave` on a frozen clock: its answers and its writes."""

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
    assert gate(client) == {"usual": "1000", "fastest": "1000", "streak": "0", "latest": "0", "answered:m": "1"}
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
def test_the_duration_of_a_call_is_learned_from_answers(
    client: Redis, changed: dict[str, Any], usual: str, fastest: str
) -> None:
    given(client, usual=1_000, fastest=900)
    leave(client, **changed)
    assert (gate(client)["usual"], gate(client)["fastest"]) == (usual, fastest)
    assert "requests.slack" not in gate(client)


def test_excess_tokens_are_given_back(client: Redis) -> None:
    given(client, tokens__drift=100, tokens__free=1_000)
    leave(client, give_back=300)
    assert (gate(client)["tokens.drift"], gate(client)["tokens.free"]) == ("-200", "700")
    leave(client, give_back=-50)
    assert (gate(client)["tokens.drift"], gate(client)["tokens.free"]) == ("-150", "750")


@pytest.mark.parametrize(
    ("changed", "slack", "became", "extra"),
    [
        ({"took": 1_800}, None, "20", "500"),  # initially at most half a pace
        ({"took": 1_800, "ahead": 600}, None, "320", "200"),
        ({"took": 1_000}, None, "520", "0"),
        ({"took": 900}, None, "520", "0"),
        ({"took": 1_000}, 990, "1000", "0"),  # the slack is at most a pace
        ({"took": 9_000}, 100, "20", "100"),
        ({"took": 1_800, "first": 1}, None, "0", "1000"),  # a whole pace, whatever the slack
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
def test_a_timeout_after_too_short_a_time_does_not_count_against_the_endpoint(
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
    leave(client, retry_after=7_000, verdict="silent", failure="rate_limited")
    assert (gate(client)["hold"], gate(client)["hold:m"]) == (str(NOW + 5_000), str(NOW + 7_000)), "only its model"


def refuse(client: Redis, **changed: Any) -> list[Any]:
    given(client, usual=0)
    return leave(client, **({"verdict": "refused", "failure": "forbidden"} | changed))


def test_a_refused_prompt_does_not_count_against_its_model(client: Redis) -> None:
    for _ in range(9):
        assert refuse(client, prompt="flagged") == [""]
    assert refuse(client, prompt="other") == [""]
    leave(client)
    assert not {"refused:m", "aside:m", "state"} & gate(client).keys()
    for prompt in ("a", "b"):
        assert refuse(client, prompt=prompt) == [""]


def test_a_model_that_refuses_different_prompts_is_set_aside_until_it_answers(client: Redis) -> None:
    for prompt in ("a", "b"):
        assert refuse(client, prompt=prompt) == [""]
    assert refuse(client, prompt="c") == ["aside", "forbidden", SECOND, "1"]
    assert refuse(client, prompt="d") == [""], "a call that left before"
    assert gate(client)["aside:m"] == f"{NOW + SECOND} forbidden 1 {NOW}"
    assert refuse(client, prompt="e", tried_aside=1) == ["aside", "forbidden", 2 * SECOND, "0"]
    leave(client, model="other")
    assert "aside:m" in gate(client)
    leave(client, tried_aside=1)
    assert not {"aside:m", "refused:m"} & gate(client).keys()


def test_a_key_is_at_fault_if_two_models_are_refused_and_none_answers(client: Redis) -> None:
    def three(model: str) -> list[Any]:
        return [refuse(client, model=model, prompt=prompt) for prompt in ("a", "b", "c")][-1]

    assert three("strong")[0] == "aside"
    leave(client, model="routine")
    assert three("third")[0] == "aside"
    assert three("routine") == ["opened", "forbidden", SECOND]
    assert (gate(client)["state"], gate(client)["lasting"]) == ("open", "1")


def test_a_model_that_fails_while_another_succeeds_is_set_aside(client: Redis) -> None:
    for number in range(1, 4):
        leave(client, model="routine")
        answer = leave(client, model="strong", verdict="failing", failure="server")
        assert answer == (["aside", "server", SECOND, "1"] if number == 3 else [""])
    assert "state" not in gate(client)
    assert "aside:routine" not in gate(client)


def test_refusals_that_precede_the_first_answers_are_no_evidence(client: Redis) -> None:
    for prompt in "abcd":
        assert leave(client, verdict="refused", failure="forbidden", prompt=prompt) == [""]
    given(client, **{"refused:m": f"{NOW - 5 * SECOND} a b c"})
    assert leave(client, verdict="refused", failure="forbidden", prompt="e")[0] == "aside"


def limited(client: Redis, **changed: Any) -> list[Any]:
    return leave(client, **({"verdict": "limited", "failure": "rate_limited"} | changed))


def test_an_overloaded_endpoint_is_tried_after_growing_pauses_and_regains_its_speed(
    client: Redis,
) -> None:
    given(client, usual=80_000, **{"room:m": 8})
    client.zadd(f"{KEYS[1]}:m", {str(number): NOW + SECOND for number in range(8)})
    limited(client, token="1", failure="overloaded")
    for number, pause in ((2, 80_000), (3, 80_000), (4, 640_000), (5, 1_280_000)):
        limited(client, token=str(number), failure="overloaded", left=NOW)
        assert int(gate(client)["hold:m"]) - NOW == pause
    assert (gate(client)["room:m"], gate(client)["good:m"], gate(client)["pace:m"]) == ("1", "6", "0")
    for room in ("2", "3"):
        client.zadd(f"{KEYS[1]}:m", {str(number): NOW + SECOND for number in range(3)})
        leave(client, token="1")
        assert gate(client)["room:m"] == room


def test_a_limit_without_a_hint_is_learned_from_the_first_calls_that_meet_it(client: Redis) -> None:
    given(client, usual=80_000)
    limited(client)
    first = gate(client)
    assert (first["room:m"], first["hold:m"], first["streak"]) == ("2", str(NOW + 80_000), "1")
    for _ in range(20):  # these calls left before the limit was met
        assert limited(client, left=NOW - 1) == [""]
    assert gate(client)["streak"] == "1"
    assert gate(client)["room:m"] == "2"
    given(client, **{"room:m": 8})
    client.zadd(f"{KEYS[1]}:m", {str(number): NOW + SECOND for number in range(8)})
    leave(client, token="1")
    assert gate(client)["room:m"] == "9", "quickly, up to the number that was refused"
    limited(client, token="2")
    assert gate(client)["room:m"] == "5"
    given(client, **{"room:m": 1, "good:m": "", "cuts:m": 0, "usual": 80_000})
    limited(client)
    assert gate(client)["pace:m"] == "80000"
    limited(client)
    assert gate(client)["pace:m"] == "160000"
    leave(client)
    assert float(gate(client)["pace:m"]) < 160_000


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
    ],
)
def test_consecutive_failures_or_a_share_of_the_latest_open_the_breaker(
    client: Redis, streak: int, latest: str, changed: dict[str, Any], opens: bool, became: tuple[str, str]
) -> None:
    given(client, streak=streak, latest=latest)
    answer = leave(client, **({"verdict": "failing", "failure": "http"} | changed))
    pause = SECOND
    found = gate(client)
    assert (found["streak"], found["latest"]) == became
    assert answer == (["opened", "http", pause] if opens else [""])
    if opens:
        assert {name: found[name] for name in found.keys() - {"streak", "latest", "usual", "fastest", "streak:m"}} == {
            "state": "open",
            "why": "http",
            "probe": "",
            "probe_at": str(NOW + pause),
            "openings": "1",
            "lasting": "0",
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
        (1, {"verdict": "refused"}, 2 * SECOND),
        (1, {"verdict": "silent", "failure": "timeout"}, 2 * SECOND),
        (1, {"failure": ""}, 2 * SECOND),
    ],
)
def test_a_failed_probe_opens_the_breaker_for_twice_as_long(
    client: Redis, openings: int, changed: dict[str, Any], pause: int
) -> None:
    given(client, state="open", why="before", probe="t", openings=openings, since=7, streak=5, latest="1")
    failure = {"verdict": "failing", "failure": "http"} | changed
    why = failure["failure"] or "before"
    assert leave(client, **failure) == ["opened", why, pause]
    lasting = str(int(failure["verdict"] == "refused"))
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


def test_a_probe_without_time_to_call_leaves_the_probe_to_the_next_call(client: Redis) -> None:
    given(client, state="open", why="http", probe="t", probe_at=NOW, openings=3, since=7, streak=5, latest="1", usual=9)
    before = gate(client)
    assert leave(client, verdict="silent", failure="no_time", took=SECOND) == [""]
    assert gate(client) == before | {"probe": ""}


@pytest.mark.parametrize("changed", [{}, {"verdict": "silent", "failure": "rate_limited"}])
def test_an_answered_probe_closes_the_breaker(client: Redis, changed: dict[str, Any]) -> None:
    given(client, state="open", why="http", probe="t", openings=3, since=NOW - 42, streak=5, latest="11")
    assert leave(client, **changed) == ["closed", 42]
    found = gate(client)
    for name, value in {"state": "", "why": "", "probe": "", "streak": "0", "latest": "", "openings": "0"}.items():
        assert found[name] == value, name
    assert found["since"] == str(NOW)


@pytest.mark.parametrize(("token", "probe"), [("t", "u"), ("", ""), ("t", "")])
def test_calls_that_left_before_the_breaker_opened_change_nothing(client: Redis, token: str, probe: str) -> None:
    given(client, state="open", why="http", probe=probe, openings=3, since=7, streak=5, latest="11")
    before = gate(client)
    for verdict in ("failing", "refused", "fine"):
        assert leave(client, token=token, verdict=verdict, failure="http") == [""]
    assert gate(client) == before


def test_a_limit_is_the_accounts_once_two_models_meet_it_and_none_answers(client: Redis) -> None:
    limited = {"verdict": "silent", "failure": "rate_limited", "retry_after": SECOND}
    assert leave(client, model="one", **limited) == [""]
    assert leave(client, model="one", **limited) == [""]
    assert leave(client, model="two", **limited) == ["limited"]
    assert leave(client, model="three", **limited) == [""], "it is reported once"
    leave(client, model="three")
    assert leave(client, model="one", **limited) == [""], "another model has answered in between"
    leave(client, model="two")
    assert leave(client, model="two", **limited) == [""]
