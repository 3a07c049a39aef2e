"""Success criteria 1 to 4 and 6 of the streams design over days that were recorded or lived in the town: without a
model, with one, and with one that dies. Criterion 5 is a time: `python -m bench memory` measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.memory.clock import DAY
from cogitate.ops.fake_llm.completions import complete
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.audit import audit_budget
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recordings import SMALL
from cogitate.simulation.town.town import Town
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_redis import empty_redis
from tests.simulation.lived import RUN, live

NOON = 720
THOUGHTS = ("plan", "reflect", "summarise")  # kinds that ask a model and leave an entry
MODEL: dict[str, Any] = {
    "llm": "openai",
    "api_key": "any",
    "limit_tokens": 10_000_000,
    "claim_cap": 1,
    "seconds_per_tick": 120,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    with server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def accounts_hold(client: Redis) -> Callable[[Tick], None]:
    """Check the accounts after every tick before this one."""

    def check(tick: Tick) -> None:
        if tick.number > 1:
            assert audit_budget(RunStore.open(client, RUN)) == []

    return check


def test_the_shipped_recorded_day(accounts_hold: Callable[[Tick], None], client: Redis, tmp_path: Path) -> None:
    lived = live(RecordedWorld(SMALL), client, tmp_path, days=1, on_tick=accounts_hold)
    lived.check()
    assert replay(client, RUN, empty_redis()).digest == lived.loop.digest


@pytest.mark.parametrize("name", ["july1", "control_0"])
def test_a_real_recorded_day(
    name: str, recordings: Path, accounts_hold: Callable[[Tick], None], client: Redis, tmp_path: Path
) -> None:
    world = RecordedWorld(recordings / "smallville" / name)
    live(world, client, tmp_path, days=1, on_tick=accounts_hold).check()


@pytest.mark.parametrize(
    ("town", "settings"),
    [
        (Town(6, minutes_per_tick=2), {"seconds_per_tick": 120}),
        (
            Town(5, seed=3, minutes_per_tick=10),
            {"seconds_per_tick": 600, "act_interval": 12, "max_observations": 60, "max_reflections": 3, "max_plans": 2},
        ),
    ],
    ids=["6 agents", "long ticks and little room"],
)
def test_the_success_criteria_hold_after_every_tick(
    town: Town, settings: dict[str, Any], client: Redis, tmp_path: Path
) -> None:
    lived = live(town, client, tmp_path, days=3, **settings)
    lived.check()
    assert lived.loop.act_prompts > 3 * len(town.owners())
    made = lived.sources()
    assert {kind for kind, _, _ in made} == {*THOUGHTS, "prune"}
    assert {(source, reason) for _, source, reason in made} <= {("heuristic", "none"), ("heuristic", "denied")}


def test_three_days_with_a_model(client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(request: Any, *rest: Any) -> Any:
        asked.append(request["messages"][-1]["content"])
        return complete(request, *rest)

    monkeypatch.setattr("cogitate.ops.fake_llm.server.complete", noted)
    with FakeEndpoint() as endpoint:
        lived = live(Town(4, minutes_per_tick=2), client, tmp_path, days=3, base_url=endpoint.url, **MODEL)
        assert set(endpoint.stats().by_status) == {"200"}
    lived.check()
    assert sum("Present plan item: " in prompt for prompt in asked) == lived.loop.act_prompts > 0
    made = lived.sources()
    for kind in THOUGHTS:
        assert {(source, reason) for k, source, reason in made if k == kind} == {("llm", "none")}


@pytest.mark.parametrize("death", ["it is gone", "it refuses everything"])
def test_three_days_with_a_model_that_dies_at_noon_of_the_first(
    death: str, client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as alive:
        url = alive.enter_context(FakeEndpoint()).url

        def die(tick: Tick) -> None:
            if tick.minute == NOON and death == "it is gone":
                alive.close()
            elif tick.minute == NOON:
                monkeypatch.setattr("cogitate.ops.fake_llm.server.pick", lambda faults, drawn: "503")

        lived = live(Town(3, minutes_per_tick=2), client, tmp_path, days=3, on_tick=die, base_url=url, **MODEL)
    lived.check()
    before, after = lived.sources(before=NOON), lived.sources(since=NOON + 30)  # what was asked before noon is over
    assert before == {("plan", "llm", "none"): 3, **{k: n for k, n in before.items() if k[0] == "prune"}}
    by_kind = {kind: {(source, reason) for k, source, reason in after if k == kind} for kind in THOUGHTS}
    assert by_kind == {kind: {("heuristic", "failed")} for kind in THOUGHTS}
    assert after["plan", "heuristic", "failed"] == 2 * 3
    provisional = [e for stream in lived.loop.state.streams.values() for e in stream.provisional()]
    assert {e.type for e in provisional} == {"plan", "reflection", "summary"}
    assert min(e.minute for e in provisional if e.type == "plan") >= DAY
