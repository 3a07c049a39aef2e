"""Recorded runs with dirt or malformed files: what is repaired, refused, counted and named."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.simulation.recorded.nodes import read_nodes
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recorded.recording import RecordingError, read_recording
from tests.unit.simulation.recorded_case import event, play, write

# -- dirt ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "warning"),
    [
        (event(description=""), "empty_text"),
        (event(description="  \n "), "empty_text"),
        (event(description=None), "empty_text"),
        (event(description="This is blank."), "blank_text"),
        (event(description="x" * 4001), "text_too_long"),
        (event(type="dream"), "unknown_type"),
        (event(type=["event"]), "unknown_type"),
        (event(created="yesterday"), "bad_date"),
        (event(created="2023-02-30 07:00:00"), "bad_date"),
        (event(created=None), "bad_date"),
        ("not a record", "not_a_record"),
        (None, "not_a_record"),
    ],
)
def test_unusable_records_are_refused_and_counted(tmp_path: Path, record: Any, warning: str) -> None:
    world = RecordedWorld(write(tmp_path, {"node_1": record, "node_2": event(description="sound")}))
    assert world.warnings == {warning: 1}
    assert [entry.text for _, entry in play(world)] == ["sound"]


@pytest.mark.parametrize(
    ("changes", "warning", "importance", "text"),
    [
        ({"poignancy": 14}, "importance_out_of_range", 10, "counter is clean"),
        ({"poignancy": -3}, "importance_out_of_range", 1, "counter is clean"),
        ({"poignancy": 0}, "importance_out_of_range", 1, "counter is clean"),
        ({"poignancy": 4.4}, "importance_out_of_range", 4, "counter is clean"),
        ({"poignancy": "7"}, "importance_not_a_number", 0, "counter is clean"),
        ({"poignancy": True}, "importance_not_a_number", 0, "counter is clean"),
        ({"poignancy": float("nan")}, "importance_not_a_number", 0, "counter is clean"),
        ({"poignancy": None}, "importance_not_a_number", 0, "counter is clean"),
        ({"description": "half a \ud83d pair\x00"}, "broken_characters", 2, "half a  pair"),
        ({"created": "2023-02-12 23:00:00"}, "date_before_start", 2, "counter is clean"),
    ],
)
def test_repairable_records_are_repaired_and_counted(
    tmp_path: Path, changes: dict[str, Any], warning: str, importance: int, text: str
) -> None:
    world = RecordedWorld(write(tmp_path, {"node_1": event(**changes)}))
    assert world.warnings == {warning: 1}
    assert [(entry.importance, entry.text) for _, entry in play(world)] == [(importance, text)]


def test_evidence_that_does_not_exist_is_dropped_from_the_list(tmp_path: Path) -> None:
    thought = event(type="thought", filling=["node_1", "node_99", "node_2", 7, "nonsense", "node_1"])
    alone = event(type="thought", filling="node_1")
    recording = read_recording(write(tmp_path, {"node_1": event(), "node_2": thought, "node_3": alone}))
    assert [node.evidence for node in recording.personas[0].nodes] == [(), (1,), (1,)]
    assert recording.warnings == {"missing_evidence": 4}


def test_bad_chat_lines_are_dropped_and_a_chat_without_lines_is_an_observation(tmp_path: Path) -> None:
    nodes = {
        "node_1": event(type="chat", filling=[["Ann Lee", "Hello"], ["Bo"], "x", ["Bo", ""], [None, "y"]]),
        "node_2": event(type="chat", filling=None, description="conversing about tea"),
    }
    world = RecordedWorld(write(tmp_path, nodes))
    assert [(entry.type, entry.text) for _, entry in play(world)] == [
        ("message", "Ann Lee: Hello"),
        ("observation", "conversing about tea"),
    ]
    assert world.warnings == {"bad_chat_line": 4}


def test_a_dirty_identity_is_simply_less_known(tmp_path: Path) -> None:
    dirt: dict[str, Any] = {
        "age": "old",
        "innate": None,
        "living_area": 7,
        "f_daily_schedule": [["x"], "y", ["z", -1], ["rest", 5]],
    }
    world = RecordedWorld(write(tmp_path, {}, **dirt))
    profile = world.owners()["agent:ann-lee"]
    assert (profile.age, profile.traits, profile.home) == (None, (), "")
    world.step(0, 0)
    assert world.brief("agent:ann-lee") == {"location": "", "activity": "rest"}


def spoil(folder: Path, what: str, text: str) -> str:
    file = {
        "meta": folder / "meta.json",
        "scratch": folder / "personas/Ann Lee/bootstrap_memory/scratch.json",
        "nodes": folder / "personas/Ann Lee/bootstrap_memory/associative_memory/nodes.json",
    }[what]
    file.write_text(text)
    return str(file)


# -- recordings that cannot be used ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "text", "said"),
    [
        ("meta", "{", "not valid JSON"),
        ("meta", "[]", "found '[]'"),
        ("meta", '{"start_date": "once", "curr_time": "x", "sec_per_step": 1, "persona_names": ["a"]}', "'once'"),
        ("scratch", '{"name": "Ann Lee" "age": 3}', "near"),
        ("scratch", '{"importance_trigger_max": 0}', "importance_trigger_max"),
        ("nodes", "[1, 2]", "expected an object"),
        ("nodes", '{"node_1": ' + "[" * 100_000, "JSON"),
    ],
)
def test_a_malformed_file_is_named_with_the_value(tmp_path: Path, what: str, text: str, said: str) -> None:
    file = spoil(write(tmp_path, {}), what, text)
    with pytest.raises(RecordingError) as caught:
        read_recording(tmp_path)
    assert file in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"persona_names": []}, "persona_names"),
        ({"persona_names": ["../../etc"]}, "'../../etc'"),
        ({"persona_names": ["Nobody"]}, "Nobody"),
        ({"persona_names": ["half \ud83d"]}, "half"),
        ({"sec_per_step": 0}, "sec_per_step"),
        ({"curr_time": "February 12, 2023, 10:00:00"}, "before it starts"),
    ],
)
def test_an_impossible_meta_is_refused(tmp_path: Path, meta: dict[str, Any], said: str) -> None:
    file = write(tmp_path, {}) / "meta.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | meta))
    with pytest.raises(RecordingError, match=said):
        read_recording(tmp_path)


def test_missing_folders_and_foreign_bytes_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such folder"):
        RecordedWorld(tmp_path / "absent")
    with pytest.raises(RecordingError, match=r"no meta\.json"):
        RecordedWorld(tmp_path)
    write(tmp_path, {})
    (tmp_path / "meta.json").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordingError, match="UTF-8"):
        RecordedWorld(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("type", "created", "description", "poignancy", "filling", "keywords", "subject", "object")


# -- any JSON at all -------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    records=st.dictionaries(
        st.text(max_size=8) | st.integers(0, 30).map(lambda number: f"node_{number}"),
        JSON | st.dictionaries(st.sampled_from(FIELDS), JSON).map(lambda changes: event(**changes)),
        max_size=6,
    )
)
def test_no_record_breaks_the_reading_and_each_is_kept_or_counted(records: dict[str, Any]) -> None:
    warnings: Counter[str] = Counter()
    nodes = read_nodes(records, datetime(2023, 2, 13), warnings)  # noqa: DTZ001 - game time
    refused = ("not_a_record", "unknown_type", "bad_date", "empty_text", "blank_text", "text_too_long")
    assert len(nodes) + sum(warnings[name] for name in refused) == len(records)
    for node in nodes:
        assert 0 <= node.importance <= 10
        assert node.text or node.lines
        (node.text + node.subject + "".join(node.keywords)).encode()
