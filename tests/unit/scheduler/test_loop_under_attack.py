"""Whatever a host says to a loop is refused at the call or can be kept: committed, resumed, replayed and audited."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cogitate import CogitateError, Event, EventRule, Location, MemoryView, Observation, Profile, Settings, TickLoop
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
from cogitate.memory import typed_json
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.registry import kind_names
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
#: Each example is two lives of a run. It is not made smaller when it fails: that would be hundreds.
LIVES = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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
}


@pytest.fixture(scope="module", autouse=True)
def quiet_logs() -> Iterator[None]:
    """Losses are logged, but not in thousands of lines."""
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


def opened(redis: FakeRedis, folder: Path, **arguments: Any) -> TickLoop:
    usual: dict[str, Any] = {
        "run": "test",
        "owners": OWNERS,
        "settings": Settings(data_dir=folder, latency={"plan": 1}),
        "ticks": TICKS,
        "start_minute": START,
        "inline": True,
        "client": redis,
    }
    return TickLoop(**{**usual, **arguments})


def lived(loop: TickLoop, at: Callable[[int], list[Call]]) -> list[str]:
    """Live to the end; what was refused on the way."""
    refused: list[str] = []
    with loop:
        for tick in loop:
            for call in at(tick.number):
                try:
                    call(loop)
                except CogitateError as error:
                    refused.append(str(error))
            if not loop.over and loop.open_tick.number >= TICKS:
                loop.checkpoint(b"all")
                loop.stop()  # it may have been given a million
    return refused


def is_kept_well(client: FakeRedis, folder: Path, run: str = "test", **arguments: Any) -> None:
    """The run can be resumed, replayed, audited and read."""
    given: dict[str, Any] = {"exist": "resume", "ticks": MORE, "start_minute": 0, "owners": {}} | arguments
    with opened(client, folder, run=run, **given) as resumed:
        ticks = [tick.number for tick in resumed]
    assert ticks[-1:] == [given["ticks"]]
    assert audit(client, run) == []
    assert replay(client, run, FakeRedis()).digest == resumed.digest
    assert summarise_run(client, run).tick == given["ticks"]
    list(JobHistory(client, run).all())


def is_clear(said: str) -> None:
    """A line that can be printed, of a length that can be read, in words of Python's user."""
    assert said.isprintable(), ascii(said)
    assert len(said) < 1_000
    assert re.search(r" --[a-z]", said) is None, "a flag"


def test_every_call_and_every_argument_is_attacked() -> None:
    calls = {name for name in dir(TickLoop) if not name.startswith("_") and callable(getattr(TickLoop, name))}
    without_arguments = {"stop", "close", "next_tick"}
    assert calls == CALLS.keys() | without_arguments
    assert inspect.signature(TickLoop).parameters.keys() == ARGUMENTS.keys()
    reading = {name for name, value in vars(MemoryView).items() if not name.startswith("_") and callable(value)}
    assert reading == READINGS.keys()
    for name in reading:
        assert inspect.signature(getattr(MemoryView, name)).parameters.keys() - {"self"} == READINGS[name].keys()


@pytest.mark.parametrize("name", CALLS)
@settings(LIVES, max_examples=6)  # with many calls each: a life costs more than a call
@given(data=st.data())
def test_accepted_arguments_can_be_stored(name: str, tmp_path: Path, data: st.DataObject) -> None:
    decides = name.startswith("decide")
    others = st.one_of(*(call for other, call in CALLS.items() if decides or not other.startswith("decide")))
    attacks = {
        2: data.draw(st.lists(CALLS[name], min_size=6, max_size=10)),
        3: data.draw(st.lists(others, max_size=4)),
        4: data.draw(st.lists(CALLS[name], min_size=2, max_size=6)),
    }
    client = FakeRedis()
    refused = lived(opened(client, tmp_path), lambda tick: attacks.get(tick, []))
    for said in refused:
        is_clear(said)
    is_kept_well(client, tmp_path, **({"world": "present"} if decides else {}))  # it may have come to the end


