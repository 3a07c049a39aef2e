"""The limit of a real day: any number of workers keep it over all runs, and to a run it is only a failed call."""

from __future__ import annotations

import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.formatting.budget import real_day_json, real_day_line
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.keys import real_day_key
from cogitate.scheduler.ledger.real_day import UNLIMITED, Held, RealDay, utc_date
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_redis import empty_redis

LIMIT = 10_000


def test_no_number_of_workers_exceeds_the_limit_of_a_real_day(valkey: EmbeddedServer) -> None:
    settings = Settings(real_day_tokens=LIMIT, real_day_usd=0.02)

    def work(seed: int) -> tuple[int, int]:
        chance = Random(seed)
        spent = refused = 0
        with valkey.client() as client:
            day = RealDay(client, settings, lambda: "2026-03-01")
            for _ in range(40):
                most = Cost(calls=1, tokens=chance.randint(50, 300), usd_micros=chance.randint(50, 300))
                held = day.reserve(most)
                if not isinstance(held, Held):
                    refused += 1
                    continue
                seen = day.spending()
                assert seen.reserved.tokens + seen.spent.tokens <= LIMIT
                assert seen.reserved.usd_micros + seen.spent.usd_micros <= 20_000
                used = Cost(calls=1, tokens=chance.randint(0, most.tokens), usd_micros=most.usd_micros)
                day.settle(held, used)
                spent += used.tokens
        return spent, refused

    with ThreadPoolExecutor(8) as pool:
        done = [*pool.map(work, range(8))]
    with valkey.client() as client:
        day = RealDay(client, settings, lambda: "2026-03-01").spending()
    assert (day.spent.tokens, day.refused) == (sum(s for s, _ in done), sum(r for _, r in done))
    assert day.reserved == Cost()
    assert day.refused > 0


def test_repeated_steps_count_once() -> None:
    client = empty_redis()
    day = RealDay(client, Settings(real_day_tokens=LIMIT), lambda: "2026-03-01")
    held = day.reserve(Cost(tokens=400))
    assert isinstance(held, Held)
    assert day._call(held, "reserve", Cost(tokens=400), LIMIT, "", 60) == "reserved"
    assert day.spending().reserved.tokens == 400
    day.settle(held, Cost(tokens=500))
    day.settle(held, Cost(tokens=500))
    seen = day.spending()
    assert (seen.reserved.tokens, seen.spent.tokens, seen.overrun.tokens) == (0, 500, 100)
    assert re.findall(r"[\d,]+ tokens", real_day_line(seen)) == ["500 tokens", "10,000 tokens", "100 tokens"]
    assert real_day_json(seen)["spent"] == {"calls": 0, "tokens": 500, "usd_micros": 0}


def test_a_new_day_has_its_own_limit_and_a_call_counts_on_the_day_it_began() -> None:
    client, dates = empty_redis(), ["2026-03-01"]
    day = RealDay(client, Settings(real_day_tokens=100), lambda: dates[-1])
    late = day.reserve(Cost(tokens=90))
    with capture_logs() as logs:
        assert [day.reserve(Cost(tokens=11)), day.reserve(Cost(tokens=90))] == ["real_day_spent"] * 2
    assert [entry["event"] for entry in logs] == ["real_day.spent"]
    dates.append("2026-03-02")
    assert isinstance(late, Held)
    day.settle(late, Cost(tokens=90))
    assert day.spending().spent == Cost()
    assert isinstance(day.reserve(Cost(tokens=100)), Held)
    assert 0 < int(client.ttl(real_day_key("2026-03-01"))) <= 40 * 86_400


def test_without_a_limit_nothing_is_queried_and_without_a_server_calls_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = empty_redis()
    assert RealDay(client, Settings()).reserve(Cost(tokens=10**9)) == UNLIMITED
    assert client.keys() == []
    day = RealDay(client, Settings(real_day_usd=1.0))

    def away(*args: object, **kwargs: object) -> None:
        raise RedisConnectionError("away")

    monkeypatch.setattr(day, "_script", away)
    assert day.reserve(Cost(usd_micros=1)) == "real_day_away"
    day.settle(Held("2026-03-01", "token"), Cost())


