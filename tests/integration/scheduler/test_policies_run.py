"""Runs with each compaction policy: the limits after every tick, resume, replay, and failing models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from redis import Redis
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.effects import Character, SetCharacter
from cogitate.errors import InputError
from cogitate.memory.entry import INTO_SUMMARY
from cogitate.memory.policies.cells import cells, most_waiting
from cogitate.memory.policies.window import total_tokens
from cogitate.memory.stream import Stream
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.town.town import Town
from tests.live_redis import empty_redis

OGILVY, HENDERSON, SMITH = "agent:ogilvy", "agent:henderson", "npc:smith"
OWNERS = {OGILVY: Profile(name="Ogilvy"), HENDERSON: Profile(name="Henderson"), SMITH: Profile(name="Smith")}
POLICIES: dict[str, dict[str, Any]] = {
    "stream": {"policy": "stream", "max_observations": 12},
    "cells": {"policy": "cells", "cells": 3},
    "tokens": {"policy": "tokens", "token_limit": 120},
    "mixed": {"policy": "cells", "cells": 4, "policies": {"npc": "tokens", HENDERSON: "stream"}, "token_limit": 90},
}
KNOWN = Character(objectives=("reach the cylinder",), inventory=("a lantern",))


def seen(owner: str, tick: int) -> Iterator[dict[str, Any]]:
    """Return what an owner observes at a tick: up to three events, which depend on owner and tick alone."""
    for part in range(crc32(f"{owner} {tick}".encode()) % 4):
        text = f"Ogilvy heard {tick} knocks inside the cylinder and promised Smith to come back by {part + 1} pm."
        yield {"text": text, "minute": tick, "importance": 1 + (tick + part) % 9}


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings.tuned(data_dir=tmp_path, act_interval=0, **more)


def run(client: Redis, chosen: Settings, ticks: int, *, stop: int | None = None, resume: bool = False) -> TickLoop:
    """Run a synthetic world, and check the memory limits after each of its ticks."""
    loop = TickLoop(
        run="heath",
        owners=OWNERS,
        settings=chosen,
        ticks=ticks,
        inline=True,
        client=client,
        exist="resume" if resume else "create",
    )
    with loop:
        for tick in loop:
            for owner in OWNERS:
                for observation in seen(owner, tick.number):
                    loop.observe(owner, observation)
            if tick.number == 5:
                loop.apply(SetCharacter(OGILVY, KNOWN))
            if tick.number == stop:
                loop.stop()
    check_ticks(client, "heath", loop)
    return loop


def check_ticks(client: Redis, name: str, loop: TickLoop) -> None:
    """Check the memory limits of every stream as it was after each tick."""
    streams: dict[str, Stream] = {}
    for line in read_journal(RunStore.open(client, name), 1, loop.tick):
        redo(line, streams)
        for stream in streams.values():
            check(stream, loop.settings)


def check(stream: Stream, chosen: Settings) -> None:
    limits = chosen.memory_limits()
    match limits.policy_of(stream.owner):
        case "cells":
            assert stream.observed() <= limits.cells
            assert len(stream.head.waiting) <= most_waiting(limits)
        case "tokens":
            assert total_tokens(stream) <= limits.token_limit
        case "stream":
            assert stream.observed() <= limits.max_observations
            assert not stream.head.waiting


def assert_only_summarized_entries_are_gone(loop: TickLoop) -> None:
    """Assert that entries were archived only into a summary, except with the stream policy."""
    for stream in loop.state.streams.values():
        if loop.settings.memory_limits().policy_of(stream.owner) != "stream":
            assert all(record.into == INTO_SUMMARY for record in stream.archived.values())


@pytest.mark.parametrize("policy", POLICIES)
def test_the_limits_hold_after_every_tick_and_the_replay_is_exact(policy: str, tmp_path: Path) -> None:
    client = empty_redis()
    loop = run(client, settings(tmp_path, **POLICIES[policy]), 60)
    assert_only_summarized_entries_are_gone(loop)
    assert any(stream.head.summary or stream.archived for stream in loop.state.streams.values())
    replayed = replay(client, "heath", empty_redis())
    assert (replayed.ticks, replayed.digest) == (60, loop.digest)
    assert audit(client, "heath") == []


@pytest.mark.parametrize("policy", ["cells", "tokens", "mixed"])
def test_a_resumed_run_reaches_the_same_digest(policy: str, tmp_path: Path) -> None:
    chosen = settings(tmp_path, **POLICIES[policy])
    whole = run(empty_redis(), chosen, 40)
    client = empty_redis()
    first = run(client, chosen, 40, stop=17)
    assert first.tick == 17
    assert any(stream.head.waiting or stream.head.summary for stream in first.state.streams.values())
    # The settings of the resuming host do not matter: a run keeps the policy that it was created with.
    resumed = run(client, settings(tmp_path), 40, resume=True)
    assert resumed.digest == whole.digest
    assert replay(client, "heath", empty_redis()).digest == whole.digest


@pytest.mark.parametrize("policy", ["cells", "tokens"])
def test_a_town_stays_within_the_limits_of_its_policy(policy: str, tmp_path: Path) -> None:
    chosen, client, town = settings(tmp_path, **POLICIES[policy]), empty_redis(), Town(agents=3, seed=3)
    loop = TickLoop(
        run="town",
        owners=town.owners(),
        settings=chosen,
        locations=town.locations,
        brief=town.brief,
        ticks=700,
        inline=True,
        client=client,
    )
    with loop:
        drive(loop, town)
    check_ticks(client, "town", loop)
    assert any(stream.head.summary for stream in loop.state.streams.values())
    assert replay(client, "town", empty_redis()).digest == loop.digest


# -- models ------------------------------------------------------------------------------------------------


def with_model(tmp_path: Path, endpoint: FakeEndpoint, **more: Any) -> Settings:
    return settings(
        tmp_path,
        llm="openai",
        base_url=endpoint.url,
        api_key="any",
        limit_tokens=10_000_000,
        claim_cap=1,
        latency={"summarise": 1},
        limits={},
        **more,
    )


@pytest.mark.parametrize("policy", ["cells", "tokens"])
def test_a_model_writes_the_summaries(policy: str, tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        loop = run(client, with_model(tmp_path, endpoint, **{**POLICIES[policy], "token_limit": 300}), 30)
    assert loop.ended["summarise", "llm", "none"] > 5
    assert "What matters" in loop.state.streams[OGILVY].head.summary  # words of the stand-in's answers
    assert replay(client, "heath", empty_redis()).digest == loop.digest


def test_summarize_memory_and_shift_the_cells(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        summarized_and_shifted(with_model(tmp_path, endpoint, policy="cells", cells=3))


@pytest.mark.skipif("OPENAI_API_KEY" not in os.environ, reason="OPENAI_API_KEY is not set: no real model to ask")
def test_summarize_memory_real_llm(tmp_path: Path) -> None:
    summarized_and_shifted(
        settings(
            tmp_path, llm="openai", limit_tokens=50_000, latency={"summarise": 1}, limits={}, policy="cells", cells=3
        )
    )


def summarized_and_shifted(chosen: Settings) -> None:
    client = empty_redis()
    loop = TickLoop(run="heath", owners={OGILVY: OWNERS[OGILVY]}, settings=chosen, ticks=5, inline=True, client=client)
    with loop:
        for tick in loop:
            if tick.number < 5:
                loop.observe(OGILVY, {"text": f"I walked {tick.number} steps around the cylinder.", "minute": 0})
    assert loop.ended["summarise", "llm", "none"] == 1
    stream = loop.state.streams[OGILVY]
    assert stream.head.summary
    assert [cell.text.split()[2] for cell in cells(stream)] == ["4", "3", "2"]
    assert usage_by_owner(client, "heath")[OGILVY].tokens > 0


def test_forgetting_is_logged(tmp_path: Path) -> None:
    with FakeEndpoint(faults={"refusal": 1.0}) as endpoint, capture_logs() as logged:
        run(empty_redis(), with_model(tmp_path, endpoint, on_failure="unchanged", **POLICIES["cells"]), 12)
    forgotten = [entry for entry in logged if entry["event"] == "memory.forgotten"]
    assert {entry["owner"] for entry in forgotten} == set(OWNERS)
    assert all(entry["log_level"] == "warning" and entry["amount"] > 0 for entry in forgotten)
    degraded = [entry for entry in logged if entry["event"] == "job.degraded"]
    assert any(OGILVY in entry["job"] and entry["failure"] == "refused" for entry in degraded)


def test_a_window_whose_model_fails_is_logged(tmp_path: Path) -> None:
    with FakeEndpoint(faults={"refusal": 1.0}) as endpoint, capture_logs() as logged:
        run(empty_redis(), with_model(tmp_path, endpoint, **POLICIES["tokens"]), 25)
    degraded = [entry for entry in logged if entry["event"] == "job.degraded" and "/summarise/" in entry["job"]]
    assert degraded
    assert all((entry["log_level"], entry["failure"]) == ("warning", "refused") for entry in degraded)


def test_no_llm_call_when_space_available(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        loop = run(empty_redis(), with_model(tmp_path, endpoint, policy="cells", cells=1_000), 10)
        assert endpoint.stats().requests == 0
    assert sum(stream.observed() for stream in loop.state.streams.values()) > 20


def test_usage_tracked_after_summarization(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint() as endpoint:
        run(client, with_model(tmp_path, endpoint, **POLICIES["cells"]), 20)
        served = endpoint.stats()
    usage = usage_by_owner(client, "heath")
    assert sorted(usage) == sorted(OWNERS)
    still_open = client.scard(
        RunStore.open(client, "heath").key("jobs")
    )  # requested in the last tick, and not yet applied
    assert sum(cost.calls for cost in usage.values()) == served.requests - still_open
    assert all(cost.tokens > 0 for cost in usage.values())


@pytest.mark.parametrize("on_failure", ["heuristic", "unchanged"])
@pytest.mark.parametrize("policy", ["cells", "tokens", "mixed"])
def test_a_model_that_always_fails(policy: str, on_failure: str, tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"refusal": 1.0}) as endpoint:
        loop = run(client, with_model(tmp_path, endpoint, on_failure=on_failure, **POLICIES[policy]), 25)
        assert endpoint.stats().requests > 0
    assert_only_summarized_entries_are_gone(loop)
    summary = summarise_run(client, "heath")
    assert summary.jobs["summarise"]["reason"]["failed"] > 0
    forgotten = summary.warnings.get("memory.forgotten", 0)
    ogilvy = loop.state.streams[OGILVY]
    observed = sum(1 for tick in range(1, 26) for _ in seen(OGILVY, tick))
    if on_failure == "unchanged" and policy != "tokens":
        assert forgotten > 0
        assert ogilvy.head.summary == ""
        assert len(ogilvy.entries) == ogilvy.observed() == loop.settings.cells
    else:
        assert forgotten == 0 or policy == "mixed"
        assert ogilvy.head.summary
        assert len(ogilvy.entries) + len(ogilvy.head.waiting) == observed
    assert replay(client, "heath", empty_redis()).digest == loop.digest


def test_a_model_failing_half_of_the_time_forgets_only_without_room(tmp_path: Path) -> None:
    client = empty_redis()
    with FakeEndpoint(faults={"refusal": 0.5}) as endpoint:
        loop = run(client, with_model(tmp_path, endpoint, on_failure="unchanged", **POLICIES["cells"]), 40)
    forgotten = summarise_run(client, "heath").warnings["memory.forgotten"]
    observed = sum(1 for owner in OWNERS for tick in range(1, 41) for _ in seen(owner, tick))
    kept = sum(len(stream.entries) + len(stream.head.waiting) for stream in loop.state.streams.values())
    assert 0 < forgotten == observed - kept
    assert all(stream.head.summary for stream in loop.state.streams.values())


def test_an_unknown_character_is_refused_and_affects_no_others(tmp_path: Path) -> None:
    client = empty_redis()
    loop = TickLoop(
        run="heath", owners=OWNERS, settings=settings(tmp_path, policy="cells"), ticks=3, inline=True, client=client
    )
    with loop:
        for tick in loop:
            loop.observe(OGILVY, {"text": f"Event {tick.number}.", "minute": tick.minute})
            with pytest.raises(InputError, match="agent:nobody"):
                loop.observe("agent:nobody", {"text": "Who is there?", "minute": tick.minute})
    assert loop.state.streams[OGILVY].observed() == 3
    assert loop.state.streams[HENDERSON].observed() == 0  # no observation, no memory


def test_more_than_can_be_kept_of_a_character_is_refused_at_the_edge(tmp_path: Path) -> None:
    with TickLoop(run="heath", owners=OWNERS, settings=settings(tmp_path), ticks=1, inline=True) as loop:
        for _ in loop:
            with pytest.raises(InputError, match="at most 4000 fit"):
                loop.apply(SetCharacter(OGILVY, Character(inventory=("a lantern",) * 1_000)))


def test_a_leaving_owner_takes_its_waiting_memories(tmp_path: Path) -> None:
    client = empty_redis()
    loop = TickLoop(
        run="heath",
        owners=OWNERS,
        settings=settings(tmp_path, policy="cells", cells=1),
        ticks=4,
        inline=True,
        client=client,
    )
    with loop:
        for tick in loop:
            if tick.number < 3:
                loop.observe(OGILVY, {"text": f"Event {tick.number}.", "minute": tick.minute})
            if tick.number == 3:
                loop.leave(OGILVY)
    lines = list(read_journal(RunStore.open(client, "heath"), 1, 4))
    assert [owner for line in lines for owner, _ in line.core.waiting] == [OGILVY]
    assert replay(client, "heath", empty_redis()).digest == loop.digest


def test_a_resumed_world_repeats_waiting_memories(tmp_path: Path) -> None:
    chosen, client = settings(tmp_path, policy="cells", cells=1, latency={"summarise": 9}), empty_redis()
    run(client, chosen, 30, stop=6)
    loop = TickLoop(run="heath", owners={}, settings=chosen, ticks=30, inline=True, client=client, exist="resume")
    waited = 0
    with loop:
        for tick in islice(loop, 6):
            assert tick.replayed
            for owner in OWNERS:
                for observation in seen(owner, tick.number):
                    loop.observe(owner, observation)
            if tick.number == 5:
                loop.apply(SetCharacter(OGILVY, KNOWN))
            waited += 1
    assert waited == 6
