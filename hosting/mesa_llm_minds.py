"""Minds for the agents of mesa-llm: memories that Cogitate keeps, and a reasoning that outlives its endpoint."""

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
_unanswered: WeakSet[Any] = WeakSet()  # models of Mesa whose agents' newest call failed


def think(
    model: Any,
    *,
    run: str,
    who: Who,
    sees: Sees | None = None,
    brief: AgentBrief | None = None,
    minutes_per_step: int = 1,
    exist: Exist = "create",
    settings: Settings | None = None,
    tokens: int = TOKENS,
    **more: Unpack[RunArguments],
) -> Minds:
    """Let the agents of a model of mesa-llm remember, reflect and plan in the background, under a budget.

    Every agent for which `who` returns a profile gets a `CogitateMemory`, also one that joins later, and its reasoning
    is wrapped in `unless_down`. The model itself stays as it is.

    Args:
        model: a model with agents of mesa-llm, that has not been stepped yet.
        run: the run's name.
        who: returns the profile of an agent that is new, or None: it keeps the memory that it has.
        sees: returns what an agent perceives beside what it adds to its memory, as in `cogitate.mesa.think`.
        brief: returns what a job is told of an agent.
        minutes_per_step: the game time of a step, 1 to 60 minutes.
        exist: as `cogitate.open` takes it.
        settings: everything else; the defaults work.
        tokens: the room that memories take in an agent's prompt.
        more: as `TickLoop` takes them.

    Raises:
        ConfigurationError, CogitateError: as `cogitate.mesa.think`.
    """
    given: list[CogitateMemory] = []  # before there are minds
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
        minutes_per_step=minutes_per_step,
        exist=exist,
        settings=settings,
        **more,
    )
    for memory in given:
        memory.join(minds)
    return minds


def unless_down(reasoning: type[Reasoning]) -> type[Reasoning]:
    """Return a reasoning of mesa-llm that asks once, and does nothing in a step whose model cannot be asked.

    mesa-llm itself repeats a call until it succeeds, so that with its endpoint down a model stands still for ever.
    """

    class UnlessDown(reasoning):  # type: ignore[misc]
        def plan(self, *args: Any, **named: Any) -> Plan:
            llm, model = self.agent.llm, self.agent.model
            _ask_once(llm)
            try:
                planned = super().plan(*args, **named)
            except APIError as error:  # which all of litellm's errors are
                if model not in _unanswered:  # once, not for each agent and step
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
    """Let a model of mesa-llm, whose calls are repeated without end, ask only once."""
    if "generate" not in vars(llm):
        repeated: Callable[..., Any] = type(llm).generate
        llm.generate = partial(repeated.retry_with(stop=stop_after_attempt(1)), llm)  # type: ignore[attr-defined]
