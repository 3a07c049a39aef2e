"""Independent sentences, and sentences that need another one to be understood."""

from __future__ import annotations

import pytest

from cogitate.memory.language.english.references import leans_on_something, stands_alone
from cogitate.memory.language.english.tense import told_after


def test_dependent_sentences_are_found(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "Took her to the park.",
        "He sold our house.",
        "They never showed up.",
        "I never said that.",
        "That was nice.",
        "I learned it a week ago.",
        "It doesn't matter.",
        "And the mill burned.",
    ]
    for sentence in cases:
        with subtests.test(sentence=sentence):
            assert not stands_alone(sentence)


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
            assert stands_alone(sentence)


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


def test_a_thing_at_the_start_of_a_sentence_explains_an_it() -> None:
    assert not leans_on_something("A boat sank, and nobody saw it.")
    assert leans_on_something("Nobody saw it.")
