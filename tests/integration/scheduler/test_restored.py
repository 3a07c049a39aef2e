"""A host that resumes a run restores every part of the previous host's state."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.controls import Control, SetCadence, SetLimit
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.steering.operators import ask
from tests.live_redis import empty_redis

OWNERS = {f"agent:{name}": Profile(name=name.title()) for name in ("ann", "ben", "cid", "dora", "eve")}
CONTROLS: dict[int, Control] = {
    8: SetCadence("reflect", 300, True),
    12: SetLimit("day.run.jobs", 400),
    60: SetLimit("day.run.jobs", 1),
}

#: Attributes that a resumed host derives again, takes from its settings, or has already written.
LEFT_OUT = {
    "rules",
    "cadence",
    "_remembering",
    "_rules",
    "_names",
    "_kept",
    "_needs",
    "_told",
    "_rest",
    "_changes",
    "_tick",
    "_flight",
    "_oldest",
    "_bounds_of",
    "_models_of",
    "_timed",
    "_fixed",
    "_changed",
    "_oldest_line",
    "_world",
    "_worlds",
    "warnings",
}


def shown(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """Convert an object, with all that it holds, to values that can be compared and printed."""
    if value is None or isinstance(value, str | bytes | int | float):
        return value
    if callable(value) or id(value) in seen:
        return "…"
    inner = functools.partial(shown, seen=seen | {id(value)})
    if isinstance(value, Mapping):
        return {str(key): inner(found) for key, found in value.items()}
    if isinstance(value, Set):
        return sorted(map(str, value))
    if isinstance(value, msgspec.Struct):
        held = {name: getattr(value, name) for name in value.__struct_fields__}
    elif is_dataclass(value):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, list | tuple):
        return [inner(found) for found in value]
    else:
        held = vars(value) if hasattr(value, "__dict__") else {}
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        held = held | {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {"is": type(value).__name__} | {name: inner(found) for name, found in held.items() if name not in LEFT_OUT}


@pytest.fixture(autouse=True)
def lost(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list whose first item, while true, makes hints get lost, so that their jobs end late."""
    are, publish = [False], InlinePublisher.publish
    monkeypatch.setattr(InlinePublisher, "publish", lambda self, job: are[0] or publish(self, job))
    return are


def live(tmp_path: Path, client: Redis, url: str, until: int, *, lost: list[bool], resume: bool = False) -> TickLoop:
    """Host a crowded hour: a model, limits that bind, owners that leave and join, and a cadence slowed by operators."""
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        base_url=url,
        api_key="any",
        limit_tokens=10_000_000,
        rate_share=0.3,
        act_interval=7,
        reflection_interval=40,
        reflection_trigger="either",
        reflection_trigger_max=60,
        limits={"day.kind:plan.calls": 2, "tick.run.calls": 2, "day.owner:*.calls": 40},
        wait=0.0,
        max_observations=30,
        adaptive_latency=True,
    )
    with TickLoop(
        run="crowded",
        owners=OWNERS,
        settings=settings,
        ticks=5_000,
        start_minute=480,
        inline=True,
        client=client,
        exist="resume" if resume else "create",
    ) as loop:
        for tick in loop if until else ():
            if tick.number == until:
                loop.stop()
            here = {*OWNERS} - ({"agent:eve"} if tick.number > 20 else set())
            for place, owner in enumerate(sorted(here | ({"agent:fay"} if tick.number > 33 else set()))):
                what = ("a fire", "tea", "two dogs", "a quarrel")[(tick.number + place) % 4]
                text = f"Saw {what} at door {tick.number % 9}."
                loop.observe(owner, Entry(type="observation", text=text, minute=tick.minute))
            if tick.number == 20:
                loop.leave("agent:eve")
            if tick.number == 33:
                loop.join("agent:fay", Profile(name="Fay"))
            if tick.number % 15 == 10:
                loop.request("reflect", "agent:ann")
            if tick.number % 10 == 5:
                loop.checkpoint(str(tick.number).encode())
            lost[0] = tick.number % 20 >= 10
            if tick.number in CONTROLS and not tick.replayed:
                ask(client, "crowded", [CONTROLS[tick.number]], wait=0)
    return loop


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with FakeEndpoint() as endpoint:
        yield endpoint.url


@pytest.mark.parametrize("stopped", [1, 9, 21, 37, 47, 62])
def test_a_resumed_host_has_the_previous_hosts_state(tmp_path: Path, url: str, lost: list[bool], stopped: int) -> None:
    client = empty_redis()
    before = shown(live(tmp_path, client, url, stopped, lost=lost).state)
    after = shown(live(tmp_path, client, url, 0, lost=lost, resume=True).state)  # a host that leaves the run at once
    assert after == before


def test_the_resumed_runs_fill_every_part_of_the_state(tmp_path: Path, url: str, lost: list[bool]) -> None:
    """Otherwise the test above would compare empty parts."""
    client = empty_redis()
    seen: dict[str, bool] = {}

    def look(state: RunState) -> None:
        steering = state.steering
        parts = {
            "retired": state.retired,
            "open": state.open,
            "held": state.view.held,
            "profiles": state.profiles,
            "learned": state.estimates._seen,
            "texts": state.rater._ratings.state.texts,
            "postponed": steering.throttle.postponing.waiting,
            "pinned": steering.throttle.state.pinned,
            "limits": steering._limits.changes,
            "latencies": state.latencies._known,
        }
        seen.update({name: seen.get(name, False) or bool(part) for name, part in parts.items()})

    for stopped in (9, 37, 62):
        look(live(tmp_path, client, url, stopped, lost=lost, resume=stopped > 9).state)
    assert [name for name, there in seen.items() if not there] == []
