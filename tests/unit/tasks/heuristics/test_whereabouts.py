"""Where an agent eats and meets people: by who it is, what lies near, and where it goes anyway."""

from __future__ import annotations

import pytest

from memory.profile import Location, Profile
from tasks.heuristics import whereabouts
from tasks.heuristics.whereabouts import choose_place, eating_place, social_place

NAMES = [f"Person {n}" for n in range(60)]
PLACES = tuple(
    Location(id=f"{kind}{n}", name=f"{kind.title()} {n}", type=kind, tags=("social",) if kind == "pub" else ())
    for n in range(6)
    for kind in ("pub", "house")
)
PLACES_OF_TWO = tuple(Location(id=name, name=name, type="pub") for name in "ab")


def chosen(name: str, day: int = 0, near: str = "house0", **visits: int) -> str | None:
    pubs = [p.id for p in PLACES if p.type == "pub"]
    return choose_place(name, pubs, PLACES, near=near, visits=visits, day=day)


def test_people_differ_and_each_repeats() -> None:
    places = [chosen(name) for name in NAMES]
    assert len(set(places)) >= 4
    assert places == [chosen(name) for name in NAMES]
    assert any(chosen(name, day=day) != chosen(name) for name in NAMES for day in range(7)), "moods change with the day"


def test_what_is_near_is_likelier() -> None:
    here, there = ([chosen(name, near=near) for name in NAMES] for near in ("house0", "house5"))
    assert here.count("pub0") > there.count("pub0")
    assert here.count("pub5") < there.count("pub5")
    assert {chosen(name, near="nowhere") for name in NAMES} == {p.id for p in PLACES if p.type == "pub"}


def test_habit_draws_back() -> None:
    strange = [name for name in NAMES if chosen(name) != "pub3"]
    drawn = [name for name in strange if chosen(name, pub3=5) == "pub3"]
    assert len(drawn) > len(strange) / 4
    assert [chosen(name, pub3=5) for name in NAMES] == [chosen(name, pub3=500) for name in NAMES]


def test_who_works_where_people_meet_meets_them_elsewhere() -> None:
    keeper = Profile(name="Bo", home="house0", work="pub0")
    assert social_place(keeper, PLACES, {"pub0": 99}, 0, "pub0") != "pub0"
    assert social_place(keeper, PLACES[:1], {}, 0, "pub0") == "pub0", "there is no other"


def test_who_knows_no_place_to_eat_eats_at_home() -> None:
    assert eating_place(Profile(name="Bo", home="house0"), (), {}, 0, "") == "house0"
    assert eating_place(Profile(name="Bo"), (), {}, 0, "") is None
    assert social_place(Profile(name="Bo"), (), {}, 0, "") is None
    assert choose_place("Bo", [], PLACES, near="", visits={}, day=0) is None


def test_people_meet_near_home_and_without_one_near_their_work() -> None:
    here = [social_place(Profile(name=name, home="house0"), PLACES, {}, 0, "house5") for name in NAMES]
    assert here == [chosen(name, near="house0") for name in NAMES]
    homeless = [social_place(Profile(name=name), PLACES, {}, 0, "house5") for name in NAMES]
    assert homeless == [chosen(name, near="house5") for name in NAMES]
    assert homeless != here


@pytest.mark.parametrize(
    ("taste", "mood", "visits", "other_taste", "other_mood", "goes"),
    [
        (1.0, 0.0, 0, 0.9, 0.0, "b"), (0.9, 0.0, 0, 1.0, 0.0, "a"),  # what is less to one's taste costs more
        (0.0, 1.0, 0, 0.0, 0.9, "b"), (0.0, 0.9, 0, 0.0, 1.0, "a"),
        (0.41, 0.0, 0, 0.0, 0.95, "b"), (0.40, 0.0, 0, 0.0, 0.95, "a"),  # a mood counts less than half of it
        (0.72, 0.0, 5, 0.0, 0.0, "b"), (0.71, 0.0, 5, 0.0, 0.0, "a"), (0.71, 0.0, 99, 0.0, 0.0, "a"),
        (0.72, 0.0, 99, 0.0, 0.0, "b"), (0.43, 0.0, 3, 0.0, 0.0, "b"), (0.42, 0.0, 3, 0.0, 0.0, "a"),
    ],
)  # fmt: skip
def test_taste_mood_and_habit_weigh_as_they_always_have(
    taste: float, mood: float, visits: int, other_taste: float, other_mood: float, goes: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Plans that a run goes on with were made by these weights."""
    drawn = {("a",): taste, ("a", "3"): mood, ("b",): other_taste, ("b", "3"): other_mood}
    monkeypatch.setattr(whereabouts, "_of_seed", lambda name, *parts: drawn[parts])
    assert choose_place("Bo", ["a", "b"], PLACES_OF_TWO, near="", visits={"a": visits}, day=3) == goes
