"""A warning before the first tick names a model that its endpoint does not list; a silent endpoint causes none."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from cogitate.ops.doctor.endpoints import warn_of_missing_models
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings


def warned(url: str, **more: Any) -> list[Any]:
    endpoints = {"here": {"base_url": url, "api_key": "any"}}
    models = {name: {"endpoint": "here", "model": name} for name in ("stand-in", "huge")}
    given = {"llm": "openai", "endpoints": endpoints, "models": models, "tiers": {"routine": "stand-in"}} | more
    with capture_logs() as logs:
        warn_of_missing_models(Settings.tuned(**given))
    return [entry for entry in logs if entry["event"] == "model.missing"]


def test_an_unlisted_model_is_named_with_some_listed_ones() -> None:
    with FakeEndpoint() as endpoint:
        assert warned(endpoint.url) == []
        (told,) = warned(endpoint.url, tiers={"routine": "stand-in", "strong": "huge"})
        assert (told["model"], told["endpoint"], told["asked"]) == ("huge", "here", "huge")
        assert "stand-in" in told["offers"]
        assert len(warned(endpoint.url, failover=["huge"])) == 1
        assert warned(endpoint.url, llm="heuristic", failover=["huge"]) == []


def test_an_endpoint_without_a_list_of_models_delays_no_run() -> None:
    with FakeEndpoint() as endpoint:
        url = endpoint.url
    assert warned(url, tiers={"routine": "huge"}) == []
