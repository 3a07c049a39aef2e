"""What a world may say in its turn: up to which bounds, in which process, and once more when a tick is handed over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate.memory.clock import DAY
from cogitate.memory.effects import SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, UsageError
from cogitate.memory.profile import Profile
from cogitate.memory.routing.routing import Event, Routing
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.intake.checks import MAX_LABEL, MAX_NAMES, MAX_NUMBERS, MAX_OWNER
from cogitate.scheduler.intake.observations import EARLIEST
from cogitate.scheduler.tick.world_calls import NoSuchOwner, WorldCalls
from cogitate.tasks.job import Reads
from cogitate.tasks.registry import kind_of
from tests.unit.scheduler.scheduler_case import Thinker

ADA, BOB, INN, WORLD, GONE = "agent:ada", "npc:bob", "location:inn", "world", "agent:gone"
NAMES = {ADA: "Ada Smith", BOB: "Bob the guard", INN: "The inn", WORLD: "The valley"}
TICK, MINUTE, MOST = 50_000, 50_000, 100  # the tick, its game time, and the characters that a text may have


def calls(turn: int | None = TICK) -> WorldCalls:
    """A world's calls in a run with four owners, at its turn."""
    rules = Rules(
        kinds=[Thinker("think"), Thinker("muse"), kind_of("plan")],
        offers_of=lambda kind, tier: [],
        latency_of=lambda kind: 1,
        brief=lambda owner: {},
        disabled=frozenset({"muse"}),
        max_text=MOST,
    )
    state = RunState(
        run="town", rules=rules, facts=Facts(), view=BudgetView(LimitTable({}), retry_share=0.0, guarantees={})
    )
    for owner, name in NAMES.items():
        state.streams[owner], state.profiles[owner] = Stream(owner), Profile(name=name)
    state.retired.add(GONE)
    found = WorldCalls(state, Routing())
    if turn is not None:
        found.open(turn)
    return found


def seen(text: str = "A cart went by.", minute: int = MINUTE) -> Entry:
    return Entry(type="observation", text=text, minute=minute)


def test_an_effect_of_the_world_for_an_owner_that_never_was_is_refused_at_the_call() -> None:
    with pytest.raises(InputError, match="there is no owner 'agent:nobody' in this run"):
        calls().apply(SetCounter("agent:nobody", "mine", 1))
    calls().apply(SetCounter(GONE, "mine", 1))  # counted as refused


@pytest.mark.parametrize(
    ("given", "near"),
    [("agent:adda", ADA), ("ada", ADA), ("Ada Smith", ADA), ("agent:bob", BOB), ("agent:quentin", "")],
)
def test_an_unknown_owner_is_named_with_a_suggestion(given: str, near: str) -> None:
    with pytest.raises(NoSuchOwner) as refused:
        calls().request("think", given)
    assert (f"did you mean {near!r}?" in str(refused.value)) is bool(near)


def test_an_event_reaches_the_owners_that_its_display_names_stand_for() -> None:
    world = calls()
    reached = world.broadcast(Event(kind="final_results", speaker="Ada Smith", subjects=("Bob the guard", "a mill")))
    assert list(reached) == [ADA, BOB]
    assert {entry.subjects for _, entry in world.take()[0].observed} <= {(ADA, BOB, "a mill"), (BOB, "a mill")}


def test_a_name_in_an_event_that_no_owner_or_several_have_is_doubted_once() -> None:
    world = calls()
    world.join("agent:ada2", Profile(name="Ada Smith"))
    with capture_logs() as logs:
        for _ in range(2):
            world.broadcast(Event(kind="final_results", subjects=("Ada Smith", "Bobb")), also=[INN])
    told = [(entry["event"], entry["what"]) for entry in logs]
    assert told == [("event.unknown_name", "Ada Smith"), ("event.unknown_name", "Bobb")]


def test_a_display_name_as_the_subject_of_an_observation_is_doubted() -> None:
    with capture_logs() as logs:
        calls().observe(ADA, Entry(type="observation", text="Bob came.", minute=MINUTE, subjects=("Bob the guard",)))
    assert [(entry["event"], entry["then"]) for entry in logs] == [
        ("observation.unknown_subject", f"did you mean {BOB!r}?")
    ]


