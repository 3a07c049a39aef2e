"""Valid and invalid arguments for each call and each reading of a loop."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fakeredis import FakeRedis
from hypothesis import strategies as st

from cogitate import CogitateError, Event, EventRule, Fork, Location, MemoryView, Observation, Profile, TickLoop
from cogitate.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Character,
    Entry,
    MarkAccessed,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    Tell,
)
from cogitate.tasks.job import Reads
from tests.unit.scheduler.hostile_values import ADA, BEN, HOSTILE, START, Odd

INN, WORLD = "location:inn", "world"
OWNERS = {
    ADA: Profile(name="Ada"),
    BEN: Profile(name="Ben", traits=("kind",)),
    "npc:bob": Profile(name="Bob"),
    "group:council": Profile(name="The council"),
    INN: Profile(name="The inn"),
    WORLD: Profile(name="The valley"),
}
TICKS, MORE = 6, 9  # before the morning's plans; ticks of the first host, and of the second


TEXT = st.text(st.characters(exclude_categories=()), max_size=30)  # halves of characters too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NONSENSE = st.sampled_from(HOSTILE).map(lambda make: make()) | JSON


def mostly(*usual: Any) -> st.SearchStrategy[Any]:
    """A value that can be used, or one that hardly can."""
    return st.one_of(st.sampled_from(usual), st.sampled_from(usual), NONSENSE)


def some(*names: str, **usual: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these fields; those named as arguments are always there."""
    return st.fixed_dictionaries(
        {n: usual[n] for n in names}, optional={n: s for n, s in usual.items() if n not in names}
    )


OWNER = mostly(ADA, BEN, "npc:bob", INN, WORLD, "group:council", "agent:zoe")
MINUTE = mostly(START, START + 3, START + 2_000, 0, 10**9, -5)
SAID = mostly("Hello.", "Ben owes me three coins.", "x" * 3_999, "I met Ada at the inn.")
NAME = mostly("inn", "quest-7", "red", "")
NAMES = mostly((), ("a", "b"), ["agent:ben"], ("x",) * 30)
STATUS = mostly({"energy": 10, "hunger": 5.5}, {}, {"energy": math.nan}, {"energy": True})
FIELDS = some(
    "text",
    "minute",
    text=SAID,
    minute=MINUTE,
    type=mostly("observation", "message", "plan", "reflection", "summary"),
    location=NAME,
    subjects=NAMES,
    keywords=NAMES,
    importance=mostly(0, 3, 10, 11),
    source=mostly("perception"),
    source_id=NAME,
    tags=NAMES,
    quest_id=NAME,
    encounter_id=NAME,
)
MORE_OF_AN_ENTRY = some(
    evidence=mostly((1, 2), ()),
    valid_until=mostly(0, 2_000),
    since_minute=mostly(0, 9),
    since_number=mostly(0, 3),
    number=mostly(0, 4),
    provisional=mostly(False, True),
)


def built(make: Callable[..., Any], fields: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Callable[[], Any]]:
    """A function that makes the object: its class may refuse the fields, as a host's own line would."""
    return fields.map(lambda chosen: lambda: make(**chosen))


def plain(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Callable[[], Any]]:
    return values.map(lambda value: lambda: value)


