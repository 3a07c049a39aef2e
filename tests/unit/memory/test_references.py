"""Sentences that stand alone are told from those that leave to others what they mean."""

from __future__ import annotations

import pytest

from memory.language.own_view import deed_in_own_words, in_own_words
from memory.language.references import leans_on_others, resolved
from memory.language.tense import told_after


@pytest.mark.parametrize(
    "sentence",
    [
        "Took her to the park.", "He sold our house.", "They never showed up.", "I never said that.", "That was nice.",
        "I learned it a week ago.", "We should, and the wind helps.", "It doesn't matter.", "I will be ready by then.",
        "And the mill burned.",
    ],
)  # fmt: skip
def test_what_leans_on_others(sentence: str) -> None:
    assert leans_on_others(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Melanie took her son to the lake.", "My brother lost his key.", "The captain said he was sorry.",
        "Bring the books, they are mine.", "I bought a hat and wore it.", "It rained all day.", "It is late.",
        "I like that song.", "These boots are new.", "Those who came were happy.",
    ],
)  # fmt: skip
def test_what_stands_alone(sentence: str) -> None:
    assert not leans_on_others(sentence)


@pytest.mark.parametrize(
    ("before", "sentence", "told"),
    [
        ("My old brother left.", "He took the boat.", "My old brother took the boat."),
        ("Ada Smith sings.", "She is loud.", "Ada Smith is loud."),
        ("Ben Cole read a letter: Ada Smith sings.", "She is loud.", "Ada Smith is loud."),
        ("It rained.", "She is loud.", "She is loud."),
        ("My brother left.", "The boat sank.", "The boat sank."),
        ("", "He left.", "He left."),
    ],
)
def test_an_opening_pronoun_is_the_subject_before(before: str, sentence: str, told: str) -> None:
    assert resolved(sentence, before) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Ada will sing on day 1 at 5:00 PM.", "Ada was going to sing on day 1 at 5:00 PM."),
        ("Ada and Bo will sing on day 1.", "Ada and Bo were going to sing on day 1."),
        ("They won't come on day 1.", "They were not going to come on day 1."),
        ("She'll be singing on day 1.", "She was going to be singing on day 1."),
        ("Ada is holding a party on day 1.", "Ada was holding a party on day 1."),
        ("Ada will sing on day 9.", "Ada will sing on day 9."),
        ("Ada will sing.", "Ada will sing."),
        ('Bo asked "Will you come on day 1?"', 'Bo asked "Will you come on day 1?"'),
    ],
)
def test_what_is_over_is_told_in_the_past(said: str, told: str) -> None:
    assert told_after(said, 2 * 1440) == told


@pytest.mark.parametrize(
    ("deed", "mine", "theirs"),
    [
        ("mend your gate", "mend her gate", "mend my gate"),
        ("feed your cat while you are away", "feed her cat while she is away", "feed my cat while I am away"),
        ("lend you my boat", "lend her my boat", "lend me her boat"),
        ("say thank you", "say thank you", "say thank you"),
    ],
)
def test_a_deed_is_told_as_each_of_the_two_would(deed: str, mine: str, theirs: str) -> None:
    assert deed_in_own_words(deed, mine=True, other="Maria") == mine
    assert deed_in_own_words(deed, mine=False, other="Maria") == theirs


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ("Ada Smith has a cold.", "I have a cold."),
        ("Ada Smith watches the boats.", "I watch the boats."),
        ("Bo told Ada Smith to sing.", "Bo told me to sing."),
        ("Bo and Ada Smith sang.", "Bo and I sang."),
        ("Had lunch at the mill.", "I had lunch at the mill."),
        ("The mill burned.", "The mill burned."),
        ("A letter came: Ada Smith's brother sent her the money.", "A letter came: my brother sent me the money."),
    ],
)
def test_an_observation_is_told_as_its_owner_would(seen: str, told: str) -> None:
    assert in_own_words(seen, "Ada Smith") == told


def test_what_is_quoted_of_a_time_that_is_over_is_told_as_it_was_said() -> None:
    told = told_after(
        'On day 1 "I will go to the mill" is what Ben will say, and "it is going well" as Ada is going.', 9999
    )
    assert '"I will go to the mill"' in told
    assert '"it is going well"' in told
    assert "Ben was going to say" in told
    assert "Ada was going" in told
