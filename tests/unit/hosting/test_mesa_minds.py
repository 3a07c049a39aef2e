"""Minds for the agents of Mesa's own examples: their trajectory stays theirs, agents come and go, and runs resume."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import Observation, Profile, TickLoop
from cogitate.errors import ConfigurationError, InputError, LedgerError, UsageError
from cogitate.hosting import open_loop
from cogitate.hosting.mesa_minds import owner_of
from cogitate.kinds import register
from cogitate.memory.effects import Tell
from cogitate.mesa import Minds, think
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.tasks.job import Cost
from tests.unit.tasks.own_kind_case import Own

#: Mesa's examples and where they are defined. Importing Mesa is slow, so only a test that runs a model imports it.
EXAMPLES = {
    "Schelling": "basic.schelling",
    "BoltzmannWealth": "basic.boltzmann_wealth_model",
    "EpsteinCivilViolence": "advanced.epstein_civil_violence",
}


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    """A Redis in memory on which every run of the test lives, without processes."""
    client = FakeRedis()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(open_loop, "TickLoop", lambda **given: TickLoop(**given, inline=True, client=client))
    return client


def resident(agent: Any) -> Profile:
    return Profile(name=f"Resident {agent.unique_id}")


def every_seventh(agent: Any) -> Profile | None:
    return resident(agent) if agent.unique_id % 7 == 0 else None


def example(name: str) -> Any:
    """Return the class of one of Mesa's examples."""
    return getattr(import_module(f"mesa.examples.{EXAMPLES[name]}.model"), name)


def built(kind: Any, *, seed: int, **sizes: int) -> Any:
    """Build one of Mesa's examples, by its name or class; from 3.5 on they take a scenario."""
    if isinstance(kind, str):
        kind = example(kind)
    module = next(base.__module__ for base in kind.__mro__ if base.__module__.startswith("mesa.examples"))
    named = [value for name, value in vars(sys.modules[module]).items() if re.fullmatch(r"\w+Scenario", name)]
    return kind(scenario=named[0](rng=seed, **sizes)) if named else kind(seed=seed, **sizes)


def minds_of(model: Any, **more: Any) -> Minds:
    usual: dict[str, Any] = {"run": "town", "who": resident, "settings": PinnedSettings()}
    return think(model, **(usual | more))


def steps_of(model: Any) -> int:
    """Return how many steps a model has made; Mesa 4 counts them by its time only."""
    return int(model.time if hasattr(model, "time") else model.steps)


def trajectory(model: Any) -> list[object]:
    """Return where every agent stands, what it is, and what the model's random numbers would be next."""
    agents = [
        (
            agent.unique_id,
            getattr(getattr(agent, "cell", None), "coordinate", None),
            sorted((name, value) for name, value in vars(agent).items() if isinstance(value, int | float | str)),
        )
        for agent in model.agents
    ]
    numbers = model.rng if isinstance(model.rng, int) else str(model.rng.bit_generator.state)  # a seed: 4.0's Epstein
    return [agents, steps_of(model), model.random.getstate(), numbers]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("Schelling", {"width": 8, "height": 8}),
        ("BoltzmannWealth", {"n": 20}),
        ("EpsteinCivilViolence", {"width": 8, "height": 8}),
    ],
)
def test_minds_leave_the_trajectory_of_a_model_unchanged(name: str, sizes: dict[str, int], redis: FakeRedis) -> None:
    alone, accompanied = (built(name, seed=3, **sizes) for _ in range(2))
    thoughts = 0
    for _ in range(40):
        alone.step()
    with minds_of(
        accompanied,
        who=every_seventh,
        seconds_per_step=900,
        sees=lambda agent: f"I am number {agent.unique_id}.",
        brief=lambda agent: {"activity": f"being number {agent.unique_id}"},
    ) as minds:
        for _ in range(40):
            accompanied.step()
            thoughts += len(minds.applied)
    assert trajectory(accompanied) == trajectory(alone)
    assert thoughts > 0
    assert minds.loop.tick == 40
    assert audit(redis, "town") == []


def test_thoughts_name_their_agent_and_minds_can_be_read(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=3, seed=1)
    planned: dict[int, str] = {}
    with minds_of(model, seconds_per_step=1800, sees=lambda agent: f"My purse holds {agent.wealth} coins.") as minds:
        for _ in range(20):
            model.step()
            for thought in minds.applied:
                assert thought.agent in model.agents
                if thought.change.kind == "plan":
                    planned[thought.agent.unique_id] = thought.text
        agent = model.agents[0]
        newest = minds[agent].memories(200)
        assert any("My purse holds" in text for text in newest)
        assert planned.keys() == {1, 2, 3}
        assert planned[agent.unique_id] in newest
        assert minds[agent].memories(1) == newest[-1:]
        assert minds.spent == Cost()


@pytest.fixture
def few_to_collect() -> None:
    """Import Mesa, and let full collections walk only what the test makes: the session has made millions of objects."""
    import_module("mesa")
    gc.freeze()


