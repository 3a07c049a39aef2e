"""Agents of mesa-llm remember and plan in a run of Cogitate, and outlive their endpoint. Needs mesa-llm."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

pytest.importorskip("mesa_llm", reason="needs mesa-llm, as `make check-adapters` installs it")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning

from cogitate import Profile, TickLoop
from cogitate.hosting import open_loop
from cogitate.hosting.mesa_minds import Minds
from cogitate.mesa_llm import CogitateMemory, think, unless_down
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.recent import recent_ticks
from cogitate.scheduler.ledger.run_store import RunStore
from tests.ports import free_ports

STEPS_OF_TWO_DAYS = 2 * 144  # of ten minutes each
STEPS = 14  # until the plan of the morning has taken effect


@pytest.fixture
def redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    """A Redis in memory on which the run lives, and an endpoint that is down."""
    client = FakeRedis()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(open_loop, "TickLoop", lambda **given: TickLoop(**given, inline=True, client=client))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return client


class Trader(LLMAgent):  # type: ignore[misc]
    """An agent as in the examples of mesa-llm: it observes, tells another, plans with its model and acts."""

    def step(self) -> None:
        seen = self.generate_obs()
        if self.unique_id == 1:
            self.send_message(f"The price of wool is {self.model.made}.", [self.model.agents[1]])
            return  # each call of an endpoint that is down takes litellm more than a second
        self.apply_plan(self.reasoning.plan(obs=seen, prompt="Buy or sell?", selected_tools=[]))


class Market(mesa.Model):  # type: ignore[misc]
    def __init__(self, reasoning: type[Any], api_base: str, traders: int = 2, trader: type[Trader] = Trader) -> None:
        super().__init__(rng=1)
        self.made = 0
        for number in range(traders):
            trader(self, reasoning, "openai/none", internal_state=f"stall {number}", vision=-1, api_base=api_base)

    def step(self) -> None:
        self.made += 1
        self.agents.do("step")


def minds_of(model: mesa.Model, **more: Any) -> Minds:
    return think(
        model,
        run="market",
        who=lambda agent: Profile(name=f"Trader {agent.unique_id}"),
        settings=PinnedSettings(),
        **more,
    )


@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning])
def test_a_model_whose_endpoint_is_down_runs_to_its_end(reasoning: type[Any], redis: FakeRedis) -> None:
    market = Market(reasoning, f"http://127.0.0.1:{free_ports(1)}")
    with minds_of(market, seconds_per_step=600, start_minute=350) as minds:
        kinds = set()
        for _ in range(STEPS):
            market.step()
            kinds |= {thought.change.kind for thought in minds.applied}
        assert minds.loop.tick == STEPS
        assert "plan" in kinds
        prompt = market.agents[1].memory.get_prompt_ready()
        assert f"Agent 1 says: The price of wool is {STEPS}." in prompt
        talk = market.agents[1].memory.get_communication_history().splitlines()
        assert talk == [f"Agent 1 says: The price of wool is {number}." for number in range(1, STEPS + 1)]
        (known,) = [one for one in minds[market.agents[1]].view.relationships() if one.who == "agent:1"]
        assert known.memories == STEPS
    assert audit(redis, "market") == []


class Gossip(Trader):
    """A trader who asks no model."""

    def step(self) -> None:
        self.generate_obs()
        self.send_message(f"The price of wool is {self.model.made}.", [*self.model.agents])


def test_agents_reflect_in_the_background_until_their_limit_binds(redis: FakeRedis) -> None:
    market = Market(CoTReasoning, "http://127.0.0.1:9", trader=Gossip)
    limits = {"day.kind:plan.jobs": 1}
    with think(
        market,
        run="market",
        who=lambda agent: Profile(name=f"Trader {agent.unique_id}"),
        seconds_per_step=600,
        settings=PinnedSettings(limits=limits),
    ) as minds:
        for _ in range(STEPS_OF_TWO_DAYS):
            market.step()
        reflections = [minds[agent].view.reflections() for agent in market.agents]
        assert all(reflections)
        prompt = market.agents[0].memory.get_prompt_ready()
        assert reflections[0][-1].text in prompt
    recent = recent_ticks(RunStore.open(redis, "market"), "market", LimitTable(limits), STEPS_OF_TWO_DAYS)
    assert recent.refused == {"day.kind:plan.jobs": 2}  # two traders want a plan each morning, and one gets it
    assert recent.kinds["reflect"].sources["heuristic"] >= 2
    assert audit(redis, "market") == []


def test_an_unchanged_observation_is_stored_once(redis: FakeRedis) -> None:
    market = Market(CoTReasoning, "http://127.0.0.1:9")
    with minds_of(market) as minds:
        memory = market.agents[0].memory
        for location in ("the gate", "the gate", "the well"):
            memory.process_step(pre_step=True)
            memory.add_to_memory("observation", {"self_state": {"location": location}, "local_state": {}})
            memory.process_step()
        assert [str(fields["text"]) for fields in memory.take()] == [
            'Observation: self state: {"location": "the gate"}',
            'Observation: self state: {"location": "the well"}',
        ]
        assert memory.take() == []
        assert minds.loop.tick == 0


def test_a_memory_without_a_run_shows_recent_events(redis: FakeRedis) -> None:
    memory = CogitateMemory(Market(CoTReasoning, "http://127.0.0.1:9").agents[0])
    assert memory.get_communication_history() == ""
    asyncio.run(memory.aadd_to_memory("message", {"message": "Hello.", "sender": 2, "recipients": [1]}))
    memory.add_to_memory("action", {"tool_calls": [{"name": "buy", "response": "bought"}]})
    assert memory.get_communication_history() == "Agent 2 says: Hello."
    assert 'Action: tool calls: [{"name": "buy", "response": "bought"}]' in memory.get_prompt_ready()
    with pytest.raises(TypeError, match="dict"):
        memory.add_to_memory("message", "Hello.")  # type: ignore[arg-type]


def test_an_agent_without_thoughts_keeps_its_memory_and_a_new_one_gets_one(redis: FakeRedis) -> None:
    market = Market(CoTReasoning, f"http://127.0.0.1:{free_ports(1)}")
    first, second = market.agents
    kept = first.memory
    with think(
        market,
        run="market",
        settings=PinnedSettings(),
        who=lambda agent: None if agent is first else Profile(name=f"Trader {agent.unique_id}"),
    ) as minds:
        assert first.memory is kept
        assert isinstance(second.memory, CogitateMemory)
        late = Trader(market, CoTReasoning, "openai/none", vision=-1, api_base=first.llm.api_base)
        first.remove()
        second.remove()
        late.reasoning = unless_down(CoTReasoning)(late)  # it comes in the midst of a step, before it gets a mind
        market.step()
        assert isinstance(late.memory, CogitateMemory)
        late.memory.add_to_memory("plan", {"content": "Sell all."})
        assert "Sell all." in late.memory.get_prompt_ready()
        assert sorted(minds.loop.state.streams) == ["agent:3"]
