"""A run whose endpoint goes away and comes back: heuristics at once and for nothing, one probe, and models again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from redis import Redis

from memory.profile import Profile
from ops.endpoint_report import breaker_in_words
from ops.fake_llm import FakeEndpoint
from ops.host import TickLoop
from scheduler.audit import audit
from scheduler.deletion import delete_run
from scheduler.endpoint_vitals import endpoint_vitals
from scheduler.endpoints import Endpoint
from scheduler.history import read_journal
from scheduler.settings import Settings
from scheduler.summary import prefix_of

OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora", "Eve", "Finn")}


def think(tmp_path: Path, client: Redis, run: str, url: str, **settings: object) -> Counter[tuple[str, str, int]]:
    """Ask for a plan of everybody, in one process; the ends by source, failure and attempts' calls."""
    kept = Settings(
        data_dir=tmp_path, llm="openai", limit_tokens=10_000_000, limits={}, breaker_failures=2,
        endpoints={"default": Endpoint(base_url=url, api_key="any")}, **settings,
    )  # fmt: skip
    with TickLoop(run=run, owners=OWNERS, settings=kept, ticks=12, inline=True, client=client) as loop:
        for tick in loop:
            if tick.number == 1:
                for owner in OWNERS:
                    loop.request("plan", owner)
        assert audit(client, run) == []
        lines = read_journal(client, prefix_of(client, run), 1, loop.tick)
    return Counter(
        (note.source, note.failure, note.usage.calls)
        for line in lines
        for end, note in zip(line.core.ended, line.notes.ended, strict=True)
        if end.key.kind == "plan"
    )


def test_jobs_go_on_without_an_endpoint_that_fails_and_find_it_when_it_is_back(tmp_path: Path, client: Redis) -> None:
    with FakeEndpoint(faults={"503": 1.0}) as down:
        ended = think(tmp_path, client, "first", down.url, breaker_pause=600.0, breaker_longest_pause=600.0)
        assert ended.total() == len(OWNERS)
        assert ended["heuristic", "breaker_open", 0] >= len(OWNERS) - 1
        assert down.stats().requests == 2, "two failures opened it, nothing was sent after that"
    (found,) = endpoint_vitals(client)
    assert (found.breaker, found.why, found.failures) == ("open", "overloaded", {"overloaded": 2})
    assert breaker_in_words(found).startswith("open for ")
    assert found.refused["breaker_open"] >= len(OWNERS) - 1

    delete_run(client, "first")
    assert [one.endpoint for one in endpoint_vitals(client)] == ["default"], "what an endpoint is belongs to no run"
    client.hset("cogitate:endpoint:{default}:gate", "probe_at", 0)  # its pause is over
    with FakeEndpoint() as back:
        assert think(tmp_path, client, "second", back.url) == {("llm", "", 1): len(OWNERS)}
        assert back.stats().requests == len(OWNERS)
    (found,) = endpoint_vitals(client)
    assert (found.breaker, found.openings) == ("closed", 1)
