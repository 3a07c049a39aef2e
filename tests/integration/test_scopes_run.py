"""Events, shared history and scoped memories in a run: over ticks, with a model that fails, and across a resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import Event, InputError, Profile, Settings, Tick, TickLoop
from memory.entry import Entry
from memory.scopes import CURSOR, WORLD
from ops.fake_llm import FakeEndpoint
from scheduler.audit import audit
from scheduler.history import read_journal
from scheduler.replay import replay
from scheduler.summary import prefix_of
from workers.llm import ModelClient
from workers.llm_answer import Answer
from workers.llm_failures import Failure

INN, ROAD, BOB, EVE, ALICE, GROUP = (
    "location:inn",
    "location:road",
    "npc:bob",
    "npc:eve",
    "agent:alice",
    "group:council",
)
OWNERS = {
    WORLD: Profile(name="The Realm"),
    INN: Profile(name="The Drunken Goose"),
    ROAD: Profile(name="The Road"),
    BOB: Profile(name="Bob"),
    EVE: Profile(name="Eve"),
    ALICE: Profile(name="Alice"),
    GROUP: Profile(name="The Council"),
}
LATENCY = {"recount": 3, "integrate": 3, "reflect": 3, "plan": 3}
Script = Callable[[TickLoop, Tick], None]


def opened(client: FakeRedis, *, ticks: int, resume: bool = False, **settings: Any) -> TickLoop:
    return TickLoop(
        run="story",
        owners=OWNERS,
        settings=Settings(latency=LATENCY, **settings),
        ticks=ticks,
        resume=resume,
        inline=True,
        client=client,
        event_types={"quest_found": "integrate"},
    )


def played(script: Script, *, ticks: int = 12, client: FakeRedis | None = None, **settings: Any) -> TickLoop:
    """A finished run of the script; its ledger and its replay are in order."""
    client = client or FakeRedis()
    with opened(client, ticks=ticks, **settings) as loop:
        for tick in loop:
            script(loop, tick)
    assert audit(client, "story") == []
    assert replay(client, "story", FakeRedis()).digest == loop.digest
    return loop


def say(loop: TickLoop, text: str, minute: int, location: str = "inn") -> None:
    loop.observe(WORLD, {"type": "message", "text": text, "minute": minute, "location": location, "source": "dialogue"})


def memories(loop: TickLoop, scope: str) -> list[Entry]:
    return loop.mind.streams[scope].live("summary")


def cursor(loop: TickLoop, scope: str) -> int:
    return loop.mind.streams[scope].head.cursors.get(CURSOR, 0)


def recounts(loop: TickLoop) -> int:
    """Jobs of kind recount that ended."""
    return sum(count for (kind, _, _), count in loop.ended.items() if kind == "recount")


def visit(loop: TickLoop, tick: Tick) -> None:
    """Two visits to the inn, of which Bob hears, and a quest that ends on the road."""
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
    (of_bob,) = memories(loop, BOB)  # at the second visit nobody spoke of him
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
    assert lines[1].startswith("- day 0, 12:01 AM: ")
    assert lines[2].startswith("- day 0, 12:06 AM: ")
    assert lines[4:6] == ["NPC Memory:", "Bob:"]
    assert "World Memory:" in lines
    assert len(lines) == 10


def test_an_exit_while_a_job_is_open_waits_and_tells_only_what_is_new() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number <= 2:
            say(loop, f"Visit number {tick.number} was merry.", tick.minute)
            loop.left_location("inn")
        if tick.number == 3:
            say(loop, "The third visit goes on.", tick.minute)
            assert [trigger.upto for trigger in loop.mind.triggers] == [2]

    loop = played(script)
    assert [m.since_number for m in memories(loop, INN)] == [1, 2]
    assert "third" not in memories(loop, INN)[1].text
    assert cursor(loop, INN) == 2


def test_leaving_without_a_word_asks_nobody() -> None:
    loop = played(lambda loop, tick: loop.left_location("inn", [BOB]))
    assert recounts(loop) == 0


def test_a_model_recounts_each_scope_once() -> None:
    with FakeEndpoint() as endpoint:
        loop = played(visit, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000)
    assert loop.ended["recount", "llm", "none"] == 4
    assert [m.since_number for m in memories(loop, INN)] == [2, 3]
    assert not any(m.provisional for scope in (INN, BOB, WORLD) for m in memories(loop, scope))


def failing(**settings: Any) -> TickLoop:
    """A run of the visits with an endpoint that answers without text."""
    with FakeEndpoint(faults={"blank": 1.0}) as endpoint:
        return played(
            visit, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=10_000_000, claim_cap=2, **settings
        )


def test_failure_records_nothing_keeps_the_cursor_and_is_counted_as_a_warning() -> None:
    client = FakeRedis()
    loop = failing(client=client)
    assert loop.ended["recount", "heuristic", "failed"] == 5  # Bob again: what nobody told of him yet
    for scope in (INN, BOB, WORLD):
        assert memories(loop, scope) == []
        assert cursor(loop, scope) == 0
    lines = list(read_journal(client, prefix_of(client, "story"), 1, loop.tick))
    assert sum(line.notes.warnings.get("job.nothing_recorded", 0) for line in lines) == 5
    notes = [note for line in lines for note in line.notes.ended if note.key.kind == "recount"]
    assert [note.attempts for note in notes] == [2] * 5  # two attempts each, as the spec says


def test_failure_with_the_heuristic_configured_records_a_provisional_memory() -> None:
    loop = failing(recount_on_failure="heuristic")
    assert [m.provisional for m in memories(loop, INN)] == [True, True]
    assert cursor(loop, INN) == 3


def test_after_a_failure_the_next_exit_tells_what_was_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = ModelClient.ask

    def moody(self: ModelClient, prompt: Any, **options: Any) -> Answer:
        answer = ask(self, prompt, **options)
        if "second" not in prompt.user:
            return Answer(usage=answer.usage, estimated=False, value=None, failure=Failure(kind="empty"))
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
def test_a_resumed_run_remembers_the_same(crash: int) -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        visit(loop, tick)
        if tick.number == 2:
            say(loop, "Bob came after us with the change.", 2)
            loop.left_location("inn", [BOB])
        if tick.number in (2, 5):
            loop.event(ALICE, Event(kind="final_results", text="The floor won.", earnings=24_000, group=GROUP))

    reference = played(script)
    client = FakeRedis()
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


def test_an_owner_that_leaves_takes_its_triggers_along() -> None:
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
    assert loop.mind.triggers == []


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (lambda loop: loop.left_location(""), "needs an id"),
        (lambda loop: loop.left_location("moon"), "location:moon"),
        (lambda loop: loop.left_location("inn", ["npc:zoe"]), "npc:zoe"),
        (lambda loop: loop.story_event(""), "needs a kind"),
        (lambda loop: loop.event(ALICE, Event(kind="quest_lost")), "no rule says"),
        (lambda loop: loop.event(ALICE, {"kind": "voting_initiated", "round": "two"}), "round 'two'"),
        (lambda loop: loop.event(ALICE, Event(kind="voting_initiated", group="group:none")), "group:none"),
        (lambda loop: loop.event("agent:nobody", Event(kind="voting_initiated")), "agent:nobody"),
        (lambda loop: loop.event(ALICE, Event(kind="final_results", text="x" * 5_000)), "text"),
    ],
)
def test_a_mistake_is_an_error_at_the_edge_and_changes_nothing(
    mistake: Callable[[TickLoop], Any], complaint: str
) -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        with pytest.raises(InputError, match=complaint):
            mistake(loop)

    loop = played(script, ticks=2)
    assert all(stream.head.last_number == 0 for stream in loop.mind.streams.values())


# -- a host's own handlers (spec 5, "Triggers and Integration Points") -------------------------------------


class Handlers:
    """The part of a host that carries out a story's commands, and says so to the loop."""

    def __init__(self, loop: TickLoop) -> None:
        self.loop = loop
        self.location = "inn"

    def change_location(self, to: str) -> None:
        if not to:
            raise ValueError("no location to go to")
        self.loop.left_location(self.location, [BOB])
        self.location = to

    def update_location_state(self, *, danger_level: str = "", complete_encounter: str = "") -> None:
        if danger_level == "CLEARED":
            self.loop.story_event("location_cleared", related={"location_id": self.location})
        if complete_encounter:
            related = {"location_id": self.location, "encounter_id": complete_encounter}
            self.loop.story_event("encounter_completed", related=related)

    def complete_objective(self, quest: str, objective: str) -> None:
        self.loop.story_event("objective_completed", related={"quest_id": quest, "objective_id": objective})

    def complete_quest(self, quest: str) -> None:
        self.loop.story_event("quest_completed", related={"quest_id": quest})

    def progress_act(self, act: str) -> None:
        self.loop.story_event("act_progressed", related={"act_id": act})


