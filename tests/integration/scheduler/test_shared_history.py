"""Events and shared history in runs (routing design) are remembered at once, integrated later, and limited."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate import Event, Tick, TickLoop
from cogitate.errors import InputError
from cogitate.memory.routing.scopes import WORLD
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.llm.client import ModelClient
from cogitate.workers.llm.replies.failures import Failure, ModelAnswer
from tests.integration.scheduler.scopes_run_case import ALICE, BOB, EVE, GROUP, played


def debate(loop: TickLoop, tick: Tick) -> None:
    if tick.number == 1:
        said = Event(
            kind="discussion_statement", speaker="agent:Bo", topic="the floor", text="It is fair.", group=GROUP
        )
        assert loop.event(ALICE, said) == "simple"
        loop.event(GROUP, said)
        loop.event(GROUP, Event(kind="discussion_statement", speaker="agent:Cy", text="I doubt it."))
        loop.event(ALICE, Event(kind="voting_initiated"))
    if tick.number == 2:
        assert loop.event(ALICE, Event(kind="ballot_completed", consensus=True, text="The floor won.")) == "integrate"
    if tick.number == 6:
        results = Event(kind="final_results", text="You did well.", earnings="$24,000", group=GROUP)
        loop.event(ALICE, results.model_copy(update={"counterfactuals": {"Avg": "$24k"}}))


def test_events_are_remembered_at_once_and_integrated_later() -> None:
    loop = played(debate)
    alice = loop.state.streams[ALICE]
    assert [e.text for e in alice.live("message", "observation")] == [
        "Bo discussed the floor: It is fair.",
        "Voting initiated.",
        "Ballot completed with consensus: The floor won.",
        "Final results: You did well. Earnings: $24,000. Otherwise: Avg $24k.",
    ]
    assert alice.head.summary_version == 2
    assert "The floor won." in alice.head.summary
    assert "Earnings: $24,000. Otherwise: Avg $24k." in alice.head.summary


def test_equal_results_are_integrated_once_each() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number in (1, 2, 7):
            loop.event(ALICE, Event(kind="final_results", text="The floor won."))

    loop = played(script)
    alice = loop.state.streams[ALICE]
    assert len(alice.live("observation")) == 3
    assert alice.head.summary_version == 3
    assert alice.head.cursors["integrate"] == 3


def test_a_model_integrates_and_sees_all_three_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    ask = ModelClient.ask

    def listening(self: ModelClient, prompt: Any, **options: Any) -> ModelAnswer:
        seen.append(prompt.user)
        return ask(self, prompt, **options)

    monkeypatch.setattr(ModelClient, "ask", listening)
    with FakeEndpoint() as endpoint:
        loop = played(debate, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000)
    assert loop.ended["integrate", "llm", "none"] == 2
    last = next(user for user in reversed(seen) if "You did well" in user)
    assert "Present long-term memory: What matters" in last
    assert "Cy discussed: I doubt it." in last.partition("Said in the group")[2].partition("Also remembered")[0]
    assert last.partition("Said in the group")[2].count("It is fair.") == 1, "not repeated among the other memories"
    assert "Voting initiated." in last.partition("Also remembered")[2]
    assert "Earnings: $24,000" in last


def test_a_failed_integration_leaves_the_event_and_a_merged_summary() -> None:
    with FakeEndpoint(faults={"503": 1.0}) as endpoint:
        loop = played(debate, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=10_000_000, claim_cap=1)
    assert loop.ended["integrate", "heuristic", "failed"] == 2
    assert len(loop.state.streams[ALICE].live("message", "observation")) == 4
    assert "Earnings: $24,000" in loop.state.streams[ALICE].head.summary


def test_context_overflow_retries_once_without_the_oldest_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[int] = []
    ask = ModelClient.ask

    def narrow(self: ModelClient, prompt: Any, **options: Any) -> ModelAnswer:
        answer = ask(self, prompt, **options)
        if "New events" not in prompt.user:  # another kind of job
            return answer
        shown.append(len(prompt.used))
        if len(prompt.used) > 10:
            return ModelAnswer(
                usage=answer.usage, estimated=False, value=None, failure=Failure(kind="context_overflow")
            )
        return answer

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 1:
            for n in range(16):
                loop.observe(ALICE, {"text": f"Number {n} came by.", "minute": n})
            loop.event(ALICE, Event(kind="quest_found", text="The map is old."))

    monkeypatch.setattr(ModelClient, "ask", narrow)
    with FakeEndpoint() as endpoint, capture_logs() as logged:
        loop = played(script, ticks=6, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000)
    assert shown == [17, 9]
    assert [line["event"] for line in logged if line["log_level"] == "warning"] == ["prompt.halved"]
    assert loop.ended["integrate", "llm", "none"] == 1


def test_shared_history_stays_within_its_limit_at_every_tick() -> None:
    lengths: list[int] = []

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number > 1:
            lengths.append(sum(len(e.text) for e in loop.state.streams[GROUP].live()))
        for n in range(4):
            text = f"In round {tick.number} speaker {n} said it again. " * 8
            loop.event(GROUP, Event(kind="discussion_statement", speaker=f"Speaker {n}", text=text, round=tick.number))

    loop = played(script, ticks=12, public_history_max_length=5_000)
    left = loop.state.streams[GROUP].live()
    assert max(lengths) <= 5_000
    assert sum(len(e.text) for e in left) > 4_600
    assert [e.number for e in left] == list(range(left[0].number, 49))


def test_truncation_and_style_are_settings() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        loop.event(ALICE, Event(kind="discussion_statement", speaker="Bo", text="long words " * 60))

    def reasoned(loop: TickLoop, tick: Tick) -> None:
        loop.event(ALICE, Event(kind="discussion_statement", speaker="Bo", text="Yes.", reasoning="long words " * 60))

    short = played(reasoned, ticks=1, reasoning_max_length=30).state.streams[ALICE].live()[0].text
    assert short == "Bo discussed: Yes. Reasoning: long words long words long..."
    cut = played(script, ticks=1, statement_max_length=50, guidance_style="structured")
    assert cut.state.streams[ALICE].live()[0].text == "Speaker: Bo | Statement: " + "long words " * 3 + "long words..."
    whole = played(script, ticks=1, enable_truncation=False)
    assert len(whole.state.streams[ALICE].live()[0].text) > 650


def test_a_broadcast_reaches_speaker_group_and_named_owners() -> None:
    said = Event(
        kind="discussion_statement", speaker=ALICE, text="It is fair.", group=GROUP, subjects=(BOB, "a stranger")
    )
    told: list[dict[str, str]] = []

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 1:
            told.append(loop.broadcast(said, also=[WORLD]))
            told.append(loop.broadcast({"kind": "final_results", "text": "It won.", "subjects": [ALICE, BOB]}))
            with pytest.raises(InputError, match="concerns no owner of this run"):
                loop.broadcast({"kind": "voting_initiated", "speaker": "a stranger"})
            with pytest.raises(InputError, match="npc:nobody"):
                loop.broadcast(said, also=["npc:nobody"])

    streams = played(script, ticks=6).state.streams
    assert told == [
        {ALICE: "simple", GROUP: "simple", BOB: "simple", WORLD: "simple"},
        {ALICE: "integrate", BOB: "integrate"},
    ]
    texts = {owner: [e.text for e in stream.live("message", "observation")] for owner, stream in streams.items()}
    assert texts[GROUP] == texts[WORLD] == ["Alice discussed: It is fair."]
    assert texts[ALICE] == texts[BOB] == ["Alice discussed: It is fair.", "Final results: It won."]
    assert texts[EVE] == []


def test_equal_votes_are_separate_memories_and_repeated_sights_are_counted() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number <= 2:
            loop.event(ALICE, Event(kind="voting_confirmed", speaker=BOB))
            loop.observe(ALICE, {"text": "The hall is full.", "minute": tick.minute})

    alice = played(script, ticks=3).state.streams[ALICE]
    assert [e.text for e in alice.live()] == [
        "Voting confirmed by Bob.",
        "The hall is full.",
        "Voting confirmed by Bob.",
    ]
