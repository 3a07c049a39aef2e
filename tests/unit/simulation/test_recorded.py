"""Recorded runs: what is fed and when, and what is kept from planning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cogitate.memory.effects import Append, Effect, SetPlanStatus
from cogitate.memory.entry import Entry, PlanItem
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recordings import SMALL
from tests.unit.simulation.recorded_case import event, play, write


@dataclass(frozen=True)
class Applied:
    """A change as the tick loop hands it over."""

    owner: str
    effect: Effect
    entry: Entry | None = None


def test_events_come_at_their_minute_in_recorded_order(tmp_path: Path) -> None:
    nodes = {
        "node_3": event(created="2023-02-13 07:01:00", description="later"),
        "node_2": event(created="2023-02-13 07:00:50", description="second"),
        "node_1": event(description="first"),
    }
    world = RecordedWorld(write(tmp_path, nodes))
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


def test_profile_and_brief_name_person_and_place_but_no_plan(tmp_path: Path) -> None:
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


def test_plan_items_follow_the_recorded_agent(tmp_path: Path) -> None:
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
