"""The town: deterministic from its seed, continued from its dump, moved by plans, within reason for any size."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect, SetPlanStatus, Tell
from cogitate.memory.entry import Entry, PlanItem
from cogitate.simulation.town.people import population
from cogitate.simulation.town.places import build
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import World

DAY = 1440


@dataclass(frozen=True)
class Applied:
    """A change as the tick loop hands it over."""

    owner: str
    effect: Effect
    entry: Entry | None = None


def live(town: Town, first: int, last: int) -> list[tuple[str, Entry]]:
    return [seen for tick in range(first, last) for seen in town.step(tick, tick)]


def digest(town: Town, last: int, first: int = 0) -> str:
    return hashlib.sha256(repr(live(town, first, last)).encode() + town.dump()).hexdigest()


def plan(owner: str, *items: PlanItem, valid_until: int = DAY + 360) -> Applied:
    entry = Entry(type="plan", text="A plan.", minute=360, number=7, items=items, valid_until=valid_until)
    return Applied(owner, Append(owner=owner, entry=entry), entry)


def test_a_town_is_a_world() -> None:
    world: World = Town(agents=2)
    assert world.ticks_per_day == DAY
    assert Town(agents=2, minutes_per_tick=7).ticks_per_day == 206
    assert set(world.brief(next(iter(world.owners())))["status"]) == {"energy", "hunger", "mood"}


def in_new_process(code: str, hash_seed: str, given: bytes = b"") -> str:
    """What a fresh interpreter prints when it runs `code` with `given` as its input."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from tests.unit.simulation.test_town import Town, digest, live; {code}"],
        input=given,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    return done.stdout.decode().strip()


def test_the_same_seed_gives_the_same_day_for_any_hash_seed() -> None:
    here = digest(Town(agents=8, seed=3), 900)
    for hash_seed in ("1", "2"):
        assert in_new_process("print(digest(Town(agents=8, seed=3), 900))", hash_seed) == here


def test_a_dump_continues_identically_in_a_new_process() -> None:
    town = Town(agents=8, seed=3)
    live(town, 0, 700)
    code = "t = Town(agents=8, seed=3); t.load(sys.stdin.buffer.read()); print(digest(t, 900, first=700))"
    elsewhere = in_new_process(code, "7", town.dump())
    assert digest(town, 900, first=700) == elsewhere


def test_another_seed_is_another_day() -> None:
    assert digest(Town(agents=4, seed=0), 600) != digest(Town(agents=4, seed=1), 600)


@pytest.mark.parametrize("at", [0, 500, 733, 1130])
def test_a_loaded_dump_continues_identically(at: int) -> None:
    town = Town(agents=10, seed=5)
    town.apply(
        plan(
            "agent:isabella-rossi", PlanItem(id="1-0", description="Visit the library", location="library", minute=600)
        )
    )
    live(town, 0, at + 1)
    saved = town.dump()
    other = Town(agents=10, seed=5)
    other.load(saved)
    assert other.dump() == saved
    assert live(other, at + 1, at + 200) == live(town, at + 1, at + 200)
    assert other.take_effects() == town.take_effects()
    assert other.dump() == town.dump()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", Town(agents=3).dump(), Town(agents=2, seed=9).dump()])
def test_a_foreign_dump_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="dump"):
        Town(agents=2).load(data)


def test_ticks_of_any_length_live_the_same_minutes() -> None:
    fine, coarse = Town(agents=6), Town(agents=6, minutes_per_tick=15)
    minute_by_minute = live(fine, 0, 901)
    assert [seen for tick in range(61) for seen in coarse.step(tick, tick * 15)] == minute_by_minute
    assert coarse.dump() == fine.dump()


@pytest.mark.parametrize("agents", [1, 2, 61, 1000])
def test_any_size_has_its_people_and_places(agents: int) -> None:
    people, places = population(0, agents), build(agents)
    assert len(people) == agents == len({p.profile.name for p in people.values()})
    assert all(owner.isascii() and owner.startswith("agent:") for owner in people)
    tiles = [(p.x + dx, p.y + dy) for p in places.values() for dx in range(p.size) for dy in range(p.size)]
    assert len(tiles) == len(set(tiles))
    for person in people.values():
        profile = person.profile
        assert {profile.home, profile.work, person.hobby_place} <= set(places)
        work = places[profile.work].location.name if profile.work != profile.home else "home"
        assert any(work in habit for habit in profile.routine)
    Town(agents=agents).step(0, 0)


@pytest.mark.parametrize("agents", [0, -1, 1001])
def test_an_impossible_size_is_refused(agents: int) -> None:
    with pytest.raises(ValueError, match=str(agents)):
        Town(agents=agents)


def test_names_are_not_only_latin() -> None:
    profiles = Town(agents=25).owners()
    assert profiles["agent:anna-kovalskaya"].name == "Анна Ковальская"
    assert len({p.occupation for p in profiles.values()}) > 10


def test_a_day_is_lively_and_bounded() -> None:
    town = Town(agents=25)
    seen = live(town, 0, DAY)
    for owner in town.owners():
        mine = [entry for o, entry in seen if o == owner]
        observed = [entry for entry in mine if entry.type == "observation"]
        talks = {entry.source_id for entry in mine if entry.type == "message"}
        assert 20 <= len(observed) <= 110
        assert 1 <= len(talks) <= 10
        assert all(entry.text and 1 <= entry.importance <= 10 and entry.number == 0 for entry in mine)
        assert [entry.minute for entry in mine] == sorted(entry.minute for entry in mine)
    assert len(town.dump()) < 150_000


