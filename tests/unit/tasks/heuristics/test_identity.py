"""Routine, pursuit and role, read from a few words."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.profile import Location, Profile
from cogitate.tasks.heuristics.identity import Routine, _clauses, pursuit_of, read_routine, role_of, work_of


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {}),
        (
            "Klaus goes to bed around 11pm, awakes up around 6am, eats dinner around 5pm.",
            {"wake": 360, "bed": 1_380, "dinner": 1_020},
        ),
        ("has breakfast at 8am, lunch at 1pm, supper at 8pm", {"breakfast": 480, "lunch": 780, "dinner": 1_200}),
        ("sleeps at 1am", {"bed": 1_500}),
        ("goes to bed at 11:59 am", {"bed": 2_159}),
        ("goes to bed at noon", {"bed": 720}),
        ("wakes at 6am, gets up at 8am", {"wake": 360}),
        ("просыпается в 6:00, ложится в 23:00 и ужинает в 18:00", {"wake": 360, "bed": 1_380, "dinner": 1_080}),
        ("works from 9am to 5pm and from 6pm to 8pm", {"work": (540, 1_020)}),
        ("studies 8am to 2pm, works 3pm to 5pm", {"work": (480, 840)}),
        ("works at 9am", {"habits": ((540, "works"),)}),
        (
            "Klaus takes a walk at 4pm, swims at 5pm, reads about 6pm, paints by 7pm",
            {"habits": ((960, "takes a walk"), (1_020, "swims"), (1_080, "reads"))},
        ),
        ("She sings at 4pm and dances and plays at 6pm", {"habits": ((960, "sings"), (1_080, "plays"))}),
        ("sings then dances at 4pm", {"habits": ((960, "dances"),)}),
        ("if it rains reads at 5pm", {}),
        ("at 5pm", {}),
        ("likes tea", {}),
    ],
)
def test_a_routine_is_read_from_words(text: str, read: dict[str, Any]) -> None:
    usual = {"wake": 420, "bed": 1_320, "breakfast": None, "lunch": 720, "dinner": 1_140, "work": None, "habits": ()}
    assert read_routine(text, "Klaus") == Routine(**(usual | read))


@pytest.mark.parametrize(
    ("currently", "pursuit"),
    [
        ("", ""),
        ("Klaus is happy.", ""),
        ("Klaus is writing a paper on cats, and dogs.", "Spend time writing a paper on cats"),
        ("Klaus is writing a paper because he must", "Spend time writing a paper"),
        ("Klaus hopes to win the prize", "Win the prize"),
        ("Klaus is planning to go to the sea", "Go to the sea"),
        ("Klaus is being silly. Klaus wants to sing.", "Sing"),
        ("Klaus is meeting Ann at 5pm. Klaus is reading.", "Spend time reading"),
        ("Status: Klaus is busy painting the", "Spend time painting"),
        ("Status: none", ""),
        ("He is making a b c d e f g h i j k l m", "Spend time making a b c d e f g h i j k"),
        ("He is painting the and of", "Spend time painting"),
        ("He wants to of", "Of"),
    ],
)
def test_what_occupies_somebody_is_told_as_something_to_do(currently: str, pursuit: str) -> None:
    assert pursuit_of(Profile(name="K", currently=currently)) == pursuit


@pytest.mark.parametrize(
    ("occupation", "background", "role"),
    [
        ("baker ", "Klaus is a cook", "baker"),
        ("", "Klaus is a cafe owner of Hobbs Cafe who sings", "cafe owner of Hobbs Cafe"),
        ("", "Klaus is an artist, and more", "artist"),
        ("  ", "Klaus is a part-time baker and poet", "part-time baker"),
        ("", "He is tall", ""),
    ],
)
def test_a_role_is_the_occupation_or_what_the_background_says(occupation: str, background: str, role: str) -> None:
    assert role_of(Profile(name="K", occupation=occupation, background=background)) == role


def test_the_place_of_work_is_given_or_named_by_the_role_and_not_the_home() -> None:
    places = (Location(id="cafe", name="Hobbs Cafe"),)
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe"), places) == "cafe"
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe", home="cafe"), places) == ""
    assert work_of(Profile(name="K", occupation="cook at Hobbs Cafe", work="bar"), places) == "bar"
    assert work_of(Profile(name="K", occupation="cook"), places) == ""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sings and dances at 4pm", ["sings", "dances at 4pm"]),
        ("sings and dances, plays at 6pm", ["sings and dances", "plays at 6pm"]),  # the mark comes before the number
        ("sings and dances", ["sings and dances"]),
        ("sings and dances and plays at 4pm", ["sings", "dances", "plays at 4pm"]),
        ("wakes at 6.30 and eats at 7, then reads", ["wakes at 6.30", "eats at 7", "then reads"]),
        ("sings; dances", ["sings", "dances"]),
    ],
)
def test_a_routine_is_cut_at_a_conjunction_before_a_number(text: str, parts: list[str]) -> None:
    assert list(_clauses(text)) == parts
