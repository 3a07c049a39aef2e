"""Runs of the story reach the same digest however they are hosted, and use every design of memory."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate import Settings, Tick, TickLoop
from cogitate.memory.clock import DAY
from cogitate.memory.effects import ReplaceSummary
from cogitate.memory.entry import INTO_SUMMARY
from cogitate.memory.routing.scopes import CURSOR, WORLD
from cogitate.ops.world_choice import settings_for
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.simulation.story.people import (
    COUNCIL,
    COUNCILLORS,
    INNKEEPER,
    POLICIES,
    RANGER,
    REEVE,
    REGULARS,
    SCHOLAR,
    SOLDIER,
    TRAVELLERS,
)
from cogitate.simulation.story.story import Story
from tests.integration.command import summary_of_process
from tests.live_redis import empty_redis

STEP = 5  # game minutes a tick
LATENCY = {"plan": 5, "act": 3, "reflect": 10, "integrate": 10, "recount": 10, "summarise": 20, "prune": 5, "rate": 5}
STORY = ("run", "--story", "--ticks", DAY // STEP, "--seed", 1, "--run", "valley", "--audit")


def opened(client: Redis, world: Story, *, ticks: int = DAY // STEP, resume: bool = False, **given: Any) -> TickLoop:
    settings = settings_for(world, Settings.tuned(data_dir=Path("/nowhere"), seconds_per_tick=60 * STEP, **given))
    exist = "resume" if resume else "create"
    return loop_of(world, "valley", settings, ticks=ticks, inline=True, client=client, exist=exist)


@cache
def digest_of_a_day(*, latencies_stated: bool) -> str:
    """Return the digest of an undisturbed day in this process."""
    world, given = Story(1, STEP), {"latency": LATENCY} if latencies_stated else {}
    with opened(empty_redis(), world, **given) as loop:
        drive(loop, world)
    return loop.digest


@pytest.fixture(scope="module")
def lived() -> tuple[Redis, TickLoop, list[tuple[int, Any]]]:
    """Host two days in this process; return the server, the loop, and each applied change with its minute."""
    client, world = empty_redis(), Story(1, STEP)
    changes: list[tuple[int, Any]] = []

    def note(tick: Tick) -> None:
        changes.extend((tick.minute, change) for change in tick.applied)

    with opened(client, world, ticks=2 * DAY // STEP) as loop:
        drive(loop, world, on_tick=note)
    return client, loop, changes


def test_the_digest_does_not_depend_on_workers_pace_or_hash_seed(tmp_path: Path) -> None:
    latencies = ", ".join(f"{kind} = {ticks}" for kind, ticks in LATENCY.items())  # by default they depend on the pace
    (tmp_path / "cogitate.toml").write_text(f"[time]\nseconds_per_tick = {60 * STEP}\nlatency = {{ {latencies} }}\n")
    ran = summary_of_process(
        *STORY,
        *("--workers", 2, "--tick-rate", 200, "--wait", 60),
        data_dir=tmp_path / "data",
        PYTHONHASHSEED="2",
    )
    assert ran["digest"] == digest_of_a_day(latencies_stated=True)


def test_two_days_pass_the_audit_and_replay_to_the_same_digest(
    lived: tuple[Redis, TickLoop, list[tuple[int, Any]]],
) -> None:
    client, loop, _ = lived
    assert audit(client, "valley") == []
    assert replay(client, "valley", empty_redis()).digest == loop.digest


def test_events_of_every_type_are_routed_to_the_owners_they_concern(
    lived: tuple[Redis, TickLoop, list[tuple[int, Any]]],
) -> None:
    streams = lived[1].state.streams

    def events(owner: str) -> Counter[str]:
        return Counter(tag for e in streams[owner].entries.values() for tag in e.tags if tag.startswith("event:"))

    votes = {"event:voting_initiated": 4, "event:voting_confirmed": 20, "event:ballot_completed": 4}
    for owner in (*COUNCILLORS, COUNCIL):
        found = events(owner)
        assert {kind: found[kind] for kind in votes} == votes, f"{owner}: equal votes are separate events"
    assert all(events(owner)["event:final_results"] == 2 for owner in COUNCILLORS)
    assert events(COUNCIL)["event:final_results"] == 0, "the council does not see what each household gains"
    assert events(REGULARS)["event:discussion_statement"] == 8
    assert events(WORLD)["event:letter_read"] == 1
    ballots = [e for e in streams[REEVE].entries.values() if "event:ballot_completed" in e.tags]
    assert {("integrate" in e.tags) for e in ballots} == {True, False}, "only a consensus is integrated"
    statements = [e for e in streams[REEVE].live("message") if "stage:discussion" in e.tags]
    assert all(re.match(r"[A-Z]\w+ [A-Z]\w+ discussed the ", e.text) for e in statements), "by the profile's name"
    assert {tag for e in statements for tag in e.tags if tag.startswith(("phase:", "round:"))} == {
        "phase:council",
        "round:1",
        "round:2",
    }


def test_consensus_and_results_are_integrated(lived: tuple[Redis, TickLoop, list[tuple[int, Any]]]) -> None:
    _, loop, changes = lived
    replaced = Counter(c.owner for _, c in changes if c.kind == "integrate" and isinstance(c.effect, ReplaceSummary))
    assert all(replaced[owner] >= 2 for owner in COUNCILLORS)
    assert all("silver" in loop.state.streams[owner].head.summary for owner in COUNCILLORS)


def test_cells_and_token_windows_are_filled_and_compressed(
    lived: tuple[Redis, TickLoop, list[tuple[int, Any]]],
) -> None:
    _, loop, changes = lived
    assert set(POLICIES) == {SOLDIER, RANGER, SCHOLAR}
    for owner in POLICIES:
        stream = loop.state.streams[owner]
        assert any(c.kind == "summarise" and c.owner == owner for _, c in changes)
        assert sum(record.into == INTO_SUMMARY for record in stream.archived.values()) >= 10
        assert stream.head.summary
    assert loop.state.streams[SOLDIER].observed() <= 5


def test_locations_npcs_and_the_world_recount_conversations(
    lived: tuple[Redis, TickLoop, list[tuple[int, Any]]],
) -> None:
    streams = lived[1].state.streams
    summaries = {owner: stream.live("summary") for owner, stream in streams.items()}
    assert len([owner for owner in summaries if owner.startswith("location:") and summaries[owner]]) >= 4
    assert summaries["location:hall"]
    assert summaries["location:tavern"]
    assert summaries[INNKEEPER]
    kinds = {tag for entry in summaries[WORLD] for tag in entry.tags if tag.startswith("world:")}
    assert kinds >= {"world:objective_completed", "world:quest_completed", "world:act_progressed"}
    assert all(streams[owner].head.cursors[CURSOR] for owner in ("location:hall", WORLD))
    assert streams[INNKEEPER].head.cursors["world:tavern"]


def test_the_narrator_recalls_a_locations_memories(
    lived: tuple[Redis, TickLoop, list[tuple[int, Any]]],
) -> None:
    streams = lived[1].state.streams
    for owner in (REEVE, *TRAVELLERS):
        recalled = [e.text for e in streams[owner].entries.values() if e.text.startswith("The narrator recalled")]
        assert recalled or owner in POLICIES
    told = [e.text for e in streams[REEVE].entries.values() if e.text.startswith("The narrator recalled the moot hall")]
    assert len(told) == 1
    hall = streams["location:hall"].live("summary")[0].text
    assert hall[:60] in told[0]


def test_councillors_and_travellers_plan_and_reflect(lived: tuple[Redis, TickLoop, list[tuple[int, Any]]]) -> None:
    streams = lived[1].state.streams
    for owner in (*COUNCILLORS, *TRAVELLERS):
        assert streams[owner].count("plan") >= 2
        assert streams[owner].count("reflection") >= 1


@pytest.mark.parametrize("crash", [115, 150, 228, 262])
def test_a_crashed_story_resumes_to_the_same_digest(crash: int) -> None:
    """Crash around the narrator's requests, whose answers must not be requested again."""

    class Crash(Exception):
        pass

    def until(tick: Tick) -> None:
        if tick.number == crash:
            raise Crash

    client, world = empty_redis(), Story(1, STEP)
    with pytest.raises(Crash), opened(client, world) as loop:
        drive(loop, world, on_tick=until)
    again = Story(1, STEP)
    with opened(client, again, resume=True) as resumed:
        assert resumed.tick == crash - 1
        drive(resumed, again)
    assert resumed.digest == digest_of_a_day(latencies_stated=False)
