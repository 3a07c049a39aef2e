"""`cogitate doctor` reports endpoints that only runs with other settings call."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.hosting.finding import Finding
from cogitate.ops.doctor import endpoints
from cogitate.ops.doctor.endpoints import examine_endpoints, learned_headrooms
from cogitate.scheduler.config.endpoints import ModelSettings
from cogitate.scheduler.config.facts import SCHEMA, keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.vitals import RunHead
from cogitate.scheduler.ledger.keys import ENDPOINTS, RUNS, endpoint_keys, incarnation_key, run_prefix


def found(gate: dict[Any, Any], counters: dict[str, int]) -> list[Finding]:
    client: FakeRedis = FakeRedis()
    client.sadd(ENDPOINTS, "theirs")
    keys = endpoint_keys("theirs")
    client.hset(keys[0], mapping={"usual": "1000000", **gate})
    client.hset(keys[2], mapping=counters)
    return [*examine_endpoints(PinnedSettings(), client)]


def test_the_most_headroom_that_runs_learned_is_named_until_the_model_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client: FakeRedis = FakeRedis()
    for run, learned in (("one", b'{"default":900}'), ("other", b'{"default":1800}'), ("third", None)):
        client.sadd(RUNS, run)
        client.set(incarnation_key(run), "n")
        client.hset(
            f"{run_prefix(run, 'n')}state", mapping={"schema": SCHEMA, **({"headrooms": learned} if learned else {})}
        )
    assert learned_headrooms(client) == {"default": 1800}
    _, ours = examine_endpoints(PinnedSettings(), client)
    assert (ours.what, ours.grade) == ("model default", "warning")
    assert "1,800 tokens" in ours.found
    monkeypatch.setattr(endpoints, "offered_models", lambda *_: frozenset())
    for headroom, grades in ((0, ["ok", "ok", "warning"]), (1800, ["ok", "ok"])):
        model = ModelSettings(model="m", headroom=headroom, input_price=0, output_price=0)
        settings = PinnedSettings(
            llm="openai", limit_tokens=9_000, base_url="http://localhost:1/v1", models={"default": model}
        )
        assert [one.grade for one in examine_endpoints(settings, client)] == grades


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


def test_a_model_that_llm_leaves_unused_is_named_with_the_variable_to_set() -> None:
    settings = PinnedSettings(base_url="http://localhost:1/v1", model="m")
    (only,) = examine_endpoints(settings, FakeRedis())
    assert (only.what, only.grade) == ("endpoints", "warning")
    assert only.found == "llm is heuristic, so base_url, model have no effect"
    assert "COGITATE_LLM=openai" in only.advice


@pytest.mark.parametrize(
    ("held", "state", "grades"),
    [
        (True, "open", ["warning", "failed"]),
        (True, "", ["warning", "ok"]),
        (False, "open", ["ok", "warning"]),
    ],
)
def test_a_hosted_run_that_asks_an_endpoint_of_other_settings_is_named(
    monkeypatch: pytest.MonkeyPatch, held: bool, state: str, grades: list[str]
) -> None:
    client: FakeRedis = FakeRedis()
    asks = PinnedSettings(llm="openai", limit_tokens=9_000, model="m")
    client.set(incarnation_key("town"), "n")
    client.hset(f"{run_prefix('town', 'n')}state", mapping={"schema": SCHEMA, "settings": keep_settings(asks)})
    monkeypatch.setattr(endpoints, "run_heads", lambda _: [RunHead("town", "running", held)])
    client.sadd(ENDPOINTS, "default")
    client.hset(endpoint_keys("default")[0], mapping={"state": state, "why": "connection"})
    first, theirs = examine_endpoints(PinnedSettings(), client)
    assert [first.grade, theirs.grade] == grades
    assert first.what == ("run town" if held else "endpoints")
    assert ("COGITATE_BASE_URL" in first.advice) is held