def carried_out(command: Callable[[Handlers], None]) -> TickLoop:
    """A run in which one command is carried out after something was said."""

    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number == 1:
            say(loop, "Bob drew his sword.", 1)
            command(Handlers(loop))

    return played(script, ticks=5)


def test_location_handler_change_location_calls_on_location_exit() -> None:
    loop = carried_out(lambda handlers: handlers.change_location("road"))
    assert len(memories(loop, INN)) == len(memories(loop, BOB)) == 1
    assert memories(loop, WORLD) == memories(loop, ROAD) == []
    with pytest.raises(ValueError, match="no location"):
        carried_out(lambda handlers: handlers.change_location(""))


@pytest.mark.parametrize(
    ("command", "tags", "ids"),
    [
        (lambda h: h.update_location_state(danger_level="CLEARED"), ("world:location_cleared",), ("", "", "inn")),
        (
            lambda h: h.update_location_state(complete_encounter="e1"),
            ("world:encounter_completed",),
            ("", "e1", "inn"),
        ),
        (lambda h: h.complete_objective("q1", "o1"), ("world:objective_completed", "objective:o1"), ("q1", "", "")),
        (lambda h: h.complete_quest("q1"), ("world:quest_completed",), ("q1", "", "")),
        (lambda h: h.progress_act("2"), ("world:act_progressed", "act:2"), ("", "", "")),
    ],
)
def test_quest_and_location_handlers_call_on_world_event(
    command: Callable[[Handlers], None], tags: tuple[str, ...], ids: tuple[str, str, str]
) -> None:
    loop = carried_out(command)
    (memory,) = memories(loop, WORLD)
    assert memory.tags == tags
    assert (memory.quest_id, memory.encounter_id, memory.location) == ids
    assert memories(loop, INN) == []


