"""A memory for agents of mesa-llm: what they perceive, say and do is remembered in a run of Cogitate."""

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

TOKENS = 1_000  # of the memories in a prompt
TALK = 20  # messages of a communication history
UNREAD = 1_000  # memories that an agent keeps while no tick takes them, the newest

Fields = dict[str, object]


class CogitateMemory(Memory):  # type: ignore[misc]
    """The memory of an agent of mesa-llm, kept in a run of Cogitate: no call of it asks a model.

    What is added joins the agent's memories at the tick after the model's step. Until then it is shown as what has just
    happened. An observation that has not changed is not remembered again.

    Args:
        agent: the agent of mesa-llm.
        minds: the minds of its model; None while there are none yet.
        tokens: the room that memories take in a prompt.
        display: print what each step of the agent brought, as mesa-llm's own memories do.
    """

    def __init__(self, agent: Any, minds: Minds | None = None, *, tokens: int = TOKENS, display: bool = False) -> None:
        super().__init__(agent=agent, display=display)
        self.step_content: dict[str, Any] = {}
        self._minds = minds
        self._tokens = tokens
        self._fresh: deque[Fields] = deque(maxlen=UNREAD)
        self._observed: dict[str, object] = {}

    def join(self, minds: Minds) -> None:
        """Read from these minds from now on."""
        self._minds = minds

    def take(self) -> list[Fields]:
        """Return what was added since the last call, as fields of observations."""
        taken = list(self._fresh)
        self._fresh.clear()
        return taken

    # -- what mesa-llm calls -------------------------------------------------------------------------

    def add_to_memory(self, type: str, content: dict[str, Any]) -> None:
        """Remember an "observation", "message", "action", "plan" or anything else that mesa-llm adds.

        Raises:
            TypeError: for a content that is no dictionary.
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
        """Begin or end a step of the agent. What it brought is remembered already."""
        if not pre_step:
            if self.display and self.step_content:
                lines = "\n  ".join([f"{type(self.agent).__name__} {self.agent.unique_id}:", *self._lines()])
                print(visible(lines))
            self.step_content = {}

    def get_prompt_ready(self) -> str:
        """Return what the agent remembers, as lines of a prompt, and what has just happened."""
        return f"Memories:\n{self.format_long_term()}\n\nJust now:\n{self.format_short_term()}"

    def get_communication_history(self) -> str:
        """Return the latest messages, the newest last."""
        view = self._view()
        known = (entry.text for entry in (view.by_type("message", TALK) if view is not None else ()))
        fresh = (str(fields["text"]) for fields in self._fresh if fields.get("type") == "message")
        return "\n".join([*chain(known, fresh)][-TALK:])

    def format_long_term(self) -> str:
        """Return the summary, the present plan, reflections and the latest memories, within the room for them."""
        view = self._view()
        return "" if view is None else view.context(tokens=self._tokens)

    def format_short_term(self) -> str:
        """Return what was added since the last tick."""
        return "\n".join(self._lines()) or "nothing"

    # -- its parts -----------------------------------------------------------------------------------

    def _view(self) -> MemoryView | None:
        if self._minds is None:
            return None
        try:
            return self._minds[self.agent].view
        except InputError:  # one that `who` refused, or that has left
            return None

    def _lines(self) -> list[str]:
        return [str(fields["text"]) for fields in self._fresh]


def _message(content: Mapping[str, Any]) -> str:
    said = str(content.get("message", "")).strip()
    sender = content.get("sender")
    return f"Agent {sender} says: {said}" if said and sender is not None else said


def _others(content: Mapping[str, Any], own: int) -> list[str]:
    """Return the owners that a message involves beside the one who remembers it."""
    named = [content.get("sender"), *(content.get("recipients") or ())]
    return [f"agent:{number}" for number in dict.fromkeys(named) if isinstance(number, int) and number != own]


def _told(type: str, content: Mapping[str, Any]) -> str:
    """Return what was added in words: each value that is not empty, after the name that mesa-llm gives it."""
    parts = [f"{name.replace('_', ' ')}: {_words(value)}" for name, value in content.items() if value]
    return f"{type.replace('_', ' ').capitalize()}: {'; '.join(parts)}" if parts else ""


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
