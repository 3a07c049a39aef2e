"""The slots of a day's plan without a model: their minutes, and the words of an item."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.profile import Location, Profile
from cogitate.simulation.meters import energy, fed
from cogitate.tasks.heuristics.day_plan import (
    Slot,
    _article,
    _continuing,
    _fillers,
    _free,
    _free_time,
    _needs,
    _ordinary,
    _sentence,
    _spread,
    _Usual,
    _working,
)
from cogitate.tasks.heuristics.identity import Routine
from cogitate.tasks.meters import Meter


def slot(minute: int, text: str = "x") -> Slot:
    return Slot(minute, text, None, 3, 2)


@pytest.mark.parametrize(
    ("minutes", "start", "end", "spread"),
    [
        ([], 0, 100, []),
        ([50], 0, 100, [50]),
        ([50], 60, 100, [60]),
        ([100], 0, 100, [99]),
        ([10, 10, 10], 0, 100, [10, 25, 40]),
        ([10, 24, 40], 0, 100, [10, 25, 40]),
        ([10, 90, 95], 0, 100, [10, 84, 99]),
        ([95, 96, 97], 0, 100, [69, 84, 99]),
        ([5, 5, 5], 0, 31, [5, 15, 25]),
        ([5, 5, 5], 0, 4, [1, 2, 3]),
        ([5, 5, 5], 0, 1, [0, 0, 0]),
        ([7, 7], 7, 7, [7, 7]),
        ([1_005, 1_005, 1_005], 1_000, 1_031, [1_005, 1_015, 1_025]),
    ],
)
def test_items_are_spread_within_their_window(minutes: list[int], start: int, end: int, spread: list[int]) -> None:
    slots = [slot(minute, str(at)) for at, minute in enumerate(minutes)]
    found = _spread(slots, start, end)
    assert [one.minute for one in found] == spread
    assert [one.text for one in found] == [one.text for one in slots]


@pytest.mark.parametrize(
    ("taken", "wanted", "start", "end", "free"),
    [
        ([], 50, 0, 100, 50),
        ([], 0, 0, 100, 0),
        ([], 100, 0, 100, 45),  # the middle of the largest gap, on a quarter of an hour
        ([], None, 0, 100, 45),
        ([5], 50, 0, 100, 50),
        ([6], 50, 0, 100, 45),
        ([95], 50, 0, 100, 50),
        ([94], 50, 0, 100, 45),
        ([50], None, 0, 100, 15),  # of gaps as large the first
        ([40], None, 0, 100, 60),
        ([40, 200], None, 0, 100, 60),
        ([], None, 7, 15, 7),
    ],
)
def test_a_free_minute_is_the_wanted_one_or_in_the_largest_gap(
    taken: list[int], wanted: int | None, start: int, end: int, free: int
) -> None:
    assert _free([slot(minute) for minute in reversed(taken)], wanted, start, end) == free


@pytest.mark.parametrize(
    ("habit", "sentence"),
    [
        ("takes a walk", "Take a walk"),
        ("goes home", "Go home"),
        ("Does the dishes", "Do the dishes"),
        ("has tea", "Have tea"),
        ("watches birds", "Watch birds"),
        ("press flowers", "Press flowers"),
        ("swim", "Swim"),
        ("гуляет", "Гуляет"),
        ("ēdas mājās", "Ēdas mājās"),  # only English verbs end so
        ("", ""),
    ],
)
def test_a_habit_becomes_something_to_do(habit: str, sentence: str) -> None:
    assert _sentence(habit) == sentence


@pytest.mark.parametrize(
    ("role", "with_article"),
    [
        ("baker", "a baker"),
        ("artist", "an artist"),
        ("An artist", "An artist"),
        ("the mayor", "the mayor"),
        ("theologian", "a theologian"),
        ("Umbrella maker", "an Umbrella maker"),
        ("anchorman", "an anchorman"),
    ],
)
def test_a_role_has_its_article(role: str, with_article: str) -> None:
    assert _article(role) == with_article


CAFE = Location(id="cafe", name="Hobbs Cafe")


def usual_day(routine: Routine, *, start: int = 0, day: int = 0, bed: int = 1_320, pursuit: str = "") -> list[Slot]:
    """Return the slots of one who works at a cafe; times are minutes after that day's midnight."""
    midnight = day * DAY
    profile = Profile(name="K", home="house", work="cafe")
    found = _ordinary(profile, [CAFE], routine, midnight, midnight + start, midnight + bed, _Usual(None, None, pursuit))
    return [Slot(s.minute - midnight, s.text, s.location, s.priority, s.rank) for s in found]


def minutes_of(slots: list[Slot], opening: str) -> list[int]:
    return [one.minute for one in slots if one.text.startswith(opening)]


@pytest.mark.parametrize(
    ("begin", "lunch"),
    [(500, 720), (689, 720), (690, 630), (700, 640)],  # more than half an hour of work comes before lunch
)
def test_lunch_is_in_the_midst_of_work_or_before_it(begin: int, lunch: int) -> None:
    assert minutes_of(usual_day(Routine(work=(begin, 1_200))), "Have lunch") == [lunch]


@pytest.mark.parametrize(("finish", "afternoon"), [(780, []), (781, [780]), (1_020, [780])])
def test_work_goes_on_an_hour_after_lunch_if_it_is_not_over_then(finish: int, afternoon: list[int]) -> None:
    assert minutes_of(usual_day(Routine(work=(480, finish))), "Continue working") == afternoon


