"""Reads agent files (.af) of Letta: blocks of core memory, archived passages, and messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.ops.exchange.incoming import (
    Incoming,
    decode_json,
    list_in,
    naming,
    object_of,
    owners_named,
    read_bytes,
    string_in,
)
from cogitate.ops.exchange.timeline import Timeline, seconds
from cogitate.scheduler.intake.checks import MAX_TOLD

_TOP = {
    "tools": "tool",
    "files": "file",
    "sources": "source",
    "groups": "group",
    "mcp_servers": "MCP server",
    "skills": "skill",
}
_ROLES = {"system": "system message", "tool": "tool message", "function": "tool message", "approval": "approval"}
_PARTS = {"image": "image", "tool_call": "tool call", "tool_return": "tool message"}


def read_letta(file: Path) -> Incoming:
    """Return the memories of a file's agents, in the schema for several agents or the older one for a single agent.

    It skips and reports invalid items; items without a place in a run, such as tools, are only counted.

    Raises:
        InputError: when the file is unreadable, too large, of another format, or has no valid memory.
    """
    content = Incoming(source=file)
    with naming(file):
        top = _top(file)
        agents = [object_of(agent, "an agent") for agent in list_in(top, "agents")] if "agents" in top else [top]
        shared = {string_in(block, "id"): block for block in list_in(top, "blocks")}
        for field, name in _TOP.items():
            content.pass_over(name, len(list_in(top, field)))
    timeline = Timeline(content)
    unused = set(shared)
    names = [string_in(agent, "name") or string_in(agent, "id") or "agent" for agent in agents]
    for owner, name, agent in zip(owners_named(names), names, agents, strict=True):
        with content.reporting("agent", name):
            ids = [one for one in list_in(agent, "block_ids") if isinstance(one, str)]
            blocks = [shared[one] for one in ids if one in shared]
            unused.difference_update(ids)
            blocks += list_in(agent, "memory_blocks") + list_in(agent, "core_memory")
            personas = [string_in(block, "value") for block in blocks if string_in(block, "label") == "persona"]
            background = "\n".join(personas) or string_in(agent, "description")
            content.add_owner(owner, Profile(name=name, background=background[:MAX_TOLD]))
            reader = _Agent(timeline, owner, name, string_in(agent, "agent_type"))
            for number, message in enumerate(list_in(agent, "messages"), 1):
                with content.reporting("message", f"{name}, message {number}"):
                    reader.take_message(f"message {number}", object_of(message, "it"))
            for passage in list_in(agent, "passages") + list_in(agent, "archival_memory"):
                with content.reporting("passage", name):
                    reader.keep("passage", string_in(object_of(passage, "it"), "text"), passage.get("created_at"))
            for block in blocks:
                with content.reporting("block", name):
                    time = object_of(block, "it").get("updated_at", top.get("created_at"))
                    if text := string_in(block, "value"):
                        reader.keep(string_in(block, "label") or "block", text, time)
    content.pass_over("block of no agent", len(unused))
    timeline.finish()
    return content


def _top(file: Path) -> dict[str, Any]:
    """Return the fields of an agent file; some exports are a string of JSON around it."""
    top = decode_json(read_bytes(file))
    top = object_of(decode_json(top.encode()) if isinstance(top, str) else top, "it")
    if "agents" not in top and "core_memory" not in top:
        raise InputError(
            f"it has the fields {quoted(', '.join(top))}, but neither agents nor core_memory: give an agent file (.af) "
            "as Letta exports it"
        )
    return top


class _Agent:
    """Adds the memories of one agent to a timeline."""

    def __init__(self, timeline: Timeline, owner: str, name: str, agent_type: str) -> None:
        self._timeline, self._content, self._owner, self._name = timeline, timeline.content, owner, name
        self._thinks_aloud = agent_type != "letta_v1_agent"  # older agents speak by a tool; text beside it is a thought

    def keep(self, tag: str, text: str, time: object) -> None:
        """Add a block of core memory, a passage or a summary of messages."""
        entry = Entry(type="observation", text=text, minute=0, subjects=(self._owner,), source="internal", tags=(tag,))
        self._timeline.add(f"{self._name}, {tag}", self._owner, entry, seconds(time, "its time"))

    def take_message(self, where: str, message: dict[str, Any]) -> None:
        """Add a message, or count it if it has no place in a run."""
        role, time = string_in(message, "role"), message.get("created_at")
        if role in _ROLES:
            self._content.pass_over(_ROLES[role])
            return
        text = self._text(message)
        if role == "assistant":
            self._take_turn(where, text, list_in(message, "tool_calls"), time)
            return
        packed = _unpacked(text)
        words = string_in(packed, "message") or text
        if role == "summary":
            self.keep("summary", words, time)
        elif role != "user":
            raise InputError(f"role is {quoted(message.get('role'))}: give user, assistant, system or tool")
        elif packed.get("type", "user_message") == "user_message":
            self._say(where, string_in(packed, "name") or string_in(message, "name") or "User", words, time)
        else:
            self._content.pass_over("system event")

    def _take_turn(self, where: str, text: str, calls: list[Any], time: object) -> None:
        if text and calls and self._thinks_aloud:
            self._content.pass_over("inner thought")
        elif text or not calls:
            self._say(where, self._name, text, time)
        for call in calls:
            function = object_of(call, "a tool call").get("function")
            arguments = _unpacked(string_in(function, "arguments"))
            match string_in(function, "name"):
                case "send_message":
                    self._say(where, self._name, string_in(arguments, "message"), time)
                case "archival_memory_insert":
                    self.keep("passage", string_in(arguments, "content"), time)
                case _:
                    self._content.pass_over("tool call")

    def _text(self, message: dict[str, Any]) -> str:
        """Return the words of a message, and count its other parts."""
        if isinstance(message.get("content"), str):
            return string_in(message, "content")
        words = []
        for part in list_in(message, "content"):
            kind = string_in(part, "type")
            if kind == "text":
                words.append(string_in(part, "text"))
            else:
                self._content.pass_over("reasoning" if kind.endswith("reasoning") else _PARTS.get(kind, "other part"))
        return "\n".join(words).strip()

    def _say(self, where: str, speaker: str, words: str, time: object) -> None:
        if not words:
            self._content.pass_over("message without words")
            return
        subjects = (self._owner,) if speaker == self._name else (self._owner, speaker)
        entry = Entry(type="message", text=f"{speaker}: {words}", minute=0, subjects=subjects, source="dialogue")
        self._timeline.add(f"{self._name}, {where}", self._owner, entry, seconds(time, "its time"))


def _unpacked(text: str) -> dict[str, Any]:
    """Parse a text as a JSON object, as users' messages and tools' arguments may be; return {} for any other text."""
    try:
        value = decode_json(text.encode()) if text.startswith("{") else {}
    except InputError:
        value = {}
    return value if isinstance(value, dict) else {}
