"""Appointments found in memories: what, when and where."""

from __future__ import annotations

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


def test_an_obligation_is_told_as_a_plan(subtests: pytest.Subtests) -> None:
    for text, what in [
        ("Party at 5 pm.", "Attend the party"),
        ("Party from 5 to 7 pm", "Attend the party"),
        ("On February 14th, 2023 a party at 5 pm", "Attend the party"),
        ("Maria's birthday party at 5 pm", "Attend the birthday party"),
        ("I go to Maria's party at 5 pm", "Attend Maria's party"),
        ("the Valentine's Day party at 5 pm", "Attend Valentine's Day party"),
        ("running, big show at 5 pm", "Attend the big show"),
        ("Art, Chess Club: meeting at 5 pm", "Attend the Chess club"),
        ("Have dinner with Ann Lee and Bo at 5 pm", "Have dinner with Ann Lee and Bo"),
        ("Lunch with her at 5 pm", "Have lunch"),
        ("встреча завтра в 17:00", "встреча в день 2 в 17:00"),
        ("Ann is hosting a big party at 5 pm", "Attend the big party"),
        ("Ann is hosting dinner at 5 pm", "Have dinner"),
        ("Ann invited Bo Lee to a dance at 5 pm", "Attend the dance"),
        ("We are inviting Ann to my wedding at 5 pm", "Attend the wedding"),
        ("invite Ann to the opening at 5 pm, please", "Attend the opening"),
        ("Ann invited me to their picnic at 5 pm", "Attend their picnic"),
        ("Meet Ann at 5 pm, then go home", "Meet Ann"),
        ("Meet Ann at 5 pm because she asked", "Meet Ann"),
        ("Pick up the cake at 5 pm so that it is fresh", "Pick up the cake"),
        ("I meet Klaus for coffee at 5 pm", "Meet Klaus for coffee"),
        ("Help Tom with his show at 5 pm", "Help Tom with his show"),
        ("Attend the art class at 5 pm", "Attend the art class"),
        ("Join the game at 5 pm", "Attend the game"),
        ("Come to the game at 5 pm", "Attend the game"),
        ("Завтра в 17:00 встретить Анну", "В день 2 в 17:00 встретить Анну"),
        ("Meet a b c d e f g h i j k l m n o p at 5 pm", "Meet a b c d e f g h i j k l m"),
    ]:
        with subtests.test(text=text, what=what):
            assert found(text) == [("17:00", what, None)]


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday a party at 5 pm",
        "The party was at 5 pm",
        "Ann is cooking dinner at 5 pm",
        "Nothing at 5 pm",
        "It is 5 pm",
        "A party",
        "",
    ],
)
def test_past_and_ongoing_events_are_not_appointments(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "what", "place"),
    [
        ("Party at 5 pm in the park", "Attend the party at Park", "park"),
        ("Party at 5 pm in Johnson Park", "Attend the party at Johnson Park", "jp"),
        ("Meet Ann in the park at 5 pm", "Meet Ann in the park", "park"),
        ("Party at 5 pm, cafe", "Attend the party at Hobbs Cafe", "cafe"),
        ("Come to the cafe at 5 pm", "Come to the cafe", "cafe"),
        ("Party at 5 pm, parking", "Attend the party", None),
    ],
)
def test_a_place_absent_from_the_text_is_added(text: str, what: str, place: str | None) -> None:
    assert found(text) == [("17:00", what, place)]


@pytest.mark.parametrize(
    ("text", "what"),
    [("Yes, at 5 pm in the workshop.", "Be at Workshop"), ("There is a workshop at 5 pm.", "Attend the workshop")],
)
def test_a_place_that_is_called_like_an_event_is_no_event(text: str, what: str) -> None:
    workshop = Location(id="w", name="Workshop")
    assert [one.what for one in appointments([seen(text)], (workshop,), DAY, 2 * DAY)] == [what]


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


@pytest.mark.parametrize(
    ("said", "start", "end", "minute"),
    [
        (600, DAY, 2 * DAY, DAY + 1020),
        (600, DAY + 1020, 3 * DAY, DAY + 1020),
        (1021, DAY + 1021, 3 * DAY, 2 * DAY + 1020),  # it is past today
        (1021, DAY + 1021, 2 * DAY + 1020, None),  # the end is excluded
        (1021, DAY + 1021, 2 * DAY + 1021, 2 * DAY + 1020),
        (0, DAY, 2 * DAY, DAY + 1020),  # a day old
        (0, DAY + 1, 2 * DAY, None),  # older
    ],
)
def test_without_a_day_the_coming_one_is_meant(said: int, start: int, end: int, minute: int | None) -> None:
    entry = seen("Party at 5 pm.", said if start != DAY + 1020 else 1020)
    assert [at.minute for at in appointments([entry], (), start, end)] == ([] if minute is None else [minute])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("Party at 5 pm", "Show at 5:29 pm", ["Attend the party"]),
        ("Party at 5 pm", "Show at 5:30 pm", ["Attend the party", "Attend the show"]),
        ("Party at 5 pm", "Show at 5:29 pm in the park", ["Attend the show at Park"]),
        ("Party at 5 pm in the park", "Show at 5:29 pm", ["Attend the party at Park"]),
        ("Party at 5 pm in the park", "Show at 5:29 pm, cafe", ["Attend the party at Park"]),
        ("Party at 5 pm", "Show at 5 pm", ["Attend the show"]),  # the latest
        ("Party at 5 pm in the park", "Show at 5 pm", ["Attend the party at Park"]),
    ],
)
def test_mentions_within_half_an_hour_count_once(first: str, second: str, kept: list[str]) -> None:
    one, other = seen(first, number=1), seen(second, number=2)
    for entries in ([one, other], [other, one]):
        assert [at.what for at in appointments(entries, PLACES, DAY, 2 * DAY)] == kept


def test_an_appointment_knows_its_entry_and_plans_create_none() -> None:
    (at,) = appointments([seen("Tea. Party at 5 pm.", number=7)], (), DAY, 2 * DAY)
    assert at == (DAY + 1020, "Attend the party", None, 7)
    assert appointments([Entry(type="plan", text="Party at 5 pm.", minute=600)], (), DAY, 2 * DAY) == []


def test_a_long_appointment_is_cut() -> None:
    ((_, what, _),) = found(f"Meet {'x' * 200} at 5 pm")
    assert what == "Meet " + "x" * 115
    assert MAX_WHAT == 120
