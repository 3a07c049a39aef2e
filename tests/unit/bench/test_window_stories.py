"""What the token window keeps of stories, as the page on benchmarks shows it."""

from __future__ import annotations

import pytest

from bench.quality.window_stories import HALVES, KINDS, Told, read_stories, table
from cogitate.memory.summaries.critical import critical_value, share_of_words
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "benchmarks" / "quality.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("half", HALVES)
def test_the_page_shows_the_commands_output(half: str) -> None:
    stories = read_stories()
    assert [story.half for story in stories].count(half) == {"development": 7, "held out": 5}[half]
    shown = str(table(half, stories)).partition("\n\n")[2]
    assert shown in PAGE


def test_the_stories_tell_every_fact_that_they_are_measured_by() -> None:
    for story in read_stories():
        assert {kind: len(story.facts[kind]) for kind in KINDS} == {
            "names": 5,
            "objective": 3,
            "relation": 3,
            "item": 3,
        }, story.name
        whole = story.kept(" ".join(story.lines))
        assert all(found == of for found, of in whole.values()), (story.name, whole)


def test_a_fact_counts_only_within_one_sentence() -> None:
    story = Told("tale", "held out", {"objective": [["Ann", "mill"]]}, [])
    assert story.kept("Ann must buy the mill.") == {"objective": (1, 1)}
    assert story.kept("Ann came. The mill burned.") == {"objective": (0, 1)}


@pytest.mark.parametrize(
    ("sentence", "colour"),
    [
        ("Odo hired Kestrel to escort the grain barge.", "It rained all morning and the deck was slippery."),
        ("Pim is Odo's nephew.", "The soup was burned again."),
    ],
)
def test_objectives_bonds_and_possessions_outweigh_colour(sentence: str, colour: str) -> None:
    assert critical_value(sentence) > 0 == critical_value(colour)
    assert share_of_words(sentence) == 1.0 > share_of_words(colour)