AS_ENTRY = FIELDS.map(lambda chosen: {"type": "observation"} | chosen)
ENTRY = (
    built(Entry, AS_ENTRY)
    | built(Observation, FIELDS)
    | plain(FIELDS)
    | plain(NONSENSE)
    | st.tuples(AS_ENTRY, MORE_OF_AN_ENTRY).map(lambda both: lambda: Entry(**{**both[0], **both[1]}))
)
EVENT_FIELDS = some(
    "kind",
    kind=mostly("discussion_statement", "voting_initiated", "ballot_completed", "final_results", "_", "quest"),
    text=SAID,
    speaker=OWNER,
    name=NAME,
    topic=NAME,
    reasoning=SAID,
    certainty=NAME,
    consensus=mostly(True, False, None),
    earnings=mostly(5, "$7", 1.5),
    round=mostly(1, -1),
    counterfactuals=mostly({"a": 1}, {"b": math.inf}),
    location=NAME,
    subjects=NAMES,
    group=mostly("group:council", "group:none", ""),
)
EVENT = built(Event, EVENT_FIELDS) | plain(EVENT_FIELDS) | plain(NONSENSE)
PROFILE = built(
    Profile,
    some(
        "name",
        name=SAID,
        age=mostly(30, None, -1),
        occupation=SAID,
        traits=NAMES,
        background=SAID,
        currently=SAID,
        routine=mostly("goes to bed around 11pm"),
        home=NAME,
        work=NAME,
    ),
) | plain(NONSENSE)
NUMBERS = mostly((1,), (1, 2, 3), (), (999,), None)
PARAMS = mostly(
    {},
    {"replaces": True},
    {"replaces": 1, "minute": 5},
    {"status": {"energy": 5}},
    {"since": 3},
    {"routine": [1]},
    {"start": 0, "end": 10**9},
    {"policy": "cells"},
    {"unfinished": [{"description": "sweep"}]},
    {"location": "inn"},
    {"size": 1},
    {"estimates": {"1": 5}},
    {"minute": 2**53 - 1},
    None,
) | st.dictionaries(
    st.sampled_from(["replaces", "minute", "status", "unfinished", "since", "start", "policy", "location"]),
    JSON,
    max_size=3,
)
KIND = mostly("plan", "act", "reflect", "rate", "integrate", "summarise", "recount", "prune", "dream")
READS = st.lists(st.builds(Reads, OWNER, mostly(0, 2, -1), NUMBERS), max_size=2) | NONSENSE
EFFECT = st.one_of(
    built(Append, st.fixed_dictionaries({"owner": OWNER, "entry": ENTRY.map(lambda make: quietly(make))})),
    built(Archive, st.fixed_dictionaries({"owner": OWNER, "numbers": NUMBERS})),
    built(ReplaceSummary, st.fixed_dictionaries({"owner": OWNER, "text": SAID, "version": mostly(0, 1)})),
    built(
        SetCharacter,
        st.fixed_dictionaries({"owner": OWNER, "character": mostly(Character(names=("Ada",)), Character(names=5))}),
    ),  # type: ignore[arg-type]
    built(
        SetPlanStatus,
        st.fixed_dictionaries(
            {"owner": OWNER, "item": mostly("1-0"), "status": mostly("active"), "expects": mostly("pending")}
        ),
    ),
    built(
        AdvanceCursor,
        st.fixed_dictionaries({"owner": OWNER, "name": mostly("world", "mine"), "start": mostly(0), "end": mostly(1)}),
    ),
    built(SetCounter, st.fixed_dictionaries({"owner": OWNER, "name": mostly("mine"), "value": mostly(3, -3)})),
    built(MarkAccessed, st.fixed_dictionaries({"owner": OWNER, "numbers": NUMBERS, "minute": MINUTE})),
    built(Tell, st.fixed_dictionaries({"owner": OWNER, "topic": mostly("mine"), "data": PARAMS})),
    plain(NONSENSE),
)

Call = Callable[[TickLoop], object]


def quietly(make: Callable[[], Any]) -> Any:
    """What is made, or nothing where its class refuses."""
    with suppress(CogitateError):
        return make()
    return None


WEIGHTS = mostly(None, "default", "spec", "dialogue", {"relevance": 1.0, "recency": 0.5}, "best", {"recency": -1})
LIMIT = mostly(3, 0, 10**6, None, -1)
WHO = mostly((), BEN, [BEN, "Ada"], "Ben", [])
#: What a view of a memory takes, by call.
READINGS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "recall": {
        "query": SAID,
        "limit": LIMIT,
        "profile": WEIGHTS,
        "about": WHO,
        "since": mostly(None, 0, START),
        "types": mostly((), "observation", ["message", "plan"], "dream"),
    },
    "recent": {"limit": LIMIT},
    "by_type": {"type": mostly("observation", "plan", "dream"), "limit": LIMIT},
    "about": {"subject": WHO, "limit": LIMIT},
    "between": {"start": MINUTE, "end": MINUTE},
    "reflections": {"limit": LIMIT},
    "conversations": {"limit": LIMIT},
    "relationships": {},
    "plan": {},
    "context": {"query": SAID, "tokens": mostly(100, 1, 0), "profile": WEIGHTS, "about": WHO},
}
READING = st.sampled_from(sorted(READINGS)).flatmap(
    lambda name: st.tuples(st.just(name), st.fixed_dictionaries({}, optional=READINGS[name]))
)


def read(view: MemoryView, name: str, given: dict[str, Any]) -> object:
    """Read something; a call that lacks an argument is none."""
    usual = {"query": "", "type": "plan", "subject": BEN, "start": 0, "end": 1}
    wanted = {name for name in inspect.signature(getattr(view, name)).parameters if name in usual}
    return getattr(view, name)(**{key: usual[key] for key in wanted if (name, key) != ("context", "query")} | given)