def flock() -> Any:
    """Build a model in which agents come, go, and are counted by a set of their own, as in models of populations."""
    import mesa

    class Flock(mesa.Model):
        def __init__(self) -> None:
            super().__init__(rng=5)
            self.watched: weakref.WeakSet[mesa.Agent] = weakref.WeakSet()
            self.alive: list[int] = []
            for _ in range(3):
                self.watched.add(mesa.Agent(self))

        def step(self) -> None:
            if steps_of(self) == 3:
                next(iter(self.agents)).remove()
            if steps_of(self) == 5:
                self.watched.add(mesa.Agent(self))
            gc.collect()
            self.alive.append(len(self.watched))

    return Flock()


def test_agents_that_come_and_go_join_and_leave(redis: FakeRedis, few_to_collect: None) -> None:
    model, seen = flock(), list[set[str]]()
    with minds_of(model, sees=lambda agent: "I am here.") as minds:
        first = next(iter(model.agents)).unique_id
        for _ in range(7):
            model.step()
            seen.append(set(minds.loop.state.streams))
    assert seen[1] == {"agent:1", "agent:2", "agent:3"}
    assert seen[2] == {"agent:2", "agent:3"}
    assert seen[4] == {"agent:2", "agent:3", "agent:4"}
    assert first == 1
    assert audit(redis, "town") == []


def test_an_agent_that_is_removed_is_not_kept_alive(redis: FakeRedis, few_to_collect: None) -> None:
    alone, accompanied = flock(), flock()
    for _ in range(7):
        alone.step()
    with minds_of(accompanied):
        for _ in range(7):
            accompanied.step()
    assert accompanied.alive == alone.alive
    assert alone.alive[-1] == 3


def test_removed_and_thoughtless_agents_have_no_mind(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=8, seed=1)
    with minds_of(model, who=every_seventh) as minds:
        by_id = {agent.unique_id: agent for agent in model.agents}
        with pytest.raises(InputError, match=r"agent 1 has no mind: `who` returned None"):
            minds[by_id[1]]
        assert minds[by_id[7]].memories() == []
        by_id[7].remove()
        model.step()
        with pytest.raises(InputError, match="agent 7 has no mind"):
            minds[by_id[7]]
    assert sorted(minds.loop.state.streams) == []


def test_a_model_stepped_beyond_the_run_continues_without_minds(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=3, seed=1)
    with minds_of(model) as minds:
        model.step()
    model.step()
    assert (steps_of(model), minds.loop.tick) == (2, 1)


def test_a_finished_run_lets_the_model_continue(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=3, seed=1)
    with minds_of(model, ticks=2, sees=lambda agent: "I am here.") as minds:
        for _ in range(4):
            model.step()
        assert (steps_of(model), minds.loop.tick, minds.applied) == (4, 2, [])


def test_a_failed_step_advances_no_minds(redis: FakeRedis) -> None:
    class Broken(example("BoltzmannWealth")):  # type: ignore[misc]
        def step(self) -> None:
            super().step()
            if steps_of(self) == 3:
                raise ZeroDivisionError

    model = built(Broken, n=3, seed=1)
    with minds_of(model) as minds:
        model.step()
        model.step()
        with pytest.raises(ZeroDivisionError):
            model.step()
        assert minds.loop.tick == 2
        model.step()
        assert minds.loop.tick > 2  # Mesa 3.5 makes up for the event that the error had left


@pytest.mark.parametrize("where", ["who", "sees", "brief"])
def test_every_step_after_a_host_error_raises_that_error(where: str, redis: FakeRedis) -> None:
    class Growing(example("BoltzmannWealth")):  # type: ignore[misc]
        def step(self) -> None:
            super().step()
            if steps_of(self) == 2:
                type(self.agents[0])(self, self.agents[0].cell)

    def fails(agent: Any) -> Any:
        if steps_of(model) == 2:
            raise ZeroDivisionError("no bell")
        return {"who": resident(agent), "sees": None, "brief": {}}[where]

    model = built(Growing, n=1, seed=1)
    with minds_of(model, **{where: fails}, seconds_per_step=7 * 3600) as minds:
        model.step()
        with pytest.raises((ZeroDivisionError, InputError), match="no bell"):
            model.step()
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"ended by an error in tick 2 .*no bell.*resume"):
                model.step()
        assert minds.applied == []
    model.step()
    with minds_of(model, exist="resume", world="present", sees=lambda agent: "I am back.") as minds:
        model.step()
        assert minds.loop.tick == 2


def test_an_invalid_perception_names_the_agent(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=1, seed=1)
    with minds_of(model, sees=lambda agent: 42), pytest.raises(InputError, match="`sees` returned 42 for agent:1: "):
        model.step()


