"""A town with real workers whose endpoint, a real HTTP server, misbehaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redis import Redis

from bench.worker import trouble
from cogitate.ops.fake_llm.completions import FakeResponse, complete, error
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.lines import EndNote
from cogitate.workers.processes.embedded import EmbeddedServer

TIERS = {"routine": "default", "strong": "strong"}


def live(tmp_path: Path, server: EmbeddedServer, url: str, **changed: Any) -> list[EndNote]:
    return trouble.run(tmp_path, url, agents=6, redis_url=server.url, **{"ticks": 300, **changed})


def without_model(ends: list[EndNote]) -> list[str]:
    """Return the failure of each job that no model answered."""
    return [end.failure for end in ends if end.source == "heuristic"]


def test_a_flagged_prompt_fails_only_its_own_job(tmp_path: Path, valkey: EmbeddedServer, client: Redis) -> None:
    with FakeEndpoint(rule=trouble.flagged) as endpoint:
        ends = live(tmp_path, valkey, endpoint.url)
    assert set(without_model(ends)) == {"forbidden"}
    assert len(without_model(ends)) < len(ends) / 4
    (vitals,) = endpoint_vitals(client)
    assert (vitals.breaker, vitals.set_aside, vitals.openings) == ("closed", {}, 0)


def test_a_forbidden_model_is_set_aside_and_the_other_answers_every_job(
    tmp_path: Path, valkey: EmbeddedServer, client: Redis
) -> None:
    with FakeEndpoint(rule=trouble.strong_refused, latency=0.1) as endpoint:
        ends = live(tmp_path, valkey, endpoint.url, tiers=TIERS)
    assert without_model(ends) == []
    (vitals,) = endpoint_vitals(client)
    assert (vitals.breaker, vitals.set_aside) == ("closed", {"strong": "forbidden"})
    assert vitals.refused["breaker_open"] > 0, "jobs of the strong model went straight to the other model"


def test_a_quota_that_returns_is_used_again(tmp_path: Path, valkey: EmbeddedServer, client: Redis) -> None:
    left, refused = 12, 16

    def rule(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        nonlocal left
        left -= 1
        return error(429, "insufficient_quota", "No.") if -refused <= left < 0 else None

    with FakeEndpoint(rule=rule) as endpoint:
        ends = live(tmp_path, valkey, endpoint.url, breaker_pause=0.3, breaker_longest_pause=0.6, ticks=480)
    assert len(ends) > 2 * (12 + refused)
    assert without_model(ends) == ["quota_exhausted"] * refused, "other jobs wait for the probe"
    (vitals,) = endpoint_vitals(client)
    assert vitals.openings > 0
    assert (vitals.breaker, vitals.set_aside) == ("closed", {})


def test_jobs_admitted_before_an_inflated_usage_stop_at_the_limit(
    tmp_path: Path, valkey: EmbeddedServer, client: Redis
) -> None:
    limit, at_once = 100_000, 2
    most: list[int] = []

    def rule(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        body = json.loads(complete(request, 0, None).body)
        body["usage"] = {unit: 50 * count for unit, count in body["usage"].items()}
        most.append(body["usage"]["total_tokens"])
        return FakeResponse(status=200, body=json.dumps(body).encode())

    with FakeEndpoint(rule=rule) as endpoint:
        ends = live(tmp_path, valkey, endpoint.url, limit_tokens=limit, concurrency=at_once)
    spent = summarise_run(client, "town").spent.tokens
    assert limit < spent <= limit + at_once * max(most)
    assert "run:0 run tokens" in {end.empty for end in ends}
