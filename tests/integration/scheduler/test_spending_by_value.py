"""A run that spends by value makes its limit last, and decides the same after a resume and in a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.budget.call_value import read_values, value_lines
from cogitate.scheduler.budget.value_round import LOW_VALUE
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from tests.live_redis import empty_redis

TICKS = 143  # of ten minutes: a day
CALLS = 12
OWNERS = {f"agent:{name}": Profile(name=name.title()) for name in ("ada", "ben", "eve")}


def live(folder: Path, url: str, client: Redis, spending: Literal["fair", "value"], *, until: int = TICKS) -> TickLoop:
    """Run or resume a day up to a tick, with owners that reflect each hour on what they observed."""
    settings = PinnedSettings.tuned(
        data_dir=folder,
        llm="openai",
        base_url=url,
        api_key="any",
        limit_tokens=10**9,
        limits={"day.run.jobs": CALLS},
        guarantees={},
        spending=spending,
        retry_share=0.0,
        seconds_per_tick=600,
    )
    with TickLoop(
        run="day", owners=OWNERS, settings=settings, ticks=TICKS, inline=True, client=client, exist="resume"
    ) as loop:
        for tick in loop:
            for number, owner in enumerate(OWNERS):
                importance = 1 + (7 * tick.number + 3 * number) % 9
                seen = f"Wagon {tick.number * 3 + number} came through the north gate."
                loop.observe(owner, Entry(type="observation", text=seen, minute=tick.minute, importance=importance))
                if tick.number % 6 == 0:
                    loop.request("reflect", owner)
            loop.checkpoint(b"")
            if tick.number == until:
                break
    return loop


def calls_by_hour(loop: TickLoop) -> list[int]:
    """Return the game hours of the calls that were admitted, in order."""
    return [
        line.core.minute % DAY // 60
        for line in read_journal(loop.ledger.store, 1, loop.tick)
        for one in line.core.decided
        if one.decision == "admitted" and one.model
    ]


def test_a_days_limit_lasts_and_a_resumed_run_decides_the_same(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        fair = live(tmp_path, endpoint.url, redis_in_memory(), "fair")
        whole = live(tmp_path, endpoint.url, redis_in_memory(), "value")
        client = redis_in_memory()
        live(tmp_path, endpoint.url, client, "value", until=TICKS // 2)
        resumed = live(tmp_path, endpoint.url, client, "value")
    assert len(calls_by_hour(fair)) == CALLS
    assert max(calls_by_hour(fair)) < 8, "first come, first served"
    assert len(calls_by_hour(whole)) > CALLS // 2
    assert max(calls_by_hour(whole)) > 16, "budget is left for the evening"
    lines = read_journal(whole.ledger.store, 1, whole.tick)
    assert any(one.refused == LOW_VALUE for line in lines for one in line.core.decided)
    assert (resumed.digest, read_values(resumed.ledger.store)) == (whole.digest, read_values(whole.ledger.store))
    assert value_lines(read_values(whole.ledger.store))[-1].startswith("models changed ")
    for loop in (whole, resumed):
        assert audit(loop.ledger.client, "day") == []
        assert replay(loop.ledger.client, "day", empty_redis()).digest == loop.digest
