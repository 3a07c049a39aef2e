"""Sentences that stand alone are told from those that leave to others what they mean."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.references import (
    leans_on_others,
    leans_on_somebody,
    leans_on_something,
    looks_like_name,
    resolved,
)
from cogitate.memory.language.english.tense import told_after


def test_dependent_sentences_are_found(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Took her to the park.",
        "He sold our house.",
        "They never showed up.",
        "I never said that.",
        "That was nice.",
        "I learned it a week ago.",
        "We should, and the wind helps.",
        "It doesn't matter.",
        "I will be ready by then.",
        "And the mill burned.",
    ]
    for sentence in cases:
        with subtests.test(sentence=sentence):
            assert leans_on_others(sentence)


def test_independent_sentences_are_found(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Melanie took her son to the lake.",
        "My brother lost his key.",
        "The captain said he was sorry.",
        "Bring the books, they are mine.",
        "I bought a hat and wore it.",
        "It rained all day.",
        "It is late.",
        "I like that song.",
        "These boots are new.",
        "Those who came were happy.",
    ]
    for sentence in cases:
        with subtests.test(sentence=sentence):
            assert not leans_on_others(sentence)


@pytest.mark.parametrize(
    ("before", "sentence", "told"),
    [
        ("My old brother left.", "He took the boat.", "My old brother took the boat."),
        ("Ada Smith sings.", "She is loud.", "Ada Smith is loud."),
        ("The doctor gave Bo Lind a pill.", "He has hives.", "He has hives."),  # who, is unclear
        ("Ben Cole read a letter: Ada Smith sings.", "She is loud.", "Ada Smith is loud."),
        ("It rained.", "She is loud.", "She is loud."),
        ("My brother left.", "The boat sank.", "The boat sank."),
        ("", "He left.", "He left."),
    ],
)
def test_an_opening_pronoun_is_the_subject_before(before: str, sentence: str, told: str) -> None:
    assert resolved(sentence, before) == told


def test_a_past_plan_is_told_in_the_past_tense(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("Ada will sing on day 1 at 5:00 PM.", "Ada was going to sing on day 1 at 5:00 PM."),
        ("Ada and Bo will sing on day 1.", "Ada and Bo were going to sing on day 1."),
        ("They won't come on day 1.", "They were not going to come on day 1."),
        ("She'll be singing on day 1.", "She was going to be singing on day 1."),
        ("Ada is holding a party on day 1.", "Ada was holding a party on day 1."),
        ("Ada will sing on day 9.", "Ada will sing on day 9."),
        ("Ada will sing on day 1 and on day 9.", "Ada will sing on day 1 and on day 9."),
        ("Ada will sing.", "Ada will sing."),
        ('Bo asked "Will you come on day 1?"', 'Bo asked "Will you come on day 1?"'),
    ]
    for said, told in cases:
        with subtests.test(said=said):
            assert told_after(said, 2 * 1440) == told


def test_a_quotation_of_a_past_plan_keeps_its_tense() -> None:
    told = told_after(
        'On day 1 "I will go to the mill" is what Ben will say, and "it is going well" as Ada is going.', 9999
    )
    assert '"I will go to the mill"' in told
    assert '"it is going well"' in told
    assert "Ben was going to say" in told
    assert "Ada was going" in told


def test_a_capital_is_of_a_name_unless_a_sentence_opens_with_it(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool, bool]] = [
        ("Ada", True, True),
        ("Zyx", True, True),
        ("O’Neill", True, True),
        ("ada", False, False),
        ("Went", False, True),
        ("Go", False, True),
        ("Sadly", False, True),
        ("Walking", False, True),
        ("Walked", False, True),
        ("The", False, False),
        ("I", False, False),
        ("I’m", False, False),
        ("Day", False, False),
        ("TV", False, False),
    ]
    for word, opening, later in cases:
        with subtests.test(word=word):
            assert (looks_like_name(word, first=True), looks_like_name(word, first=False)) == (opening, later)


def test_a_plural_explains_they(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, bool]] = [
        ("The boats and all their masts sank.", False),  # a plural explains "they"
        ("The boat and all their masts sank.", True),
        ("The grass and their masts sank.", True),
        ("The circus and their masts sank.", True),
        ("The news and their masts sank.", True),
        ("The gas and their masts sank.", True),
        ("The cow and their masts sank.", True),
        ("The cows and their masts sank.", False),
        ("The buses, one red, and their masts sank.", False),  # it stays explained
        ("The boats sank with him.", True),
    ]
    for sentence, leans in cases:
        with subtests.test(sentence=sentence):
            assert leans_on_somebody(sentence) is leans


@pytest.mark.parametrize("opening", ["Tomorrow", "Please", "Yes", "Thanks"])
def test_common_sentence_openings_are_not_names(opening: str) -> None:
    assert not looks_like_name(opening, first=True)
    assert looks_like_name(opening, first=False)


def test_a_thing_at_the_start_of_a_sentence_explains_an_it() -> None:
    assert not leans_on_something("A boat sank, and nobody saw it.")
    assert leans_on_something("Nobody saw it.")