def test_a_request_takes_its_params_by_position_too() -> None:
    world = calls()
    world.request("think", ADA, {"motion": "mend it"})
    assert world.take()[0].requests[0].params == {"motion": "mend it"}


#: Every call of a world, as it is usually made.
USUAL: dict[str, Callable[[WorldCalls], object]] = {
    "observe": lambda world: world.observe(ADA, seen()),
    "request": lambda world: world.request("think", ADA),
    "apply": lambda world: world.apply(SetCounter(ADA, "mine", 1)),
    "join": lambda world: world.join("agent:cy", Profile(name="Cy")),
    "leave": lambda world: world.leave(BOB),
    "checkpoint": lambda world: world.checkpoint(b"state"),
    "event": lambda world: world.event(ADA, Event(kind="final_results")),
    "left_location": lambda world: world.left_location("inn", [BOB]),
    "story_event": lambda world: world.story_event("done"),
}
READING: dict[str, Callable[[WorldCalls], object]] = {
    "scope_context": lambda world: world.scope_context("inn"),
    "memory": lambda world: world.memory(ADA).recent(),
}


def said(world: WorldCalls) -> list[int]:
    """How much of each kind the world has said in its turn."""
    turn, checkpoint = world.take()
    return [len(part) for part in vars(turn).values()] + [checkpoint is not None]


NOTHING = said(calls())


@pytest.mark.parametrize("name", USUAL)
def test_each_call_counts_in_its_turn_alone(name: str) -> None:
    world = calls()
    USUAL[name](world)
    assert said(world) != NOTHING
    assert said(world) == NOTHING, "it was taken"
    over = calls()
    over.is_open = False
    for before in (calls(turn=None), over):
        with pytest.raises(UsageError, match="run 'town' has no open tick"):
            USUAL[name](before)
        assert said(before) == NOTHING


def test_a_call_out_of_turn_is_refused() -> None:
    world = calls(turn=None)
    with pytest.raises(UsageError, match="has no open tick"):
        world.event("agent:zoe", Event(kind="sneeze"))


@pytest.mark.parametrize("name", [*USUAL, *READING])
def test_a_forked_process_cannot_use_the_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, view = calls(), calls().memory(ADA)
    assert not world.forked
    own = world._process
    monkeypatch.setattr("cogitate.scheduler.tick.world_calls.os.getpid", lambda: 77)
    assert world.forked
    for call in ({**USUAL, **READING}[name], lambda _: view.recent()):
        with pytest.raises(UsageError, match=f"process {own} opened this loop, and process 77 is a fork of it"):
            call(world)
    monkeypatch.undo()
    assert said(world) == NOTHING


# -- bounds ------------------------------------------------------------------------------------------

#: Calls with a value that is the last that fits, or the first that does not.
BOUNDS: list[tuple[str, Callable[[WorldCalls, int], object], int]] = [
    ("characters", lambda world, n: world.observe(ADA, seen("x" * n)), MOST),
    ("minutes ahead", lambda world, n: world.observe(ADA, seen(minute=MINUTE + n)), DAY),
    ("minutes ago", lambda world, n: world.observe(ADA, seen(minute=MINUTE - n)), EARLIEST * DAY),
    ("keys", lambda world, n: world.story_event("done", related={f"k{i}": "x" for i in range(n)}), 100),
    ("a key", lambda world, n: world.story_event("done", related={"k" * n: "x"}), 100),
    ("an id", lambda world, n: world.story_event("done", related={"k": "x" * n}), MAX_LABEL),
    ("tags", lambda world, n: world.story_event("done", tags=["x"] * n), MAX_NAMES),
    ("a kind", lambda world, n: world.story_event("x" * n), 100),
    ("numbers", lambda world, n: world.request("think", ADA, numbers=tuple(range(1, n + 1))), MAX_NUMBERS),
    ("reads", lambda world, n: world.request("think", ADA, reads=(Reads(ADA, 0),) * n), MAX_NAMES),
    ("lines", lambda world, n: world.scope_context("inn", count=n), MAX_NUMBERS),
    ("one who is present", lambda world, n: world.scope_context("inn", ["x" * n]), MAX_OWNER),
    ("a state", lambda world, n: world.checkpoint(b"x" * n), 9),
]