def thoughts(tmp_path: Path, client: Redis, run: str, url: str) -> Counter[tuple[str, str]]:
    """Run three agents that plan and reflect, and count the ends of jobs by (source, failure)."""
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        base_url=url,
        api_key="any",
        limit_tokens=1_000_000,
        limits={},
        real_day_tokens=4_000,
        act_interval=0,
        rate_share=0.0,
        repair_from=1440,
    )
    owners = {f"agent:{name}": Profile(name=name.title()) for name in ("ann", "bob", "eve")}
    with TickLoop(
        run=run, owners=owners, settings=settings, ticks=12, start_minute=900, inline=True, client=client
    ) as loop:
        for tick in loop:
            if tick.number == 1:
                for owner in owners:
                    loop.request("reflect", owner)
    lines = read_journal(RunStore.open(client, run), 1, loop.tick)
    notes = [note for line in lines for note in line.notes.ended if note.model]
    return Counter((note.source, note.failure) for note in notes)


def test_runs_share_the_limit_of_a_real_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cogitate.scheduler.ledger.real_day.utc_date", lambda: "2026-03-01"
    )  # so that midnight during the test does not matter
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        first = thoughts(tmp_path, client, "first", endpoint.url)
        second = thoughts(tmp_path, client, "second", endpoint.url)
        calls = endpoint.stats().requests
    spending = RealDay(client, Settings(real_day_tokens=4_000)).spending()
    assert first["llm", ""] >= 1
    both = first + second
    refused = both["heuristic", "real_day_spent"]
    assert both == Counter({("llm", ""): 12 - refused, ("heuristic", "real_day_spent"): refused})
    assert second["heuristic", "real_day_spent"] >= 1
    assert spending.refused == refused
    assert 12 - refused <= calls <= 2 * (12 - refused), "an unusable answer costs one more call"
    assert 0 < spending.spent.tokens <= 4_000


@pytest.mark.parametrize("limit", [{"real_day_tokens": 4_000}, {"real_day_usd": 1.0}])
def test_an_in_memory_run_with_a_real_day_limit_is_refused(tmp_path: Path, limit: dict[str, float]) -> None:
    def opened(**more: Any) -> int:
        with FakeEndpoint() as endpoint:
            settings = Settings.tuned(
                data_dir=tmp_path,
                base_url=endpoint.url,
                api_key="any",
                input_price=0,
                output_price=0,
                limit_tokens=100_000,
                **limit,
                **{"llm": "openai"} | more,
            )
            with TickLoop(run="town", owners={"agent:a": Profile(name="A")}, settings=settings, inline=True):
                return endpoint.stats().requests

    with pytest.raises(ConfigurationError, match=rf"{next(iter(limit))} would limit each run alone.*client="):
        opened()
    assert opened(llm="heuristic") == 0, "a run by heuristics calls no model"


def _date_in_utc() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


@pytest.mark.parametrize("zone", ["EAST-14", "WEST+12"])
def test_the_date_is_that_of_utc_wherever_a_worker_runs(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Use two zones, one of which has another date than UTC at any time."""
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", zone)
            time.tzset()
            before, said, after = _date_in_utc(), utc_date(), _date_in_utc()
    finally:
        time.tzset()
    assert said in (before, after)


def test_a_day_may_be_spent_to_the_last_token_and_dollar() -> None:
    for settings in (Settings(real_day_tokens=100), Settings(real_day_usd=0.0001)):
        day = RealDay(empty_redis(), settings, lambda: "2026-03-01")
        most = Cost(tokens=60, usd_micros=60)
        first = day.reserve(most)
        assert isinstance(first, Held)
        assert day.reserve(Cost(tokens=41, usd_micros=41)) == "real_day_spent"
        day.settle(first, Cost(tokens=59, usd_micros=59))
        assert isinstance(day.reserve(Cost(tokens=41, usd_micros=41)), Held)
        seen = day.spending()
        assert (seen.refused, seen.reserved.tokens, seen.spent.usd_micros, seen.overrun) == (1, 41, 59, Cost())
        assert seen.limited


def test_a_real_days_account_is_kept_for_forty_days_after_its_last_call() -> None:
    client = empty_redis()
    day = RealDay(client, Settings(real_day_tokens=100), lambda: "2026-03-01")
    for tokens in (101, 100):
        day.reserve(Cost(tokens=tokens))
        assert client.ttl(real_day_key("2026-03-01")) in (40 * 86_400 - 1, 40 * 86_400)
        client.expire(real_day_key("2026-03-01"), 9)
    day.settle(Held("2026-03-01", "never taken"), Cost(tokens=5))
    assert day.spending().spent == Cost(), "an unknown reservation is not settled"
