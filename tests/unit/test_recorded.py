"""Recorded runs: what is fed and when, what is kept from planning, and how dirt and malformed files are met."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.effects import Append, Effect, SetPlanStatus
from memory.entry import Entry, PlanItem
from simulation.load_profile import job_demand, reflection_times
from simulation.nodes import read_nodes
from simulation.record import main, record_town
from simulation.recorded import RecordedWorld
from simulation.recording import Recording, RecordingError, read_recording
from simulation.recordings import SMALL
from simulation.world import World

DAY = 1440
REAL = [
    file.parent
    for root in filter(None, [os.environ.get("COGITATE_RECORDINGS")])
    for file in sorted(Path(root).rglob("meta.json"))
]


@dataclass(frozen=True)
class Applied:
    """A change as the tick loop hands it over."""

    owner: str
    effect: Effect
    entry: Entry | None = None


def event(**changes: Any) -> dict[str, Any]:
    record = {
        "type": "event",
        "created": "2023-02-13 07:00:10",
        "subject": "the Ville:Hobbs Cafe:cafe:counter",
        "predicate": "is",
        "object": "clean",
        "description": "counter is clean",
        "poignancy": 2,
        "keywords": ["counter"],
        "filling": [],
    }
    return record | changes


def write(folder: Path, nodes: Any, names: tuple[str, ...] = ("Ann Lee",), **scratch: Any) -> Path:
    """A recording of the given nodes, the same for each name."""
    meta = {
        "start_date": "February 13, 2023",
        "curr_time": "February 13, 2023, 23:00:00",
        "sec_per_step": 10,
        "persona_names": list(names),
    }
    folder.mkdir(exist_ok=True)
    (folder / "meta.json").write_text(json.dumps(meta))
    for name in names:
        memory = folder / "personas" / name / "bootstrap_memory"
        (memory / "associative_memory").mkdir(parents=True)
        identity = {
            "name": name, "age": 34, "innate": "kind, blunt", "learned": "Ann runs a shop.",
            "currently": "Ann is well.", "lifestyle": "Ann sleeps late.",
            "living_area": "the Ville:Ann's house:bedroom",
            "daily_plan_req": "SECRET plan", "daily_req": ["SECRET request"],
            "f_daily_schedule": [["sleeping", 420], ["SECRET lunch", 60], ["reading", 960]],
        }  # fmt: skip
        (memory / "scratch.json").write_text(json.dumps(identity | scratch))
        (memory / "associative_memory" / "nodes.json").write_text(json.dumps(nodes))
    return folder


def play(world: RecordedWorld, first: int = 0, last: int = DAY) -> list[tuple[str, Entry]]:
    return [seen for tick in range(first, last) for seen in world.step(tick, tick)]


# -- what is fed ----------------------------------------------------------------------------------


def test_events_come_at_their_minute_in_recorded_order(tmp_path: Path) -> None:
    nodes = {
        "node_3": event(created="2023-02-13 07:01:00", description="later"),
        "node_2": event(created="2023-02-13 07:00:50", description="second"),
        "node_1": event(description="first"),
    }
    world: World = RecordedWorld(write(tmp_path, nodes))
    assert world.start_minute == 0
    assert world.step(0, 419) == []
    seen = world.step(420, 420)
    assert [(owner, entry.text, entry.minute) for owner, entry in seen] == [
        ("agent:ann-lee", "first", 420),
        ("agent:ann-lee", "second", 420),
    ]
    entry = seen[0][1]
    assert (entry.type, entry.location, entry.importance, entry.keywords) == (
        "observation",
        "hobbs-cafe",
        2,
        ("counter",),
    )
    assert [entry.text for _, entry in world.step(421, 421)] == ["later"]


def test_chat_lines_become_messages_and_thoughts_are_not_fed(tmp_path: Path) -> None:
    nodes = {
        "node_1": event(type="thought", description="Ann likes Bo", filling=None),
        "node_2": event(
            type="chat",
            subject="Ann Lee",
            object="Bo Ek",
            description="conversing about tea",
            poignancy=5,
            filling=[["Ann Lee", "Tea, Bo?"], ["Bo Ek", "Gladly."]],
        ),
    }
    seen = play(RecordedWorld(write(tmp_path, nodes, ("Ann Lee", "Bo Ek"))))
    assert [(owner, entry.type, entry.text) for owner, entry in seen] == [
        (owner, "message", text)
        for owner in ("agent:ann-lee", "agent:bo-ek")
        for text in ("Ann Lee: Tea, Bo?", "Bo Ek: Gladly.")
    ]
    assert len({entry.source_id for _, entry in seen}) == 1
    assert all(set(entry.subjects) == {"agent:ann-lee", "agent:bo-ek"} for _, entry in seen)
    assert all((entry.importance, entry.source) == (5, "dialogue") for _, entry in seen)


def test_profile_and_brief_say_who_and_where_but_not_what_was_planned(tmp_path: Path) -> None:
    world = RecordedWorld(write(tmp_path, {"node_1": event()}))
    profile = world.owners()["agent:ann-lee"]
    assert (profile.name, profile.age, profile.traits) == ("Ann Lee", 34, ("kind", "blunt"))
    assert (profile.background, profile.routine, profile.home) == ("Ann runs a shop.", "Ann sleeps late.", "anns-house")
    assert "SECRET" not in repr(profile) + repr(world.locations)
    world.step(0, 60)
    assert world.brief("agent:ann-lee") == {"location": "anns-house", "activity": "sleeping"}
    world.step(1, 500)
    assert world.brief("agent:ann-lee") == {"location": "hobbs-cafe", "activity": "reading"}


def test_names_that_cannot_be_spelt_or_collide_still_get_ids(tmp_path: Path) -> None:
    world = RecordedWorld(write(tmp_path, {}, ("Анна", "Ann Lee", "Ann  Lee")))
    assert list(world.owners()) == ["agent:persona", "agent:ann-lee", "agent:ann-lee-2"]


def test_items_of_a_plan_follow_what_the_recorded_agent_did(tmp_path: Path) -> None:
    world, owner = RecordedWorld(write(tmp_path, {"node_1": event()})), "agent:ann-lee"
    items = (
        PlanItem(id="a", description="Have tea", location="hobbs-cafe", minute=430),
        PlanItem(id="b", description="Sail", location="anns-house", minute=600),
        PlanItem(id="c", description="Sing", location="nowhere", minute=700),
    )
    entry = Entry(type="plan", text="A plan.", minute=400, items=items, valid_until=1800)
    world.apply(Applied(owner, Append(owner=owner, entry=entry), entry))
    world.apply(Applied("agent:gone", Append(owner="agent:gone", entry=entry), entry))
    play(world)
    assert [(e.item, e.status) for e in world.take_effects() if isinstance(e, SetPlanStatus)] == [
        ("a", "active"),
        ("a", "completed"),
        ("b", "cancelled"),
        ("c", "active"),
    ]
    assert world.take_effects() == []


def test_a_loaded_dump_continues_identically() -> None:
    world, other = RecordedWorld(SMALL), RecordedWorld(SMALL)
    owner = next(iter(world.owners()))
    entry = Entry(
        type="plan", text="P", minute=360, items=(PlanItem(id="a", description="x", minute=800),), valid_until=1800
    )
    world.apply(Applied(owner, Append(owner=owner, entry=entry), entry))
    play(world, 0, 700)
    saved = world.dump()
    other.load(saved)
    assert other.dump() == saved
    assert play(other, 700) == play(world, 700)
    assert other.take_effects() == world.take_effects() != []


def test_a_foreign_dump_is_refused(tmp_path: Path) -> None:
    world = RecordedWorld(write(tmp_path, {}))
    for data in (b"{", b"{}", RecordedWorld(SMALL).dump()):
        with pytest.raises(ValueError, match="dump"):
            world.load(data)


# -- dirt -----------------------------------------------------------------------------------------


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


# -- recordings that cannot be used ----------------------------------------------------------------


def spoil(folder: Path, what: str, text: str) -> str:
    file = {
        "meta": folder / "meta.json",
        "scratch": folder / "personas/Ann Lee/bootstrap_memory/scratch.json",
        "nodes": folder / "personas/Ann Lee/bootstrap_memory/associative_memory/nodes.json",
    }[what]
    file.write_text(text)
    return str(file)


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


# -- the recording that ships, and real ones -------------------------------------------------------


def test_the_shipped_recording_is_what_the_town_writes(tmp_path: Path) -> None:
    record_town(tmp_path)
    written = {f.relative_to(tmp_path): f.read_bytes() for f in sorted(tmp_path.rglob("*")) if f.is_file()}
    shipped = {f.relative_to(SMALL): f.read_bytes() for f in sorted(SMALL.rglob("*")) if f.is_file()}
    assert written == shipped
    assert sum(map(len, shipped.values())) < 300_000


def test_the_shipped_recording_is_clean_and_every_agent_reflects_in_it() -> None:
    world = RecordedWorld(SMALL)
    assert world.warnings == {}
    assert world.days == 1
    assert all(row["recorded"] for row in json.loads((SMALL / "reflection_times.json").read_text()))
    seen = play(world)
    for owner in world.owners():
        types = [entry.type for o, entry in seen if o == owner]
        assert types.count("observation") >= 20
        assert types.count("message") >= 4


def test_recording_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path / "a"), "--agents", "1", "--town", "2", "--minutes", "400"])
    assert list(RecordedWorld(tmp_path / "a").owners()) == ["agent:isabella-rossi"]
    with pytest.raises(SystemExit) as exited:
        main([str(tmp_path / "b"), "--agents", "9", "--town", "3"])
    assert exited.value.code == 2
    assert "9 agents of a town of 3" in capsys.readouterr().err


@pytest.fixture(params=[*REAL, None][: len(REAL) or 1], ids=str)
def real(request: pytest.FixtureRequest) -> Recording:
    if request.param is None:
        pytest.skip("COGITATE_RECORDINGS names no folder with real recordings")
    return read_recording(request.param)


def test_recorded_reflections_follow_the_importance_rule(real: Recording) -> None:
    published = json.loads((real.path / "reflection_times.json").read_text())
    keys = ("agent", "trigger_max", "recorded", "final_acc", "final_ele")
    assert [{k: row[k] for k in keys} for row in reflection_times(real, "")] == [
        {k: row[k] for k in keys} for row in sorted(published, key=lambda row: row["agent"])
    ]


def test_the_load_profile_of_a_clean_recording_is_the_published_one(real: Recording) -> None:
    ours, published = demand_at(job_demand(real)), demand_at((real.path / "job_demand.csv").read_text())
    if "empty_text" not in real.warnings:
        assert job_demand(real) == (real.path / "job_demand.csv").read_text()
    # An insight without text is refused, and with it the two calls it cost; nothing else may differ.
    assert {at: row[:3] for at, row in ours.items()} == {at: row[:3] for at, row in published.items()}
    missing = [published[at][3] - row[3] for at, row in ours.items()]
    assert all(calls >= 0 and calls % 2 == 0 for calls in missing)
    assert sum(missing) <= 2 * real.warnings["empty_text"]


def demand_at(table: str) -> dict[str, list[int]]:
    """The counts of a load profile by time: ratings, chats, reflections, calls."""
    return {at: [int(n) for n in counts] for at, *counts in (line.split(",") for line in table.splitlines()[1:])}


def test_real_recordings_play(real: Recording) -> None:
    world = RecordedWorld(real)
    seen = play(world)
    assert {owner for owner, _ in seen} == set(world.owners())
    assert all(1 <= entry.importance <= 10 and entry.text.strip() for _, entry in seen)
    assert world.warnings["blank_text"] > 0


# -- any JSON at all -------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = ("type", "created", "description", "poignancy", "filling", "keywords", "subject", "object")


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