@pytest.mark.parametrize(
    ("start", "going_on"),
    [(780, [780]), (781, [780, 781]), (959, [780, 959]), (960, [780])],  # not in the last hour
)
def test_who_joins_during_working_hours_begins_at_once(start: int, going_on: list[int]) -> None:
    assert minutes_of(usual_day(Routine(work=(480, 1_020)), start=start), "Continue working") == going_on


@pytest.mark.parametrize(
    ("begin", "finish", "at_home"),
    [(1_140, 1_400, True), (1_139, 1_400, False), (600, 1_140, True), (600, 1_141, False)],
)
def test_dinner_is_at_home_unless_it_falls_into_work(begin: int, finish: int, at_home: bool) -> None:
    slots = usual_day(Routine(work=(begin, finish)))
    assert minutes_of(slots, "Have dinner at home") == ([1_140] if at_home else [])
    assert minutes_of(slots, "Take a break for dinner") == ([] if at_home else [1_140])


@pytest.mark.parametrize(("start", "breakfast"), [(419, 420), (421, 421), (510, 510), (511, 420)])
def test_who_joins_within_an_hour_and_a_half_of_waking_has_breakfast_then(start: int, breakfast: int) -> None:
    assert minutes_of(usual_day(Routine(wake=420), start=start), "Get up") == [breakfast]


@pytest.mark.parametrize("day", [0, 1, 7])
def test_free_time_ends_before_bed_on_any_day(day: int) -> None:
    early = usual_day(Routine(), day=day, bed=1_259, pursuit="Win the prize")
    assert minutes_of(early, "Win the prize") == [1_050]
    assert minutes_of(early, "Relax") == [], "an hour and a quarter after dinner is too close to bed"
    assert minutes_of(usual_day(Routine(), day=day, bed=1_260, pursuit="Win the prize"), "Relax") == [1_215]


def test_a_student_without_a_place_still_has_a_pursuit() -> None:
    student = Profile(name="K", occupation="student")
    free = _free_time(student, [], _Usual(None, None, "Win the prize"), after=1_050, dinner=1_140, bed=1_320)
    assert [one.text for one in free] == ["Win the prize", "Relax and meet people"]


def test_what_one_needs_is_done_nowhere_in_particular_by_one_without_a_home() -> None:
    (rest,) = _needs(Profile(name="K"), [], 600, {"energy": energy(19), "hunger": fed(20)}, None)
    assert (rest.minute, rest.text, rest.location) == (600, "Rest to recover energy", None)
    hungry, tired = _needs(Profile(name="K", home="house"), [], 600, {"energy": energy(0), "hunger": fed(0)}, "cafe")
    assert (hungry.minute, hungry.location, tired.minute, tired.location) == (600, "cafe", 630, "house")


def test_a_need_that_has_no_remedy_of_its_own_is_seen_to() -> None:
    (see,) = _needs(Profile(name="R7"), [], 600, {"battery": Meter(9, low="dead", need="low"), "heat": Meter(99)}, None)
    assert see.text == "See to it: battery 9 (0: dead)"


def test_a_meter_beyond_its_scale_is_told_with_both_ends() -> None:
    oxygen = Meter(12, low="unbreathable", high="normal air", need="low", least=14, most=21)
    (see,) = _needs(Profile(name="R7"), [], 600, {"oxygen": oxygen}, None)
    assert see.text == "See to it: oxygen 12 (14: unbreathable, 21: normal air)"


def test_what_fills_a_day_matters_least_and_a_pursuit_more() -> None:
    own, *others = _fillers(Profile(name="K", home="house"), [], "Win the prize")
    assert (own.text, own.priority, own.rank) == ("Win the prize", 3, 4)
    assert len(others) == 5
    assert {(one.priority, one.rank) for one in others} == {(2, 6)}


@pytest.mark.parametrize(
    ("profile", "working"),
    [
        (
            Profile(name="K", occupation="teacher of music", work="cafe"),
            "Go to work at Hobbs Cafe as a teacher of music",
        ),
        (Profile(name="K", occupation="cook at Hobbs Cafe", work="cafe"), "Go to work at Hobbs Cafe as a cook"),
        (Profile(name="K", occupation="nurse at home"), "Work as a nurse at home"),
        (Profile(name="K", occupation="nurse at home", home="house", work="house"), "Work at home as a nurse"),
    ],
)
def test_a_role_leaves_out_the_place_that_is_named_anyway(profile: Profile, working: str) -> None:
    assert _working(profile, [CAFE], "") == working


@pytest.mark.parametrize(
    ("profile", "pursuit", "continuing"),
    [
        (Profile(name="K", occupation="student", work="cafe"), "Spend time writing", "Spend time writing"),
        (Profile(name="K", occupation="cook", work="cafe"), "Spend time writing", "Continue working at Hobbs Cafe"),
        (Profile(name="K", occupation="student", work="cafe"), "", "Continue studying at Hobbs Cafe"),
        (Profile(name="K", occupation="student", home="cafe", work="cafe"), "", "Continue studying"),
        (Profile(name="K", occupation="cook"), "", "Continue working"),
        (Profile(name="K", occupation="cook", home="house"), "", "Continue working"),
    ],
)
def test_the_afternoon_is_spent_on_what_occupies_a_student_or_at_work(
    profile: Profile, pursuit: str, continuing: str
) -> None:
    assert _continuing(profile, [CAFE], pursuit) == continuing