@pytest.mark.parametrize(("call", "most"), [row[1:] for row in BOUNDS], ids=[row[0] for row in BOUNDS])
def test_a_call_has_exact_bounds(
    call: Callable[[WorldCalls, int], object], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.scheduler.tick.world_calls.MAX_STATE", 9)
    world = calls()
    call(world, most)
    world.take()
    with pytest.raises(InputError):
        call(world, most + 1)
    assert said(world) == NOTHING


def test_the_longest_location_id_makes_the_longest_owner() -> None:
    world = calls()
    long = "x" * (MAX_OWNER - len("location:"))
    world.join(f"location:{long}", Profile(name="Far"))
    world.left_location(long)
    with pytest.raises(InputError, match=rf"location has {MAX_OWNER + 1} characters"):
        world.left_location("x" * (MAX_OWNER + 1))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda world: world.request("muse", ADA), "kind 'muse' is switched off in this run"),
        (lambda world: world.request("think", ADA, reads=(Reads("agent:zoe", 0),)), "there is no owner 'agent:zoe'"),
        (lambda world: world.request("plan", ADA, params={"replaces": True}), "unknown field `replaces`"),
        (lambda world: world.checkpoint(5), r"checkpoint\(5\): give bytes"),
        (lambda world: world.checkpoint([1, 2]), r"checkpoint\(\[1, 2\]\): give bytes"),
    ],
)
def test_unusable_arguments_are_refused(call: Callable[[WorldCalls], object], why: str) -> None:
    world = calls()
    with pytest.raises(InputError, match=why):
        call(world)
    assert said(world) == NOTHING


# -- what is noted -----------------------------------------------------------------------------------


def test_a_request_is_recorded_unchanged() -> None:
    world = calls()
    world.request("think", ADA, numbers=(3,), reads=(Reads(BOB, 2),), priority=-4, params={"x": [1]}, within=6)
    world.request("think", BOB)
    first, second = world.take()[0].requests
    assert (first.kind, first.owner, first.numbers, first.reads) == ("think", ADA, (3,), (Reads(BOB, 2),))
    assert (first.priority, first.params, first.within) == (-4, {"x": [1]}, 6)
    assert (second.numbers, second.reads, second.priority, second.params, second.within) == (None, (), 0, {}, 0)


def test_leaving_twice_has_no_further_effect() -> None:
    world = calls()
    for owner in (BOB, ADA, BOB):
        world.leave(owner)
    assert world.take()[0].leaves == [BOB, ADA]


def test_a_joining_owner_can_be_mentioned_at_once_and_joins_once() -> None:
    world = calls()
    world.join("agent:cy", Profile(name="Cy"))
    world.observe("agent:cy", seen())
    world.request("think", "agent:cy")
    for owner, why in (("agent:cy", "is in this run already"), (ADA, "is in this run already"), (GONE, "has left")):
        with pytest.raises(InputError, match=why):
            world.join(owner, Profile(name="Again"))
    turn, _ = world.take()
    assert turn.joins == {"agent:cy": Profile(name="Cy")}
    assert (len(turn.observed), len(turn.requests)) == (1, 1)


@pytest.mark.parametrize("data", [b"state", bytearray(b"state"), memoryview(b"state")])
def test_a_worlds_state_is_a_copy_of_its_bytes(data: Any) -> None:
    world = calls()
    world.checkpoint(b"before")
    world.checkpoint(data)
    _, kept = world.take()
    assert (type(kept), kept) == (bytes, b"state")


def test_an_event_is_remembered_and_an_important_one_integrated() -> None:
    world = calls()
    strategies = [
        world.event(ADA, Event(kind="discussion_statement", text="It rains.", speaker=BOB)),
        world.event(ADA, Event(kind="final_results")),
    ]
    turn, _ = world.take()
    assert strategies == ["simple", "integrate"]
    assert [(owner, entry.minute) for owner, entry in turn.observed] == [(ADA, MINUTE)] * 2
    (told,) = turn.world_effects
    assert told.owner == ADA


def test_a_group_that_an_event_names_must_be_there() -> None:
    world = calls()
    world.event(ADA, Event(kind="final_results", group=INN))
    with pytest.raises(InputError, match="there is no owner 'group:none'"):
        world.event(ADA, Event(kind="final_results", group="group:none"))
    assert len(world.take()[0].observed) == 1