@pytest.mark.parametrize("name", ARGUMENTS)
@LIVES
@given(data=st.data())
def test_a_run_with_any_argument_is_refused_or_can_be_kept(name: str, tmp_path: Path, data: st.DataObject) -> None:
    client = FakeRedis()
    value = data.draw(ARGUMENTS[name])
    given_as = {name: value} | ({"settings": Settings(data_dir=tmp_path)} if name != "settings" else {})
    try:
        loop = opened(client, tmp_path, **given_as)
    except CogitateError as error:
        said = str(error)
    else:
        said = ""
    if said:
        is_clear(said)
        return
    run, mine = loop.state.run, loop.ledger.client
    failed = None
    try:
        lived(loop, lambda tick: [])
    except CogitateError as error:  # a brief is asked in the midst of a tick
        assert name == "brief"
        failed = str(error)
    if failed is not None:
        assert "brief('agent:" in failed
    is_kept_well(mine, tmp_path, run)


SEEN = {"type": "observation", "text": "A cart went by.", "minute": START}
HEARD = {"kind": "discussion_statement", "text": "It rains.", "speaker": BEN}
#: What each call is usually given; every argument is attacked alone, and every field of those that are dicts.
USUAL: dict[str, dict[str, Any]] = {
    "observe": {"owner": ADA, "entry": SEEN},
    "request": {"kind": "plan", "owner": ADA, "numbers": (1,), "reads": (), "priority": 0, "params": {}, "within": 9},
    "apply": {"effect": SetCounter(ADA, "mine", 1)},
    "join": {"owner": "npc:guard", "profile": Profile(name="Guard")},
    "leave": {"owner": "npc:bob"},
    "checkpoint": {"data": b"state"},
    "event": {"owner": ADA, "event": HEARD},
    "broadcast": {"event": HEARD, "also": ["npc:bob"]},
    "left_location": {"location": "inn", "present": ["npc:bob"]},
    "story_event": {"kind": "quest_completed", "tags": ["a"], "related": {"quest_id": "q7"}},
    "scope_context": {"location": "inn", "present": ["npc:bob"], "count": 3},
    "memory": {"owner": ADA, "similarity": None},
}
FIELDS_OF: dict[tuple[str, str], tuple[str, ...]] = {
    ("observe", "entry"): Entry.__struct_fields__,
    ("event", "event"): tuple(Event.model_fields),
    ("broadcast", "event"): tuple(Event.model_fields),
    ("story_event", "related"): ("quest_id", "encounter_id", "location_id", "npc_ids", "anything"),
    ("request", "params"): (
        "replaces",
        "minute",
        "status",
        "unfinished",
        "since",
        "start",
        "end",
        "policy",
        "location",
        "activity",
        "size",
        "estimates",
        "routine",
        "room",
        "pass",
        "anything",
    ),
}


def one_at_a_time(name: str) -> Iterator[dict[str, Any]]:
    """The arguments of calls, each with one value that is wrong or odd; those of a request for every kind."""
    usual = USUAL[name]
    kinds = kind_names() if name == "request" else [None]
    for argument in usual:
        for make in HOSTILE:
            yield {**usual, argument: make()}
        for field in FIELDS_OF.get((name, argument), ()):
            for make in HOSTILE:
                for kind in kinds:
                    yield {**usual, argument: usual[argument] | {field: make()}} | ({"kind": kind} if kind else {})


def told(turn: WorldTurn) -> list[list[Any]]:
    """What the world has said in its turn so far, as it will be written."""
    parts = (turn.observed, turn.requests, turn.world_effects, turn.triggers, turn.joins.items(), turn.leaves)
    return [list(part) for part in parts]


def as_json(value: Any) -> Any:
    """The value as JSON has it; what has no such form is no value that could be kept as it is."""
    if isinstance(value, bytes | bytearray | memoryview):
        return NotImplemented
    with suppress(TypeError, ValueError, OverflowError, RecursionError):
        return typed_json.decode(msgspec.json.encode(value))
    return NotImplemented