def test_needs_change_and_are_met() -> None:
    town = Town(agents=3)
    owner = next(iter(town.owners()))
    meters = []
    for tick in range(2 * DAY):
        town.step(tick, tick)
        meters.append(town.brief(owner)["status"])
    for meter in ("energy", "hunger"):
        values = [m[meter].value for m in meters]
        assert min(values) > 0
        assert max(values) - min(values) > 30
    assert len({m["mood"].value for m in meters}) > 3


def test_every_agent_sleeps_at_home_at_night() -> None:
    town = Town(agents=25)
    live(town, 0, DAY + 180)
    for owner, profile in town.owners().items():
        assert town.brief(owner)["condition"] == "sleeping"
        assert town.brief(owner)["location"] == profile.home


def test_a_plan_moves_its_agent_and_reports_its_items() -> None:
    town, owner = Town(agents=2), "agent:isabella-rossi"
    live(town, 0, 365)
    town.apply(
        plan(
            owner,
            PlanItem(id="a", description="Read old letters", location="library", minute=420),
            PlanItem(id="b", description="Watch the tide", location="harbour", minute=600),
            PlanItem(id="c", description="Think", location="nowhere", minute=660),
        )
    )
    asked: list[Effect] = []
    where: dict[int, str] = {}
    for tick in range(365, DAY + 60):
        town.step(tick, tick)
        asked += town.take_effects()
        where[tick] = town.brief(owner)["location"]
    assert where[500] == "library"
    assert where[640] == "harbour"
    assert where[DAY + 50] == "home-1"
    assert [(e.item, e.status, e.expects) for e in asked if isinstance(e, SetPlanStatus) and e.owner == owner] == [
        ("a", "active", "pending"),
        ("a", "completed", "active"),
        ("b", "active", "pending"),
        ("b", "completed", "active"),
        ("c", "active", "pending"),
        ("c", "completed", "active"),
    ]


def test_going_to_bed_is_sleeping() -> None:
    town, owner = Town(agents=1), "agent:isabella-rossi"
    live(town, 0, 1200)
    town.apply(plan(owner, PlanItem(id="a", description="Go to bed", location="home-1", minute=1260)))
    live(town, 1200, 1300)
    assert town.brief(owner)["condition"] == "sleeping"
    live(town, 1300, 1400)
    assert [e.status for e in town.take_effects() if isinstance(e, SetPlanStatus)] == ["active", "completed"]


def test_an_item_whose_time_passed_is_cancelled() -> None:
    town, owner = Town(agents=1), "agent:isabella-rossi"
    live(town, 0, 600)
    first = PlanItem(id="a", description="Breakfast", location="home-1", minute=420)
    second = PlanItem(id="b", description="Work", location="cafe", minute=480)
    town.apply(plan(owner, first, second))
    live(town, 600, 660)
    assert town.take_effects() == [
        SetPlanStatus(owner=owner, item="a", status="cancelled", expects="pending"),
        SetPlanStatus(owner=owner, item="b", status="active", expects="pending"),
    ]


def test_a_status_set_elsewhere_is_taken_over_unless_outdated() -> None:
    town, owner = Town(agents=1), "agent:isabella-rossi"
    live(town, 0, 420)
    town.apply(plan(owner, PlanItem(id="a", description="Walk", location="park", minute=480)))
    town.apply(Applied(owner, SetPlanStatus(owner=owner, item="a", status="completed", expects="active")))
    town.apply(Applied(owner, SetPlanStatus(owner=owner, item="a", status="cancelled", expects="pending")))
    live(town, 420, 540)
    assert town.take_effects() == []
    assert town.brief(owner)["location"] != "park"


def test_needs_come_before_the_plan() -> None:
    town, owner = Town(agents=1), "agent:isabella-rossi"
    live(town, 0, 600)
    state = typed_json.decode(town.dump())
    state["bodies"][owner]["hunger"] = 100
    town.load(msgspec.json.encode(state))
    town.apply(plan(owner, PlanItem(id="a", description="Watch the tide", location="harbour", minute=600)))
    live(town, 600, 625)
    assert town.brief(owner)["location"] == "cafe"
    live(town, 625, 700)
    assert town.brief(owner)["location"] == "harbour"


def test_messages_to_the_world() -> None:
    town, owner = Town(agents=2), "agent:isabella-rossi"
    live(town, 0, 600)
    other = "agent:jonas-lindqvist"
    before = typed_json.decode(town.dump())["bodies"][owner]["feelings"][other]
    town.apply(Applied(owner, Tell(owner=owner, topic="relationship", data={"agent": other, "change": -7})))
    town.apply(Applied(owner, Tell(owner=owner, topic="relationship", data={"agent": "nobody", "change": 5})))
    town.apply(Applied("agent:gone", Tell(owner="agent:gone", topic="relationship", data={})))
    feelings = typed_json.decode(town.dump())["bodies"][owner]["feelings"]
    assert feelings[other] == before - 7
    assert "nobody" not in feelings


def test_an_agent_that_leaves_is_gone_until_it_rejoins() -> None:
    town, owner = Town(agents=4), "agent:isabella-rossi"
    live(town, 0, 700)
    town.leave(owner)
    assert owner not in town.owners()
    gone = live(town, 700, 900)
    assert all(o != owner and "Saw Isabella" not in entry.text for o, entry in gone)
    with pytest.raises(ValueError, match="isabella"):
        town.leave(owner)
    town.join(owner)
    assert owner in town.owners()
    with pytest.raises(ValueError, match="isabella"):
        town.join(owner)
    assert any(o == owner for o, _ in live(town, 900, 1200))
