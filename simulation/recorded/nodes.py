"""Checks the recorded memories of the Generative Agents format, and repairs or refuses each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.entry import MAX_TEXT, UNRATED, Entry
from cogitate.memory.errors import quoted

NodeType = Literal["event", "thought", "chat"]
NODE_TYPES: tuple[NodeType, ...] = get_args(NodeType)
NODE_ID = re.compile(r"node_(0|[1-9][0-9]{0,8})")
BLANK = "this is blank"  # written by the original when a model failed
CREATED = "%Y-%m-%d %H:%M:%S"
MAX_KEYWORDS = 30
KEPT = "cogitate"  # field of an exported node that holds the complete memory, since the format lacks some fields


@dataclass(frozen=True, kw_only=True)
class Node:
    """A recorded memory."""

    number: int  # order of creation within its persona
    type: NodeType
    created: datetime
    text: str
    subject: str = ""  # a name, or an address "world:sector:arena:object"
    object: str = ""
    importance: int = UNRATED  # 1 to 10; 0: not given
    poignancy: int = 0  # importance as recorded, even out of range
    keywords: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()  # thoughts: the numbers of the supporting nodes
    lines: tuple[tuple[str, str], ...] = ()  # chats: (speaker, words)
    kept: Entry | None = None  # the memory exported as this node


class RefusedNode(NamedTuple):
    """An invalid record."""

    key: str
    reason: str  # as in the warnings
    value: str  # the invalid value, shortened


def node_record(
    node_type: NodeType, when: datetime, text: str, importance: int, subject: str, obj: str, filling: object
) -> dict[str, Any]:
    """Convert a memory to a record of the format."""
    return {
        "type": node_type,
        "depth": 1 if node_type == "thought" else 0,
        "created": when.strftime(CREATED),
        "expiration": str(when + timedelta(days=30)) if node_type == "thought" else None,
        "subject": subject,
        "predicate": {"event": "is", "chat": "chat with", "thought": "know"}[node_type],
        "object": obj,
        "description": text,
        "poignancy": importance,
        "keywords": sorted({subject.split(":")[-1], obj} - {""}),
        "filling": filling,
    }


def sound_text(text: str) -> tuple[str, bool]:
    """Return the text without lone surrogates and control characters, and whether it had any."""
    cleaned = "".join(
        c for c in text if c in "\n\t" or (ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF and c != "\x7f")
    )
    return cleaned.strip(), cleaned != text


def read_nodes(
    records: Mapping[str, Any], start: datetime, warnings: Counter[str], refused: list[RefusedNode] | None = None
) -> tuple[Node, ...]:
    """Return the valid records in order of time, and count refused and repaired ones in `warnings`.

    Args:
        refused: receives the invalid records.
    """
    valid: dict[int, Node] = {}
    for key, record in records.items():
        node = _read(key, record, start, warnings)
        if isinstance(node, Node):
            valid[node.number] = node
            continue
        warnings[node.reason] += 1
        if refused is not None:
            refused.append(node)
    ordered = sorted(valid.values(), key=lambda n: (n.created, n.number))
    result: list[Node] = []
    for node in ordered:
        evidence = tuple(number for number in node.evidence if number in valid and number != node.number)
        warnings["missing_evidence"] += len(node.evidence) - len(evidence)
        result.append(replace(node, evidence=evidence))
    for name in [name for name, count in warnings.items() if not count]:
        del warnings[name]
    return tuple(result)


def _read(key: str, record: Any, start: datetime, warnings: Counter[str]) -> Node | RefusedNode:
    named = NODE_ID.fullmatch(key)
    if named is None or not isinstance(record, dict):
        return RefusedNode(key, "not_a_record", quoted(record))
    node_type = next((known for known in NODE_TYPES if known == record.get("type")), None)
    if node_type is None:
        return RefusedNode(key, "unknown_type", quoted(record.get("type")))
    created = _created(record.get("created"))
    if created is None:
        return RefusedNode(key, "bad_date", quoted(record.get("created")))
    if created < start:
        warnings["date_before_start"] += 1
        created = start
    description = record.get("description")
    text, broken = sound_text(description) if isinstance(description, str) else ("", False)
    lines = _lines(record.get("filling"), warnings) if node_type == "chat" else ()
    refusal = _refusal(text)
    if refusal and not lines:
        return RefusedNode(key, refusal, quoted(description))
    if broken:
        warnings["broken_characters"] += 1
    importance, poignancy = _importance(record.get("poignancy"), warnings)
    keywords = record.get("keywords")
    return Node(
        number=int(named[1]),
        type=node_type,
        created=created,
        text=text,
        subject=_word(record.get("subject")),
        object=_word(record.get("object")),
        importance=importance,
        poignancy=poignancy,
        keywords=tuple(sorted({_word(k) for k in keywords} - {""}))[:MAX_KEYWORDS]
        if isinstance(keywords, list)
        else (),
        evidence=_evidence(record.get("filling"), warnings) if node_type == "thought" else (),
        lines=lines,
        kept=_kept(record.get(KEPT), warnings),
    )


def _kept(value: Any, warnings: Counter[str]) -> Entry | None:
    try:
        return typed_json.convert(value, Entry) if value is not None else None
    except (msgspec.ValidationError, RecursionError):
        warnings["kept_memory_unreadable"] += 1
        return None


def _word(value: Any) -> str:
    return sound_text(value)[0][:MAX_TEXT] if isinstance(value, str) else ""


def _refusal(text: str) -> str:
    """Return why a text is not a valid memory, or ""."""
    if not text:
        return "empty_text"
    if text.strip(" .\"'").lower() == BLANK:
        return "blank_text"
    return "text_too_long" if len(text) > MAX_TEXT else ""


def _created(value: Any) -> datetime | None:
    try:
        return datetime.strptime(value, CREATED) if isinstance(value, str) else None  # noqa: DTZ007 - game time
    except ValueError:
        return None


def _importance(value: Any, warnings: Counter[str]) -> tuple[int, int]:
    """Return the importance clamped to 1 to 10, and as recorded."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        warnings["importance_not_a_number"] += 1
        return UNRATED, 0
    recorded = round(value)
    clamped = max(1, min(10, recorded))
    if clamped != value:
        warnings["importance_out_of_range"] += 1
    return clamped, recorded


def _evidence(filling: Any, warnings: Counter[str]) -> tuple[int, ...]:
    """Return the numbers of the named nodes; a single name counts as a list of one."""
    named = [filling] if isinstance(filling, str) else filling if isinstance(filling, list) else []
    matches = [NODE_ID.fullmatch(name) if isinstance(name, str) else None for name in named]
    warnings["missing_evidence"] += sum(match is None for match in matches)
    return tuple(dict.fromkeys(int(match[1]) for match in matches if match is not None))


def _lines(filling: Any, warnings: Counter[str]) -> tuple[tuple[str, str], ...]:
    result: list[tuple[str, str]] = []
    for line in filling if isinstance(filling, list) else []:
        if not (isinstance(line, list) and len(line) == 2 and all(isinstance(part, str) for part in line)):
            warnings["bad_chat_line"] += 1
            continue
        speaker, words = sound_text(line[0])[0], sound_text(line[1])[0]
        if not speaker or _refusal(f"{speaker}: {words}" if words else ""):
            warnings["bad_chat_line"] += 1
            continue
        result.append((speaker, words))
    return tuple(result)
