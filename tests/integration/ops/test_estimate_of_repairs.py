"""An estimate made after a run whose answers needed repairs includes all attempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate import Settings, TickLoop
from cogitate.ops.estimate.demand import demand_of
from cogitate.ops.estimate.estimates import estimate
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.simulation.town.town import Town
from cogitate.tasks.registry import kinds
from tests.live_redis import empty_redis

AGENTS, DAY = 6, 1_440


def test_the_next_estimate_includes_repairs_and_retries(tmp_path: Path) -> None:
    client, town = empty_redis(), Town(AGENTS, start_minute=0)
    with FakeEndpoint(faults={"not_json": 0.5}) as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path,
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            limits={},
            limit_tokens=50_000_000,
            retry_share=0.5,
            reflection_interval=480,
            throttle_auto=False,
            repair_from=1440,
            rate_share=0.0,
        )
        with TickLoop(
            run="town-1",
            owners=town.owners(),
            settings=settings,
            locations=town.locations,
            brief=town.brief,
            ticks=DAY,
            inline=True,
            client=client,
        ) as loop:
            drive(loop, town)
        served = endpoint.stats()
    found = estimate(settings, kinds(), demand_of(client, settings), agents=AGENTS, days=1)
    calls, tokens = found.total("calls").likely, found.total("tokens").likely
    assert served.requests > 1.2 * found.total("jobs").likely, "many answers needed a repair"
    assert calls == pytest.approx(served.requests, rel=0.15)
    assert tokens == pytest.approx(served.prompt_tokens + served.completion_tokens, rel=0.15)
