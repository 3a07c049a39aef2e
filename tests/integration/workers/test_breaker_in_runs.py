"""A run whose endpoint fails and recovers: heuristics take over at once and at no cost, then models again.

Before its first tick, the next run probes an endpoint that an earlier run found unreachable, without calling a model.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.formatting.vitals import format_breaker
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes import readiness
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.patience import LONGEST
from tests.ports import free_ports

OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora", "Eve", "Finn")}


def think(tmp_path: Path, client: Redis, run: str, url: str, **settings: object) -> Counter[tuple[str, str, int]]:
    """Request a plan of every owner in one process, and count the ends by source, failure and number of calls."""
    kept = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        limit_tokens=10_000_000,
        limits={},
        breaker_failures=2,
        endpoints={"default": Endpoint(base_url=url, api_key="any")},
        **settings,
    )
    with TickLoop(run=run, owners=OWNERS, settings=kept, ticks=12, inline=True, client=client) as loop:
        for tick in loop:
            if tick.number == 1:
                for owner in OWNERS:
                    loop.request("plan", owner)
        assert audit(client, run) == []
        lines = read_journal(RunStore.open(client, run), 1, loop.tick)
    return Counter(
        (note.source, note.failure, note.usage.calls)
        for line in lines
        for end, note in zip(line.core.ended, line.notes.ended, strict=True)
        if end.key.kind == "plan"
    )


def test_heuristics_replace_a_failing_endpoint_until_it_recovers(tmp_path: Path, client: Redis) -> None:
    with FakeEndpoint(faults={"503": 1.0}) as down:
        ended = think(tmp_path, client, "first", down.url, breaker_pause=600.0, breaker_longest_pause=600.0)
        assert ended.total() == len(OWNERS)
        assert ended["heuristic", "breaker_open", 0] >= len(OWNERS) - 1
        assert down.stats().requests == 2, "two failures open the breaker, and no request follows"
    (found,) = endpoint_vitals(client)
    assert (found.breaker, found.why, found.failures) == ("open", "overloaded", {"overloaded": 2})
    assert format_breaker(found).startswith("open for ")
    assert found.refused["breaker_open"] >= len(OWNERS) - 1

    delete_run(client, "first")
    assert [one.endpoint for one in endpoint_vitals(client)] == ["default"], "an endpoint's state belongs to no run"
    with FakeEndpoint() as back:
        assert think(tmp_path, client, "second", back.url) == {("llm", "", 1): len(OWNERS)}
        assert back.stats().requests == len(OWNERS)
    (found,) = endpoint_vitals(client)
    assert (found.breaker, found.openings) == ("closed", 1)


def test_an_endpoint_that_only_lists_its_models_costs_the_next_run_one_call(tmp_path: Path, client: Redis) -> None:
    with FakeEndpoint(faults={"503": 1.0}) as down:
        for run in ("first", "second"):
            ended = think(tmp_path, client, run, down.url, breaker_pause=600.0, breaker_longest_pause=600.0)
            assert ended["heuristic", "breaker_open", 0] >= len(OWNERS) - 1
        assert down.stats().requests == 3, "two failures open the breaker; in the second run, one"


def test_a_later_run_uses_a_server_that_was_down_before(
    tmp_path: Path, valkey: EmbeddedServer, eventually: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use real workers and a real server process that is down in the first two runs and up in the third."""
    monkeypatch.setattr(readiness, "OWN", 120.0)
    port = free_ports()
    settings = Settings.tuned(
        data_dir=tmp_path,
        redis_url=valkey.url,
        workers=2,
        llm="openai",
        limit_tokens=10_000_000,
        limits={},
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key="any",
        breaker_failures=3,
        breaker_pause=600.0,
        breaker_longest_pause=600.0,
    )

    def live(run: str) -> Counter[tuple[str, str, str]]:
        with TickLoop(run=run, owners=OWNERS, settings=settings, ticks=12) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in OWNERS:
                        loop.request("plan", owner)
            return loop.ended

    for run in ("down", "still-down"):
        with capture_logs() as logs:
            assert live(run) == {("plan", "heuristic", "failed"): len(OWNERS)}
    said = [entry for entry in logs if entry["event"] == "endpoint.unreachable"]
    assert [(entry["endpoint"], entry["why"]) for entry in said] == [("default", "connection")]

    log = tmp_path / "fake-llm.log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "cogitate.ops", "fake-llm", "--port", str(port)]
        server = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path)
    try:
        eventually(lambda: "stats" in log.read_text(), "the fake endpoint to serve")
        assert live("up") == {("plan", "llm", "none"): len(OWNERS)}
    finally:
        server.terminate()
        server.wait(LONGEST)
