"""`cogitate doctor` reports endpoints that only runs with other settings call."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.hosting.finding import Finding
from cogitate.ops.doctor.endpoints import examine_endpoints
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.ledger.keys import ENDPOINTS, endpoint_keys


def found(gate: dict[Any, Any], counters: dict[str, int]) -> list[Finding]:
    client: FakeRedis = FakeRedis()
    client.sadd(ENDPOINTS, "theirs")
    keys = endpoint_keys("theirs")
    client.hset(keys[0], mapping={"usual": "1000000", **gate})
    client.hset(keys[2], mapping=counters)
    return [*examine_endpoints(PinnedSettings(), client)]


def test_without_an_endpoint_no_finding_is_made() -> None:
    (only,) = examine_endpoints(PinnedSettings(), FakeRedis())
    assert (only.what, only.grade) == ("endpoints", "ok")


@pytest.mark.parametrize(
    ("gate", "failures", "grade"),
    [
        ({}, 0, "ok"),
        ({}, 4, "ok"),
        ({}, 5, "warning"),
        ({"state": "open", "why": "server"}, 0, "warning"),
        ({"aside:m": "9 auth 1 1"}, 0, "warning"),
    ],
)
def test_experience_of_other_runs_is_shown(gate: dict[Any, Any], failures: int, grade: str) -> None:
    _, theirs = found(gate, {"calls": 20, "failures:server": failures})
    assert (theirs.what, theirs.grade) == ("endpoint theirs", grade)
    assert f"{failures} of 20 calls failed" in theirs.found
    assert bool(theirs.advice) == (grade == "warning")
