"""Scoped memories in runs: exits, world events, failures, resuming, and invalid calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cogitate import Event, Tick, TickLoop
from cogitate.errors import InputError
from cogitate.memory.routing.scopes import CURSOR, WORLD
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.llm.client import ModelClient
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from tests.integration.scheduler.scopes_run_case import (
    ALICE,
    BOB,
    EVE,
    GROUP,
    INN,
    memories,
    opened,
    played,
    recounts,
    say,
)
from tests.live_redis import empty_redis


def cursor(loop: TickLoop, scope: str) -> int:
    return loop.state.streams[scope].head.cursors.get(CURSOR, 0)


def visit(loop: TickLoop, tick: Tick) -> None:
    """Play two visits to the inn, at which Bob is present, and a quest that ends on the road."""
    if tick.number == 1:
        say(loop, "We paid Bob ten coins for the old map.", 1)
        say(loop, "Bob promised a boat at dawn.", 1)
        loop.left_location("inn", [BOB, EVE])
    if tick.number == 6:
        say(loop, "The innkeeper told us of a dragon.", 6)
        loop.left_location("inn", [BOB, EVE])
    if tick.number == 7:
        say(loop, "The dragon fell at the ford.", 7, "road")
        loop.story_event("quest_completed", ["main"], {"quest_id": "q7"})
        loop.story_event("act_progressed", related={"act_id": "2"})


def test_scopes_remember_over_several_ticks_without_a_model() -> None:
    loop = played(visit)
    first, second = memories(loop, INN)
    assert "map" in first.text
    assert "dragon" in second.text
    assert "map" not in second.text
    assert [m.since_number for m in (first, second)] == [2, 3]
    assert cursor(loop, INN) == 3
    (of_bob,) = memories(loop, BOB)  # the second visit has no statement about him
    assert of_bob.tags == ("npc-session", INN, BOB)
    assert memories(loop, EVE) == []
    (of_world,) = memories(loop, WORLD)
    assert of_world.tags == ("world:quest_completed", "main", "world:act_progressed", "act:2")
    assert of_world.quest_id == "q7"
    assert cursor(loop, WORLD) == 4
    assert not first.provisional


def test_the_next_prompt_sees_the_latest_memories() -> None:
    told = played(visit).scope_context("inn", [BOB, EVE])
    lines = told.splitlines()
    assert lines[0] == "Recent Location Memory:"
    assert lines[1].startswith("- day 1, 12:01 AM: ")
    assert lines[2].startswith("- day 1, 12:06 AM: ")
    assert lines[4:6] == ["NPC Memory:", "Bob:"]
    assert "World Memory:" in lines
    assert len(lines) == 10


def test_an_exit_during_an_open_job_waits_and_recounts_only_new_messages() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number <= 2:
            say(loop, f"Visit number {tick.number} was merry.", tick.minute)
            loop.left_location("inn")
        if tick.number == 3:
            say(loop, "The third visit goes on.", tick.minute)
            assert [trigger.upto for trigger in loop.state.triggers] == [2]

    loop = played(script)
    assert [m.since_number for m in memories(loop, INN)] == [1, 2]
    assert "third" not in memories(loop, INN)[1].text
    assert cursor(loop, INN) == 2


def test_leaving_without_messages_requests_nothing() -> None:
    loop = played(lambda loop, tick: loop.left_location("inn", [BOB]))
    assert recounts(loop) == 0


def test_a_model_recounts_each_scope_once() -> None:
    with FakeEndpoint() as endpoint:
        loop = played(visit, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000)
    assert loop.ended["recount", "llm", "none"] == 4
    assert [m.since_number for m in memories(loop, INN)] == [2, 3]
    assert not any(m.provisional for scope in (INN, BOB, WORLD) for m in memories(loop, scope))


def failing(**settings: Any) -> TickLoop:
    """Play the visits with an endpoint that answers without text."""
    with FakeEndpoint(faults={"blank": 1.0}) as endpoint:
        return played(
            visit, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=10_000_000, claim_cap=2, **settings
        )


def test_a_failed_recount_records_nothing_keeps_the_cursor_and_counts_a_warning() -> None:
    client = empty_redis()
    loop = failing(client=client)
    assert (
        loop.ended["recount", "heuristic", "failed"] == 5
    )  # Bob twice, since the messages of his failed recount are still pending
    for scope in (INN, BOB, WORLD):
        assert memories(loop, scope) == []
        assert cursor(loop, scope) == 0
    lines = list(read_journal(RunStore.open(client, "story"), 1, loop.tick))
    assert sum(line.notes.warnings.get("job.nothing_recorded", 0) for line in lines) == 5
    notes = [note for line in lines for note in line.notes.ended if note.key.kind == "recount"]
    assert [note.attempts for note in notes] == [2] * 5  # two attempts each, as the spec says


def test_a_failed_recount_with_on_failure_heuristic_records_a_provisional_memory() -> None:
    loop = failing(recount_on_failure="heuristic")
    assert [m.provisional for m in memories(loop, INN)] == [True, True]
    assert cursor(loop, INN) == 3


def test_the_exit_after_a_failed_recount_includes_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = ModelClient.ask

    def moody(self: ModelClient, prompt: Any, **options: Any) -> ModelAnswer:
        answer = ask(self, prompt, **options)
        if "second" not in prompt.user:
            return ModelAnswer(usage=answer.usage, estimated=False, value=None, failure=Failure(kind="empty"))
        return answer

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 1:
            say(loop, "The first visit was long.", 1)
            loop.left_location("inn")
        if tick.number == 5:
            assert cursor(loop, INN) == 0
            say(loop, "The second visit was short.", 5)
            loop.left_location("inn")

    monkeypatch.setattr(ModelClient, "ask", moody)
    with FakeEndpoint() as endpoint:
        loop = played(script, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000, claim_cap=1)
    (memory,) = memories(loop, INN)
    assert (memory.since_minute, memory.since_number) == (1, 2)


@pytest.mark.parametrize("crash", [2, 3, 7, 8])
def test_a_resumed_run_has_the_same_scoped_memories(crash: int) -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        visit(loop, tick)
        if tick.number == 2:
            say(loop, "Bob came after us with the change.", 2)
            loop.left_location("inn", [BOB])
        if tick.number in (2, 5):
            loop.event(ALICE, Event(kind="final_results", text="The floor won.", earnings=24_000, group=GROUP))

    reference = played(script)
    client = empty_redis()
    with opened(client, ticks=12) as loop:
        for tick in loop:
            script(loop, tick)
            if tick.number == crash:
                break
    resumed = opened(client, ticks=12, resume=True)
    with resumed as loop:
        for tick in loop:
            script(loop, tick)
    assert loop.digest == reference.digest
    assert memories(loop, INN) == memories(reference, INN)
    assert audit(client, "story") == []


def test_an_owner_that_leaves_removes_its_triggers() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number <= 2:
            say(loop, "Bob is here.", tick.minute)
            loop.left_location("inn", [BOB])
        if tick.number == 3:
            loop.leave(BOB)
            loop.leave(GROUP)
        if tick.number == 4:
            loop.event(ALICE, Event(kind="quest_found", text="A map."))

    loop = played(script)
    assert len(memories(loop, INN)) == 2
    assert loop.state.triggers == []


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda loop: loop.left_location(""), "location is '': it must not be blank"),
        (lambda loop: loop.left_location("moon"), "location:moon"),
        (lambda loop: loop.left_location("inn", ["npc:zoe"]), "npc:zoe"),
        (lambda loop: loop.story_event(""), "kind of the story's event is ''"),
        (lambda loop: loop.event(ALICE, Event(kind="quest_lost")), "no rule for events of type"),
        (lambda loop: loop.event(ALICE, {"kind": "voting_initiated", "round": "two"}), "round 'two'"),
        (lambda loop: loop.event(ALICE, Event(kind="voting_initiated", group="group:none")), "group:none"),
        (lambda loop: loop.event("agent:nobody", Event(kind="voting_initiated")), "agent:nobody"),
        (lambda loop: loop.event(ALICE, Event(kind="final_results", text="x" * 5_000)), "text"),
    ],
)
def test_an_invalid_call_raises_an_input_error_and_changes_nothing(
    mistake: Callable[[TickLoop], Any], message: str
) -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        with pytest.raises(InputError, match=message):
            mistake(loop)

    loop = played(script, ticks=2)
    assert all(stream.head.last_number == 0 for stream in loop.state.streams.values())
