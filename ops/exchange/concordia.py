"""Reads the memories in checkpoints of Concordia simulations, and in saved states of its agents."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.ops.exchange.incoming import (
    Fields,
    Incoming,
    Json,
    decode_json,
    fields_of,
    is_object,
    items_of,
    naming,
    owners_named,
    read_bytes,
    string_in,
)
from cogitate.ops.exchange.timeline import Timeline, seconds

_TAG = re.compile(r"\s*\[([^\[\]]{1,60})\]\s*")  # such as in "[observation] The baker sold out."
_TIME = "[%d-%b-%Y-%H:%M:%S]"


def read_concordia(file: Path) -> Incoming:
    """Return the memories of a checkpoint's entities, or of the one agent whose state the file holds.

    It skips and reports invalid memories; embeddings, logs and the memories of game masters are only counted.

    Raises:
        InputError: when the file is unreadable, too large, of another format, or has no valid memory.
    """
    content = Incoming(source=file)
    with naming(file):
        raw = read_bytes(file)
        top = fields_of(raw, "it")
        masters = fields_of(top.get("game_masters", b"{}"), "game_masters")
        content.pass_over("step of the log", len(items_of(top.get("raw_log", b"null"), "raw_log")))
        if "entities" in top:
            agents = fields_of(top["entities"], "entities")
        else:
            agents = {string_in(_card(top), "name") or file.stem: raw}
    timeline = Timeline(content)
    for owner, (name, state) in zip(owners_named(agents), agents.items(), strict=True):
        with content.reporting("entity", name):
            agent = fields_of(state, "it")
            banks = _banks(agent)
            content.add_owner(owner, _profile(agent, name))
            for bank in banks:
                _remember(content, timeline, owner, _table(bank))
    for name, state in masters.items():
        with content.reporting("game master", name):
            for bank in _banks(fields_of(state, "it")):
                content.pass_over("memory of a game master", len(_table(bank).texts))
    timeline.finish()
    return content


def _banks(agent: Fields) -> list[Fields]:
    """Return the states that hold a memory: those of an agent's components, or the agent's own."""
    state = fields_of(agent["components"], "components") if "components" in agent else agent
    inner = fields_of(state.get("context_components", b"{}"), "context_components")
    parts = [fields_of(raw, "a component") for raw in (*state.values(), *inner.values()) if is_object(raw)]
    banks = [state] if "memory_bank" in state else [part for part in parts if "memory_bank" in part]
    if not banks:
        raise InputError(
            f"no memory_bank is in its components {quoted(', '.join((*state, *inner)))}: give a checkpoint that a "
            "simulation of Concordia saved, or the saved state of one agent"
        )
    return banks


def _card(agent: Fields) -> object:
    """Return the parameters from which an agent was built."""
    return decode_json(agent.get("entity_params", agent.get("agent_config", b"{}")))


def _profile(agent: Fields, name: str) -> Profile:
    card = _card(agent)
    traits = re.split(r"[;,\n]", string_in(card, "traits"))
    return Profile(
        name=name,
        traits=tuple(trait.strip() for trait in traits if trait.strip()),
        background=string_in(card, "context"),
        currently=string_in(card, "goal"),
    )


class _Table(NamedTuple):
    texts: list[Any]
    times: list[Any]
    tags: list[Any]
    importance: list[Any]
    embeddings: int


def _table(bank: Fields) -> _Table:
    """Return the columns of a memory: a table that pandas wrote, a string with its JSON, or only a list of texts."""
    raw, buffer = bank["memory_bank"], bank.get("buffer")
    if is_object(raw) and "memory_bank" in (state := fields_of(raw, "memory_bank")):
        bank, raw = state, state["memory_bank"]
    if not is_object(raw) and isinstance(text := decode_json(raw), str):
        raw = text.encode()
    table = fields_of(raw, "memory_bank") if is_object(raw) else {"text": raw}
    if "text" not in table:
        raise InputError(f"memory_bank has the columns {quoted(', '.join(table))}, but no text")
    texts = _column(table["text"])
    return _Table(
        texts=texts + _column(buffer),
        times=_column(bank.get("time", table.get("time"))),
        tags=_column(table.get("tags")),
        importance=_column(table.get("importance")),
        embeddings=len(texts) if "embedding" in table else 0,
    )


def _column(raw: Json | None) -> list[Any]:
    value = None if raw is None else decode_json(raw)
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _remember(content: Incoming, timeline: Timeline, owner: str, table: _Table) -> None:
    content.pass_over("embedding", table.embeddings)
    constant = (
        len({one for one in table.importance if isinstance(one, float | int)}) < 2
    )  # as Concordia writes without a model
    rows = zip_longest(table.texts, table.times, table.tags, () if constant else table.importance)
    for number, (text, time, tags, importance) in enumerate(islice(rows, len(table.texts)), 1):
        where = f"{owner}, memory {number}"
        with content.reporting("memory", where):
            if not isinstance(text, str):
                raise InputError(f"text is {quoted(text)}: give a string")
            timeline.add(where, owner, _entry(content, owner, text, tags, importance), _seconds(time))


def _entry(content: Incoming, owner: str, text: str, tags: object, importance: object) -> Entry:
    tagged = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    start = 0
    while match := _TAG.match(text, start):
        tagged.append(match[1])
        start = match.end()
    reflects = any(tag.endswith("reflection") for tag in tagged)
    return Entry(
        type="reflection" if reflects else "observation",
        text=text[start:] or text,
        minute=0,
        subjects=(owner,),
        importance=content.importance(importance, 0, 1),
        source="internal" if reflects else "perception",
        tags=tuple(dict.fromkeys(tagged)),
    )


def _seconds(time: object) -> float | None:
    try:
        return datetime.strptime(str(time), _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return seconds(time, "time")
