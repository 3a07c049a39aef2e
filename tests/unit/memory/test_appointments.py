"""Appointments found in memories: what, when and where."""

from __future__ import annotations

import re

import pytest

from cogitate.memory.appointments import appointments
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import MAX_WHAT
from cogitate.memory.language.place_names import find_place
from cogitate.memory.profile import Location

CAFE = Location(id="cafe", name="Hobbs Cafe")
PARK = Location(id="park", name="Park")
JOHNSON = Location(id="jp", name="Johnson Park")
PLACES = (CAFE, PARK, JOHNSON)


def seen(text: str, minute: int = 600, number: int = 1) -> Entry:
    return Entry(type="observation", text=text, minute=minute, number=number)


def found(text: str, minute: int = 600, start: int = DAY, end: int = 2 * DAY) -> list[tuple[str, str, str | None]]:
    """What one entry makes of the day that follows it: clock, what, place."""
    return [
        (f"{at.minute // 60 - 24}:{at.minute % 60:02}", at.what, at.location)
        for at in appointments([seen(text, minute)], PLACES, start, end)
    ]


def test_a_sentence_with_a_coming_day_and_hour_is_quoted(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("Maria's birthday party is tomorrow at 5 pm.", "Maria's birthday party is on day 2 at 5 pm"),
        ("On February 14th, 2023 a party at 5 pm", "On February 14th, 2023 a party at 5 pm"),
        ("Ann invited me to a dance tomorrow at 5.", "Ann invited me to a dance on day 2 at 5"),
        ("Ann is hosting a big party on day 2 from 5 to 7 pm", "Ann is hosting a big party on day 2 from 5 to 7 pm"),
        ("встреча завтра в 17:00", "встреча в день 2 в 17:00"),
        ("Завтра в 17:00 встретить Анну", "В день 2 в 17:00 встретить Анну"),
        ('Ann told me: "We dine tomorrow at 5 pm."', 'Ann told me: "We dine tomorrow at 5 pm." (day 1)'),
    ]
    for text, what in cases:
        with subtests.test(text=text):
            assert found(text) == [("17:00", what, None)]


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday a party at 5 pm",
        "The party was at 5 pm",
        "Ann is cooking dinner at 5 pm",
        "Party at 5 pm",
        "Nothing at 5 pm",
        "It is 5 pm",
        "I met Ann at 5 pm",
        "A party tomorrow",
        "",
    ],
)
def test_a_sentence_about_the_past_or_without_a_day_or_hour_is_no_appointment(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Party tomorrow at 5 pm in the park", "park"),
        ("Party tomorrow at 5 pm in Johnson Park", "jp"),
        ("Party tomorrow at 5 pm, cafe", "cafe"),
        ("Party tomorrow at 5 pm, parking", None),
    ],
)
def test_an_appointment_has_the_place_that_it_names(text: str, place: str | None) -> None:
    assert [where for _, _, where in found(text)] == [place]


def test_the_longest_name_of_a_place_wins_wherever_it_stands_in_the_list() -> None:
    for places in (PLACES, PLACES[::-1]):
        assert find_place("We go to JOHNSON PARK.", places) == JOHNSON
        assert find_place("We go to the park.", places) == PARK
        assert find_place("at jp", places) == JOHNSON
        assert find_place("parks, hobbs", places) is None
    assert find_place("park", (PARK, Location(id="x", name="Park"))) == PARK
    assert find_place("", (Location(id="x", name=""),)) is None
    assert find_place("a", ()) is None


def test_a_place_is_found_whatever_its_name_begins_with() -> None:
    bridge, gate, kitchen = (
        Location(id="#12-bridge", name="'The' bridge"),
        Location(id="gate-2", name="Gate 2"),
        Location(id="k", name="キッチン"),
    )
    places = [bridge, gate, kitchen]
    assert find_place("see you at 'the' bridge!", places) == bridge
    assert find_place("at #12-bridge", places) == bridge
    assert find_place("gate 21, then gate-2", places) == gate
    assert find_place("キッチン", places) == kitchen
    places[1] = Location(id="gate-21", name="Gate 21")  # a list may change
    assert find_place("gate 21", places) == places[1]


