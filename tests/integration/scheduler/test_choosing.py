"""Agents of a town choose actions: the choices are staggered, capped, informed by plans and memories, and acted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import MarkAccessed, SetPlanStatus, Tell
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recordings import SMALL
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import World
from cogitate.tasks.act import Act
from cogitate.tasks.kind import Prompt
from tests.live_redis import empty_redis

INTERVAL = 15
LIMITED: dict[str, Any] = {"limit_tokens": 10_000_000}
START, TICKS = 350, 300  # from 5:50 until 10:50


def live(
    world: World, data_dir: Path, ticks: int = TICKS, on_tick: Callable[[Tick], None] | None = None, **settings: Any
) -> TickLoop:
    chosen = {"act_interval": INTERVAL, "limits": {}, **settings}
    loop = TickLoop(
        run="town",
        owners=world.owners(),
        settings=Settings.tuned(data_dir=data_dir, **chosen),
        locations=world.locations,
        brief=world.brief,
        ticks=ticks,
        start_minute=world.start_minute,
        inline=True,
        client=empty_redis(),
    )
    with loop:
        drive(loop, world, on_tick=on_tick)
    return loop


def journal(loop: TickLoop) -> Iterator[ReadLine]:
    return read_journal(RunStore.open(loop.ledger.client, "town"), 1, loop.tick)


def chosen(loop: TickLoop) -> list[Tell]:
    return [
        effect
        for line in journal(loop)
        for ended in line.core.ended
        if ended.key.kind == "act"
        for effect in ended.effects
        if isinstance(effect, Tell)
    ]


def test_actions_refer_to_plan_items_and_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[Prompt] = []
    ask = Act.prompt

    def recorded(self: Act, *args: Any, **more: Any) -> Prompt:
        prompts.append(ask(self, *args, **more))
        return prompts[-1]

    monkeypatch.setattr(Act, "prompt", recorded)
    with FakeEndpoint() as endpoint:
        loop = live(
            Town(4, seed=2, start_minute=START), tmp_path, llm="openai", base_url=endpoint.url, api_key="any", **LIMITED
        )
    planned = [p for p in prompts if "Present plan item: " in p.user]
    assert len(planned) > 5
    assert all(p.used and "- [day 1" in p.user for p in planned)
    ends = [(e, n) for line in journal(loop) for e, n in zip(line.core.ended, line.notes.ended, strict=True)]
    acts = [(ended, note) for ended, note in ends if ended.key.kind == "act"]
    assert {note.source for _, note in acts} == {"llm"}
    effects = [effect for ended, _ in acts for effect in ended.effects if ended.end == "applied"]
    places = {place.id for place in loop.state.facts.locations}
    assert {e.data["location"] for e in effects if isinstance(e, Tell)} <= places
    assert any(isinstance(e, SetPlanStatus) and e.status == "completed" for e in effects)
    assert any(isinstance(e, MarkAccessed) for e in effects)
    assert replay(loop.ledger.client, "town", empty_redis()).digest == loop.digest


def test_choices_are_staggered_by_owner_and_capped_per_tick(tmp_path: Path) -> None:
    loop = live(Town(20, seed=1, start_minute=START), tmp_path, ticks=200, limits={"tick.kind:act.jobs": 2})
    decided = [d for line in journal(loop) for d in line.core.decided if d.key.kind == "act"]
    a_tick = Counter(d.key.tick for d in decided if d.decision == "admitted")
    assert len(a_tick) > 30
    assert max(a_tick.values()) == 2
    refused = [d for d in decided if d.decision != "admitted"]
    assert refused
    assert {(d.decision, d.refused.partition(" ")[2]) for d in refused} == {("dropped", "kind:act jobs")}
    for owner in loop.state.streams:
        ticks = [d.key.tick for d in decided if d.key.owner == owner]
        assert len({tick % INTERVAL for tick in ticks}) <= 1, "each owner chooses at its own offset"


def test_agents_go_to_the_places_that_they_choose(tmp_path: Path) -> None:
    world = Town(4, seed=2, start_minute=START)
    visited: dict[str, dict[str, list[int]]] = {owner: {} for owner in world.owners()}

    def note(tick: Tick) -> None:
        for owner in world.owners():
            visited[owner].setdefault(world.brief(owner)["location"], []).append(tick.number)

    with FakeEndpoint() as endpoint:
        loop = live(world, tmp_path, on_tick=note, llm="openai", base_url=endpoint.url, api_key="any", **LIMITED)
    followed = []
    for line in journal(loop):
        for ended in line.core.ended:
            match ended.effects:
                case (SetPlanStatus(status="completed"), Tell(data={"type": "move_to", "location": place}), *_):
                    ticks = visited[ended.key.owner].get(place, [])
                    followed.append(any(line.core.tick <= tick <= line.core.tick + 60 for tick in ticks))
    assert followed, "no agent finished a plan item and chose to go elsewhere"
    assert sum(followed) > len(followed) / 2


def test_agents_of_a_recording_choose_no_actions(tmp_path: Path) -> None:
    loop = live(RecordedWorld(SMALL), tmp_path, ticks=600)
    assert chosen(loop) == []
    assert not any(d.key.kind == "act" for line in journal(loop) for d in line.core.decided)


def test_an_act_interval_of_0_switches_choosing_off(tmp_path: Path) -> None:
    loop = live(Town(4, seed=2, start_minute=START), tmp_path, act_interval=0)
    assert chosen(loop) == []
