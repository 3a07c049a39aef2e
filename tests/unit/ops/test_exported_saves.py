"""A run that leaves as a save of Generative Agents, and what comes back of it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate import Location, Profile, Settings, TickLoop
from cogitate.memory.effects import Append, Archive
from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.errors import InputError
from cogitate.memory.stream import Stream
from cogitate.ops.exchange.generative_agents import LATEST, Saved, read_save, write_save

ADA, BEN, TWIN, PUB = "agent:ada", "npc:ben", "agent:twin", "location:pub"
OWNERS = {
    ADA: Profile(name="Ada Smith", age=30, traits=("blunt",), background="Ada is a smith.", home="forge"),
    BEN: Profile(name="Ben/Cole", occupation="miller"),
    TWIN: Profile(name="ada smith"),
    PUB: Profile(name="The pub"),
}
MEMORIES = {
    ADA: [
        Entry(type="observation", text="gone", minute=1, importance=1),
        Entry(
            type="observation", text="The fire is out.", minute=2, importance=2, location="forge", keywords=("fire",)
        ),
        Entry(type="observation", text="The fire is out.", minute=2, importance=2, location="forge"),
        Entry(type="message", text="Ben: Hello!", minute=3, importance=4, source="dialogue", subjects=(ADA, BEN)),
        Entry(type="message", text="a shout", minute=3, importance=5, source="dialogue"),
        Entry(type="reflection", text=" Ben matters to me. ", minute=1_500, importance=8, evidence=(1, 2, 4)),
        Entry(
            type="plan",
            text="Light the fire.",
            minute=1_501,
            importance=6,
            valid_until=2_880,
            items=(PlanItem(id="1-0", description="Light it", minute=1_600),),
        ),
        Entry(type="summary", text="Two quiet days.", minute=1_502, importance=3),
    ],
    BEN: [Entry(type="observation", text="Ada is here.", minute=5, importance=3)],
    TWIN: [Entry(type="observation", text="I am not Ada.", minute=6, importance=9)],
    PUB: [Entry(type="observation", text="A glass broke.", minute=7, importance=3)],
}


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Saved, dict[str, Stream]]:
    """A save of a run, what was told of it, and the streams of the run."""
    client = FakeRedis()
    places = (Location(id="forge", name="Ada's forge: old"),)
    with TickLoop(
        run="r", owners=OWNERS, settings=Settings(), locations=places, inline=True, client=client, log_warnings=False
    ) as loop:
        with loop.next_tick():
            for owner, entries in MEMORIES.items():
                for entry in entries:
                    loop.apply(Append(owner, entry))
            loop.apply(Archive(ADA, (1,)))
        streams = dict(loop.state.streams)
        told = write_save(client, "r", streams.values(), tmp_path / "save")
    return tmp_path / "save", told, streams


def rows(entries: list[Entry]) -> list[tuple[str, int, int, str]]:
    return [(entry.text, entry.minute, entry.importance, entry.type) for entry in entries]


def nodes(folder: Path, name: str) -> dict[str, dict[str, Any]]:
    file = folder / "personas" / name / "bootstrap_memory" / "associative_memory" / "nodes.json"
    found: dict[str, dict[str, Any]] = json.loads(file.read_text())
    return found


def test_exported_saves_can_be_imported(saved: tuple[Path, Saved, dict[str, Stream]]) -> None:
    folder, told, streams = saved
    found = read_save(folder)
    assert set(found.memories) == {ADA, BEN, TWIN}
    for owner, entries in found.memories.items():
        assert rows(entries) == rows(streams[owner].live())
        assert rows(entries)
    ada = found.memories[ADA]
    assert ada[4].evidence == (1, 3)  # by the new numbers, without what is archived
    assert ada[5].items == MEMORIES[ADA][6].items
    assert (ada[0].location, ada[0].keywords, ada[2].subjects) == ("forge", ("fire",), (ADA, BEN))
    assert (found.profiles[ADA].name, found.profiles[ADA].traits) == ("Ada Smith", ("blunt",))
    assert not found.left_out
    assert (told.personas, told.nodes) == (3, 9)
    assert told.left_out == {"archived memory": 1, "memory of a place, a group or the world": 1}


def test_a_save_has_the_files_and_the_fields_that_the_original_reads(
    saved: tuple[Path, Saved, dict[str, Stream]],
) -> None:
    folder, _, _ = saved
    meta = json.loads((folder / "reverie" / "meta.json").read_text())
    assert set(meta["persona_names"]) == {"Ada Smith", "ada smith 2", "Ben-Cole"}
    assert meta["curr_time"] == "February 14, 2023, 01:02:00"
    found = nodes(folder, "Ada Smith")
    # The original counts from node_1 up to the number of nodes.
    assert sorted(found) == sorted(f"node_{number}" for number in range(1, 8))
    assert [found[f"node_{number}"]["type"] for number in range(1, 8)] == [
        "event",
        "event",
        "chat",
        "event",
        "thought",
        "thought",
        "event",
    ]
    fields = {
        "node_count",
        "type_count",
        "type",
        "depth",
        "created",
        "expiration",
        "subject",
        "predicate",
        "object",
        "description",
        "embedding_key",
        "poignancy",
        "keywords",
        "filling",
    }
    for node in found.values():
        assert fields <= set(node)
        datetime.strptime(node["created"], "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - as the original reads it
    assert found["node_1"]["subject"] == "the Ville:Ada's forge  old:main room"
    assert found["node_3"]["filling"] == [["Ben", "Hello!"]]
    assert found["node_3"]["object"] == "Ben-Cole"
    assert found["node_5"]["filling"] == ["node_1", "node_3"]
    memory = folder / "personas" / "Ada Smith" / "bootstrap_memory"
    strength = json.loads((memory / "associative_memory" / "kw_strength.json").read_text())
    assert strength["kw_strength_event"]["fire"] == 1
    assert json.loads((memory / "associative_memory" / "embeddings.json").read_text()) == {}
    assert json.loads((memory / "scratch.json").read_text())["learned"] == "Ada is a smith."


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        ({"description": "Ada is away."}, ("Ada is away.", 5, 3, "observation")),
        ({"poignancy": 9}, ("Ada is here.", 5, 9, "observation")),
        ({"created": "2023-02-13 00:07:00"}, ("Ada is here.", 7, 3, "observation")),
    ],
)
def test_an_edited_node_counts_in_its_current_form(
    edit: dict[str, Any], row: tuple[str, int, int, str], saved: tuple[Path, Saved, dict[str, Stream]]
) -> None:
    folder, _, _ = saved
    file = folder / "personas" / "Ben-Cole" / "bootstrap_memory" / "associative_memory" / "nodes.json"
    found = json.loads(file.read_text())
    found["node_1"] |= edit
    file.write_text(json.dumps(found))
    assert rows(read_save(folder).memories[BEN]) == [row]


@pytest.mark.parametrize("kept", [5, {"type": "dream"}, {"type": "plan", "text": "x", "minute": "noon"}])
def test_an_unreadable_stored_memory_is_reported_and_its_node_counts(
    kept: object, saved: tuple[Path, Saved, dict[str, Stream]]
) -> None:
    folder, _, _ = saved
    file = folder / "personas" / "Ben-Cole" / "bootstrap_memory" / "associative_memory" / "nodes.json"
    found = json.loads(file.read_text())
    found["node_1"]["cogitate"] = kept
    file.write_text(json.dumps(found))
    again = read_save(folder)
    assert rows(again.memories[BEN]) == rows(MEMORIES[BEN])
    assert again.repaired == {"kept_memory_unreadable": 1}


def test_an_export_refuses_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    client = FakeRedis()
    with (
        TickLoop(
            run="r", owners={PUB: OWNERS[PUB]}, settings=Settings(), inline=True, client=client, log_warnings=False
        ) as loop,
        loop.next_tick(),
    ):
        pass
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="it exists and is not an empty folder"):
        write_save(client, "r", (), tmp_path)
    with pytest.raises(InputError, match="there is no persona to write"):
        write_save(client, "r", [Stream(PUB)], tmp_path / "new")


def test_a_memory_of_the_far_future_has_no_date_and_is_left_out(tmp_path: Path) -> None:
    client = FakeRedis()
    with TickLoop(
        run="r", owners={ADA: OWNERS[ADA]}, settings=Settings(), inline=True, client=client, log_warnings=False
    ) as loop:
        with loop.next_tick():
            for minute in (LATEST, LATEST + 1):
                loop.apply(Append(ADA, Entry(type="reflection", text="At last.", minute=minute, importance=5)))
        told = write_save(client, "r", loop.state.streams.values(), tmp_path / "save")
    assert (told.nodes, told.left_out) == (1, {"memory of a time beyond the year 9999": 1})
    assert rows(read_save(tmp_path / "save").memories[ADA]) == [("At last.", LATEST, 5, "reflection")]