DECIDED = st.tuples(
    KIND,
    mostly([ADA], [ADA, BEN], OWNERS, {BEN}, (), ADA, [ADA, "agent:zoe"]),
    some(params=PARAMS, priority=mostly(0, 2**70), within=mostly(1, 2, 0)),
)
CALLS: dict[str, st.SearchStrategy[Call]] = {
    "decide": DECIDED.map(lambda a: lambda loop: loop.decide(a[0], a[1], **a[2])),
    "decide_async": DECIDED.map(lambda a: lambda loop: asyncio.run(loop.decide_async(a[0], a[1], **a[2]))),
    "observe": st.tuples(OWNER, ENTRY).map(lambda a: lambda loop: loop.observe(a[0], a[1]())),
    "request": st.tuples(
        KIND, OWNER, some(numbers=NUMBERS, reads=READS, priority=mostly(0, 2**70), params=PARAMS, within=mostly(1, 0))
    ).map(lambda a: lambda loop: loop.request(a[0], a[1], **a[2])),
    "apply": EFFECT.map(lambda make: lambda loop: loop.apply(make())),
    "join": st.tuples(mostly("agent:cy", "npc:guard", "tree:x"), PROFILE).map(
        lambda a: lambda loop: loop.join(a[0], a[1]())
    ),
    "leave": mostly(ADA, BEN, "npc:bob", "agent:zoe").map(lambda owner: lambda loop: loop.leave(owner)),
    "checkpoint": mostly(b"", b"state").map(lambda data: lambda loop: loop.checkpoint(data)),
    "event": st.tuples(OWNER, EVENT).map(lambda a: lambda loop: loop.event(a[0], a[1]())),
    "broadcast": st.tuples(EVENT, mostly((), ["npc:bob"], "npc:bob")).map(
        lambda a: lambda loop: loop.broadcast(a[0](), a[1])
    ),
    "left_location": st.tuples(mostly("inn", "mill"), mostly((), ["npc:bob"], "npc:bob")).map(
        lambda a: lambda loop: loop.left_location(*a)
    ),
    "story_event": st.tuples(
        mostly("quest_completed", "done\ud800"),
        mostly((), ["a"], "abc"),
        mostly(None, {"quest_id": "q7"}, {"npc_ids": ["npc:bob"]}, {"x": 5}, {"quest_id": []}),
    ).map(lambda a: lambda loop: loop.story_event(*a)),
    "change_pace": mostly(8.0, 0, -1.0, float("nan"), 10**5_000).map(lambda rate: lambda loop: loop.change_pace(rate)),
    "scope_context": st.tuples(mostly("inn"), mostly((), ["npc:bob"]), mostly(3, -1)).map(
        lambda a: lambda loop: loop.scope_context(*a)
    ),
    "memory": st.tuples(OWNER, mostly(None, lambda query, entries: [1.0] * len(entries), len, Odd), READING).map(
        lambda a: lambda loop: read(loop.memory(a[0], similarity=a[1]), *a[2])
    ),
}
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "log_warnings": mostly(False, True),
    "run": mostly("r", "a b"),
    "owners": mostly(OWNERS, {}, {"bob": Profile(name="Bob")}, {ADA: {"name": "Ada"}}, [ADA]),
    "settings": NONSENSE,
    "locations": mostly(
        (),
        (Location(id="inn", name="Inn"),),
        (Location(id="inn", name="Inn"), Location(id="inn", name="Two")),
        (Location(id="", name="x"),),
        [{"id": "inn"}],
        (Location(id="a\ud800", name="x"),),
        (Location(id="a", name=5),),  # type: ignore[arg-type]
    ),
    "brief": NONSENSE.map(lambda said: lambda owner: said)
    | st.just(Odd)
    | NONSENSE
    | some(location=NAME, activity=SAID, condition=NAME, free=mostly(True, False), status=STATUS, activty=SAID).map(
        lambda said: lambda owner: said
    ),
    "tier_of": NONSENSE,
    "event_types": mostly(
        {"quest": "integrate"},
        {"quest": EventRule(verb="found")},
        {"_": "simple"},
        {"x": "often"},
        {"": "simple"},
        {"quest": EventRule(strategy="often")},
        {"quest": EventRule(importance=77)},  # type: ignore[arg-type]
    ),
    "ticks": mostly(TICKS, 1, 0, -3, "10"),
    "start_minute": mostly(START, 0, 1.5, -2_000, 10**12, 10**13),
    "resume": mostly(None, True),
    "exist": mostly("create", "resume", "replace", "ignore"),
    "take_over": mostly(False, True),
    "world": mostly("repeat", "present"),
    "describe": mostly({"a": "b"}, {}, {"a": 5}),
    "inline": mostly(True),
    "client": mostly(None, FakeRedis(decode_responses=True)),
    "watchers": mostly((), [lambda *_: None], ("x",), "x"),
    "fork": mostly(
        None,
        Fork(run="elsewhere", tick=1),
        Fork(run="test", tick=1),
        Fork(run="a\x1b[31m", tick=-3),
        Fork(run=5, tick="first"),  # type: ignore[arg-type]
        Fork(run="elsewhere", tick=True),
        Fork(run="elsewhere", tick=1, changes=("x",)),  # type: ignore[arg-type]
        {"run": "elsewhere"},
    ),
}
