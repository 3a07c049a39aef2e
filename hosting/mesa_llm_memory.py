"""A memory for mesa-llm agents: a run of Cogitate remembers what they perceive, say and do."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from mesa_llm.memory.memory import Memory

from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import InputError
from cogitate.memory.language.hidden_characters import visible

if TYPE_CHECKING:
    from cogitate.hosting.mesa_minds import Minds
    from cogitate.memory.view import MemoryView

TOKENS = 1_000  # tokens of the memories in a prompt
TALK = 20  # messages of a communication history
UNREAD = 1_000  # the most new memories that an agent holds between ticks; the oldest are dropped

Fields = dict[str, object]


class CogitateMemory(Memory):  # type: ignore[misc]
    """The memory of a mesa-llm agent, kept in a run of Cogitate. Its methods never call a model.

    New memories join the stream at the tick after the model's step. Until then prompts show them as what has just
    happened. An unchanged observation is not remembered again.

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
        text = _message(content) if type == "message" else _told(type, content)
        if not text:
            return
        fields: Fields = {"text": text[:MAX_TEXT]}
        if type == "message":
            fields |= {"type": "message", "source": "dialogue", "subjects": _others(content, self.agent.unique_id)}
        self._fresh.append(fields)

    def process_step(self, pre_step: bool = False) -> None:
        """Begin or end a step of the agent. Its memories have been added already."""
        if not pre_step:
            if self.display and self.step_content:
                lines = "\n  ".join([f"{type(self.agent).__name__} {self.agent.unique_id}:", *self._lines()])
                print(visible(lines))
            self.step_content = {}

    def get_prompt_ready(self) -> str:
        """Return the agent's memories and what has just happened, as lines for a prompt."""
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
    said = str(content.get("message", "")).strip()
    sender = content.get("sender")
    return f"Agent {sender} says: {said}" if said and sender is not None else said


def _others(content: Mapping[str, Any], own: int) -> list[str]:
    """Return the other owners that a message involves."""
    named = [content.get("sender"), *(content.get("recipients") or ())]
    return [f"agent:{number}" for number in dict.fromkeys(named) if isinstance(number, int) and number != own]


def _told(type: str, content: Mapping[str, Any]) -> str:
    """Return a content as text: each non-empty value after mesa-llm's name for it."""
    parts = [f"{name.replace('_', ' ')}: {_words(value)}" for name, value in content.items() if value]
    return f"{type.replace('_', ' ').capitalize()}: {'; '.join(parts)}" if parts else ""


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
