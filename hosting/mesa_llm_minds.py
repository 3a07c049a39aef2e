"""Minds for mesa-llm agents: memories kept by Cogitate, and reasoning that survives a failed endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Unpack
from weakref import WeakSet

import structlog
from mesa_llm.reasoning.reasoning import Plan, Reasoning
from openai import APIError
from tenacity import stop_after_attempt

from cogitate.hosting.mesa_llm_memory import TOKENS, CogitateMemory
from cogitate.hosting.mesa_minds import AgentBrief, Minds, Seen, Sees, Who
from cogitate.hosting.mesa_minds import think as think_in_mesa
from cogitate.hosting.open_loop import RunArguments
from cogitate.hosting.opening import Exist
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.observations import Observation

log = structlog.get_logger("cogitate.mesa_llm")
_unanswered: WeakSet[Any] = WeakSet()  # Mesa models whose agents' newest call failed


def think(
    model: Any,
    *,
    run: str,
    who: Who,
    sees: Sees | None = None,
    brief: AgentBrief | None = None,
    seconds_per_step: int = 60,
    exist: Exist = "create",
    settings: Settings | None = None,
    tokens: int = TOKENS,
    **more: Unpack[RunArguments],
) -> Minds:
    """Let the agents of a mesa-llm model remember, reflect and plan in the background, under a budget.

    Every agent for which `who` returns a profile, even one that joins later, gets a `CogitateMemory`, and its reasoning
    is wrapped in `unless_down`. The model itself is unchanged.

    Args:
        model: a model with mesa-llm agents that has not been stepped yet.
        run: the run's name.
        who: returns the profile of a new agent, or None to keep the agent's present memory.
        sees: returns what an agent perceives beyond what it adds to its memory, as in `cogitate.mesa.think`.
        brief: returns the facts about an agent that jobs receive.
        seconds_per_step: the game time of a step, from 1 to 2,592,000 (30 days).
        exist: as `cogitate.open` takes it.
        settings: everything else; the defaults work.
        tokens: the most tokens of memories in an agent's prompt.
        more: as `TickLoop` takes them.

    Raises:
        ConfigurationError, CogitateError: as `cogitate.mesa.think`.
    """
    given: list[CogitateMemory] = []  # before the minds exist
    minds: Minds | None = None

    def joined(agent: Any) -> Profile | None:
        profile = who(agent)
        if profile is not None:
            agent.memory = CogitateMemory(agent, minds, tokens=tokens)
            agent.reasoning = unless_down(type(agent.reasoning))(agent)
            if minds is None:
                given.append(agent.memory)
        return profile

    def seen(agent: Any) -> Iterable[Seen]:
        also = None if sees is None else sees(agent)
        return [*agent.memory.take(), *([also] if isinstance(also, str | Observation | Mapping) else also or ())]

    minds = think_in_mesa(
        model,
        run=run,
        who=joined,
        sees=seen,
        brief=brief,
        seconds_per_step=seconds_per_step,
        exist=exist,
        settings=settings,
        **more,
    )
    for memory in given:
        memory.join(minds)
    return minds


def unless_down(reasoning: type[Reasoning]) -> type[Reasoning]:
    """Wrap a mesa-llm reasoning so that it calls its model once, and does nothing in a step in which the call fails.

    mesa-llm itself repeats a call until it succeeds, so a model hangs forever while its endpoint is down.
    """

    class UnlessDown(reasoning):  # type: ignore[misc]
        def plan(self, *args: Any, **named: Any) -> Plan:
            llm, model = self.agent.llm, self.agent.model
            _ask_once(llm)
            try:
                planned = super().plan(*args, **named)
            except APIError as error:  # the base of all litellm errors
                if model not in _unanswered:  # one warning, not one for each agent and step
                    log.warning("mesa_llm.no_answer", model=llm.llm_model, error=type(error).__name__)
                    _unanswered.add(model)
                nothing = SimpleNamespace(content="", tool_calls=None)
                step = int(getattr(model, "time", 0))
                return Plan(step=step, llm_plan=nothing, ttl=named.get("ttl", 1))
            _unanswered.discard(model)
            return planned

        async def aplan(self, *args: Any, **named: Any) -> Plan:
            return await asyncio.to_thread(self.plan, *args, **named)

    UnlessDown.__name__ = UnlessDown.__qualname__ = reasoning.__name__
    return UnlessDown


def _ask_once(llm: Any) -> None:
    """Limit the calls of a mesa-llm model, which repeats them without end, to one attempt."""
    if "generate" not in vars(llm):
        repeated: Callable[..., Any] = type(llm).generate
        llm.generate = partial(repeated.retry_with(stop=stop_after_attempt(1)), llm)  # type: ignore[attr-defined]