def is_as_given(given: dict[str, Any], kept: Any) -> None:
    """What was accepted can be read back, and is what was given."""
    for part in kept if isinstance(kept, tuple) else (kept,):
        if isinstance(part, msgspec.Struct):
            assert typed_json.decode(msgspec.json.encode(part), type(part)) == part
        if isinstance(part, Entry) and isinstance(given.get("entry"), dict):
            fields = {name: value for name, value in given["entry"].items() if as_json(value) is not NotImplemented}
            if fields.get("minute", 0) is None:
                del fields["minute"]  # it is the tick's
            assert as_json({name: getattr(part, name) for name in fields}) == as_json(fields)
        if isinstance(part, Request) and isinstance(given["params"], dict):
            assert as_json(part.params) == as_json(given["params"])


@pytest.mark.parametrize("name", USUAL)
def test_each_argument_alone_is_refused_or_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    client, calls = FakeRedis(), list(one_at_a_time(name))
    accepted: list[Any] = []
    with opened(client, tmp_path) as loop:
        for tick in loop:
            for given in calls[tick.number - 1 :: TICKS]:
                before = told(loop._loop.calls._turn)
                try:
                    getattr(loop, name)(**given)
                except CogitateError as error:
                    is_clear(str(error))
                    assert told(loop._loop.calls._turn) == before, "what is refused leaves nothing behind"
                    continue
                for part, was in zip(told(loop._loop.calls._turn), before, strict=True):
                    for kept in part[len(was) :]:
                        is_as_given(given, kept)
                        accepted.append(kept)
            if tick.number == TICKS:
                loop.checkpoint(b"all")
    lines = list(read_journal(RunStore.open(client, "test"), 1, TICKS))
    written = [one for line in lines for one in (*line.core.observed, *line.core.waiting)]
    repeats = sum(len(line.core.repeated) for line in lines)
    seen = [one for one in accepted if isinstance(one, tuple) and isinstance(one[1], Entry)]
    assert len(seen) == len(written) + repeats
    given_to = [(owner, plain_entry(entry)) for owner, entry in seen]
    assert [one for one in written if (one[0], plain_entry(one[1])) not in given_to] == []
    is_kept_well(client, tmp_path)
    assert "job.effects_refused" not in summarise_run(client, "test").warnings, "a kind could not use what was accepted"


def test_each_argument_of_a_decision_alone_is_refused_or_decided(tmp_path: Path) -> None:
    client, last = FakeRedis(), 2_000
    usual: dict[str, Any] = {"kind": "plan", "owners": [ADA], "params": {}, "priority": 0, "within": 1}
    calls = [{**usual, argument: make()} for argument in usual for make in HOSTILE]
    with opened(client, tmp_path, ticks=last) as loop:
        for tick in loop:
            for given in calls:
                before, said = loop.open_tick, told(loop._loop.calls._turn)
                try:
                    ends = loop.decide(**given)
                except CogitateError as error:
                    is_clear(str(error))
                    assert told(loop._loop.calls._turn) == said, "what is refused leaves nothing behind"
                    assert loop.open_tick is before
                else:
                    assert {end.kind for end in ends} <= {"plan"}
                    assert loop.open_tick.number == before.number + bool(ends)
            assert loop.open_tick.number > tick.number
            loop.stop()
    is_kept_well(client, tmp_path, ticks=int(loop.tick) + 3)


@pytest.mark.parametrize("name", READINGS)
def test_each_argument_of_a_reading_alone_is_refused_or_used(name: str, tmp_path: Path) -> None:
    with opened(FakeRedis(), tmp_path, ticks=3) as loop:
        for _ in loop:
            loop.observe(ADA, SEEN)
            view = loop.memory(ADA)
            before = loop.state.streams[ADA].seal() if loop.tick else ""
            for argument in READINGS[name]:
                for make in HOSTILE:
                    try:
                        read(view, name, {argument: make()})
                    except CogitateError as error:
                        is_clear(str(error))
            assert not loop.tick or loop.state.streams[ADA].seal() == before


def plain_entry(entry: Entry) -> Entry:
    """The entry as its owner was told of it: without number and tick."""
    return msgspec.structs.replace(entry, number=0, tick=0)
