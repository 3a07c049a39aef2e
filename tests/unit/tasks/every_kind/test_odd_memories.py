"""Whatever the edge stores, every built-in kind survives it, under each design of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import get_args

import msgspec
import pytest
from fakeredis import FakeRedis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogitate import Location, Profile, Settings, TickLoop
from cogitate.effects import Append, Entry
from cogitate.memory import typed_json
from cogitate.memory.apply import apply, unmet
from cogitate.memory.limits import MemoryLimits, Policy
from cogitate.memory.policies.compaction import enforce_limits
from cogitate.memory.stream import Stream
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.intake.effects import check_effects
from cogitate.tasks.job import Job, JobKey, Reads, Request
from cogitate.tasks.kind import Case, Kind, Moment, WorldFacts
from cogitate.tasks.registry import kinds
from cogitate.tasks.shown import effects_of
from tests.unit.tasks.every_kind.answer_schemas import drawn_answer
from tests.unit.tasks.every_kind.odd_memories import ENTRY, NOW, streams
from tests.unit.tasks.kind_cases import KLAUS, PLACES, PROFILE, WORLD

POLICIES = get_args(Policy)
TICK = 500
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
BRIEF = {"free": True, "status": {"energy": 3.0}, "location": "cafe", "near": ["agent:maria"]}


def world_of(policy: Policy) -> WorldFacts:
    limits = MemoryLimits(
        policy=policy,
        max_observations=6,
        max_reflections=2,
        max_plans=2,
        token_limit=300,
        cells=3,
        reflection_trigger="either",
        reflection_trigger_max=5,
    )
    return WorldFacts(locations=PLACES, names=WORLD.names, limits=limits, act_interval=1)


def asked(kind: Kind, stream: Stream, world: WorldFacts) -> Iterator[Request]:
    """What is due at some moments of a day, and what a host may ask for outright."""
    for minute in (0, 6 * 60, NOW - 700, NOW, NOW + 5_000):
        moment = Moment(
            owner=stream.owner,
            stream=stream,
            profile=PROFILE,
            tick=TICK,
            minute=minute,
            world=world,
            brief=BRIEF,
        )
        yield from kind.due(moment)
        kind.wake(moment)
    for entry in stream.entries.values():
        kind.heeds(entry, stream, world, NOW)  # type: ignore[attr-defined]
    yield Request(kind=kind.name, owner=stream.owner)
    for entry in stream.provisional():
        params = {"replaces": entry.number, "minute": entry.minute}
        yield Request(kind=kind.name, owner=stream.owner, params=params, numbers=tuple(stream.entries))


def case_of(request: Request, stream: Stream, world: WorldFacts) -> Case:
    head, numbers = stream.head, request.numbers
    upto = stream.as_of(head.last_number, TICK)
    found = upto if numbers is None else [e for e in stream.entries.values() if e.number in numbers]
    job = Job(
        run="test",
        key=JobKey(TICK, request.kind, stream.owner, 0, 0),
        minute=NOW,
        due=TICK + 5,
        reads=(Reads(stream.owner, head.last_number, numbers),),
        params=request.params,
        summary=head.summary,
        summary_version=head.summary_version,
        character=head.character,
    )
    return Case(job=job, profile=PROFILE, world=world, memories={stream.owner: found})


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
@settings(max_examples=8 * len(POLICIES), suppress_health_check=SLOW)
@given(stream=streams(), policy=st.sampled_from(POLICIES), data=st.data())
def test_every_kind_survives_every_storable_entry(
    kind: Kind, policy: Policy, stream: Stream, data: st.DataObject
) -> None:
    world = world_of(policy)
    for request in asked(kind, stream, world):
        case = case_of(typed_json.decode(msgspec.json.encode(request), Request), stream, world)
        made = check_effects(kind.heuristic(case))
        assert request.params.get("replaces") or unmet({stream.owner: stream}, made) is None
        if not kind.output_cap:
            continue
        for share in (1.0, 0.3, 0.0):
            prompt = kind.prompt(case, share)
        answer = drawn_answer(prompt.answer, data)
        if answer is not None:
            with suppress(ValueError):  # unusable, as a kind says it
                check_effects(effects_of(kind, case, answer, prompt, cut=True))


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=30, suppress_health_check=SLOW)
@given(stream=streams())
def test_memory_limits_hold_for_every_storable_entry(policy: Policy, stream: Stream) -> None:
    limits, by_owner = world_of(policy).limits, {stream.owner: stream}
    for tick in (TICK, TICK + 1):
        effects = check_effects(enforce_limits(stream, limits, tick, WORLD.names))
        assert unmet(by_owner, effects) is None
        apply(by_owner, effects, tick)
    assert stream.count("reflection") <= limits.max_reflections


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=4, suppress_health_check=SLOW)
@given(entries=st.lists(ENTRY, min_size=1, max_size=8))
def test_a_run_with_odd_memories_continues_and_replays(
    cogitate_loop: Callable[..., TickLoop], policy: Policy, entries: list[Entry]
) -> None:
    client = FakeRedis()
    loop = cogitate_loop(
        owners={KLAUS: PROFILE},
        locations=[Location(id="cafe", name="Cafe", type="cafe")],
        ticks=40,
        client=client,
        settings=Settings(policy=policy, seconds_per_tick=3600, reflection_interval=180, max_observations=6),
    )
    for tick in loop:
        if tick.number in (1, 20):
            for entry in entries:
                loop.apply(Append(KLAUS, entry))
    assert loop.tick == 40
    assert not {"kind.failed", "job.effects_refused"} & summarise_run(client, "test").warnings.keys()
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == loop.digest


def test_a_plan_without_items_ends_no_run(cogitate_loop: Callable[..., TickLoop]) -> None:
    client = FakeRedis()
    settings = Settings(seconds_per_tick=3600, reflection_interval=120)
    loop = cogitate_loop(owners={KLAUS: Profile(name="Klaus")}, ticks=30, client=client, settings=settings)
    reflected = 0
    for tick in loop:
        reflected += sum(change.kind == "reflect" and change.entry is not None for change in tick.applied)
        if tick.number == 1:
            empty = Entry(type="plan", text="Nothing today.", minute=tick.minute, valid_until=tick.minute + 1440)
            loop.apply(Append(KLAUS, empty))
        for _ in range(3):
            loop.observe(KLAUS, {"text": f"A cart passed at {tick.minute}.", "minute": tick.minute})
    assert reflected > 1
    assert audit(client, "test") == []
