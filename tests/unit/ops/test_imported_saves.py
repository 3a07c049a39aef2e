"""What saves of Generative Agents bring into a run: events, lines of chats, thoughts, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cogitate.memory.errors import InputError
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.generative_agents import read_save
from cogitate.simulation.recorded.recording import RecordingError
from tests.unit.simulation.recorded_case import event, write

ANN = "agent:ann-lee"
CHAT: dict[str, Any] = {
    "type": "chat",
    "subject": "Ann Lee",
    "object": "Bo Ek",
    "description": "conversing about the shop",
    "created": "2023-02-13 09:00:00",
    "poignancy": 6,
    "filling": [["Ann Lee", "Is it open?"], ["Bo Ek", "From ten."]],
}
THOUGHT: dict[str, Any] = {
    "type": "thought",
    "subject": "Ann Lee",
    "description": "The shop matters to Bo.",
    "poignancy": 8,
    "created": "2023-02-13 09:01:00",
    "filling": ["node_3", "node_1", "node_9"],
}


def save(tmp_path: Path, nodes: dict[str, Any]) -> Path:
    return write(tmp_path / "save", nodes)


def test_a_persona_remembers_its_nodes_in_order_of_time(tmp_path: Path) -> None:
    found = read_save(save(tmp_path, {"node_4": event(**THOUGHT), "node_3": event(**CHAT), "node_1": event()}))
    assert [(e.type, e.text, e.minute, e.importance) for e in found.memories[ANN]] == [
        ("observation", "counter is clean", 420, 2),
        ("message", "Ann Lee: Is it open?", 540, 6),
        ("message", "Bo Ek: From ten.", 540, 6),
        ("reflection", "The shop matters to Bo.", 541, 8),
    ]
    assert found.memories[ANN][3].evidence == (2, 3, 1)  # both lines of the chat, and the event
    assert found.memories[ANN][0].location == "hobbs-cafe"
    assert "hobbs-cafe" in {place.id for place in found.locations}
    assert (found.profiles[ANN].name, found.profiles[ANN].age) == ("Ann Lee", 34)
    assert found.repaired == {"missing_evidence": 1}
    assert not found.left_out


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ({"description": ""}, "Ann Lee, node_2 has no description: ''"),
        ({"description": "this is blank"}, "node_2 has the description that stands for a failed answer"),
        ({"description": "x" * 4_001}, "node_2 has a description of more than 4,000 characters"),
        ({"type": "dream"}, "node_2 has a type other than event, thought and chat: 'dream'"),
        ({"created": "yesterday"}, "node_2 has no time of creation such as '2023-02-13 08:30:00': 'yesterday'"),
    ],
)
def test_a_node_that_cannot_be_used_is_left_out_and_named(node: dict[str, Any], told: str, tmp_path: Path) -> None:
    found = read_save(save(tmp_path, {"node_1": event(), "node_2": event(**node)}))
    assert [entry.text for entry in found.memories[ANN]] == ["counter is clean"]
    assert found.left_out == {"node": 1}
    assert told in found.faults[0]
    assert not found.repaired


def test_repairs_are_counted(tmp_path: Path) -> None:
    nodes = {
        "node_1": event(poignancy=40),
        "node_2": event(created="2023-02-12 07:00:00", poignancy=float("nan")),
        "node_3": event(**CHAT | {"filling": [["Ann Lee", "Hi"], ["Bo Ek"], 7]}),
        "node_4": event(description="half \ud800 a character"),
    }
    found = read_save(save(tmp_path, nodes))
    assert found.repaired == {
        "importance_out_of_range": 1,
        "date_before_start": 1,
        "importance_not_a_number": 1,
        "broken_characters": 1,
    }
    assert found.left_out == {"line of a chat": 2}
    assert [entry.text for entry in found.memories[ANN]] == [
        "counter is clean",
        "counter is clean",
        "half  a character",
        "Ann Lee: Hi",
    ]


def test_a_folder_without_a_save_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordingError, match=r"there is no meta\.json in it"):
        read_save(tmp_path)
    with pytest.raises(InputError, match="no valid memory; the first fault: Ann Lee, node_1 has no"):
        read_save(save(tmp_path, {"node_1": event(description="")}))
    monkeypatch.setattr("cogitate.ops.exchange.generative_agents.MAX_FILE", 10)
    with pytest.raises(InputError, match="at most 10 are read"):
        read_save(tmp_path / "save")


def test_a_save_with_too_much_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "MAX_MEMORIES", 1)
    with pytest.raises(InputError, match="more than 1 memories: split it"):
        read_save(save(tmp_path, {"node_1": event(), "node_2": event()}))