def test_a_restarted_model_resumes_its_run(redis: FakeRedis) -> None:
    """The steps of before get the same thoughts again, from the journal, and so the same trajectory."""

    def live(minds: Minds, model: Any, steps: int) -> None:
        for _ in range(steps):
            model.step()
            for thought in minds.applied:
                thought.agent.wealth += len(thought.text) % 3

    def opened(model: Any, **more: Any) -> Minds:
        return minds_of(
            model, seconds_per_step=1800, sees=lambda agent: f"My purse holds {agent.wealth} coins.", **more
        )

    straight = built("BoltzmannWealth", n=4, seed=2)
    with opened(straight, run="straight") as minds:
        live(minds, straight, 30)
    digest = minds.loop.digest
    with opened(model := built("BoltzmannWealth", n=4, seed=2)) as minds:
        live(minds, model, 18)
    with opened(again := built("BoltzmannWealth", n=4, seed=2), exist="resume") as minds:
        live(minds, again, 30)
    assert minds.loop.digest == digest
    assert trajectory(again) == trajectory(straight)


def test_a_resumed_run_takes_the_agents_of_a_present_model_without_a_warning(redis: FakeRedis) -> None:
    def opened(**more: Any) -> Minds:
        return minds_of(
            model, who=lambda one: Profile(name=f"Resident {one.unique_id}", currently=f"{one.wealth}"), **more
        )

    model = built("BoltzmannWealth", n=3, seed=2)
    with opened():
        for _ in range(5):
            model.step()
    first, second = list(model.agents)[:2]
    first.remove()
    second.wealth += 7
    new = type(second)(model, second.cell)
    with capture_logs() as logs, opened(exist="resume", world="present") as minds:
        model.step()
    assert set(minds.loop.state.profiles) == {owner_of(agent) for agent in model.agents}
    assert owner_of(new) in minds.loop.state.profiles
    assert [log for log in logs if log["event"] == "resume.ignored"] == []


def test_sees_returns_one_observation_or_several(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=1, seed=1)
    both = [Observation(text="A coin fell.", minute=1, importance=9), "It rolled away."]
    seen = iter([both, None, both[0]])
    with minds_of(model, sees=lambda agent: next(seen)) as minds:
        for _ in range(3):
            model.step()
        found = minds[model.agents[0]].view.recent(9)
        assert {(entry.text, entry.importance == 9) for entry in found} == {
            ("A coin fell.", True),
            ("It rolled away.", False),
        }


@pytest.mark.parametrize("seconds", [0, 2_592_001, 1.5, True, "10"])
def test_a_length_that_no_step_has_is_refused(seconds: Any, redis: FakeRedis) -> None:
    with pytest.raises(ConfigurationError, match="seconds_per_step="):
        minds_of(built("BoltzmannWealth", n=1, seed=1), seconds_per_step=seconds)


def test_a_wrong_model_is_refused(redis: FakeRedis) -> None:
    with pytest.raises(ConfigurationError, match="give a model of Mesa"):
        minds_of(object())


def test_time_that_passes_without_a_call_of_step_passes_ticks_too(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=3, seed=1)
    with minds_of(model) as minds:
        model.step()
        if hasattr(model, "run_for"):  # from Mesa 3.5 on
            model.run_for(3)
            model.run_until(6)
    assert minds.loop.tick == steps_of(model)


def test_a_model_that_runs_itself_passes_ticks(redis: FakeRedis) -> None:
    class Short(example("BoltzmannWealth")):  # type: ignore[misc]
        def step(self) -> None:
            super().step()
            self.running = steps_of(self) < 4

    model = built(Short, n=3, seed=1)
    with minds_of(model) as minds:
        model.run_model()
    assert minds.loop.tick == 4


@pytest.mark.parametrize(
    ("topic", "data", "text"),
    [
        ("offer", {"price": 3, "good": "wool"}, ["offer", '"price": 3', '"good": "wool"']),
        ("relationship", {"agent": "agent:2", "change": -1, "reason": "a lie"}, ["Resident 2", "-1", "a lie"]),
        ("action", {"type": "stay", "location": "", "doing": "weaving", "reason": ""}, ["weaving"]),
        ("action", {"type": "move_to", "location": "cafe", "doing": "", "reason": ""}, ["move to cafe"]),
    ],
)
def test_a_kinds_message_reaches_the_model_as_text(
    topic: str, data: dict[str, Any], text: list[str], redis: FakeRedis
) -> None:
    register(Own(makes=lambda case: (Tell(case.job.key.owner, topic, data),)))
    model = built("BoltzmannWealth", n=2, seed=1)
    found = []
    with minds_of(model) as minds:
        for _ in range(4):
            model.step()
            found += [thought for thought in minds.applied if thought.change.kind == "hum"]
    assert found
    assert all(part in found[0].text for part in text)
    effect = found[0].change.effect
    assert isinstance(effect, Tell)
    assert (effect.topic, effect.data) == (topic, data)


def test_a_request_uses_the_agents_perception(redis: FakeRedis) -> None:
    model = built("BoltzmannWealth", n=1, seed=1)
    asked: list[str] = []

    def sees(agent: Any) -> None:
        asked.append(minds.loop.request("reflect", f"agent:{agent.unique_id}"))

    with minds_of(model, sees=sees) as minds:
        with pytest.raises(UsageError, match="`sees`"):
            minds.loop.request("reflect", "agent:1")
        model.step()
    assert len(asked) == 1