def test_a_named_day_counts_from_the_entrys(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str | None]] = [
        ("Party tomorrow at 5 pm", "17:00"),
        ("Party today at 5 pm", None),
        ("Party tonight at 5 pm", None),
        ("Party the day after tomorrow at 5 pm", None),
        ("Concert on day 2 at 0:00", "0:00"),
        ("Concert on day 2 at 23:59", "23:59"),
        ("Concert on day 1 at 23:59", None),
        ("Concert on day 3 at 0:00", None),
        ("Праздник послезавтра в 17:00", None),
    ]
    for text, clock in cases:
        with subtests.test(text=text):
            assert [at for at, _, _ in found(text)] == ([clock] if clock else [])


@pytest.mark.parametrize(("said", "minute"), [(600, 1_020), (1_019, 1_020), (1_020, None)])
def test_an_owners_hour_without_a_day_means_the_day_of_the_entry(said: int, minute: int | None) -> None:
    mine, anybodys = seen("I meet Ann at 5 pm.", said), seen("They open at 5 pm.", said)
    assert [at.minute for at in appointments([mine], (), 0, 3 * DAY)] == ([] if minute is None else [minute])
    assert appointments([anybodys], (), 0, 3 * DAY) == []


@pytest.mark.parametrize(
    ("said", "start", "end", "minute"),
    [
        (600, DAY, 2 * DAY, DAY + 1020),
        (1021, DAY + 1021, 3 * DAY, 2 * DAY + 1020),  # it is past today
        (1021, DAY + 1021, 2 * DAY + 1020, None),  # the end is excluded
        (0, DAY, 2 * DAY, DAY + 1020),  # a day old
        (0, DAY + 1, 2 * DAY, None),  # older
    ],
)
def test_a_date_of_a_calendar_means_the_coming_day(said: int, start: int, end: int, minute: int | None) -> None:
    entry = seen("Party on May 4 at 5 pm.", said)
    assert [at.minute for at in appointments([entry], (), start, end)] == ([] if minute is None else [minute])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("Party", "Show:29", ["Party"]),
        ("Party", "Show:30", ["Party", "Show:30"]),
        ("Party", "Show:29 in the park", ["Show:29 in the park"]),
        ("Party in the park", "Show:29", ["Party in the park"]),
        ("Party in the park", "Show:29, cafe", ["Party in the park"]),
        ("Party", "Show", ["Show"]),  # the latest
        ("Party in the park", "Show", ["Party in the park"]),
    ],
)
def test_mentions_within_half_an_hour_count_once(first: str, second: str, kept: list[str]) -> None:
    def told(text: str) -> str:
        what, minute, where = re.fullmatch(r"(\w+)(:\d\d)?(.*)", text).groups()  # type: ignore[union-attr]
        return f"{what} on day 2 at 5{minute or ':00'} pm{where}"

    one, other = seen(told(first), number=1), seen(told(second), number=2)
    for entries in ([one, other], [other, one]):
        assert [at.what for at in appointments(entries, PLACES, DAY, 2 * DAY)] == [*map(told, kept)]


def test_an_appointment_knows_its_entry_and_plans_create_none() -> None:
    (at,) = appointments([seen("Tea. Party tomorrow at 5 pm.", number=7)], (), DAY, 2 * DAY)
    assert at == (DAY + 1020, "Party on day 2 at 5 pm", None, 7)
    assert appointments([Entry(type="plan", text="Party tomorrow at 5 pm.", minute=600)], (), DAY, 2 * DAY) == []


def test_a_long_appointment_is_cut() -> None:
    ((_, what, _),) = found(f"Meet me tomorrow at 5 pm {'by the tree ' * 20}")
    assert what.endswith("…")
    assert MAX_WHAT - 12 <= len(what) <= MAX_WHAT
