"""What a job shows of memories and places, and how an answer names a place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cogitate.memory.clock import Clock
from cogitate.memory.effects import MarkAccessed
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Location
from cogitate.tasks.job import Job, JobKey
from cogitate.tasks.kind import Case, WorldFacts
from cogitate.tasks.places import MOST, place_meant, places_shown
from cogitate.tasks.recall import (
    access_marks,
    brief,
    delay_of,
    long_term_context,
    recall,
    replaced_entry,
    result_minute,
    share_of,
    template_entry,
    without_repeats,
)
from tests.unit.tasks.kind_cases import KLAUS, PROFILE, WORLD, observation, stream_of


def job(**params: Any) -> Job:
    return Job(run="r", key=JobKey(1, "plan", KLAUS, 0, 0), minute=700, due=9, reads=(), params=params)


def case_in(*places: Location) -> Case:
    return Case(job=job(), profile=PROFILE, world=WorldFacts(locations=places), memories={KLAUS: []})


def test_a_long_text_is_cut_at_a_word() -> None:
    assert brief("x" * 500) == "x" * 500, "as long as a prompt shows one memory"
    assert brief("x" * 501) == "x" * 499 + "…"
    assert brief("去" * 501) == "去" * 499 + "…"
    assert brief("tea " * 200) == ("tea " * 125)[:-1] + "…"
    assert brief("y" * 300 + " " + "x" * 300) == "y" * 300 + "…"
    assert template_entry(observation("Tea.", 1_500), 1_500) == {"when": "day 2, 1:00 AM", "text": "Tea."}


def test_an_entry_of_another_day_names_days_by_their_numbers() -> None:
    said = observation("Ben comes tomorrow; today it rains.", 600)
    assert template_entry(said, 700)["text"] == "Ben comes tomorrow; today it rains."
    assert template_entry(said, 2_000)["text"] == "Ben comes on day 2; on day 1 it rains."


@pytest.mark.parametrize(
    ("share", "kept"), [(1.0, 4), (0.76, 4), (0.75, 3), (0.5, 2), (0.26, 2), (0.25, 1), (0.01, 1), (0.0, 1)]
)
def test_a_share_of_memories_is_shown_and_at_least_one(share: float, kept: int) -> None:
    entries = [observation(str(n), n) for n in range(4)]
    assert share_of(entries, share) == entries[:kept]
    assert share_of([], share) == []


def test_of_equal_texts_the_first_is_shown() -> None:
    entries = stream_of(observation("Tea.", 1), observation("Cake.", 2), observation("TEA. ", 3)).live()
    assert [entry.number for entry in without_repeats(entries)] == [1, 2]


def test_each_entry_that_was_used_is_marked_once_and_in_order() -> None:
    case = case_in()
    assert access_marks(case, ()) == ()
    assert access_marks(case, (3, 1, 3)) == (MarkAccessed(owner=KLAUS, numbers=(1, 3), minute=700),)


@pytest.mark.parametrize(
    ("params", "number", "minute"),
    [
        ({}, 0, 700),
        ({"minute": 5}, 0, 700),
        ({"replaces": 3}, 3, 700),
        ({"replaces": 3, "minute": 5}, 3, 5),
        ({"replaces": 3, "minute": "noon"}, 3, 700),
        ({"replaces": "x", "minute": 5}, 0, 700),
    ],
)
def test_a_repair_is_dated_as_its_target(params: dict[str, Any], number: int, minute: int) -> None:
    assert (replaced_entry(job(**params)), result_minute(job(**params))) == (number, minute)


def test_names_of_owners_go_before_those_of_places() -> None:
    assert WORLD.display_names == {
        "cafe": "Hobbs Cafe",
        "library": "Oak Hill Library",
        "dorm": "Dorm",
        KLAUS: "Klaus Mueller",
        "agent:maria": "Maria Lopez",
        "agent:isabella": "Isabella Rodriguez",
    }
    world = WorldFacts(locations=(Location(id="x", name="Place"),), names={"x": "Owner"})
    assert world.display_names == {"x": "Owner"}


def test_of_many_places_the_owners_come_in_the_order_of_the_world() -> None:
    many = [Location(id=f"p{n}", name=f"P{n}") for n in range(MOST + 5)]
    case = case_in(*many, Location(id="dorm", name="Dorm"), Location(id="library", name="Library"))
    listed = places_shown(case, [observation("Tea.", 1, location=f"p{MOST + 2}")])
    assert [place.id for place in listed.world] == [f"p{n}" for n in range(MOST)], "the same for each owner"
    assert [place.id for place in listed.case] == [f"p{MOST + 2}", "dorm", "library"]
    assert places_shown(case_in(), []) == ([], [])
    assert places_shown(case_in(*many[:MOST]), []) == (many[:MOST], [])


def test_homes_are_shown_where_they_matter_and_equal_names_by_their_ids() -> None:
    homes = [Location(id=f"home-{n}", name="Cottage", type="home") for n in range(5)]
    case = case_in(Location(id="cafe", name="Hobbs Cafe"), *homes)
    seen = places_shown(case, [observation("Tea.", 1, location="home-2")], here="home-3")
    assert [place.name for place in seen.world] == ["Hobbs Cafe"]
    assert [place.name for place in seen.case] == ["home-2", "home-3"]
    (field,) = seen.choice("location", "here")
    assert set(field.choices) == {"Hobbs Cafe", "cafe", "home-2", "home-3", "here"}


CAFE, LIBRARY, ROOM = (
    Location(id="cafe", name="Hobbs Cafe"),
    Location(id="lib1", name="Oak Hill Library"),
    Location(id="room", name="Oak Hill Room"),
)


def test_a_place_is_found_by_id_name_part_or_ownership(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str | None]] = [
        (" cafe ", "cafe"),
        ("HOBBS CAFE", "cafe"),
        ("the Hobbs Cafe, please", "cafe"),
        ("the library", "lib1"),
        ("Library", "lib1"),
        ("Home", "dorm"),
        ("work", "library"),
        ("", None),
        ("None", None),
        ("anywhere", None),
        ("N/A", None),
    ]
    for said, place in cases:
        with subtests.test(said=said):
            assert place_meant(said, case_in(CAFE, LIBRARY, ROOM)) == place


@pytest.mark.parametrize("said", ["the moon", "Oak Hill", "ib", "the of"])
def test_a_place_that_is_unknown_or_several_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="known places: cafe, lib1, room"):
        place_meant(said, case_in(CAFE, LIBRARY, ROOM))
    assert place_meant(said, case_in()) is None, "a world without places"


def test_without_a_home_the_word_means_a_place_of_that_name() -> None:
    homeless = msgspec.structs.replace(PROFILE, home="")
    case = Case(job=job(), profile=homeless, world=WorldFacts(locations=(CAFE,)), memories={KLAUS: []})
    with pytest.raises(ValueError, match="no place is called 'home'"):
        place_meant("home", case)


@pytest.mark.parametrize(
    ("share", "summary"),
    [
        (1.0, "One is told. Two are told. Three are told."),
        (0.25, "One is told. Two are told. Three are told."),
        (0.24, "Two are told. Three are told."),
        (0.12, "Three are told."),
        (0.0, ""),
    ],
)
def test_the_oldest_of_the_long_term_summary_gives_way_to_a_memory(share: float, summary: str) -> None:
    case = case_in()
    whole = msgspec.structs.replace(case.job, summary="One is told. Two are told. Three are told.")
    assert long_term_context(replace(case, job=whole), share) == {"summary": summary, "known": []}


@pytest.mark.parametrize(
    ("params", "due", "delay"),
    [
        ({}, 9, 40),  # eight ticks of five minutes
        ({}, 2, 5),
        ({}, 1, 0),
        ({}, 0, 0),
        ({"replaces": 3}, 9, 0),  # it stands where what it repairs stands
    ],
)
def test_a_result_comes_when_it_is_due(params: dict[str, Any], due: int, delay: int) -> None:
    one = msgspec.structs.replace(job(**params), due=due)
    case = Case(job=one, profile=PROFILE, world=WorldFacts(clock=Clock(seconds_per_tick=300)), memories={KLAUS: []})
    assert delay_of(case) == delay


def test_numbers_are_marked_in_order() -> None:
    numbers = (40, 8, 17, 33, 1)
    assert access_marks(case_in(), numbers) == (MarkAccessed(owner=KLAUS, numbers=(1, 8, 17, 33, 40), minute=700),)


def test_recall_returns_each_requested_text_once() -> None:
    entries = stream_of(
        observation("The boat leaks.", 600),
        observation("The boat leaks.", 610),
        observation("Tea was served.", 620),
        observation("The boat was sold.", 630),
        Entry(type="plan", text="Mend the boat.", minute=640),
    ).live()
    case = Case(job=job(), profile=PROFILE, world=WorldFacts(), memories={KLAUS: entries})
    found = recall(case, "boat", 2, ("observation",))
    assert sorted(entry.text for entry in found) == ["The boat leaks.", "The boat was sold."]
    assert len(recall(case, "boat", 10, ("observation", "plan"))) == 4, "each text once"
