"""A dollar limit of a run: without a price the run is refused before any call, with one the limit is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.formatting.run import price_lines
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.ledger.run_store import run_names
from tests.live_redis import empty_redis

OWNERS = {f"agent:a{number}": Profile(name=f"A{number}") for number in range(12)}
PRICES = {"input_price": 150_000, "output_price": 600_000}


def lived(tmp_path: Path, client: Redis, endpoint: FakeEndpoint, **given: Any) -> RunSummary:
    """Run a morning in which twelve agents plan, and return its summary."""
    usual: dict[str, Any] = {
        "data_dir": tmp_path,
        "llm": "openai",
        "base_url": endpoint.url,
        "api_key": "any",
        "model": "m",
        "limits": {},
        "act_interval": 0,
        "rate_share": 0.0,
        "repair_from": 1440,
        "guarantees": {},
    }
    with TickLoop(
        run="town",
        owners=OWNERS,
        settings=Settings.tuned(**usual | given),
        ticks=10,
        start_minute=500,
        inline=True,
        client=client,
    ) as loop:
        for _ in loop:
            pass
    return summarise_run(client, "town")


@pytest.mark.parametrize("given", [{}, {"model": "llama3.1"}, {"models": {"default": {"seed": 3}}}, {"input_price": 1}])
def test_a_dollar_limit_without_a_price_is_refused_before_a_run_is_made(tmp_path: Path, given: dict[str, Any]) -> None:
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        with pytest.raises(ConfigurationError, match="COGITATE_OUTPUT_PRICE for '"):
            lived(tmp_path, client, endpoint, limit_usd=0.0005, **given)
        assert endpoint.stats().requests == 0
    assert run_names(client) == []


@pytest.mark.parametrize("given", [{}, {"models": {"default": {"seed": 3}}}])
def test_a_dollar_limit_with_a_price_admits_only_calls_that_fit(tmp_path: Path, given: dict[str, Any]) -> None:
    limit = 4_000  # micro-dollars
    with FakeEndpoint() as endpoint:
        found = lived(tmp_path, empty_redis(), endpoint, limit_usd=limit / 1e6, **PRICES, **given)
        served = endpoint.stats()
    charged = served.prompt_tokens * PRICES["input_price"] + served.completion_tokens * PRICES["output_price"]
    assert 0 < charged <= found.spent.usd_micros * 1_000_000 <= limit * 1_000_000
    assert 0 < served.requests < len(OWNERS)
    assert [(price.origin, price.input, price.output) for price in found.prices] == [("stated", 150_000, 600_000)]
    assert found.unpriced == ()


def test_the_cost_of_a_model_without_a_price_is_unknown(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        found = lived(tmp_path, empty_redis(), endpoint, limit_tokens=100_000)
    assert found.spent.tokens > 0
    assert found.unpriced == ("m",)
    assert ["unknown" in line for line in price_lines(found.prices)] == [True]


def test_a_worker_with_a_dollar_limit_calls_no_model_without_a_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is hosted as by a host that has no such limit."""
    monkeypatch.setattr("cogitate.hosting.tick_loop.check_prices", lambda settings: None)
    monkeypatch.setattr("cogitate.hosting.opening.check_prices", lambda settings: None)
    with FakeEndpoint() as endpoint:
        found = lived(tmp_path, empty_redis(), endpoint, limit_tokens=100_000, real_day_usd=1.0)
        assert endpoint.stats().requests == 0
    assert {line.failure for line in found.shortfalls} == {"real_day_unpriced"}
