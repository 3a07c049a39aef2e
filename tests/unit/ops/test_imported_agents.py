"""What AI Town, Letta and Concordia bring into a run, and what of them is left out and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cogitate.memory.errors import InputError
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.ai_town import read_ai_town
from cogitate.ops.exchange.concordia import read_concordia
from cogitate.ops.exchange.incoming import Incoming
from cogitate.ops.exchange.letta import read_letta
from tests.unit.ops.foreign_agents import (
    CONCORDIA,
    CONCORDIA_OLD,
    LETTA,
    LETTA_OLD,
    MINUTE,
    T0,
    TABLES,
    concordia_memory,
    convex_export,
)
from tests.unit.ops.imported import remembered

Read = Callable[[Path], Incoming]


def written(tmp_path: Path, data: object) -> Path:
    file = tmp_path / "file.json"
    file.write_text(json.dumps(data))
    return file


# -- AI Town -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["town.zip", "town", "outer/town"])
def test_the_agents_of_a_town_remember_their_conversations(name: str, tmp_path: Path) -> None:
    convex_export(tmp_path / name)
    found = read_ai_town(tmp_path / name.removesuffix("/town"))
    nora, wang = "agent:nora", "agent:agent"  # a name without a Latin letter has an id too
    assert {owner: profile.name for owner, profile in found.profiles.items()} == {nora: "Nora", wang: "王芳"}
    assert (found.profiles[nora].background, found.profiles[wang].background) == ("Nora bakes bread.", "A gardener.")
    assert found.profiles[nora].currently == "You want to know who took the flour."
    said = [("Nora: The fair is on Friday.", 1333, 0, "message"), ("王芳: 我会带玫瑰来。", 1334, 0, "message")]
    assert remembered(found, wang) == said
    assert remembered(found, nora) == [
        *said,
        ("Me: Hello!", 1335, 0, "message"),  # to a human player, who is no owner
        ("Conversation with 王芳: I liked to hear about her roses.", 1336, 5, "observation"),
        ("王芳 cares for her garden more than for people.", 2833, 10, "reflection"),
    ]
    _, _, hello, talk, insight = found.memories[nora]
    assert (hello.subjects, talk.subjects, insight.evidence) == ((nora, "Me"), (nora, wang), (4,))
    assert found.left_out == {
        "embedding": 2,
        "human player": 1,
        "message of another world": 1,
        "player of another world": 1,
    }
    assert found.left_out.total() == found.valid
    assert not found.repaired


def test_players_of_one_name_are_different_owners(tmp_path: Path) -> None:
    named = [{"playerId": f"p:{number}", "name": "Alex", "worldId": "w1"} for number in (0, 2)]
    found = read_ai_town(convex_export(tmp_path / "town.zip", TABLES | {"playerDescriptions": named}))
    assert list(found.profiles) == ["agent:alex", "agent:alex-2"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("nope", "memories, line 3: not valid JSON"),
        (5, "memories, line 3: it is 5: give an object"),
        ({"playerId": "p:8"}, "memories, line 3: playerId is 'p:8': give a player that playerDescriptions names"),
        ({"data": None}, "memories, line 3: data is None: give an object"),
        ({"data": {"type": "conversation", "playerIds": 5}}, "memories, line 3: playerIds is 5: give a list"),
        ({"_creationTime": -1}, "memories, line 3: _creationTime is -1: give milliseconds since 1970"),
        ({"_creationTime": 1e300}, "memories, line 3: _creationTime is 1e+300: give milliseconds"),
        ({"description": " "}, "memories, line 3: effect for 'agent:nora' (Append): text is blank"),
    ],
)
def test_a_row_that_cannot_be_used_is_left_out_and_named(row: Any, told: str, tmp_path: Path) -> None:
    folder = convex_export(tmp_path / "town")
    line = json.dumps(TABLES["memories"][0] | row) if isinstance(row, dict) else str(row)
    with (folder / "memories" / "documents.jsonl").open("a") as opened:
        opened.write(line + "\n")
    found = read_ai_town(folder)
    assert len(found.memories["agent:nora"]) == 5
    assert found.left_out.total() - found.valid == 1
    assert told in found.faults[0]


@pytest.mark.parametrize(("value", "importance", "repaired"), [("NaN", 0, 1), (70, 10, 1), (0, 1, 0), (4.6, 6, 0)])
def test_importance_is_converted_from_the_scale_of_the_export(
    value: object, importance: int, repaired: int, tmp_path: Path
) -> None:
    memories = [TABLES["memories"][0] | {"importance": value}]
    found = read_ai_town(convex_export(tmp_path / "town.zip", TABLES | {"memories": memories}))
    assert (found.memories["agent:nora"][3].importance, found.repaired["importance"]) == (importance, repaired)


def test_a_long_text_becomes_several_memories(tmp_path: Path) -> None:
    long = "The mill stands still. " * 400
    messages = [TABLES["messages"][0] | {"text": long}]
    found = read_ai_town(convex_export(tmp_path / "town.zip", TABLES | {"messages": messages, "memories": []}))
    parts = [entry.text for entry in found.memories["agent:nora"]]
    assert len(parts) == 3
    assert " ".join(parts) == f"Nora: {long}".strip()
    assert found.repaired == {"text in several parts": 2}  # in the memory of each side


def test_an_export_with_too_much_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = convex_export(tmp_path / "town.zip")
    monkeypatch.setattr(incoming, "MAX_MEMORIES", 2)
    with pytest.raises(InputError, match="more than 2 memories: split it"):
        read_ai_town(export)
    monkeypatch.setattr(incoming, "MAX_FILE", 100)
    with pytest.raises(InputError, match="the tables have more than 100 bytes"):
        read_ai_town(export)


# -- Letta -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [LETTA, json.dumps(LETTA)])
def test_the_agents_of_a_file_remember_what_was_said_and_their_blocks(data: object, tmp_path: Path) -> None:
    found = read_letta(written(tmp_path, data))
    assert remembered(found, "agent:sam") == [
        ("User: Can you help me move?", 541, 0, "message"),
        ("Sam: Gern, am Freitag um neun.", 542, 0, "message"),
        ("Brad was born on Valentine's Day.", 545, 0, "observation"),
        ("I am Sam. I like rivers.", 3600, 0, "observation"),
        ("Name: Brad. He moves house on Friday.", 3600, 0, "observation"),
    ]
    assert remembered(found, "agent:sam-2") == [
        ("Sam: I look it up.", 1920, 0, "message"),  # this type says what stands beside a call
        ("Name: Brad. He moves house on Friday.", 3600, 0, "observation"),
    ]
    assert found.profiles["agent:sam"].background == "I am Sam. I like rivers."
    assert found.left_out == {
        "inner thought": 2,
        "reasoning": 1,
        "system event": 1,
        "system message": 1,
        "tool": 1,
        "tool call": 1,
        "tool message": 1,
    }
    assert found.left_out.total() == found.valid


def test_a_file_of_one_agent_is_read_in_order_of_time(tmp_path: Path) -> None:
    found = read_letta(written(tmp_path, LETTA_OLD))
    assert remembered(found, "agent:sam") == [
        ("I am Sam.", 540, 0, "observation"),
        ("User: When do we move?", 570, 0, "message"),
        ("Sam: Friday at nine.", 750, 0, "message"),
        ("Brad moves house.", 1260, 0, "observation"),
    ]


def test_passages_and_messages_in_plain_words_are_read(tmp_path: Path) -> None:
    agent = {
        "name": "Sam",
        "passages": [{"text": "Brad likes tea.", "created_at": "2025-03-24T08:00:00Z"}, {"text": 5}, 5],
        "messages": [
            {"role": "user", "name": "Brad", "content": "Hello!", "created_at": "2025-03-24T09:00:00Z"},
            {"role": "assistant", "content": "Hello, Brad."},  # without a time: just after the one before
            {"role": "bystander", "content": "Hm."},
            {"role": "user", "content": "When?", "created_at": "noon"},
        ],
    }
    blocks = [{"id": "block-7", "label": "human", "value": "of nobody"}]
    found = read_letta(written(tmp_path, {"agents": [agent], "blocks": blocks}))
    assert [entry.text for entry in found.memories["agent:sam"]] == [
        "Brad likes tea.",
        "Brad: Hello!",
        "Sam: Hello, Brad.",
    ]
    assert found.memories["agent:sam"][1].subjects == ("agent:sam", "Brad")
    assert found.left_out == {"message": 2, "memory": 1, "passage": 1, "block of no agent": 1}
    told = "\n".join(found.faults)
    assert "Sam, message 3: role is 'bystander': give user, assistant, system or tool" in told
    assert "Sam, message 4: its time is 'noon': give milliseconds since 1970, or a time such as" in told


# -- Concordia ---------------------------------------------------------------------------------------------


def test_the_entities_of_a_checkpoint_remember_over_a_day(tmp_path: Path) -> None:
    found = read_concordia(written(tmp_path, CONCORDIA))
    assert remembered(found, "agent:alice") == [
        ("The baker sold out of bread by nine.", 360, 0, "observation"),
        ("Bob promised to repair the mill on Friday.", 570, 0, "observation"),
        ("I should ask the mayor.", 780, 0, "reflection"),
        ("The mayor cancelled the fair.", 990, 0, "observation"),
        ("The mill stands still.", 1200, 0, "observation"),
    ]
    assert found.memories["agent:alice"][4].tags == ("observation", "event")
    assert (found.profiles["agent:alice"].name, found.profiles["agent:alice"].currently) == (
        "Alice",
        "Win the election",
    )
    assert [entry.text for entry in found.memories["agent:agent"]] == ["市场上的鱼很便宜。", "我想开一家书店。"]
    assert found.profiles["agent:agent"].name == "李明"
    assert found.left_out == {"embedding": 7, "memory of a game master": 1, "step of the log": 1}
    assert found.left_out.total() == found.valid


def test_a_saved_agent_of_an_older_version_has_times_and_importance(tmp_path: Path) -> None:
    found = read_concordia(written(tmp_path, CONCORDIA_OLD))
    assert remembered(found, "agent:alice") == [
        ("Bob promised to repair the mill.", 480, 6, "observation"),  # 0.5 of 1
        ("The fair is cancelled.", 1320, 10, "observation"),
    ]
    assert (found.profiles["agent:alice"].traits, found.profiles["agent:alice"].background) == (
        ("curious", "stubborn"),
        "Alice runs the mill.",
    )


@pytest.mark.parametrize(
    "state",
    [
        concordia_memory(["The fair is cancelled."])["memory_bank"],  # a memory alone
        concordia_memory(["The fair is cancelled."]),
        {"memory_bank": '["The fair is cancelled."]'},  # of a ListMemory
        {"memory_bank": {"memory_bank": '{"text":{}}'}, "buffer": ["The fair is cancelled."]},
        {"components": {"context_components": {"m": {"memory_bank": '["The fair is cancelled."]'}}}},
    ],
)
def test_a_memory_is_found_wherever_a_version_keeps_it(state: object, tmp_path: Path) -> None:
    found = read_concordia(written(tmp_path, state))
    assert [entry.text for entry in found.memories["agent:file"]] == ["The fair is cancelled."]


def test_an_importance_that_is_the_same_for_all_rates_nothing(tmp_path: Path) -> None:
    table = {"text": {"0": "The fair is cancelled.", "1": "The mill stands."}, "importance": {"0": 1.0, "1": 1.0}}
    found = read_concordia(written(tmp_path, {"memory_bank": json.dumps(table)}))
    assert [entry.importance for entry in found.memories["agent:file"]] == [0, 0]


# -- all of them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [read_ai_town, read_letta, read_concordia])
@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[" * 10_000, b'{"agents":' * 5_000, b"\xff", b"PK\x03\x04", b"5", b"null", b"{}", b'{"a":"\\ud800"}'],
)
def test_a_file_of_another_format_is_refused_in_a_line_with_its_name(read: Read, raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.zip"
    file.write_bytes(raw)
    with pytest.raises(InputError) as refused:
        read(file)
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("read", [read_ai_town, read_letta, read_concordia])
def test_a_file_that_is_missing_or_of_other_content_says_what_to_give(read: Read, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.zip: cannot be read"):
        read(tmp_path / "gone.zip")
    export = tmp_path / "other.zip"
    if read is read_ai_town:
        convex_export(export, {"messages": []})
    else:
        export.write_text('{"session_1": []}')
    with pytest.raises(InputError, match=r"other\.zip: .*give .*(npx convex export|Letta exports|Concordia saved)"):
        read(export)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inner, (*at, key))


def _put(value: Any, at: tuple[Any, ...], new: object) -> Any:
    if not at:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[at[0]] = _put(value[at[0]], at[1:], new)
    return copied


def _check_read_or_refused(read: Read, file: Path) -> None:
    refused = ""
    try:
        read(file)
    except InputError as error:
        refused = str(error)
    assert not refused or str(file) in refused


@pytest.mark.parametrize("hostile", [None, 10**400, "\x1b[31m\x00", {"a": [5]}])
@pytest.mark.parametrize(
    ("read", "data"),
    [(read_letta, LETTA), (read_letta, LETTA_OLD), (read_concordia, CONCORDIA), (read_concordia, CONCORDIA_OLD)],
)
def test_any_value_at_any_place_is_read_or_refused(read: Read, data: Any, hostile: object, tmp_path: Path) -> None:
    for at in _places(data):
        _check_read_or_refused(read, written(tmp_path, _put(data, at, hostile)))


@pytest.mark.parametrize("hostile", [None, 10**400, "\x1b[31m\x00", {"a": [5]}])
def test_any_value_in_any_row_is_read_or_refused(hostile: object, tmp_path: Path) -> None:
    for at in _places(TABLES):
        if len(at) > 1:
            _check_read_or_refused(read_ai_town, convex_export(tmp_path / "town.zip", _put(TABLES, at, hostile)))


def test_times_of_any_size_are_read(tmp_path: Path) -> None:
    messages = [TABLES["messages"][0] | {"_creationTime": time} for time in (0, T0 + MINUTE, 253_402_300_799_000)]
    found = read_ai_town(convex_export(tmp_path / "town.zip", TABLES | {"messages": messages, "memories": []}))
    assert found.memories["agent:nora"][0].minute == 0
    assert not found.faults


def test_an_agent_without_memories_is_told_from_a_broken_file(tmp_path: Path) -> None:
    agent = {
        "id": "a",
        "name": "Mail",
        "messages": [{"role": "system", "content": "You send mails."}],
        "tool_ids": ["t"],
    }
    data = {"agents": [agent], "blocks": [], "tools": [{"id": "t", "name": "send"}]}
    with pytest.raises(InputError, match=r"no valid memory among what an import reads; left out: .*system message: 1"):
        read_letta(written(tmp_path, data))
