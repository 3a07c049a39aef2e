"""The gate's script for probes of an open breaker, on a frozen clock."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from tests.integration.workers.gate_script_case import NOW, gate, given, ran


def begin(client: Redis, *, pace: int = 0, waited: int = 0) -> list[Any]:
    return ran(client, "probe", ["begin", "t", 900, pace, waited])  # type: ignore[no-any-return]


def test_an_endpoint_is_probed_only_while_its_breaker_is_open(client: Redis) -> None:
    assert begin(client) == ["done"]
    given(client, state="open", why="http", hold=NOW + 1)
    assert begin(client) == ["done"]
    given(client, hold=NOW)
    assert begin(client) == ["go"]
    assert gate(client) == {
        "state": "open",
        "why": "http",
        "hold": str(NOW),
        "probe": "t",
        "probe_until": str(NOW + 900),
    }
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
def test_one_caller_probes_at_a_time_and_its_failure_counts_for_all(
    client: Redis, fields: dict[str, Any], waited: int, answer: list[Any]
) -> None:
    given(client, state="open", **fields)
    assert begin(client, waited=waited) == answer


def test_a_probe_respects_the_pace(client: Redis) -> None:
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
        ({}, "refused", ["open", "unauthorized"], {"probe": "", "why": "unauthorized"}),
        ({"why": "quota_exhausted"}, "fine", ["tries"], {"why": "quota_exhausted", "probe": "", "probe_at": str(NOW)}),
        (
            {},
            "fine",
            ["closed", 42],
            {"state": "", "since": str(NOW), "why": "", "probe": "", "openings": "0", "latest": "", "streak": "2"},
        ),
    ],
)
def test_the_outcome_of_a_probe_is_stored(
    client: Redis, fields: dict[str, Any], verdict: str, answer: list[Any], became: dict[str, str]
) -> None:
    given(client, **({"state": "open", "why": "http", "probe": "t", "since": NOW - 42, "openings": 3} | fields))
    before = gate(client)
    assert ran(client, "probe", ["end", "t", verdict, "unauthorized", 3]) == answer
    assert gate(client) == before | became
