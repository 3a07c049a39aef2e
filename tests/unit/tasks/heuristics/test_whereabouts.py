"""The place of an agent's habit: chosen by its taste, by distance and by earlier visits."""

from __future__ import annotations

import pytest

from cogitate.memory.profile import Location, PlaceIndex, Profile
from cogitate.memory.routines import read_routine
from cogitate.tasks.heuristics import whereabouts
from cogitate.tasks.heuristics.whereabouts import choose_place, place_of

NAMES = [f"Person {n}" for n in range(60)]
PLACES = tuple(
    Location(id=f"{kind}{n}", name=f"{kind.title()} {n}", type=kind, tags=("social",) if kind == "pub" else ())
    for n in range(6)
    for kind in ("pub", "house")
)
ORDER = {place.id: at for at, place in enumerate(PLACES)}


def chosen(name: str, day: int = 0, near: str = "house0", **visits: int) -> str | None:
    pubs = [p.id for p in PLACES if p.type == "pub"]
    return choose_place(name, pubs, ORDER, near=near, visits=visits, day=day)


def test_people_differ_and_each_repeats() -> None:
    places = [chosen(name) for name in NAMES]
    assert len(set(places)) >= 4
    assert places == [chosen(name) for name in NAMES]
    assert any(chosen(name, day=day) != chosen(name) for name in NAMES for day in range(7)), "moods change with the day"


def test_a_nearer_place_is_likelier() -> None:
    here, there = ([chosen(name, near=near) for name in NAMES] for near in ("house0", "house5"))
    assert here.count("pub0") > there.count("pub0")
    assert here.count("pub5") < there.count("pub5")
    assert {chosen(name, near="nowhere") for name in NAMES} == {p.id for p in PLACES if p.type == "pub"}


def test_visits_make_a_place_likelier_up_to_a_limit() -> None:
    strange = [name for name in NAMES if chosen(name) != "pub3"]
    drawn = [name for name in strange if chosen(name, pub3=5) == "pub3"]
    assert len(drawn) > len(strange) / 4
    assert [chosen(name, pub3=5) for name in NAMES] == [chosen(name, pub3=500) for name in NAMES]


def goes(habit: str, profile: Profile, places: tuple[Location, ...] = PLACES, **visits: int) -> str | None:
    (read,) = read_routine(habit)
    return place_of(read, profile, PlaceIndex(places), visits=visits, day=0)


def test_leisure_is_spent_elsewhere_than_at_work_if_it_can_be() -> None:
    keeper = Profile(name="Bo", home="house0", work="pub0")
    assert goes("~18:00 company @pub", keeper, pub0=99) != "pub0"
    assert goes("18:00 company @pub", keeper, pub0=99) == "pub0"
    assert goes("~18:00 company @pub", keeper, PLACES[:1]) == "pub0", "there is no other"


def test_timed_habits_are_kept_near_work_and_leisure_near_home() -> None:
    people = [Profile(name=name, home="house0", work="house5") for name in NAMES]
    assert [goes("12:00 lunch @pub", one) for one in people] == [chosen(name, near="house5") for name in NAMES]
    assert [goes("~18:00 company @pub", one) for one in people] == [chosen(name, near="house0") for name in NAMES]
    homeless = [Profile(name=name, work="house5") for name in NAMES]
    assert [goes("~18:00 company @pub", one) for one in homeless] == [chosen(name, near="house5") for name in NAMES]
    idle = [Profile(name=name, home="house0") for name in NAMES]
    assert [goes("12:00 lunch @pub", one) for one in idle] == [chosen(name, near="house0") for name in NAMES]


def test_an_agent_without_home_or_work_has_no_place_to_go() -> None:
    assert goes("7:00 rise @home", Profile(name="Bo")) is None
    assert goes("9:00 lift @Work", Profile(name="Bo")) is None
    assert goes("9:00 think", Profile(name="Bo")) is None
    assert choose_place("Bo", [], ORDER, near="", visits={}, day=0) is None


@pytest.mark.parametrize(
    ("taste", "mood", "visits", "other_taste", "other_mood", "goes"),
    [
        (1.0, 0.0, 0, 0.9, 0.0, "b"),
        (0.9, 0.0, 0, 1.0, 0.0, "a"),  # what is less to one's taste costs more
        (0.0, 1.0, 0, 0.0, 0.9, "b"),
        (0.0, 0.9, 0, 0.0, 1.0, "a"),
        (0.41, 0.0, 0, 0.0, 0.95, "b"),
        (0.40, 0.0, 0, 0.0, 0.95, "a"),  # a mood counts less than half of it
        (0.72, 0.0, 5, 0.0, 0.0, "b"),
        (0.71, 0.0, 5, 0.0, 0.0, "a"),
        (0.71, 0.0, 99, 0.0, 0.0, "a"),
        (0.72, 0.0, 99, 0.0, 0.0, "b"),
        (0.43, 0.0, 3, 0.0, 0.0, "b"),
        (0.42, 0.0, 3, 0.0, 0.0, "a"),
    ],
)
def test_taste_mood_and_habit_weigh_as_they_always_have(
    taste: float,
    mood: float,
    visits: int,
    other_taste: float,
    other_mood: float,
    goes: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A resumed run continues plans that were made with these weights."""
    drawn = {("a",): taste, ("a", "3"): mood, ("b",): other_taste, ("b", "3"): other_mood}
    monkeypatch.setattr(whereabouts, "_of_seed", lambda name, *parts: drawn[parts])
    assert choose_place("Bo", ["a", "b"], {"a": 0, "b": 1}, near="", visits={"a": visits}, day=3) == goes


def test_the_distance_of_a_place_lowers_its_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    four = {name: at for at, name in enumerate("abcd")}
    for taste, goes in ((0.72, "c"), (0.71, "a")):  # two of four places away: half of the way, which is 0.5
        drawn = {"a": taste, "b": 9.0, "c": 0.0, "d": 9.0}
        monkeypatch.setattr(whereabouts, "_of_seed", lambda name, place, day="", of=drawn: 0.0 if day else of[place])
        assert choose_place("Bo", "abcd", four, near="a", visits={}, day=3) == goes
    monkeypatch.setattr(whereabouts, "_of_seed", lambda *parts: 0.0)
    assert choose_place("Bo", "abcd", four, near="nowhere", visits={}, day=3) == "a", "of equals the first by id"
    assert choose_place("Bo", "dcba", four, near="nowhere", visits={}, day=3) == "a"
    assert choose_place("Bo", "bd", four, near="c", visits={}, day=3) == "b"


def test_the_same_people_go_to_the_same_places_on_any_machine_and_in_any_version() -> None:
    """A resumed run continues plans that were made with these draws."""
    assert [chosen(name) for name in NAMES[:8]] == ["pub0", "pub2", "pub1", "pub1", "pub2", "pub2", "pub0", "pub1"]
    assert [chosen("Person 30", day=day) for day in range(8)] == [
        "pub4",
        "pub4",
        "pub1",
        "pub4",
        "pub3",
        "pub4",
        "pub3",
        "pub3",
    ]


def test_any_name_is_assigned_a_place() -> None:
    assert chosen("Bo \ud800") in {place.id for place in PLACES}
    assert chosen("Bo", near="\ud800") in {place.id for place in PLACES}