def test_location_handler_ignores_what_clears_nothing() -> None:
    loop = carried_out(lambda handlers: handlers.update_location_state(danger_level="HIGH"))
    assert recounts(loop) == 0


# -- events and shared history (spec 2) ------------------------------------------------------------------


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
    alice = loop.mind.streams[ALICE]
    assert [e.text for e in alice.live("message", "observation")] == [
        "Bo discussed the floor: It is fair.",
        "Voting initiated.",
        "Ballot completed with consensus: The floor won.",
        "Final results: You did well. Earnings: $24,000. Otherwise: Avg $24k.",
    ]
    assert alice.head.summary_version == 2
    assert "The floor won." in alice.head.summary
    assert "Earnings: $24,000. Otherwise: Avg $24k." in alice.head.summary


def test_the_same_result_twice_is_integrated_twice() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        if tick.number in (1, 2, 7):
            loop.event(ALICE, Event(kind="final_results", text="The floor won."))

    loop = played(script)
    alice = loop.mind.streams[ALICE]
    assert len(alice.live("observation")) == 3
    assert alice.head.summary_version == 3
    assert alice.head.cursors["integrate"] == 3


def test_a_model_integrates_and_sees_all_three_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    ask = ModelClient.ask

    def listening(self: ModelClient, prompt: Any, **options: Any) -> Answer:
        seen.append(prompt.user)
        return ask(self, prompt, **options)

    monkeypatch.setattr(ModelClient, "ask", listening)
    with FakeEndpoint() as endpoint:
        loop = played(debate, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=1_000_000)
    assert loop.ended["integrate", "llm", "none"] == 2
    last = next(user for user in reversed(seen) if "You did well" in user)
    assert "Present long-term memory: What matters" in last
    assert "Cy discussed: I doubt it." in last.partition("Said in the group")[2].partition("Remembered besides")[0]
    assert last.count("It is fair.") == 1
    assert "Voting initiated." in last.partition("Remembered besides")[2]
    assert "Earnings: $24,000" in last


def test_a_failed_integration_leaves_the_event_and_a_merged_summary() -> None:
    with FakeEndpoint(faults={"503": 1.0}) as endpoint:
        loop = played(debate, llm="openai", base_url=endpoint.url, api_key="any", limit_tokens=10_000_000, claim_cap=1)
    assert loop.ended["integrate", "heuristic", "failed"] == 2
    assert len(loop.mind.streams[ALICE].live("message", "observation")) == 4
    assert "Earnings: $24,000" in loop.mind.streams[ALICE].head.summary


def test_on_context_overflow_the_call_is_tried_once_more_without_the_oldest_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[int] = []
    ask = ModelClient.ask

    def narrow(self: ModelClient, prompt: Any, **options: Any) -> Answer:
        answer = ask(self, prompt, **options)
        if "What happened now" not in prompt.user:  # some other kind of job
            return answer
        shown.append(len(prompt.used))
        if len(prompt.used) > 10:
            return Answer(usage=answer.usage, estimated=False, value=None, failure=Failure(kind="context_overflow"))
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
            lengths.append(sum(len(e.text) for e in loop.mind.streams[GROUP].live()))
        for n in range(4):
            text = f"In round {tick.number} speaker {n} said it again. " * 8
            loop.event(GROUP, Event(kind="discussion_statement", speaker=f"Speaker {n}", text=text, round=tick.number))

    loop = played(script, ticks=12, public_history_max_length=5_000)
    left = loop.mind.streams[GROUP].live()
    assert max(lengths) <= 5_000
    assert sum(len(e.text) for e in left) > 4_600
    assert [e.number for e in left] == list(range(left[0].number, 49))


def test_truncation_and_style_are_settings() -> None:
    def script(loop: TickLoop, tick: Tick) -> None:
        loop.event(ALICE, Event(kind="discussion_statement", speaker="Bo", text="long words " * 60))

    cut = played(script, ticks=1, statement_max_length=50, guidance_style="structured")
    assert cut.mind.streams[ALICE].live()[0].text == "Speaker: Bo | Statement: " + "long words " * 3 + "long words..."
    whole = played(script, ticks=1, enable_truncation=False)
    assert len(whole.mind.streams[ALICE].live()[0].text) > 650
