"""Minds for mesa-llm agents: memories kept by Cogitate, and reasoning that survives a failed endpoint."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, Unpack
from weakref import WeakSet

import structlog
from mesa_llm.memory.memory import Memory
from mesa_llm.reasoning.reasoning import Plan, Reasoning
from openai import APIError
from tenacity import stop_after_attempt

from cogitate.hosting.mesa_minds import AgentBrief, Minds, Seen, Sees, Who
from cogitate.hosting.mesa_minds import think as think_in_mesa
from cogitate.hosting.open_loop import RunArguments
from cogitate.hosting.opening import Exist
from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import InputError
from cogitate.memory.language.hidden_characters import visible
from cogitate.memory.profile import Profile
from cogitate.memory.view import MemoryView
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.observations import Observation

TOKENS = 1_000  # tokens of the memories in a prompt
TALK = 20  # messages of a communication history
UNREAD = 1_000  # the most new memories that an agent keeps between ticks; the oldest are dropped

Fields = dict[str, object]

log = structlog.get_logger("cogitate.mesa_llm")
_unanswered: WeakSet[Any] = WeakSet()  # Mesa models in which the newest call of an agent failed


class CogitateMemory(Memory):  # type: ignore[misc]
    """The memory of a mesa-llm agent, kept in a run of Cogitate. Its methods never call a model.

    New memories join the stream at the tick after the model's step. Until then, prompts show them under "Just now". An
    unchanged observation is not stored again.

    Args:
        agent: the mesa-llm agent.
        minds: the minds of its model; None until they exist.
        tokens: the most tokens of memories in a prompt.
        display: print each step's new memories, as mesa-llm's memories do.
    """

    def __init__(self, agent: Any, minds: Minds | None = None, *, tokens: int = TOKENS, display: bool = False) -> None:
        super().__init__(agent=agent, display=display)
        self.step_content: dict[str, Any] = {}
        self._minds = minds
        self._tokens = tokens
        self._fresh: deque[Fields] = deque(maxlen=UNREAD)
        self._observed: dict[str, object] = {}

    def join(self, minds: Minds) -> None:
        """Read memories from these minds from now on."""
        self._minds = minds

    def take(self) -> list[Fields]:
        """Return the memories added since the last call, as fields of observations."""
        taken = list(self._fresh)
        self._fresh.clear()
        return taken

    # -- called by mesa-llm --------------------------------------------------------------------------

    def add_to_memory(self, type: str, content: dict[str, Any]) -> None:
        """Remember an "observation", "message", "action", "plan" or any other type that mesa-llm adds.

        Raises:
            TypeError: when the content is not a dictionary.
        """
        super().add_to_memory(type, content)
        if type == "observation":
            changed = {name: value for name, value in content.items() if self._observed.get(name) != value}
            self._observed = dict(content)
            content = changed
        text = _message(content) if type == "message" else _described(type, content)
        if not text:
            return
        fields: Fields = {"text": text[:MAX_TEXT]}
        if type == "message":
            fields |= {"type": "message", "source": "dialogue", "subjects": _others(content, self.agent.unique_id)}
        self._fresh.append(fields)

    def process_step(self, pre_step: bool = False) -> None:
        """Begin or end a step of the agent. `add_to_memory` has added its memories already."""
        if not pre_step:
            if self.display and self.step_content:
                lines = "\n  ".join([f"{type(self.agent).__name__} {self.agent.unique_id}:", *self._lines()])
                print(visible(lines))
            self.step_content = {}

    def get_prompt_ready(self) -> str:
        """Return the agent's memories, and those since the last tick, as lines for a prompt."""
        return f"Memories:\n{self.format_long_term()}\n\nJust now:\n{self.format_short_term()}"

    def get_communication_history(self) -> str:
        """Return the latest messages, newest last."""
        view = self._view()
        known = (entry.text for entry in (view.by_type("message", TALK) if view is not None else ()))
        fresh = (str(fields["text"]) for fields in self._fresh if fields.get("type") == "message")
        return "\n".join([*chain(known, fresh)][-TALK:])

    def format_long_term(self) -> str:
        """Return the summary, the current plan, reflections and the latest memories, within the limit of tokens."""
        view = self._view()
        return "" if view is None else view.context(tokens=self._tokens)

    def format_short_term(self) -> str:
        """Return the memories added since the last tick."""
        return "\n".join(self._lines()) or "nothing"

    # -- internals -----------------------------------------------------------------------------------

    def _view(self) -> MemoryView | None:
        if self._minds is None:
            return None
        try:
            return self._minds[self.agent].view
        except InputError:  # `who` returned None for it, or it has left
            return None

    def _lines(self) -> list[str]:
        return [str(fields["text"]) for fields in self._fresh]


def _message(content: Mapping[str, Any]) -> str:
    message = str(content.get("message", "")).strip()
    sender = content.get("sender")
    return f"Agent {sender} says: {message}" if message and sender is not None else message


def _others(content: Mapping[str, Any], own: int) -> list[str]:
    """Return the other owners that a message involves."""
    involved = [content.get("sender"), *(content.get("recipients") or ())]
    return [f"agent:{number}" for number in dict.fromkeys(involved) if isinstance(number, int) and number != own]


def _described(type: str, content: Mapping[str, Any]) -> str:
    """Return a content as text: the name and value of each field that is not empty."""
    parts = [f"{name.replace('_', ' ')}: {_words(value)}" for name, value in content.items() if value]
    return f"{type.replace('_', ' ').capitalize()}: {'; '.join(parts)}" if parts else ""


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


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

    The arguments are those of `cogitate.mesa.think`, except:

    Args:
        who: returns the profile of a new agent, or None to keep the agent's present memory.
        sees: returns what an agent perceives beyond what it adds to its memory.
        tokens: the most tokens of memories in an agent's prompt.

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
        extra = None if sees is None else sees(agent)
        return [*agent.memory.take(), *([extra] if isinstance(extra, str | Observation | Mapping) else extra or ())]

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
    """Wrap a mesa-llm reasoning: it calls its model once, and if the call fails, does nothing in that step.

    mesa-llm itself repeats a call until it succeeds, so its models hang while the endpoint is down.
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
    """Limit each call of a mesa-llm model to one attempt; by default it retries forever."""
    if "generate" not in vars(llm):
        retrying: Callable[..., Any] = type(llm).generate
        llm.generate = partial(retrying.retry_with(stop=stop_after_attempt(1)), llm)  # type: ignore[attr-defined]
