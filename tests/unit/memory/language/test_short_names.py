"""The part of a name that stands for a person after the first mention."""

from __future__ import annotations

import pytest

from cogitate.memory.language.short_names import short_names, with_full_names, with_short_names


@pytest.mark.parametrize(
    ("name", "known", "short"),
    [
        ("Maria Lopez", ["Klaus Mueller"], "Maria"),
        ("Maria Lopez", ["Maria Santos"], "Lopez"),
        ("Maria Lopez", ["Maria Santos", "Ana Lopez"], "Maria Lopez"),
        ("Maria Lopez", ["Maria's Bar"], "Maria"),
        ("Maria Lopez", ["Maria"], "Lopez"),
        ("Dr. Ada Smith", [], "Smith"),
        ("Captain Ahab", [], "Ahab"),
        ("Ludwig van Beethoven", [], "Ludwig"),
        ("Lady of the Lake", [], "Lady of the Lake"),
        ("Sian Gwenllian AM", [], "Sian"),
        ("Professor D", ["Grad B"], "Professor D"),
        ("Unit 7", [], "Unit"),
        ("Анна Петрова", ["Иван Петров"], "Анна"),
        ("राम कुमार", [], "राम"),
        ("李梅", [], "李梅"),
        ("Ada", [], "Ada"),
    ],
)
def test_a_short_name_is_the_part_that_identifies_one_person(name: str, known: list[str], short: str) -> None:
    assert short_names([name], known).get(name, name) == short


def test_a_name_that_is_an_occupation_stays_whole() -> None:
    called = ["Industrial Designer", "Ada Pike"]
    assert short_names(called, [], {"the", "designer", "thinks"}) == {"Ada Pike": "Ada"}


def test_later_mentions_are_short_but_in_quotations() -> None:
    short = short_names(["Ada Pike", "Bo Lind"], [])
    told = 'Ada Pike talked with Bo Lind. Ada Pike told Bo Lind: "Bo Lind owes Ada Pike." Bo Lind saw Ada Pikestaff.'
    assert with_short_names(told, short) == (
        'Ada Pike talked with Bo Lind. Ada told Bo: "Bo Lind owes Ada Pike." Bo saw Ada Pikestaff.'
    )
    assert with_full_names(with_short_names(told, short), short) == told
    assert with_full_names("Ada Pike's mill burned. Bo saw Ada.", short) == "Ada Pike's mill burned. Bo saw Ada Pike."
    assert with_short_names("Ada Pike's mill", short, short) == "Ada's mill"
