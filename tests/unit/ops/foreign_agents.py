"""Small files of the shapes in which AI Town, Letta and Concordia save their agents."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

T0 = 1_700_000_000_000.5  # milliseconds: 14 November 2023, 22:13 UTC
MINUTE = 60_000

TABLES: dict[str, list[dict[str, Any]]] = {
    "worldStatus": [{"_id": "s1", "worldId": "w1", "isDefault": True, "status": "running"}],
    "worlds": [
        {
            "_id": "w1",
            "nextId": 30,
            "players": [
                {"id": "p:0", "lastInput": T0},
                {"id": "p:2", "lastInput": T0},
                {"id": "p:4", "human": "token"},
            ],
            "agents": [{"id": "a:1", "playerId": "p:0"}, {"id": "a:3", "playerId": "p:2"}],
            "conversations": [{"id": "c:9", "participants": [{"playerId": "p:0"}, {"playerId": "p:4"}]}],
        }
    ],
    "playerDescriptions": [
        {"worldId": "w1", "playerId": "p:0", "name": "Nora", "description": "A baker.", "character": "f1"},
        {"worldId": "w1", "playerId": "p:2", "name": "王芳", "description": "A gardener.", "character": "f4"},
        {"worldId": "w1", "playerId": "p:4", "name": "Me", "description": "A visitor.", "character": "f5"},
        {"worldId": "w2", "playerId": "p:6", "name": "Ghost", "description": "", "character": "f5"},
    ],
    "agentDescriptions": [
        {
            "worldId": "w1",
            "agentId": "a:1",
            "identity": "Nora bakes bread.",
            "plan": "You want to know who took the flour.",
        }
    ],
    "archivedConversations": [{"worldId": "w1", "id": "c:5", "created": T0, "participants": ["p:0", "p:2"]}],
    "messages": [
        {"_id": "m1", "_creationTime": T0, "conversationId": "c:5", "author": "p:0", "text": "The fair is on Friday."},
        {"_id": "m2", "_creationTime": T0 + MINUTE, "conversationId": "c:5", "author": "p:2", "text": "我会带玫瑰来。"},
        {"_id": "m3", "_creationTime": T0 + 2 * MINUTE, "conversationId": "c:9", "author": "p:4", "text": "Hello!"},
        {"_id": "m4", "_creationTime": T0, "worldId": "w2", "conversationId": "c:5", "author": "p:0", "text": "Boo."},
    ],
    "memories": [
        {
            "_id": "k1",
            "_creationTime": T0 + 3 * MINUTE,
            "playerId": "p:0",
            "description": "Conversation with 王芳: I liked to hear about her roses.",
            "embeddingId": "e1",
            "importance": 4,
            "lastAccess": T0,
            "data": {"type": "conversation", "conversationId": "c:5", "playerIds": ["p:2"]},
        },
        {
            "_id": "k2",
            "_creationTime": T0 + 1500 * MINUTE,
            "playerId": "p:0",
            "description": "王芳 cares for her garden more than for people.",
            "embeddingId": "e2",
            "importance": 9,
            "lastAccess": T0,
            "data": {"type": "reflection", "relatedMemoryIds": ["k1", "gone"]},
        },
    ],
    "memoryEmbeddings": [{"_id": "e1", "playerId": "p:0", "embedding": [0.1, 0.2]}],
}


def convex_export(path: Path, tables: dict[str, Any] | None = None) -> Path:
    """Write tables as `npx convex export` does: a zip, or a folder if the name has no suffix."""
    files = {
        f"{name}/documents.jsonl": "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        for name, rows in (TABLES if tables is None else tables).items()
    }
    if path.suffix:
        with zipfile.ZipFile(path, "w") as opened:
            for name, text in files.items():
                opened.writestr(name, text)
    else:
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True)
            (path / name).write_text(text, encoding="utf-8")
    return path


def _said(text: str) -> str:
    return json.dumps({"type": "user_message", "message": text, "time": "2025-03-24 09:01:00 AM UTC+0000"})


def _call(name: str, **arguments: str) -> list[dict[str, Any]]:
    return [{"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def _message(role: str, text: str, time: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], "created_at": time, **more}


LETTA: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "Sam",
            "agent_type": "memgpt_agent",
            "description": "A companion",
            "block_ids": ["block-0", "block-1"],
            "messages": [
                _message("system", "You are Sam.", "2025-03-24T09:00:00Z"),
                _message("user", _said("Can you help me move?"), "2025-03-24T09:01:00Z"),
                _message(
                    "assistant",
                    "Brad needs help.",
                    "2025-03-24T09:02:00Z",
                    tool_calls=_call("send_message", message="Gern, am Freitag um neun."),
                ),
                _message("tool", '{"status": "OK"}', "2025-03-24T09:02:01Z", tool_call_id="c"),
                _message("user", '{"type": "heartbeat", "reason": "timer"}', "2025-03-24T09:04:00Z"),
                _message(
                    "assistant",
                    "Worth keeping.",
                    "2025-03-24T09:05:00Z",
                    tool_calls=_call("archival_memory_insert", content="Brad was born on Valentine's Day."),
                ),
            ],
        },
        {
            "id": "agent-1",
            "name": "Sam",
            "agent_type": "letta_v1_agent",
            "block_ids": ["block-1"],
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look it up."}],
                    "created_at": "2025-03-25T10:00:00+02:00",
                    "tool_calls": _call("web_search", query="vans"),
                }
            ],
        },
    ],
    "blocks": [
        {"id": "block-0", "label": "persona", "value": "I am Sam. I like rivers.", "limit": 5000},
        {"id": "block-1", "label": "human", "value": "Name: Brad. He moves house on Friday.", "limit": 5000},
    ],
    "tools": [{"id": "tool-0", "name": "web_search"}],
    "files": [],
    "sources": [],
    "groups": [],
    "mcp_servers": [],
    "metadata": {"revision_id": "f6cd5a1e519d"},
    "created_at": "2025-03-26T12:00:00Z",
}

LETTA_OLD: dict[str, Any] = {
    "agent_type": "memgpt_agent",
    "name": "Sam",
    "description": None,
    "version": "0.6.43",
    "core_memory": [
        {"label": "persona", "value": "I am Sam.", "updated_at": "2025-03-24T09:00:00+00:00"},
        {"label": "human", "value": "Brad moves house.", "updated_at": "2025-03-24T21:00:00+00:00"},
    ],
    "messages": [
        _message(
            "assistant",
            "Brad asks.",
            "2025-03-24T12:30:00+00:00",
            tool_calls=_call("send_message", message="Friday at nine."),
        ),
        _message("user", _said("When do we move?"), "2025-03-24T09:30:00+00:00"),
    ],
    "tools": [{"name": "send_message"}],
}


def concordia_memory(texts: list[str]) -> dict[str, Any]:
    """Return the state of a memory component: the table that pandas writes, in a string."""
    columns: dict[str, list[Any]] = {"text": texts, "embedding": [[0.25, 0.5]] * len(texts)}
    table = {name: {str(index): value for index, value in enumerate(values)} for name, values in columns.items()}
    return {"memory_bank": {"stored_hashes": [-3902707628490149879], "memory_bank": json.dumps(table)}, "buffer": []}


def _entity(texts: list[str], **params: Any) -> dict[str, Any]:
    return {
        "prefab_type": "basic__Entity",
        "entity_params": params,
        "components": {
            "act_component": {"prefix_entity_name": True},
            "context_processor": {},
            "context_components": {"Goal": {"state": "x"}, "__memory__": concordia_memory(texts)},
        },
    }


CONCORDIA: dict[str, Any] = {
    "entities": {
        "Alice": _entity(
            [
                "[observation] The baker sold out of bread by nine.",
                "[observation] Bob promised to repair the mill on Friday.",
                "[intent reflection] I should ask the mayor.",
                "The mayor cancelled the fair.",
                "[observation] [event] The mill stands still.",
            ],
            name="Alice",
            goal="Win the election",
        ),
        "李明": _entity(["[observation] 市场上的鱼很便宜。", "我想开一家书店。"], name="李明", goal="开一家书店"),
    },
    "game_masters": {"rules": _entity(["[event] The fair begins."], name="rules")},
    "raw_log": [{"Step": 1}],
    "checkpoint_counter": 1,
}

CONCORDIA_OLD: dict[str, Any] = {
    "Plan": {"current_plan": ""},
    "__memory__": {
        "seed": None,
        "stored_hashes": [1, 2],
        "memory_bank": json.dumps(
            {
                "text": {"0": "Bob promised to repair the mill.", "1": "The fair is cancelled."},
                "time": {"0": 1727769600000, "1": 1727820000000},
                "tags": {"0": ["observation"], "1": []},
                "importance": {"0": 0.5, "1": 1.0},
                "embedding": {"0": [0.1], "1": [0.2]},
            }
        ),
        "time": ["[01-Oct-2024-08:00:00]", "[01-Oct-2024-22:00:00]"],
        "interval": 3600.0,
    },
    "act_component": {},
    "agent_config": {
        "name": "Alice",
        "traits": "curious; stubborn",
        "context": "Alice runs the mill.",
        "goal": "Mend it",
    },
}


def write_each(folder: Path) -> dict[str, Path]:
    """Write a file of each program, and return them by their formats."""
    files = {"letta": (folder / "agent.af", LETTA), "concordia": (folder / "step_9_checkpoint.json", CONCORDIA)}
    for file, data in files.values():
        file.write_text(json.dumps(data), encoding="utf-8")
    return {form: file for form, (file, _) in files.items()} | {"ai-town": convex_export(folder / "town.zip")}
