"""Whatever a host says to a loop is refused at the call or can be kept: committed, resumed, replayed and audited."""

from __future__ import annotations

import inspect
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

from cogitate import CogitateError, Event, MemoryView, Profile, Settings, TickLoop
from cogitate.effects import Entry, SetCounter
from cogitate.memory import typed_json
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Request
from cogitate.tasks.registry import kind_names
from tests.unit.scheduler.hostile_calls import ARGUMENTS, CALLS, MORE, OWNERS, READINGS, TICKS, Call, read
from tests.unit.scheduler.hostile_values import ADA, BEN, HOSTILE, START

#: Each example is two lives of a run. It is not made smaller when it fails: that would be hundreds.
LIVES = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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