def test_leaving_a_location_triggers_recounts_of_it_and_those_present() -> None:
    world = calls()
    world.left_location("inn", [BOB])
    world.story_event("fire", ("red",), {"quest_id": "q7", "npc_ids": [BOB]})
    left, bob, story = world.take()[0].triggers
    assert [(one.scope, one.location, one.minute) for one in (left, bob)] == [
        (INN, "inn", MINUTE),
        (BOB, "inn", MINUTE),
    ]
    assert (story.scope, story.events, story.minute, story.quest_id) == (WORLD, ("fire",), MINUTE, "q7")
    assert story.subjects == (BOB,)


@pytest.mark.parametrize("missing", [INN, WORLD, BOB])
def test_left_location_refuses_unknown_owners(missing: str) -> None:
    world = calls()
    del world._state.streams[missing]
    with pytest.raises(InputError, match=f"there is no owner '{missing}'"):
        world.left_location("inn", [BOB])
    assert said(world) == NOTHING


def test_a_story_needs_a_world() -> None:
    world = calls()
    del world._state.streams[WORLD]
    with pytest.raises(InputError, match="there is no owner 'world'"):
        world.story_event("done")


def test_scoped_memories_are_shown_by_owner() -> None:
    world = calls()
    for owner in (INN, BOB, WORLD):
        for text in ("One.", "Two.", "Three.", "Four."):
            world._state.streams[owner].append(Entry(type="summary", text=f"{text} {owner}", minute=MINUTE), TICK)
    found = world.scope_context("inn", [BOB])
    assert "Bob the guard:" in found
    assert [found.count(text) for text in ("One.", "Two.", "Three.", "Four.")] == [0, 3, 3, 3], "the latest three"
    assert world.scope_context("inn", [BOB], count=1).count("- ") == 3
    assert world.scope_context("inn").count("Four.") == 2


# -- a tick that is handed over again ----------------------------------------------------------------


def test_a_tick_that_is_handed_over_again_takes_owners_that_have_joined_or_left_since() -> None:
    world = calls(turn=None)
    world.redelivering = True
    world.open(3)
    assert (world.present, world.boundary) == (3, 0), "memory is as of the last boundary, not as of that tick"
    world.observe(ADA, seen(minute=3))
    for owner in (ADA, GONE):
        world.join(owner, Profile(name="Again"))
    world.observe("agent:nobody", seen(minute=3))
    with pytest.raises(InputError, match="is in this run already"):
        world.join(GONE, Profile(name="Twice in one tick"))
    with pytest.raises(InputError, match="there is no owner 5"):
        world.observe(5, seen())  # type: ignore[arg-type]
    turn, _ = world.take()
    assert (len(turn.observed), list(turn.joins)) == (2, [ADA, GONE])
    world.redelivering = False
    world.open(4)
    assert world.boundary == 4
    with pytest.raises(InputError):
        world.observe("agent:nobody", seen())


def test_an_event_reaches_each_present_owner_once_and_no_others() -> None:
    world = calls()
    event = Event(kind="voting_initiated", speaker=BOB, subjects=(ADA, "agent:elsewhere", BOB))
    assert list(world.broadcast(event, also=[INN, ADA])) == [BOB, ADA, INN]
    assert [owner for owner, _ in world.take()[0].observed] == [BOB, ADA, INN]
    with pytest.raises(InputError, match="concerns no owner of this run"):
        world.broadcast(Event(kind="voting_initiated", speaker="agent:elsewhere"))


def test_a_speaker_joining_in_the_same_tick_is_named() -> None:
    world = calls()
    world.join("agent:cy", Profile(name="Cy Young"))
    world.event(ADA, Event(kind="voting_initiated", speaker="agent:cy"))
    world.event(ADA, Event(kind="voting_initiated", speaker=BOB))
    world.event(ADA, Event(kind="voting_initiated", speaker=BOB, name="The guard"))
    assert [told.text for _, told in world.take()[0].observed] == [
        "Voting initiated by Cy Young.",
        "Voting initiated by Bob the guard.",
        "Voting initiated by The guard.",
    ]


def test_a_speakers_long_name_is_cut() -> None:
    world = calls()
    world._state.rules = dataclasses.replace(world._state.rules, max_text=MOST + 200)
    world._state.profiles[BOB] = Profile(name="B" * 300)
    world.event(ADA, Event(kind="discussion_statement", text="It rains.", speaker=BOB))
    ((_, told),) = world.take()[0].observed
    assert told.text.count("B") == 200
